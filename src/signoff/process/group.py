"""Ends what a process started, because a process that outlives its check can still change what was checked.

A process is started as the leader of a session. All of that session is ended: its group, and the groups that a shell
with job control made in it. What moved to a session of its own is out of reach here. Nothing here may judge the end.
"""

import contextlib
import os
import signal
import time

from signoff.process.child import Child
from signoff.process.holders import listed, members, named
from signoff.process.watch import Watch

_TICK = 0.05
_SETTLE = 0.02
_DEATH_DEADLINE = 10.0


def leftovers(watch: Watch) -> int:
    """Return how many processes of the session outlive their leader, which has exited.

    A process in the middle of its exit is given a moment. Where processes are not listed, 1 stands for one or more.
    """
    if not _alive(watch.child):
        return 0
    _let_pass(watch, _SETTLE)
    return len(_alive(watch.child))


def ask_to_end(watch: Watch, grace: float) -> None:
    """Send SIGTERM to the session and wait until it is gone, until grace is over, or until a stop without grace."""
    _send(watch.child, signal.SIGTERM)
    _send(watch.child, signal.SIGCONT)  # a stopped process would not hear the other one
    end = time.monotonic() + grace
    while not (watch.child.exited and not _alive(watch.child)):
        now = time.monotonic()
        if now >= end or watch.stop.immediate:
            return
        watch.step(min(end, now + _TICK))


def kill(watch: Watch) -> tuple[str, ...]:
    """Kill the session, wait until it is dead, and name what is alive after ten seconds: normally nothing.

    The leader is waited for, so no zombie is left of it.
    """
    end = time.monotonic() + _DEATH_DEADLINE
    remaining = _kill_once(watch.child)
    while remaining and time.monotonic() < end:
        watch.step(time.monotonic() + _SETTLE)
        remaining = _kill_once(watch.child)
    if watch.child.exited:
        watch.child.reap()
    return named(list(remaining))


def _kill_once(child: Child) -> tuple[int, ...]:
    # The number of a reaped leader names its group only as long as the group has members.
    if not child.reaped or _alive(child):
        _send(child, signal.SIGKILL)
    child.look()
    leader = () if child.exited else (child.pid,)
    return (*leader, *_alive(child))


def _let_pass(watch: Watch, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watch.step(end)


def _alive(child: Child) -> tuple[int, ...]:
    """Return who of the session is alive but for its leader, or minus the group's number if nobody can be listed."""
    if listed():
        return tuple(process.pid for process in members(child.pid))
    if not child.exited:
        return ()
    child.reap()  # while its zombie is a member, the group would seem to be alive
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return ()
    return (-child.pid,)


def _send(child: Child, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
    for process in members(child.pid):
        if process.group != child.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)
