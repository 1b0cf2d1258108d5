"""Running in a worker thread: the loop goes on, and a cancellation ends the process before it goes on."""

import asyncio
import os
import threading

import anyio
import pytest

from signoff.errors import PolicyError
from signoff.process import Ended, Stop, run_in_thread
from tests.process.running import PATIENCE, command, printed, wait_until


def test_the_report_is_the_same() -> None:
    """The coroutine returns what `run` returns, and the loop is free meanwhile."""
    turns = 0

    async def main() -> Ended:
        nonlocal turns
        async with anyio.create_task_group() as group:

            async def count() -> None:
                nonlocal turns
                while True:
                    await anyio.sleep(0.01)
                    turns += 1

            group.start_soon(count)
            given = command("sh", "-c", "sleep 0.3; echo done; exit 3")
            ended = await run_in_thread(given, timeout=PATIENCE, stop=Stop(), pipe="must_close")
            group.cancel_scope.cancel()
        return ended

    ended = anyio.run(main)
    assert (ended.exit_code, printed(ended)) == (3, b"done\n")
    assert turns > 5


def test_a_cancellation_waits_for_the_end_and_goes_on() -> None:
    """When the coroutine is cancelled, the process is dead before anything after it runs."""
    pids: list[int] = []

    async def main() -> tuple[bool, bool]:
        stop = Stop()
        ready = anyio.Event()

        async def watch() -> None:
            def note(chunk: bytes) -> None:
                pids.append(int(chunk))
                anyio.from_thread.run_sync(ready.set)

            given = command("sh", "-c", "echo $$; exec sleep 3600")
            await run_in_thread(given, timeout=None, stop=stop, pipe="must_close", on_output=note)
            pytest.fail("the cancellation was swallowed")

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await ready.wait()
            group.cancel_scope.cancel()
        return stop.requested, stop.immediate

    assert anyio.run(main) == (True, False)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_native_cancellation_is_no_different() -> None:
    """A task that the event loop itself cancels, twice even, does not leave a process behind."""
    pids: list[int] = []

    async def main() -> bool:
        stop = Stop()
        loop = asyncio.get_running_loop()
        ready = anyio.Event()

        def note(chunk: bytes) -> None:
            pids.append(int(chunk))
            loop.call_soon_threadsafe(ready.set)

        given = command("sh", "-c", "trap 'sleep 0.3; exit' TERM; echo $$; while :; do sleep 0.05; done")
        running = run_in_thread(given, timeout=None, stop=stop, pipe="may_linger", grace=PATIENCE, on_output=note)
        task = loop.create_task(running)
        await ready.wait()
        task.cancel()
        await anyio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return stop.requested

    assert anyio.run(main)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_cancellation_before_the_start_starts_nothing() -> None:
    """A coroutine that is cancelled already makes no process."""
    chunks: list[bytes] = []

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run_in_thread(
                command("echo", "x"), timeout=None, stop=Stop(), pipe="must_close", on_output=chunks.append
            )

    anyio.run(main)
    assert chunks == []


def test_a_mistake_of_the_caller_is_raised_as_it_is() -> None:
    """An error of the call reaches the caller, and not in a group of errors."""

    async def main() -> None:
        await run_in_thread(command("true"), timeout=-1, stop=Stop(), pipe="must_close")

    with pytest.raises(PolicyError, match="timeout"):
        anyio.run(main)


def test_no_thread_is_left() -> None:
    """With the loop, its threads have ended."""
    before = threading.active_count()

    async def main() -> None:
        for _ in range(5):
            await run_in_thread(command("true"), timeout=PATIENCE, stop=Stop(), pipe="must_close")

    anyio.run(main)
    assert wait_until(lambda: threading.active_count() <= before)  # one of another test may end meanwhile
