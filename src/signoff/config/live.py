"""Knows which runs are live in a workspace, so that a change made while two were is counted for neither.

Every live run holds a lock on a file of its own in one folder for all projects; the system lets go of it when the
process ends, however it ends. There is no clock and no mutex: a run remembers which files stood without a holder when
it looked first, and all others were live at some time since. The file of a run that has ended is removed only while no
other run is live, because one that is may still have to see it.

An agent of the same account can plant or remove files here. A planted one takes changes away from a run, and gives it
none; that a removed one goes unseen is not covered.
"""

import fcntl
import json
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from signoff.config.private import unusable
from signoff.core.canonical import parse
from signoff.core.values import require_id
from signoff.errors import CanonicalError

_SUFFIX = ".json"
_LONGEST = 64 * 1024
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RunLock:
    """Makes one run live from its construction to `close`."""

    def __init__(self, folder: str, *, run_id: str, workspace: str) -> None:
        self.run_id = require_id(run_id, what="run id")
        self._folder = folder
        self._workspace = workspace
        self._gone: frozenset[str] = frozenset()
        self._seen: dict[str, None] = {}
        try:
            self._fd = _take(folder, run_id, {"pid": os.getpid(), "run_id": run_id, "workspace": workspace})
            self.mark()
        except OSError as error:
            raise unusable(folder, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def mark(self) -> None:
        """Take this as the moment since when others count: the baseline is about to be looked at."""
        names = _names(self._folder)
        self._gone = frozenset(name for name in names if not _is_held(self._folder, name))
        self._seen = {}
        self.shared_with()

    def shared_with(self) -> tuple[str, ...]:
        """Return the ids of the other runs that were live in this workspace, or around or in it, since the mark."""
        for name in _names(self._folder):
            run_id = name.removesuffix(_SUFFIX)
            if name not in self._gone and run_id != self.run_id and _overlaps(self._folder, name, self._workspace):
                self._seen[run_id] = None
        return tuple(sorted(self._seen))

    def close(self) -> None:
        """Let go; a second time does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            _sweep(self._folder)


def live_in(folder: str, *, workspace: str) -> tuple[str, ...]:
    """Return the ids of the runs that are live now in a workspace, or around or in it."""
    try:
        names = _names(folder)
    except OSError as error:
        raise unusable(folder, error) from None
    held = (name for name in names if _overlaps(folder, name, workspace) and _is_held(folder, name))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in held))


def _take(folder: str, run_id: str, note: dict[str, object]) -> int:
    """Make the file of a run, held before it can be seen, and return what holds it."""
    hidden, name = Path(folder, f".{run_id}.{os.getpid()}"), Path(folder, run_id + _SUFFIX)
    fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, json.dumps(note).encode())
        hidden.rename(name)
    except OSError:
        os.close(fd)
        hidden.unlink(missing_ok=True)
        raise
    return fd


def _names(folder: str) -> list[str]:
    try:
        names = [path.name for path in Path(folder).iterdir()]
    except FileNotFoundError:
        return []
    return [name for name in names if name.endswith(_SUFFIX) and not name.startswith(".")]


def _is_held(folder: str, name: str) -> bool:
    """Whether a process has the lock of a file; one that is there and cannot be asked is taken for held."""
    try:
        fd = _open(folder, name)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _overlaps(folder: str, name: str, workspace: str) -> bool:
    """Whether a run works in, around or below a workspace; one that does not say where is taken to."""
    try:
        fd = _open(folder, name)
        try:
            note = parse(os.read(fd, _LONGEST))
        finally:
            os.close(fd)
    except (OSError, CanonicalError):
        return True
    other = note.get("workspace") if isinstance(note, dict) else None
    if not isinstance(other, str):
        return True
    one, two = Path(workspace), Path(other)
    return one == two or one in two.parents or two in one.parents


def _open(folder: str, name: str) -> int:
    fd = os.open(Path(folder, name), _FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise IsADirectoryError
    return fd


def _sweep(folder: str) -> None:
    """Remove the files of ended runs while no run is live: looked for after they were seen to be without a holder."""
    try:
        ended = [name for name in _names(folder) if not _is_held(folder, name)]
        if not any(_is_held(folder, name) for name in _names(folder)):
            for name in ended:
                Path(folder, name).unlink(missing_ok=True)
    except OSError:
        return  # what is left is removed after a later run
