"""Cancellation of an answer, by its caller or by its task, with real sockets: it goes on, and it is recorded."""

import asyncio

import anyio
import pytest

from signoff.core.boundary import BoundaryReason
from signoff.core.budget import TaskLimits
from signoff.core.generation import Answer, GenerationLimits
from signoff.core.model.response import Failure, FailureKind
from signoff.runtime.answer import answer
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock
from tests.models.asking import run
from tests.runtime.answering import (
    PLAIN,
    WITH_TOOLS,
    Heard,
    OwnModel,
    bounded,
    is_stopped,
    only_receipt,
    playing,
    reasons,
    talking,
)

CANCELLED = BoundaryReason.CALLER_CANCELLED
BUSY = Failure(kind=FailureKind.RATE_LIMITED, where="http", retry_after=7)


# ── The caller ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.scenario("MB-054")
def test_a_cancellation_reaches_the_caller_and_is_recorded() -> None:
    """The call is ended, charged and told to the listener, and then the cancellation goes on."""
    task, heard = ModelTask(TaskLimits(max_calls=3)), Heard()

    async def asking() -> None:
        async with playing(talking(3)) as (server, model):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(lambda: answer(model, PLAIN, task=task, listener=heard))
                    await heard.begun.wait()
                    scope.cancel()
            assert scope.cancelled_caught
            await server.requests[0].until_left()
            assert server.requests[0].closed_by_client

    run(asking)
    (attempt,) = heard.attempts
    assert attempt.receipt is not None
    assert (attempt.reason, attempt.receipt.reason, attempt.left_behind) == (CANCELLED, CANCELLED, False)
    assert attempt.response.text.startswith("w000 ")
    assert attempt.response.failure == Failure(kind=FailureKind.CANCELLED, where="host")
    assert (task.usage.calls, task.usage.calls_without_usage, task.under_way) == (1, 1, 0)


@pytest.mark.scenario("MB-054")
def test_a_cancellation_without_a_scope_reaches_the_caller() -> None:
    """A task of the event loop that is cancelled ends cancelled, with the same record."""
    heard = Heard()

    async def asking() -> None:
        async with playing(talking(3)) as (_, model):
            task = asyncio.get_running_loop().create_task(_asked(model, heard))
            await heard.begun.wait()
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()

    async def _asked(model: OwnModel | object, heard: Heard) -> None:
        await answer(model, PLAIN, listener=heard)  # type: ignore[arg-type]

    run(asking)
    assert [attempt.reason for attempt in heard.attempts] == [CANCELLED]


def test_a_cancelled_task_stops_its_calls() -> None:
    """Whoever shares the task gets a typed stop, and no further call."""
    task = ModelTask(TaskLimits(max_calls=9))
    heard = Heard(task.cancel)
    found: list[Answer] = []

    async def asking() -> None:
        async with playing(talking(3)) as (_, model):
            found.append(await answer(model, WITH_TOOLS, task=task, listener=heard))
            found.append(await answer(model, WITH_TOOLS, task=task, listener=heard))

    run(asking)
    first, second = (is_stopped(given) for given in found)
    assert (first.reason, first.recoverable, reasons(first)) == (CANCELLED, True, [CANCELLED])
    assert only_receipt(first).partial_characters == 5
    assert (second.reason, second.response, second.attempts) == (CANCELLED, None, ())
    assert (task.usage.calls, task.under_way) == (1, 0)


def test_a_cancelled_task_ends_a_wait() -> None:
    """Between two attempts nothing is under way, and what came before is given."""
    found: list[Answer] = []

    async def asking() -> None:
        clock, task = FakeClock(), ModelTask(TaskLimits(max_calls=9))

        async def cancel() -> None:
            await clock.waited_for()
            task.cancel()

        async with playing(BUSY) as (_, model), anyio.create_task_group() as group:
            group.start_soon(cancel)
            found.append(await answer(model, PLAIN, task=task, clock=clock))

    run(asking)
    end = is_stopped(found[0])
    assert (end.reason, reasons(end)) == (CANCELLED, [BoundaryReason.PROVIDER_FAILED])
    assert end.response is not None


def test_a_task_that_is_cancelled_at_the_deadline_has_no_repair() -> None:
    """The stream is cut at its deadline; the repair would be a further call."""

    async def asking() -> None:
        clock = FakeClock()
        task = ModelTask(TaskLimits(max_calls=9), clock=clock)

        def hear() -> None:
            clock.advance(1)
            if clock.seconds() == 5:
                asyncio.get_running_loop().call_soon(task.cancel)

        async with playing(talking()) as (server, model):
            settings = bounded(limits=GenerationLimits(active=5))
            given = await answer(model, WITH_TOOLS, settings=settings, task=task, clock=clock, listener=Heard(hear))
            assert is_stopped(given).reason is BoundaryReason.ACTIVE_STREAM_OVER_BUDGET
            assert (task.cancelled, len(server.requests)) == (True, 1)

    run(asking)
