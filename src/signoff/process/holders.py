"""Looks at the machine's processes, because only the system knows who holds a pipe or is still in a session.

Read-only: nothing here may signal a process, and nothing may wait for one. Where there is no /proc of this process
namespace (macOS, an unmounted or foreign /proc) the answer is a sentence, never a guess.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

MOST_NAMED = 8
"""How many processes are named at most; the last name stands for the rest when there are more."""

_NAME_LIMIT = 200
_SCAN_SECONDS = 2.0
_READ_LIMIT = 4096
_PROC = Path("/proc")
_GONE = frozenset("ZXx")


class Process(msgspec.Struct, frozen=True):
    """One process as the system lists it."""

    pid: int
    state: str
    """One letter; Z is a process that has ended and was not waited for."""
    group: int
    session: int


def listed() -> bool:
    """Return whether this system lists processes by the ids that this process sees."""
    try:
        return (_PROC / "self").readlink() == Path(str(os.getpid()))
    except OSError:
        return False


def members(session: int) -> Iterator[Process]:
    """Yield the processes of a session that are alive, but for its leader; nothing where processes are not listed."""
    if not listed():
        return
    for pid in _pids():
        process = _read(pid)
        if process and process.session == session and pid != session and process.state not in _GONE:
            yield process


def holders_of(pipe: int) -> tuple[str, ...]:
    """Name the other processes that hold this pipe open, eight at most and in two seconds at most."""
    if not listed():
        return ("a process that cannot be named: this system does not list its processes",)
    target = f"pipe:[{os.fstat(pipe).st_ino}]"
    give_up = time.monotonic() + _SCAN_SECONDS
    found = []
    for pid in _pids():
        if pid != os.getpid() and _holds(pid, target):
            found.append(pid)
        if time.monotonic() > give_up:
            break
    return named(found) or ("a process that cannot be named: this account may not look into it",)


def named(pids: list[int]) -> tuple[str, ...]:
    """Name processes for people, each as `pid 123 (sleep 3600)` in 200 characters at most; minus 123 is a group."""
    if len(pids) <= MOST_NAMED:
        return tuple(_name(pid) for pid in pids)
    shown = [_name(pid) for pid in pids[: MOST_NAMED - 1]]
    return (*shown, f"and {len(pids) - len(shown)} more")


def _pids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)


def _read(pid: int) -> Process | None:
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None  # it ended while the list was read
    # The name of the program stands in parentheses and may hold any byte, so the fields count from the last one.
    fields = line.rpartition(b")")[2].split(maxsplit=4)
    return Process(pid, fields[0].decode("ascii"), int(fields[2]), int(fields[3]))


def _holds(pid: int, target: str) -> bool:
    try:
        for entry in (_PROC / str(pid) / "fd").iterdir():
            if _link(entry) == target:
                return True
    except OSError:
        return False  # it ended, or belongs to another account
    return False


def _link(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""  # closed while the list was read


def _name(pid: int) -> str:
    if pid < 0:
        return f"processes of group {-pid}"
    try:
        with (_PROC / str(pid) / "cmdline").open("rb") as file:
            line = file.read(_READ_LIMIT)
        line = line or (_PROC / str(pid) / "comm").read_bytes()
    except OSError:
        line = b""
    words = line.replace(b"\0", b" ").strip().decode("utf-8", "backslashreplace")
    # A process chooses its own command line: control characters must not reach a terminal.
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in words)
    start = f"pid {pid} ("
    room = _NAME_LIMIT - len(start) - 1
    return f"{start}{shown if len(shown) <= room else shown[: room - 1] + '…'})"
