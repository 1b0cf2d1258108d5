"""Clients of models that misbehave, written by the test: nobody waits for them for ever, and no fault is hidden."""

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest

from signoff.core.boundary import BoundaryReason
from signoff.core.budget import TaskLimits
from signoff.core.generation import GenerationLimits
from signoff.core.model.deltas import CallStarted, Delta, TextDelta
from signoff.core.model.parts import CallPart, TextPart
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import End, Failure, FailureKind
from signoff.errors import ProtocolViolation
from signoff.runtime.answer import answer
from signoff.runtime.left_behind import LEFT_BEHIND
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock, reply
from tests.models.asking import run
from tests.runtime.answering import (
    PLAIN,
    Heard,
    OwnModel,
    bounded,
    is_stopped,
    only_receipt,
)

CANCELLED = BoundaryReason.CALLER_CANCELLED
BUSY = Failure(kind=FailureKind.RATE_LIMITED, where="http", retry_after=7)


# ── Clients that do not end ──────────────────────────────────────────────────────────────────────────────────────────


class Deaf:
    """A client that ignores its cancellation until the test lets it go, and then fails."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.ignored = 0

    async def play(self, _: ModelRequest) -> AsyncIterator[Delta]:
        """Begin a call, and never end."""
        yield TextDelta("Well. ")
        yield CallStarted(index=0, call_id="c1", name="write")
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.ignored += 1
        raise RuntimeError("late and loud")


@pytest.mark.scenario("MB-056")
def test_a_client_that_ignores_cancellation_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    """At the deadline the answer is given within the grace period; what the client does later hurts nobody."""

    async def asking() -> None:
        deaf, before = Deaf(), LEFT_BEHIND.total
        model, task = OwnModel(deaf.play), ModelTask(TaskLimits(max_calls=2))
        loop = asyncio.get_running_loop()
        began = loop.time()
        limits = GenerationLimits(total=0.05)
        end = is_stopped(await answer(model, PLAIN, settings=bounded(limits=limits, grace=0.1), task=task))
        assert 0.14 < loop.time() - began < 2
        assert (end.reason, end.text) == (BoundaryReason.CALL_DEADLINE_EXCEEDED, "Well. ")
        (attempt,) = end.attempts
        assert attempt.left_behind
        assert attempt.response.parts == (
            TextPart(text="Well. "),
            CallPart(call_id="c1", name="write", arguments="", closed=False),
        )
        assert attempt.response.failure == Failure(kind=FailureKind.DEADLINE, where="host")
        assert (task.usage.calls_without_usage, task.under_way) == (1, 0)
        assert (LEFT_BEHIND.total - before, LEFT_BEHIND.running, deaf.ignored) == (1, 1, 1)
        deaf.released.set()
        while LEFT_BEHIND.running:
            await anyio.lowlevel.checkpoint()

    run(asking)
    assert "was left behind" in caplog.text
    assert "ended in RuntimeError" in caplog.text


@pytest.mark.scenario("MB-056")
def test_a_cancelled_caller_is_not_held_up_by_its_client() -> None:
    """The cancellation goes on to the caller after the grace period."""

    async def asking() -> None:
        deaf, heard = Deaf(), Heard()
        model = OwnModel(deaf.play)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: answer(model, PLAIN, settings=bounded(grace=0.05), listener=heard))
                await heard.begun.wait()
                scope.cancel()
        assert [(attempt.reason, attempt.left_behind) for attempt in heard.attempts] == [(CANCELLED, True)]
        deaf.released.set()
        while LEFT_BEHIND.running:
            await anyio.lowlevel.checkpoint()

    run(asking)


def test_a_client_that_goes_on_after_its_cancellation_is_ended_by_its_next_delta() -> None:
    """Nothing more of it is heard, and it need not be left behind."""
    clock, heard = FakeClock(), Heard()

    async def goes_on(_: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("one ")
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            yield TextDelta("two ")
            yield TextDelta("three ")

    async def asking() -> None:
        async def move() -> None:
            await heard.begun.wait()
            clock.advance(await clock.waited_for())

        async with anyio.create_task_group() as group:
            group.start_soon(move)
            settings = bounded(limits=GenerationLimits(total=5))
            end = is_stopped(await answer(OwnModel(goes_on), PLAIN, settings=settings, clock=clock, listener=heard))
        assert (end.text, end.attempts[0].left_behind, heard.deltas) == ("one ", False, [TextDelta("one ")])

    run(asking)


# ── Clients that fail ────────────────────────────────────────────────────────────────────────────────────────────────


class ReadTimeout(Exception):
    """A timeout that derives from nothing in particular."""


def failing(error: BaseException) -> OwnModel:
    """A model whose client raises after its first delta."""

    async def play(_: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("Half. ")
        raise error

    return OwnModel(play)


@pytest.mark.scenario("MB-053")
@pytest.mark.parametrize("error", [TimeoutError("slow"), ReadTimeout("slow")])
def test_a_client_that_raises_its_timeout(error: Exception) -> None:
    """It is the provider's, whatever the client calls it, and may use the attempts."""

    async def asking() -> None:
        model, task = failing(error), ModelTask(TaskLimits(max_calls=9))
        limits = GenerationLimits(total=60, idle=50)
        end = is_stopped(await answer(model, PLAIN, settings=bounded(limits=limits, attempts=1), task=task))
        assert (end.reason, end.recoverable, end.text) == (BoundaryReason.PROVIDER_TIMEOUT, True, "Half. ")
        assert only_receipt(end).reason is BoundaryReason.PROVIDER_TIMEOUT
        assert (task.usage.calls, task.under_way) == (1, 0)

    run(asking)


def test_a_client_that_is_cancelled_by_its_provider() -> None:
    """Nobody here had asked for it, so that it is not the caller's."""

    async def asking() -> None:
        end = is_stopped(await answer(failing(asyncio.CancelledError()), PLAIN))
        assert (end.reason, end.text) == (BoundaryReason.PROVIDER_CANCELLED, "Half. ")
        assert only_receipt(end).reason is BoundaryReason.PROVIDER_CANCELLED

    run(asking)


def test_a_client_that_loses_its_connection() -> None:
    """It is a failure of the provider."""

    async def asking() -> None:
        end = is_stopped(await answer(failing(ConnectionResetError()), PLAIN, settings=bounded(attempts=1)))
        assert (end.reason, end.receipts) == (BoundaryReason.PROVIDER_FAILED, ())
        assert end.response is not None
        assert (end.response.end, end.response.failure) == (
            End.TRANSPORT,
            Failure(kind=FailureKind.CONNECTION, where="transport"),
        )

    run(asking)


def test_a_fault_of_a_client_is_not_hidden() -> None:
    """An exception that says nothing about the network is raised as it is, and the call was charged."""

    async def asking() -> None:
        task = ModelTask(TaskLimits(max_calls=9))
        with pytest.raises(ZeroDivisionError):
            await answer(failing(ZeroDivisionError()), PLAIN, task=task)
        assert (task.usage.calls, task.under_way) == (1, 0)

    run(asking)


def test_a_model_without_a_record_is_at_fault() -> None:
    """Its iteration ended and there is nothing to judge."""

    async def silent(_: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("Well.")

    async def asking() -> None:
        with pytest.raises(ProtocolViolation, match="gave no record"):
            await answer(OwnModel(silent), PLAIN)

    run(asking)


def test_a_client_is_given_the_grace_period_to_clean_up() -> None:
    """Also when its caller was cancelled: one that ends within it is waited for, and not left behind."""
    cleaned: list[str] = []

    async def tidy(_: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("Well. ")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
            cleaned.append("cleaned")

    async def asking() -> None:
        heard = Heard()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: answer(OwnModel(tidy), PLAIN, listener=heard))
                await heard.begun.wait()
                scope.cancel()
        assert cleaned == ["cleaned"]
        assert [(attempt.reason, attempt.left_behind) for attempt in heard.attempts] == [(CANCELLED, False)]

    run(asking)


def test_a_record_beside_an_exception_is_kept_as_cut() -> None:
    """What the client did record stays, with what its exception says; it is no whole answer any more."""

    async def play(_: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("Half. ")
        raise TimeoutError

    async def asking() -> None:
        end = is_stopped(await answer(OwnModel(play, reply("Half. ")), PLAIN, settings=bounded(attempts=1)))
        assert (end.reason, end.text) == (BoundaryReason.PROVIDER_TIMEOUT, "Half. ")
        assert end.response is not None
        assert (end.response.end, end.response.usage) == (End.TRANSPORT, reply("Half. ").usage)

    run(asking)


def test_a_client_that_fails_while_it_is_stopped_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The reason is that of the stop; the fault is logged by its type, without its text."""
    task, heard = ModelTask(TaskLimits(max_calls=9)), Heard()

    async def sore(_: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("Well. ")
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            raise ZeroDivisionError("a secret") from None

    async def asking() -> None:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await heard.begun.wait()
                task.cancel()

            group.start_soon(cancel)
            end = is_stopped(await answer(OwnModel(sore), PLAIN, task=task, listener=heard))
        assert (end.reason, end.text, task.usage.calls) == (CANCELLED, "Well. ", 1)

    run(asking)
    assert "ZeroDivisionError" in caplog.text
    assert "a secret" not in caplog.text
