"""Runs one process to its end and tells the truth about it: a check's command, or an agent's.

It reports and never judges: what an exit code, a timeout or a held pipe is worth is decided elsewhere. A process that
fails in any way is a value. `run` is synchronous and is called in a worker thread; there is no event loop here.
"""

import enum
import math
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from signoff.errors import PolicyError
from signoff.process import group
from signoff.process.child import PIPE_SIZE, Child, Command, launch
from signoff.process.holders import holders_of
from signoff.process.output import Drain, Output
from signoff.process.stop import Stop
from signoff.process.watch import Watch

_LINGER = 0.5


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How one process ended, and what it printed."""

    started: bool
    exit_code: int | None = None
    """128 and the signal's number for a death by signal. None unless it ended by itself and its status is known."""
    error: str = ""
    """Why it was not started, or why its status is not known; else empty."""
    timed_out: bool = False
    """Whether the timeout ended the run. The process itself may have exited before, with `exit_code`: see `held_by`."""
    stopped: bool = False
    """Whether the request to stop ended the run, or kept it from starting."""
    output: Output | None = None
    """None when it was not started."""
    held_by: tuple[str, ...] = ()
    """Who still held the output pipe when the process itself had ended, as `pid 123 (sleep 3600)`."""
    duration_seconds: float = 0.0
    killed_leftovers: int = 0
    """Processes of its session that it left running when it exited by itself, and that were ended then."""
    remaining: tuple[str, ...] = ()
    """What of its session could not be ended: normally nothing."""
    listener_failures: int = 0
    """How often `on_output` raised; draining went on."""
    listener_error: str = ""
    """What it raised first."""


class _Why(enum.Enum):
    OVER = enum.auto()
    TIMED_OUT = enum.auto()
    STOPPED = enum.auto()


def run(
    command: Command,
    *,
    timeout: float | None,
    stop: Stop,
    pipe: Literal["must_close", "may_linger"],
    grace: float = 5.0,
    on_output: Callable[[bytes], object] | None = None,
) -> Ended:
    """Run the command and return when its session is dead and its output read.

    With `must_close` (a check) the run lasts until the process has exited and its output pipe is closed, so whoever
    keeps the pipe open lets it run into the timeout; then everything is killed. With `may_linger` (an agent) half a
    second is left for last output once the process has exited; what still runs then, and the agent itself at a timeout
    or stop, gets SIGTERM and `grace` seconds before it is killed. `on_output` is told everything that is read, in
    chunks of at most 64 KiB, in the calling thread; it must not block, since nothing is watched meanwhile.
    """
    for name, seconds in (("timeout", timeout), ("grace", grace)):
        if seconds is not None and not seconds >= 0:
            raise PolicyError(f"the {name} of a process is {seconds}; nothing was started. Give it 0 or more seconds.")
    begun = time.monotonic()
    if stop.requested:
        return Ended(started=False, stopped=True, error="a stop was requested before it was started")
    child = launch(command)
    if not isinstance(child, Child):
        return Ended(started=False, error=child, duration_seconds=time.monotonic() - begun)
    watch = Watch(child, Drain(child.output, on_output), stop)
    try:
        why = _until_over(watch, begun + (math.inf if timeout is None else timeout), pipe)
        ended = _end(watch, why, grace if pipe == "may_linger" else None)
    except BaseException:
        group.kill(watch)  # an interrupt must not leave a process behind
        raise
    finally:
        child.close()
    return msgspec.structs.replace(ended, duration_seconds=time.monotonic() - begun)


def _until_over(watch: Watch, deadline: float, pipe: Literal["must_close", "may_linger"]) -> _Why:
    while not (watch.child.exited and (pipe == "may_linger" or not watch.drain.open)):
        if watch.stop.requested:
            return _Why.STOPPED
        if time.monotonic() >= deadline:
            return _Why.TIMED_OUT
        watch.step(deadline)
    end = time.monotonic() + _LINGER
    while watch.drain.open and time.monotonic() < end and not watch.stop.requested:
        watch.step(end)
    return _Why.OVER


def _end(watch: Watch, why: _Why, grace: float | None) -> Ended:
    child, drain = watch.child, watch.drain
    watch.ignore_stop()
    child.look()
    by_itself, exit_code = child.exited, child.exit_code
    held_by = _holders(drain) if by_itself else ()
    left = group.leftovers(watch) if by_itself else 0
    if grace is not None and (left or not by_itself):
        group.ask_to_end(watch, grace)
    remaining = group.kill(watch)
    escaped = _holders(drain)
    return Ended(
        started=True,
        exit_code=exit_code,
        error="something else in this process took its exit status" if by_itself and exit_code is None else "",
        timed_out=why is _Why.TIMED_OUT,
        stopped=why is _Why.STOPPED,
        held_by=held_by or escaped,
        killed_leftovers=left,
        remaining=remaining,
        output=drain.result(),
        listener_failures=drain.listener_failures,
        listener_error=drain.listener_error,
    )


def _holders(drain: Drain) -> tuple[str, ...]:
    """Read what is in the pipe, and name who could still write to it."""
    drain.take_rest(PIPE_SIZE)
    return holders_of(drain.fd) if drain.held() else ()
