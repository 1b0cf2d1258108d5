"""Runs a process in a worker thread for callers on the event loop, because `run` waits and hashes.

Only the hand-over belongs here: a cancellation must end the process before it goes on to the caller.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal

import anyio
import anyio.to_thread

from signoff.process.child import Command
from signoff.process.command import Ended, run
from signoff.process.stop import Stop


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
    outcome: Future[Ended] = Future()
    over = anyio.Event()

    def call() -> None:
        try:
            outcome.set_result(
                run(command, timeout=timeout, stop=stop, pipe=pipe, grace=grace, on_output=on_output),
            )
        except BaseException as error:  # noqa: BLE001 - handed over to the caller, not swallowed
            outcome.set_exception(error)

    async def work() -> None:
        # A limiter of its own: hours of an agent must not take a thread from the pool that everything else shares.
        await anyio.to_thread.run_sync(call, limiter=anyio.CapacityLimiter(1))
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        try:
            await over.wait()
        except anyio.get_cancelled_exc_class():
            stop.request()
            raise
    return outcome.result()
