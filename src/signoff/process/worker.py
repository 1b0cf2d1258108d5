"""Runs a process, or other work that waits and hashes, in a worker thread for callers on the event loop.

Only the hand-over belongs here: a cancellation must end the process before it goes on to the caller.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal, TypeVar

import anyio
import anyio.to_thread

from signoff.process.child import Command
from signoff.process.command import Ended, run
from signoff.process.stop import Stop

T = TypeVar("T")


async def run_in_thread(
    command: Command,
    *,
    timeout: float | None,  # noqa: ASYNC109 - the process's, not this coroutine's
    stop: Stop,
    pipe: Literal["must_close", "may_linger"],
    grace: float = 5.0,
    on_output: Callable[[bytes], object] | None = None,
) -> Ended:
    """Run the command in a thread of its own, as `run` does.

    A cancellation requests the stop, waits until the process and its session are dead, and then goes on. Runs that may
    be cancelled apart need a stop each. `on_output` is called in the thread.
    """

    def call() -> Ended:
        return run(command, timeout=timeout, stop=stop, pipe=pipe, grace=grace, on_output=on_output)

    # A limiter of its own: hours of an agent must not take a thread from the pool that everything else shares.
    return await in_thread(call, end=stop.request, limiter=anyio.CapacityLimiter(1))


async def in_thread(
    call: Callable[[], T], *, end: Callable[[], None], limiter: anyio.CapacityLimiter | None = None
) -> T:
    """Do work in a thread; a cancellation calls `end`, waits until the work has ended, and goes on to the caller."""
    outcome: Future[T] = Future()
    over = anyio.Event()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed over to the caller, not swallowed
            outcome.set_exception(error)

    async def wait() -> None:
        await anyio.to_thread.run_sync(work, limiter=limiter)
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        try:
            await over.wait()
        except anyio.get_cancelled_exc_class():
            end()
            raise
    return outcome.result()
