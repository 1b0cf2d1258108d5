"""Reads files for what they are: kind and digest, without following a link, without waiting, in constant memory.

A file that cannot be read is a fact like any other, never an error. Nothing here may know what a file is for.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Generator
from contextlib import closing
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from signoff.verifiers.names import name_bytes
from signoff.verifiers.walk import OPEN_FLAGS, walk

if TYPE_CHECKING:
    from hashlib import _Hash

LARGE = 64 * 1024 * 1024
"""Bytes above which a file that the contract does not name is known by less than its whole content."""

_END = 1024 * 1024
_BLOCK = 1024 * 1024
_SMALL = 64 * 1024


class EntryKind(StrEnum):
    """What a path in a picture is."""

    FILE = "file"
    EXECUTABLE = "executable"
    """A file that its owner may execute."""
    LINK = "link"
    """Known by its text."""
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"
    LARGE = "large"
    """Known by its size, its first and last MiB and its time of writing."""
    UNREADABLE = "unreadable"
    """A file or folder that the host may not read, known by its size, time of writing and number."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A file as it stands in a picture: equal entries, same file."""

    kind: EntryKind
    sha256: bytes = b""
    """Digest of what it is known by; empty for a FIFO, socket or device."""


class Interrupted(Exception):
    """The work in a thread was asked to end; nothing of its result is used."""


class Work:
    """The link between work in a thread and who waits for it: a request to end, and a count of files looked at."""

    def __init__(self, progress: Callable[[int], None] | None = None) -> None:
        self._ended = False
        self._count = 0
        self._progress = progress

    def end(self) -> None:
        """Ask that the work end, from any thread."""
        self._ended = True

    def go_on(self) -> None:
        """Raise `Interrupted` when the work was asked to end."""
        if self._ended:
            raise Interrupted

    def next_file(self) -> None:
        """Count a file, and say how many it were at each thousandth."""
        self._count += 1
        if self._ended:
            raise Interrupted
        if self._progress is not None and self._count % 1000 == 0:
            self._progress(self._count)


class Reader:
    """Reads files of one picture with one buffer; for one thread."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._buffer = bytearray(_BLOCK)
        self._view = memoryview(self._buffer)

    def entry(self, name: str, fd: int, *, status: os.stat_result, whole: bool) -> tuple[Entry, os.stat_result] | None:
        """Return what stands at a name in an open folder, and its latest status; None when nothing does any more.

        `status` is what was known of it, its own and not a link's target's. With `whole` a file is known by all of its
        bytes, however large it is.
        """
        if not stat.S_ISREG(status.st_mode):
            return _special(name, fd, status)
        try:
            file = os.open(name, OPEN_FLAGS, dir_fd=fd)
        except FileNotFoundError:
            return None
        except OSError:
            return unreadable(status), status
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                return unreadable(status), status
            if status.st_size > LARGE and not whole:
                return Entry(EntryKind.LARGE, self._ends(file, status)), status
            kind = EntryKind.EXECUTABLE if status.st_mode & stat.S_IXUSR else EntryKind.FILE
            return Entry(kind, self.digest(file, status.st_size)), status
        except OSError:
            return unreadable(status), status
        finally:
            os.close(file)

    def tree(self, folder: str, *, also: Collection[str] = ()) -> Generator[tuple[str, Entry, os.stat_result]]:
        """Yield every file below a folder that counts, read whole, with its status; `also` as in `walk`."""
        with closing(walk(folder, also=also)) as found:
            for path, entry, fd in found:
                self.work.next_file()
                status = status_of(path, entry, root=folder)
                item = self.entry(path.rpartition("/")[2], fd, status=status, whole=True) if status else None
                if item is not None:
                    yield path, *item

    def digest(self, file: int, size: int, *, told: Callable[[memoryview], None] | None = None) -> bytes:
        """Return the SHA-256 of an open file from where it stands; `told` sees every block of it."""
        if size < _SMALL and told is None:
            data = os.read(file, size + 1)
            if len(data) == size:  # one byte more was asked for, so this is the end
                return hashlib.sha256(data).digest()
            found = hashlib.sha256(data)
        else:
            found = hashlib.sha256()
        while count := os.readv(file, [self._buffer]):
            part = self._view[:count]
            found.update(part)
            if told is not None:
                told(part)
            self.work.go_on()
        return found.digest()

    def _ends(self, file: int, status: os.stat_result) -> bytes:
        found = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns} ".encode())
        self._update(found, file, 0)
        self._update(found, file, status.st_size - _END)
        return found.digest()

    def _update(self, found: "_Hash", file: int, start: int) -> None:
        end = start + _END
        while start < end and (data := os.pread(file, min(end - start, _BLOCK), start)):
            found.update(data)
            start += len(data)


def statuses(folder: str, *, also: Collection[str] = ()) -> Generator[tuple[str, os.stat_result]]:
    """Yield every file below a folder that counts, with its status; nothing is read. `also` as in `walk`."""
    with closing(walk(folder, also=also)) as found:
        for path, entry, _ in found:
            status = status_of(path, entry, root=folder)
            if status is not None:
                yield path, status


def status_of(path: str, entry: "os.DirEntry[str] | None", *, root: str) -> os.stat_result | None:
    """Return the status of what a walk found, its own and not a link's target's; None when it is gone."""
    try:
        return os.lstat(f"{root}/{path}") if entry is None else entry.stat(follow_symlinks=False)
    except OSError:
        return None


def digest_at(path: str) -> bytes | None:
    """Return the SHA-256 of the regular file at a resolved path; None when there is none that can be read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(os.open(path, OPEN_FLAGS), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return None


def unreadable(status: os.stat_result) -> Entry:
    """Return the entry of what cannot be read: another size, time or number is another thing."""
    known = f"{status.st_mode} {status.st_size} {status.st_mtime_ns} {status.st_ino}"
    return Entry(EntryKind.UNREADABLE, hashlib.sha256(known.encode()).digest())


def _special(name: str, fd: int, status: os.stat_result) -> tuple[Entry, os.stat_result] | None:
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        try:
            text = os.readlink(name, dir_fd=fd)
        except OSError:
            return None
        return Entry(EntryKind.LINK, hashlib.sha256(name_bytes(text)).digest()), status
    if stat.S_ISFIFO(mode):
        return Entry(EntryKind.FIFO), status
    if stat.S_ISSOCK(mode):
        return Entry(EntryKind.SOCKET), status
    if stat.S_ISDIR(mode):
        return unreadable(status), status
    return Entry(EntryKind.DEVICE), status
