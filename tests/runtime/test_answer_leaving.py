"""A response has ended with its iteration: how its client is left afterwards takes nothing away from it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager

import anyio
import pytest

from signoff.core.boundary import BoundaryReason
from signoff.core.budget import TaskLimits, TaskUsage
from signoff.core.generation import Answer, GenerationLimits
from signoff.core.model.deltas import Delta, TextDelta
from signoff.core.model.request import ModelRequest
from signoff.errors import ProtocolViolation
from signoff.runtime.answer import answer
from signoff.runtime.clock import HostClock
from signoff.runtime.left_behind import LEFT_BEHIND
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock, reply
from tests.models.asking import run
from tests.runtime.answering import PLAIN, Heard, OwnModel, OwnStream, bounded, is_stopped, is_usable, reasons

LIMITS = GenerationLimits(total=50, idle=50)
DONE = reply("Done.", usage=(10, 5))


async def whole(_: ModelRequest) -> AsyncIterator[Delta]:
    """A response in one delta."""
    yield TextDelta("Done.")


class Leaving(OwnModel):
    """A model that answers at once, and does something while its response is left."""

    def __init__(self, leave: Callable[[], Awaitable[object]]) -> None:
        super().__init__(whole, DONE)
        self.leave = leave

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[OwnStream]:
        """Play the response, and leave it."""
        async with super().stream(request) as stream:
            yield stream
        await self.leave()


def left_by(
    leave: Callable[[], Awaitable[object]], *, grace: float = 5.0, clock: FakeClock | None = None
) -> tuple[Answer, float]:
    """The answer of a model that is left like this, and the seconds that it took; it is charged once."""
    found: list[Answer] = []
    took: list[float] = []

    async def asking() -> None:
        model, task, loop = Leaving(leave), ModelTask(TaskLimits(max_calls=9)), asyncio.get_running_loop()
        began = loop.time()
        with anyio.fail_after(10):
            settings = bounded(limits=LIMITS, grace=grace)
            found.append(await answer(model, PLAIN, settings=settings, task=task, clock=clock))
        took.append(loop.time() - began)
        assert task.usage == TaskUsage(calls=1, input_tokens=10, output_tokens=5, tokens=15)
        assert (model.calls, task.under_way) == (1, 0)

    run(asking)
    return found[0], took[0]


def test_a_slow_leave_is_waited_for_and_costs_nothing() -> None:
    """The deadlines of the answer and of silence are over; the response is taken, and asked for once."""
    clock, ended = FakeClock(), list[str]()

    async def slow() -> None:
        clock.advance(60)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        ended.append("left")

    given, _ = left_by(slow, clock=clock)
    assert (is_usable(given).text, reasons(given), ended) == ("Done.", [None], ["left"])
    assert not given.attempts[0].left_behind


def test_a_leave_that_hangs_has_the_grace_period() -> None:
    """Then it is cancelled, without a word of a provider that had cancelled."""
    given, took = left_by(anyio.sleep_forever, grace=0.1)
    assert (is_usable(given).text, given.receipts) == ("Done.", ())
    assert 0.09 < took < 2


def test_a_leave_that_ignores_its_cancellation_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    """The answer is given all the same, and the client has an owner to its end."""
    before = LEFT_BEHIND.total

    async def asking() -> None:
        released = asyncio.Event()

        async def deaf() -> None:
            while not released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await released.wait()

        with anyio.fail_after(10):
            given = await answer(Leaving(deaf), PLAIN, settings=bounded(grace=0.05))
        assert (is_usable(given).text, given.attempts[0].left_behind) == ("Done.", True)
        assert (LEFT_BEHIND.total - before, LEFT_BEHIND.running) == (1, 1)
        released.set()
        while LEFT_BEHIND.running:
            await anyio.lowlevel.checkpoint()

    run(asking)
    assert "was left behind" in caplog.text


@pytest.mark.parametrize("fault", [ConnectionResetError("a secret"), ZeroDivisionError(), asyncio.CancelledError()])
def test_a_leave_that_fails_takes_nothing_away(fault: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    """The response was whole before; a fault is logged by its type."""

    async def fail() -> None:
        raise fault

    given, _ = left_by(fail)
    assert (is_usable(given).response.complete, reasons(given)) == (True, [None])
    assert ("while its response was left" in caplog.text) is isinstance(fault, Exception)
    assert "a secret" not in caplog.text


def test_a_cancelled_caller_does_not_wait_for_a_leave() -> None:
    """The leave is cancelled with it at once, and the call is charged with its usage."""
    task, heard = ModelTask(TaskLimits(max_calls=9)), Heard()

    async def asking() -> None:
        leaving = anyio.Event()

        async def hang() -> None:
            leaving.set()
            await anyio.sleep_forever()

        began = asyncio.get_running_loop().time()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(
                    lambda: answer(Leaving(hang), PLAIN, task=task, listener=heard, settings=bounded(grace=30))
                )
                await leaving.wait()
                scope.cancel()
        assert asyncio.get_running_loop().time() - began < 5

    run(asking)
    assert [attempt.reason for attempt in heard.attempts] == [BoundaryReason.CALLER_CANCELLED]
    assert (task.usage.calls, task.usage.tokens, task.under_way) == (1, 15, 0)


@pytest.mark.parametrize("fault", [None, ConnectionResetError()])
def test_an_end_without_a_record_is_no_answer(fault: Exception | None) -> None:
    """A model that gives none is at fault; with the network's fault beside it, that is what happened."""

    class Silent(Leaving):
        def __init__(self) -> None:
            super().__init__(self.fail)
            self._given = None

        async def fail(self) -> None:
            if fault is not None:
                raise fault

    async def asking() -> None:
        if fault is None:
            with pytest.raises(ProtocolViolation, match="gave no record"):
                await answer(Silent(), PLAIN)
        else:
            end = is_stopped(await answer(Silent(), PLAIN, settings=bounded(attempts=1)))
            assert (end.reason, end.text) == (BoundaryReason.PROVIDER_FAILED, "Done.")

    run(asking)


def test_a_deadline_holds_by_a_clock_that_stands_still() -> None:
    """A wait that has ended counts, whatever the clock shows then."""

    class Still(HostClock):
        def seconds(self) -> float:
            return 5.0

        def move_on_at(self, seconds: float) -> AbstractContextManager[object]:
            return anyio.move_on_after(seconds - 5.0)

    async def silent(_: ModelRequest) -> AsyncIterator[Delta]:
        await anyio.sleep_forever()
        yield TextDelta("never")

    async def asking() -> None:
        settings = bounded(limits=GenerationLimits(total=0.05))
        with anyio.fail_after(5):
            end = is_stopped(await answer(OwnModel(silent), PLAIN, settings=settings, clock=Still()))
        assert end.reason is BoundaryReason.CALL_DEADLINE_EXCEEDED

    run(asking)
