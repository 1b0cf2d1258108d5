"""Every call is ended at its task exactly once, whatever a model or a listener raises, and a cancellation goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import anyio
import pytest

from signoff.core.boundary import BoundaryReason
from signoff.core.budget import TaskLimits
from signoff.core.generation import Attempt, GenerationLimits
from signoff.core.model.deltas import Delta, TextDelta
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import ModelResponse
from signoff.errors import BudgetExhausted, ConfigError, PolicyError, ProtocolViolation, SignoffError, WireError
from signoff.models.scripted import ScriptedModel, ScriptExhausted
from signoff.ports import Model
from signoff.runtime.answer import answer
from signoff.runtime.model_task import ModelTask
from signoff.testing import reply
from tests.models.asking import run
from tests.runtime.answering import PLAIN, Heard, OwnModel, OwnStream, bounded, is_stopped

CANCELLED = BoundaryReason.CALLER_CANCELLED


class Rude(BaseException):
    """A fault that is no `Exception`."""


async def hanging(_: ModelRequest) -> AsyncIterator[Delta]:
    """Begin a response, and never end."""
    yield TextDelta("Well. ")
    await anyio.sleep_forever()


async def at_once(_: ModelRequest) -> AsyncIterator[Delta]:
    """A response in one delta."""
    yield TextDelta("Done.")


class Entering(OwnModel):
    """A model that raises while it is entered, or in its iteration."""

    def __init__(self, error: BaseException, *, late: bool = False) -> None:
        super().__init__(self.raising, reply("Done."))
        self.error = error
        self.late = late

    async def raising(self, _: ModelRequest) -> AsyncIterator[Delta]:
        """Raise in the iteration."""
        yield TextDelta("Well. ")
        raise self.error

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[OwnStream]:
        """Raise at once, or later."""
        if not self.late:
            self.calls += 1
            raise self.error
        async with super().stream(request) as stream:
            yield stream


class Unrecorded(OwnModel):
    """A model whose record is whatever a function of the test does."""

    def __init__(self, play: Callable[[ModelRequest], AsyncIterator[Delta]], record: Callable[[], object]) -> None:
        super().__init__(play)
        self.record = record

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[OwnStream]:
        """Play the function, with a record of its own."""
        record = self.record

        class Recorded(OwnStream):
            @property
            def response(self) -> ModelResponse:
                """What the test wants."""
                return cast("ModelResponse", record())

        yield Recorded(self._play(request), None)


def raising(error: BaseException) -> Callable[[], object]:
    """A function that raises."""

    def fail() -> object:
        raise error

    return fail


def raised_by(model: Model, *, listener: Heard | None = None) -> tuple[BaseException, tuple[int, int, int]]:
    """What an answer of a model raises, with its calls: charged, charged without usage, and still reserved."""
    task, found = ModelTask(TaskLimits(max_calls=9)), list[BaseException]()

    async def asking() -> None:
        try:
            await answer(model, PLAIN, task=task, listener=listener)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is looked at
            found.append(error)

    run(asking)
    return found[0], (task.usage.calls, task.usage.calls_without_usage, task.under_way)


# ── Faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────

FAULTS = [
    Rude(),
    GeneratorExit(),
    BaseExceptionGroup("many", [asyncio.CancelledError()]),
    ExceptionGroup("many", [ConnectionError()]),
    ScriptExhausted(),
    WireError(),
    SignoffError(),
]
REFUSALS = [PolicyError(), ConfigError(), ProtocolViolation(), BudgetExhausted("", bound="timeout")]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_fault_of_a_model_is_raised_and_its_call_charged(error: BaseException, *, late: bool) -> None:
    """On entering it may have been sent, and in the iteration it was."""
    assert raised_by(Entering(error, late=late)) == (error, (1, 1, 0))


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
def test_a_refusal_costs_only_what_was_sent(error: BaseException) -> None:
    """Before it was entered a model has sent nothing, and afterwards it may have."""
    assert raised_by(Entering(error)) == (error, (0, 0, 0))
    assert raised_by(Entering(error, late=True)) == (error, (1, 1, 0))


def test_a_script_that_is_over_is_charged() -> None:
    """It is no `Exception`, and its reservation is ended all the same."""
    error, counts = raised_by(ScriptedModel([]))
    assert (type(error), counts) == (ScriptExhausted, (1, 1, 0))


@pytest.mark.parametrize("error", [ValueError(), Rude()])
def test_a_record_that_raises_is_charged(error: BaseException) -> None:
    """What it raises is a fault of the model."""
    assert raised_by(Unrecorded(at_once, raising(error))) == (error, (1, 1, 0))


@pytest.mark.parametrize("record", [lambda: None, lambda: {"usage": 1}, raising(asyncio.CancelledError())])
def test_a_record_that_is_none_is_charged(record: Callable[[], object]) -> None:
    """Another value in its place is none, and nobody was cancelled in a property."""
    error, counts = raised_by(Unrecorded(at_once, record))
    assert isinstance(error, ProtocolViolation)
    assert counts == (1, 1, 0)


def test_a_model_without_a_name_was_not_asked() -> None:
    """Nothing was sent, and nothing stays reserved."""

    class Nameless(OwnModel):
        @property
        def name(self) -> str:
            raise LookupError

    model = Nameless(at_once, reply("Done."))
    error, counts = raised_by(model)
    assert (type(error), model.calls, counts) == (LookupError, 0, (0, 0, 0))


@pytest.mark.parametrize(("where", "unknown"), [("added", 1), ("attempted", 0)])
def test_a_listener_that_ends_everything_leaves_nothing_reserved(where: str, unknown: int) -> None:
    """What is no `Exception` goes on to the caller, and the call is charged once."""
    listener, error = Heard(), Rude()
    setattr(listener, where, lambda _: raising(error)())
    model = OwnModel(at_once, reply("Done.", usage=(1, 1)))
    assert raised_by(model, listener=listener) == (error, (1, unknown, 0))


# ── Cancellation ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [AttributeError("a secret"), Rude("a secret")])
@pytest.mark.parametrize("of_listener", [False, True])
def test_a_cancellation_is_not_replaced(
    error: BaseException, caplog: pytest.LogCaptureFixture, *, of_listener: bool
) -> None:
    """Whatever the model's record or the listener raises then; the call is charged, and the fault logged."""
    budget = ModelTask(TaskLimits(max_calls=9))

    class Failing(Heard):
        def attempted(self, attempt: Attempt) -> None:
            super().attempted(attempt)
            if of_listener:
                raise error

    async def asking() -> None:
        heard = Failing()
        model = OwnModel(hanging) if of_listener else Unrecorded(hanging, raising(error))
        task = asyncio.get_running_loop().create_task(answer(model, PLAIN, task=budget, listener=heard))
        await heard.begun.wait()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert len(heard.attempts) == (of_listener or isinstance(error, Exception))

    run(asking)
    assert (budget.usage.calls, budget.usage.calls_without_usage, budget.under_way) == (1, 1, 0)
    assert type(error).__name__ in caplog.text or "a listener failed" in caplog.text


def test_a_stop_is_not_replaced(caplog: pytest.LogCaptureFixture) -> None:
    """At a deadline too, a record that cannot be had is made of what was heard."""

    async def asking() -> None:
        limits = GenerationLimits(total=0.05)
        model = Unrecorded(hanging, raising(ValueError("a secret")))
        end = is_stopped(await answer(model, PLAIN, settings=bounded(limits=limits)))
        assert (end.reason, end.text) == (BoundaryReason.CALL_DEADLINE_EXCEEDED, "Well. ")

    run(asking)
    assert "ValueError while it was stopped" in caplog.text
    assert "a secret" not in caplog.text
