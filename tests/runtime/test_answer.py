"""One answer of a model, by real sockets: attempts, waits, and what is asked for again."""

import asyncio

import anyio
import pytest

from signoff.core.boundary import BoundaryReason
from signoff.core.budget import TaskLimits, TaskUsage
from signoff.core.generation import Answer, Attempt, GenerationLimits
from signoff.core.model.parts import Api, OpaquePart
from signoff.core.model.request import AssistantMessage, ModelRequest, UserMessage
from signoff.core.model.response import End, Failure, FailureKind
from signoff.core.model.turns import append
from signoff.errors import BudgetExhausted, PolicyError
from signoff.ports import AnswerListener
from signoff.runtime.answer import AnswerSettings, answer
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock, Fault, Play, call, reply
from tests.models.asking import run
from tests.runtime.answering import (
    NAMES,
    PLAIN,
    WITH_TOOLS,
    Heard,
    answered,
    arguments,
    ask,
    bounded,
    chunk,
    is_stopped,
    is_usable,
    playing,
    reasons,
    stream,
    texts_of,
)

BUSY = Failure(kind=FailureKind.RATE_LIMITED, where="http", retry_after=7)
BROKEN = Failure(kind=FailureKind.SERVER_ERROR, where="http")


@pytest.mark.parametrize("name", NAMES)
def test_a_good_answer_needs_one_call(name: str) -> None:
    """In each protocol; the response is as it came, its record is without the native text."""
    given, seen = ask(reply("let me wait"), name=name)
    used = is_usable(given)
    assert (used.text, used.calls, reasons(used), used.receipts) == ("let me wait", (), [None], ())
    assert used.origin == PLAIN
    assert used.response.native
    assert not used.attempts[0].response.native
    assert [one.stream for one in seen] == [True]


@pytest.mark.parametrize("name", NAMES)
def test_calls_are_handed_over_and_not_run(name: str) -> None:
    """A whole batch comes as calls with canonical arguments, and its turn fits the conversation."""
    given, _ = ask(reply("", calls=[call("write", {"b": 1, "a": 2}), call("read")]), request=WITH_TOOLS, name=name)
    used = is_usable(given)
    assert [(one.name, one.arguments) for one in used.calls] == [("write", b'{"a":2,"b":1}'), ("read", b"{}")]
    assert isinstance(append(used.origin, used.response).messages[-1], AssistantMessage)


@pytest.mark.scenario("MB-042")
@pytest.mark.parametrize("name", NAMES)
def test_an_unusable_answer_is_asked_for_again(name: str) -> None:
    """Twice by default; the second request names the fault and asks for one whole answer, and forces no tool."""
    given, seen = ask(reply(" "), reply(" "), request=WITH_TOOLS, name=name)
    assert reasons(given) == [BoundaryReason.EMPTY_MODEL_RESPONSE] * 2
    assert len(seen) == 2
    assert "one complete answer or one complete call" in texts_of(seen[1])[-1]
    assert [one.received.request.choice.mode for one in seen if one.received] == ["auto", "auto"]


@pytest.mark.scenario("MB-042")
@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_forced_where_one_was_tried(name: str) -> None:
    """A call that was cut is asked for anew as a call, and the new one is used."""
    cut = reply("", calls=[call("write", {"path": "a"})], end=End.LIMIT)
    given, seen = ask(cut, reply("", calls=[call("write", {"path": "b"})]), request=WITH_TOOLS, name=name)
    assert reasons(given) == [BoundaryReason.OUTPUT_TRUNCATED, None]
    assert [one.arguments for one in is_usable(given).calls] == [b'{"path":"b"}']
    assert [one.received.request.choice.mode for one in seen if one.received] == ["auto", "required"]


@pytest.mark.scenario("MB-043")
@pytest.mark.parametrize("name", NAMES)
def test_used_up_attempts_leave_nothing_that_can_be_run(name: str) -> None:
    """The end is typed and recoverable; the record of each attempt still has the calls as evidence."""
    cut = reply("Half", calls=[call("write", {"path": "a"})], end=End.LIMIT)
    given, _ = ask(cut, cut, request=WITH_TOOLS, name=name)
    end = is_stopped(given)
    assert (end.reason, end.recoverable, end.text) == (BoundaryReason.OUTPUT_TRUNCATED, True, "Half")
    assert [len(attempt.response.calls) for attempt in end.attempts] == [1, 1]
    assert [attempt.number for attempt in end.attempts] == [1, 2]


FOREIGN = OpaquePart(kind="hosted_thing", native="{}")
UNSAYABLE = ModelRequest(messages=(UserMessage(parts=(FOREIGN,), api=Api.GEMINI),))
UNFINISHED = Play(body=chunk(content="It is done."), content_type="text/event-stream", fault=Fault.CLOSE)


@pytest.mark.scenario("MB-045")
def test_a_stream_without_a_reason_is_asked_for_again() -> None:
    """Strict, which is the default, an end without a reason is no end."""
    given, seen = ask(UNFINISHED, answered("It is done."))
    assert reasons(given) == [BoundaryReason.STREAM_ENDED_WITHOUT_FINISH_REASON, None]
    assert len(seen) == 2


@pytest.mark.scenario("MB-046")
def test_a_stream_without_a_reason_may_be_accepted() -> None:
    """By choice of the host, when the body ended properly."""
    given, seen = ask(UNFINISHED, settings=bounded(strict="off"))
    assert (is_usable(given).text, len(seen)) == ("It is done.", 1)


@pytest.mark.scenario("MB-202")
@pytest.mark.parametrize("name", NAMES)
def test_every_attempt_is_charged(name: str) -> None:
    """Three attempts, all unusable: three requests, and the task has paid for each of them."""
    task = ModelTask(TaskLimits(max_calls=10))
    given, seen = ask(*[reply(" ", usage=(100, 7))] * 3, name=name, settings=bounded(attempts=3), task=task)
    assert (len(seen), len(is_stopped(given).attempts)) == (3, 3)
    assert task.usage == TaskUsage(calls=3, input_tokens=300, output_tokens=21, tokens=321)
    assert task.under_way == 0


def test_a_task_that_is_spent_ends_the_asking() -> None:
    """The call beyond the last one is not made, and whoever listens has the attempts before it."""
    task, heard = ModelTask(TaskLimits(max_calls=1)), Heard()

    async def asking() -> None:
        async with playing(reply(" ")) as (server, model):
            with pytest.raises(BudgetExhausted, match="max_model_calls") as caught:
                await answer(model, PLAIN, task=task, listener=heard)
            assert caught.value.bound == "max_model_calls"
            assert len(server.requests) == 1

    run(asking)
    assert [attempt.reason for attempt in heard.attempts] == [BoundaryReason.EMPTY_MODEL_RESPONSE]
    assert (task.usage.calls, task.under_way) == (1, 0)


def test_what_cannot_be_sent_is_raised_and_not_charged() -> None:
    """A request that the protocol cannot say is the caller's fault; its reservation is given back."""
    task = ModelTask(TaskLimits(max_calls=1))

    async def asking() -> None:
        async with playing(reply("Hello."), name="anthropic:demo") as (_, model):
            with pytest.raises(PolicyError):
                await answer(model, UNSAYABLE, task=task)
            assert (task.usage.calls, task.under_way) == (0, 0)
            is_usable(await answer(model, PLAIN, task=task))

    run(asking)


# ── Waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def waits(*script: Play | Failure, settings: AnswerSettings) -> tuple[Answer, list[float]]:
    """The answer of a script, and the seconds that were waited between its attempts; the clock moves only there."""
    found: list[Answer] = []
    waited: list[float] = []
    clock = FakeClock()
    attempts = anyio.Semaphore(0)

    class Counting(Heard):
        def attempted(self, attempt: Attempt) -> None:
            super().attempted(attempt)
            attempts.release()

    async def move() -> None:
        while True:
            await attempts.acquire()
            seconds = await clock.waited_for() - clock.seconds()
            waited.append(seconds)
            clock.advance(seconds)

    async def asking() -> None:
        async with playing(*script) as (_, model), anyio.create_task_group() as group:
            group.start_soon(move)
            found.append(await answer(model, PLAIN, settings=settings, clock=clock, listener=Counting()))
            group.cancel_scope.cancel()

    run(asking)
    return found[0], waited


def test_a_provider_that_is_busy_is_given_the_time_it_asks_for() -> None:
    """429 with `Retry-After: 7`: seven seconds, and then the same request."""
    given, waited = waits(BUSY, answered(), settings=bounded())
    assert (reasons(given), waited) == ([BoundaryReason.PROVIDER_FAILED, None], [7])


def test_a_provider_that_failed_is_asked_again_a_little_later() -> None:
    """500 and then a good answer: one second by default, and the request is the same."""
    given, waited = waits(BROKEN, answered(), settings=bounded())
    assert (is_usable(given).text, waited) == ("Done.", [1])


def test_repeated_failures_end_within_the_attempts() -> None:
    """The waits are doubled, and the last failure is what the caller gets."""
    given, waited = waits(*[BROKEN] * 4, settings=bounded(attempts=4))
    end = is_stopped(given)
    assert (end.reason, end.recoverable, waited) == (BoundaryReason.PROVIDER_FAILED, True, [1, 2, 4])
    assert end.response is not None
    assert end.response.failure is not None
    assert end.response.failure.kind is FailureKind.SERVER_ERROR


def test_a_wait_that_would_end_behind_the_deadline_is_not_begun() -> None:
    """The reason stays that of the provider, and the time it wanted is said."""
    given, waited = waits(BUSY, settings=bounded(limits=GenerationLimits(total=7)))
    end = is_stopped(given)
    assert (end.reason, end.recoverable, end.wait_seconds, waited) == (BoundaryReason.PROVIDER_FAILED, True, 7, [])
    given, waited = waits(BUSY, answered(), settings=bounded(limits=GenerationLimits(total=7.001)))
    assert (reasons(given)[-1], waited[0]) == (None, 7)


def test_a_failure_that_lasts_is_not_waited_for() -> None:
    """A key that is not accepted is none a second later."""
    given, waited = waits(Failure(kind=FailureKind.AUTHENTICATION, where="http"), settings=bounded(attempts=5))
    assert (is_stopped(given).recoverable, waited) == (False, [])


# ── Listening ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_listener_hears_deltas_and_then_their_attempt() -> None:
    """What was shown of a discarded response can be told from what follows it."""
    told: list[str] = []

    class Log(Heard):
        def added(self, delta: object) -> None:
            told.append(getattr(delta, "text", "call"))

        def attempted(self, attempt: object) -> None:
            told.append(f"<{getattr(attempt, 'reason', None)}>")

    async def asking() -> None:
        listener: AnswerListener = Log()
        async with playing(stream(chunk(content="ab"), chunk(content="c"), chunk(finish="length")), answered("d")) as (
            _,
            model,
        ):
            await answer(model, PLAIN, listener=listener)

    run(asking)
    assert told == ["ab", "c", "<model_output_truncated>", "d", "<None>"]


@pytest.mark.parametrize("fault", [RuntimeError(), asyncio.CancelledError()])
def test_a_listener_that_fails_changes_nothing(fault: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    """Its fault is logged, and the answer is the same; a cancellation out of it is a fault of its own."""

    class Failing(Heard):
        def added(self, _: object) -> None:
            raise fault

        def attempted(self, _: object) -> None:
            raise fault

    async def asking() -> None:
        async with playing(answered("ab")) as (_, model):
            given = is_usable(await answer(model, PLAIN, listener=Failing()))
            assert (given.text, reasons(given)) == ("ab", [None])

    run(asking)
    assert caplog.text.count("a listener failed") == 2


def test_a_pause_is_resumed_and_continues_the_paused_turn() -> None:
    """The answer then belongs behind the paused turn, which the caller gets with it."""
    paused = reply("Looking", end=End.PAUSED)
    given, seen = ask(paused, reply("Found."), name="anthropic:demo")
    used = is_usable(given)
    assert (used.text, reasons(used)) == ("Found.", [BoundaryReason.RESPONSE_PAUSED, None])
    assert texts_of(seen[1]) == ["Fix it.", "Looking"]
    assert len(used.origin.messages) == 2


@pytest.mark.parametrize("seconds", [0, -1, True, float("inf"), None])
def test_a_grace_period_is_a_time(seconds: object) -> None:
    """It is what makes an answer end, so that it is never without a bound."""
    values: dict[str, object] = {"grace_seconds": seconds}
    with pytest.raises(PolicyError, match="grace_seconds"):
        AnswerSettings(**values)  # type: ignore[arg-type]


def test_arguments_in_pieces_make_one_call() -> None:
    """What came in several deltas is read once, whole."""
    given, _ = ask(
        stream(
            arguments('{"pa', call_id="c1"),
            arguments('th":"a"}'),
            chunk(finish="tool_calls"),
        ),
        request=WITH_TOOLS,
    )
    assert [one.arguments for one in is_usable(given).calls] == [b'{"path":"a"}']
