"""Deadlines of an answer, by real sockets: streams that go on, streams that stall, and the one action repair.

The clock is moved by what the test's listener hears, so that a stream of a hundred seconds takes no time.
"""

import anyio
import pytest
from msgspec.structs import replace

from signoff.core.boundary import BoundaryReason
from signoff.core.budget import TaskLimits
from signoff.core.generation import Answer, GenerationLimits, GenerationPhase, Repair
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import Failure, FailureKind
from signoff.errors import BudgetExhausted
from signoff.models import Timeouts
from signoff.runtime.answer import AnswerSettings, answer
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock, Fault, Play, SeenRequest
from tests.models.asking import run
from tests.runtime.answering import (
    PLAIN,
    WITH_TOOLS,
    Heard,
    answered,
    arguments,
    bounded,
    chunk,
    is_stopped,
    is_usable,
    only_receipt,
    playing,
    reasons,
    stream,
    talking,
    texts_of,
    ticking,
)

ACTIVE = GenerationLimits(active=30, action_repair=10)
PRIMARY, REPAIR = GenerationPhase.PRIMARY, GenerationPhase.ACTION_REPAIR


def timed(
    *script: Play | Failure,
    limits: GenerationLimits,
    request: ModelRequest = WITH_TOOLS,
    task: ModelTask | None = None,
    attempts: int = 2,
) -> tuple[Answer, list[SeenRequest]]:
    """The answer of a script in which every delta takes a second."""
    found: list[Answer] = []
    seen: list[SeenRequest] = []

    async def asking() -> None:
        clock = FakeClock()
        async with playing(*script) as (server, model):
            wanted = bounded(limits=limits, attempts=attempts)
            given = await answer(model, request, settings=wanted, task=task, clock=clock, listener=ticking(clock))
            found.append(given)
            seen.extend(server.requests)

    run(asking)
    return found[0], seen


@pytest.mark.scenario("MB-048")
def test_a_stream_that_never_acts_is_cut_and_repaired_once() -> None:
    """The repair's request has the original messages, the end of what was said, and little room; a receipt says so."""
    act = stream(arguments('{"path":"a"}', call_id="c1"), chunk(finish="tool_calls"))
    given, seen = timed(talking(), act, limits=replace(ACTIVE, partial_chars=10))
    assert [one.arguments for one in is_usable(given).calls] == [b'{"path":"a"}']
    assert [(attempt.number, attempt.phase) for attempt in given.attempts] == [(1, PRIMARY), (2, REPAIR)]
    told = only_receipt(given)
    assert (told.reason, told.phase, told.repair) == (
        BoundaryReason.ACTIVE_STREAM_OVER_BUDGET,
        PRIMARY,
        Repair.SCHEDULED,
    )
    # The clock began with the first word and moved a second with each: the 31st came when 30 were over.
    assert (told.elapsed, told.partial_characters, told.calls) == (30, 150, 0)
    assert len(seen) == 2
    assert seen[0].closed_by_client
    original, partial, asking = texts_of(seen[1])
    assert (original, partial.split("]\n")[-1]) == ("Fix it.", given.attempts[0].response.text[-10:])
    assert "characters left out" in partial
    assert "next concrete action" in asking
    assert seen[1].received is not None
    assert seen[1].received.request.max_output_tokens == 1024
    cut = given.attempts[0].response
    assert cut.failure is not None
    assert (cut.failure.kind, cut.failure.where) == (FailureKind.DEADLINE, "host")


def test_a_repair_may_answer_without_a_call() -> None:
    """A short, whole text is an answer."""
    given, _ = timed(talking(), answered("It is done."), limits=ACTIVE)
    assert is_usable(given).text == "It is done."


def test_a_repair_can_be_switched_off() -> None:
    """The stream is cut all the same, and its reason is the end."""
    given, seen = timed(talking(), limits=replace(ACTIVE, repair="off"))
    end = is_stopped(given)
    assert (end.reason, end.recoverable, len(seen)) == (BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, True, 1)
    assert only_receipt(given).repair is Repair.NONE
    assert "w029 " in end.text


def test_one_attempt_still_has_its_repair() -> None:
    """The repair is no second attempt: it asks for something else."""
    given, seen = timed(talking(), answered(), limits=ACTIVE, attempts=1)
    assert (is_usable(given).text, len(seen)) == ("Done.", 2)


@pytest.mark.scenario("MB-049")
@pytest.mark.parametrize(
    ("repair", "text"),
    [
        (answered("And so on", finish="length"), "And so on"),
        (answered("", finish="stop"), "w029 "),
        (stream(arguments('{"path":', call_id="c1"), chunk(finish="tool_calls")), "w029 "),
    ],
    ids=["length", "empty", "half a call"],
)
def test_an_unusable_repair_is_a_typed_stop(repair: Play, text: str) -> None:
    """It carries what text there is, and is never returned as an answer."""
    given, seen = timed(talking(), repair, limits=ACTIVE, attempts=5)
    end = is_stopped(given)
    assert (end.reason, end.recoverable, len(seen)) == (BoundaryReason.ACTION_REPAIR_EXHAUSTED, True, 2)
    assert text in end.text
    assert [(told.reason, told.phase, told.repair) for told in end.receipts] == [
        (BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, PRIMARY, Repair.SCHEDULED),
        (BoundaryReason.ACTION_REPAIR_EXHAUSTED, REPAIR, Repair.ATTEMPTED),
    ]


@pytest.mark.scenario("MB-204")
def test_a_repair_without_a_reason_is_no_answer() -> None:
    """Strict on, a repair whose stream ends without a finish reason has exhausted itself."""
    unfinished = Play(body=chunk(content="It is done."), content_type="text/event-stream", fault=Fault.CLOSE)
    given, _ = timed(talking(), unfinished, limits=ACTIVE)
    end = is_stopped(given)
    assert (end.reason, end.text) == (BoundaryReason.ACTION_REPAIR_EXHAUSTED, "It is done.")


@pytest.mark.scenario("MB-050")
def test_a_repair_that_goes_on_has_its_own_deadline() -> None:
    """Two calls in all, however many attempts there are, and no repair of the repair."""
    given, seen = timed(talking(), talking(), limits=ACTIVE, attempts=5)
    end = is_stopped(given)
    assert (end.reason, end.recoverable, len(seen)) == (BoundaryReason.ACTION_REPAIR_TIMEOUT, True, 2)
    assert [(told.reason, told.elapsed, told.phase_elapsed) for told in end.receipts] == [
        (BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, 30, 30),
        (BoundaryReason.ACTION_REPAIR_TIMEOUT, 40, 10),
    ]
    assert all(one.closed_by_client for one in seen)


def test_a_repair_is_not_begun_behind_the_deadline_of_the_answer() -> None:
    """Where both deadlines fall together there is no time left for one."""
    given, seen = timed(talking(), limits=replace(ACTIVE, total=30))
    assert (is_stopped(given).reason, len(seen)) == (BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, 1)
    assert only_receipt(given).repair is Repair.NONE


def test_a_repair_is_charged_too() -> None:
    """It is announced to the task; one that has nothing left forbids it."""
    task = ModelTask(TaskLimits(max_calls=2))
    timed(talking(), answered(), limits=ACTIVE, task=task)
    assert (task.usage.calls, task.usage.calls_without_usage, task.under_way) == (2, 2, 0)
    with pytest.raises(BudgetExhausted):
        timed(limits=ACTIVE, task=task)


@pytest.mark.scenario("MB-051")
def test_a_long_text_without_tools_is_not_cut() -> None:
    """A hundred seconds of words, where no tool was offered."""
    whole = stream(*(chunk(content=f"w{number:03d} ") for number in range(100)), chunk(finish="stop"))
    given, seen = timed(whole, limits=ACTIVE, request=PLAIN)
    assert (len(is_usable(given).text), len(seen)) == (500, 1)


@pytest.mark.scenario("MB-052")
def test_a_call_whose_arguments_come_slowly_is_not_cut() -> None:
    """A call has begun; its arguments take a hundred seconds."""
    slow = (arguments(text) for text in '{"path":"' + "a" * 100 + '"}')
    whole = stream(chunk(content="Now. "), arguments("", call_id="c1"), *slow, chunk(finish="tool_calls"))
    given, seen = timed(whole, limits=ACTIVE)
    assert ([one.name for one in is_usable(given).calls], len(seen)) == (["write"], 1)


# ── Silence, and the whole answer ────────────────────────────────────────────────────────────────────────────────────


def stalling(*script: Play, limits: GenerationLimits, moves: int, attempts: int = 2) -> tuple[Answer, list[float]]:
    """The answer of a script that stalls: each time, the clock is moved to what is waited for."""
    found: list[Answer] = []
    moments: list[float] = []

    async def asking() -> None:
        clock, heard = FakeClock(), Heard()

        async def move() -> None:
            for _ in range(moves):
                await heard.begun.wait()
                heard.begun = anyio.Event()
                moment = await clock.waited_for()
                moments.append(moment)
                clock.advance(moment - clock.seconds())
                while clock.seconds() == moment and not found and await clock.waited_for() == moment + 1:
                    clock.advance(1)  # the wait before the next attempt

        async with playing(*script) as (_, model), anyio.create_task_group() as group:
            group.start_soon(move)
            wanted = bounded(limits=limits, attempts=attempts)
            found.append(await answer(model, WITH_TOOLS, settings=wanted, clock=clock, listener=heard))
            group.cancel_scope.cancel()

    run(asking)
    return found[0], moments


def test_a_stream_that_falls_silent_may_use_its_attempts() -> None:
    """After silence the same request is sent again, a little later."""
    given, moments = stalling(talking(3), answered("Done."), limits=GenerationLimits(idle=20), moves=1)
    assert (is_usable(given).text, reasons(given), moments) == ("Done.", [BoundaryReason.IDLE_TIMEOUT, None], [20])
    told = only_receipt(given)
    assert (told.reason, told.partial_characters, told.elapsed) == (BoundaryReason.IDLE_TIMEOUT, 15, 20)


def test_silence_to_the_end_is_an_end() -> None:
    """With the attempts used up, what was said last is what can be shown."""
    given, _ = stalling(talking(3), talking(2), limits=GenerationLimits(idle=20), moves=2)
    end = is_stopped(given)
    assert (end.reason, end.recoverable, end.text) == (BoundaryReason.IDLE_TIMEOUT, True, "w000 w001 ")


def test_the_deadline_of_the_answer_is_not_retried() -> None:
    """It bounds the whole answer, so that nothing can follow."""
    given, moments = stalling(talking(3), limits=GenerationLimits(total=50, idle=90), moves=1, attempts=5)
    end = is_stopped(given)
    assert (end.reason, end.recoverable, moments) == (BoundaryReason.CALL_DEADLINE_EXCEEDED, True, [50])
    assert (only_receipt(given).requested_total, only_receipt(given).effective_total) == (50, 50)


def test_the_time_of_the_task_bounds_the_answer() -> None:
    """What is left of it is the effective deadline, beside the one that was asked for."""
    found: list[Answer] = []

    async def asking() -> None:
        clock = FakeClock()
        task = ModelTask(TaskLimits(timeout_seconds=12), clock=clock)
        clock.advance(4)
        async with playing(talking()) as (_, model):
            wanted = bounded(limits=GenerationLimits(total=50))
            found.append(
                await answer(model, WITH_TOOLS, settings=wanted, task=task, clock=clock, listener=ticking(clock))
            )
            with pytest.raises(BudgetExhausted, match="timeout"):
                await answer(model, WITH_TOOLS, task=task, clock=clock)

    run(asking)
    told = only_receipt(found[0])
    assert (told.reason, told.elapsed) == (BoundaryReason.CALL_DEADLINE_EXCEEDED, 8)
    assert (told.requested_total, told.effective_total) == (50, 8)


def test_deadlines_hold_in_real_time() -> None:
    """The host's own clock ends a stalled stream as well."""
    found: list[Answer] = []

    async def asking() -> None:
        async with playing(talking(3), talking(3)) as (_, model):
            limits = GenerationLimits(total=0.1)
            found.append(await answer(model, PLAIN, settings=AnswerSettings(limits=limits)))
            limits = GenerationLimits(active=0.1, repair="off")
            found.append(await answer(model, WITH_TOOLS, settings=AnswerSettings(limits=limits)))

    run(asking)
    assert [is_stopped(given).reason for given in found] == [
        BoundaryReason.CALL_DEADLINE_EXCEEDED,
        BoundaryReason.ACTIVE_STREAM_OVER_BUDGET,
    ]


@pytest.mark.scenario("MB-053")
def test_a_timeout_of_the_client_is_not_one_of_our_deadlines() -> None:
    """The HTTP client gives up after a moment of silence; our own deadlines were far away."""
    found: list[Answer] = []

    async def asking() -> None:
        hasty = Timeouts(idle=0.3)
        async with playing(talking(3), timeouts=hasty) as (_, model):
            limits = GenerationLimits(total=60, idle=30, active=30, action_repair=30)
            wanted = bounded(limits=limits, attempts=1)
            found.append(await answer(model, WITH_TOOLS, settings=wanted))

    run(asking)
    end = is_stopped(found[0])
    assert (end.reason, end.recoverable) == (BoundaryReason.PROVIDER_TIMEOUT, True)
    told = only_receipt(found[0])
    assert (told.reason, told.partial_characters, told.repair) == (BoundaryReason.PROVIDER_TIMEOUT, 15, Repair.NONE)
    assert end.response is not None
    assert end.response.failure is not None
    assert end.response.failure.kind is FailureKind.PROVIDER_TIMEOUT
