"""Knows which runs are live in a workspace, so that a change made while two were is counted for neither.

Every live run holds a lock on a file of its own in one folder for all projects; the system lets go of it when the
process ends, however it ends. There is no clock and no mutex: a run remembers which files stood without a holder when
it looked first, and all others were live at some time since. The file of a run that has ended is removed only while no
other run is live, because one that is may still have to see it.

A run that an agent starts is within the agent's own run: what it changes is that agent's work, and counts for it.

An agent of the same account can plant or remove files here. A planted one takes changes away from a run, and gives it
none; that a removed one goes unseen is not covered.
"""

import fcntl
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from signoff.config.private import unusable
from signoff.core.values import require_id
from signoff.errors import PolicyError

_SUFFIX = ".json"
_LONGEST = 64 * 1024
_DEEPEST = 16
"""Runs within runs that are told apart."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    """What the file of a live run says."""

    run_id: str
    workspace: str
    within: tuple[str, ...] = ()
    """The runs around this one, the nearest first."""
    pid: int = 0
    """For people."""


class RunLock:
    """Makes one run live from its construction to `close`.

    `within` is the id of the run whose agent started this one; a text that is no id means that there is none.
    """

    def __init__(self, folder: str, *, run_id: str, workspace: str, within: str = "") -> None:
        self.run_id = require_id(run_id, what="run id")
        self._folder = folder
        self._workspace = workspace
        self._gone: frozenset[str] = frozenset()
        self._seen: dict[str, None] = {}
        try:
            around = _around(folder, within)
            note = _Note(run_id=run_id, workspace=workspace, within=around, pid=os.getpid())
            self._fd = _take(folder, note)
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
        try:
            names = _names(self._folder)
        except OSError:
            return tuple(sorted(self._seen))  # the folder was taken away: nobody can be seen in it any more
        for name in names:
            run_id = name.removesuffix(_SUFFIX)
            if name not in self._gone and run_id != self.run_id:
                note = _note(self._folder, name)
                if note is None or (self.run_id not in note.within and _overlap(note.workspace, self._workspace)):
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
    notes = {name: _note(folder, name) for name in names if _is_held(folder, name)}
    found = [name for name, note in notes.items() if note is None or _overlap(note.workspace, workspace)]
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found))


def _take(folder: str, note: _Note) -> int:
    """Make the file of a run, held before it can be seen, and return what holds it."""
    hidden, name = Path(folder, f".{note.run_id}.{note.pid}"), Path(folder, note.run_id + _SUFFIX)
    fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, msgspec.json.encode(note))
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


def _note(folder: str, name: str) -> _Note | None:
    """What a file says; None when it is gone or says nothing that can be read."""
    try:
        fd = _open(folder, name)
        try:
            return msgspec.json.decode(os.read(fd, _LONGEST), type=_Note)
        finally:
            os.close(fd)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _around(folder: str, within: str) -> tuple[str, ...]:
    """A run and the runs around it, the nearest first."""
    try:
        require_id(within, what="run id")
    except PolicyError:
        return ()
    note = _note(folder, within + _SUFFIX)
    return (within, *(note.within if note is not None else ()))[:_DEEPEST]


def _overlap(one: str, two: str) -> bool:
    """Whether one workspace is the other, or around or in it."""
    here, there = Path(one), Path(two)
    return here == there or here in there.parents or there in here.parents


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
