"""The action repair's request and what follows from its response; what a caller gets of an answer, and the records."""

import pytest
from msgspec.structs import replace

from signoff.core.boundary import Accepted, AnswerPolicy, BoundaryReason, Discarded, GiveUp, Paused, Take, worth
from signoff.core.generation import (
    Attempt,
    GenerationLimits,
    GenerationPhase,
    Repair,
    Stopped,
    Usable,
    after_repair,
    concluded,
    receipt,
    repair_request,
    spanned,
    started,
    without_calls,
    without_native,
    worth_of_stop,
)
from signoff.core.generation.partial import cut_response, failed_response
from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import AssistantMessage, Choice, Message, ModelRequest, SystemMessage, Tool, UserMessage
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse

REQUEST = ModelRequest(
    messages=(SystemMessage(text="Be brief."), UserMessage(parts=(TextPart(text="Fix it."),))),
    tools=(Tool(name="write"),),
)
WHOLE = ModelResponse(api=Api.OPENAI_CHAT, end=End.NORMAL, saw_reason=True, saw_terminal=True)
DEADLINE = Failure(kind=FailureKind.DEADLINE, where="host")
CANCELLED = Failure(kind=FailureKind.CANCELLED, where="host")
OVERLOADED = Failure(kind=FailureKind.OVERLOADED, where="http")
CUT = replace(WHOLE, end=End.TRANSPORT, failure=CANCELLED, body_end=BodyEnd.CUT, parts=(TextPart(text="On and on"),))
POLICY = AnswerPolicy()


def saying(*parts: Part, end: End = End.NORMAL) -> ModelResponse:
    """A response of these parts."""
    return replace(WHOLE, parts=parts, end=end)


def texts(message: Message) -> str:
    """What stands in a message of the user or the model."""
    assert isinstance(message, UserMessage | AssistantMessage)
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


# ── The request ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_repair_asks_for_an_action_behind_the_original_messages() -> None:
    """The end of what was cut stands as inert text, and then what is wanted; tools and choice are the original ones."""
    asked = repair_request(REQUEST, CUT, limits=GenerationLimits())
    assert asked.messages[:2] == REQUEST.messages
    partial, asking = (texts(message) for message in asked.messages[2:])
    assert isinstance(asked.messages[2], AssistantMessage)
    assert partial.endswith("carried out.]\nOn and on")
    assert "next concrete action" in asking
    assert (asked.tools, asked.choice, asked.max_output_tokens) == (REQUEST.tools, Choice(), 1024)


@pytest.mark.parametrize(("configured", "expected"), [(None, 1024), (500, 500), (4096, 1024)])
def test_a_repair_is_short(configured: int | None, expected: int) -> None:
    """The smaller bound of the output holds."""
    asked = repair_request(replace(REQUEST, max_output_tokens=configured), CUT, limits=GenerationLimits())
    assert asked.max_output_tokens == expected


def test_only_the_end_of_what_was_cut_is_shown() -> None:
    """A mark says how much is missing; control characters are left out."""
    cut = replace(CUT, parts=(TextPart(text="a" * 100 + "\x1b the end"),))
    partial = texts(repair_request(REQUEST, cut, limits=GenerationLimits(partial_chars=8)).messages[2])
    assert partial.endswith("[100 characters left out]\n the end")


@pytest.mark.parametrize(
    ("parts", "chars", "shown"),
    [
        ((ReasoningPart(text="Let me think."),), 8192, "Let me think."),
        ((ReasoningPart(text="Let me think."), TextPart(text="Well")), 8192, "Well"),
        ((), 8192, None),
        ((TextPart(text=" \n"),), 8192, None),
        ((TextPart(text="Well"),), 0, None),
    ],
)
def test_what_is_shown_of_a_cut_response(parts: tuple[Part, ...], chars: int, shown: str | None) -> None:
    """Its text, or its reasoning where there is none; nothing where nothing can be seen or none is wanted."""
    messages = repair_request(REQUEST, replace(CUT, parts=parts), limits=GenerationLimits(partial_chars=chars)).messages
    assert len(messages) == (3 if shown is None else 4)
    assert shown is None or texts(messages[2]).endswith(f"]\n{shown}")


# ── What follows ─────────────────────────────────────────────────────────────────────────────────────────────────────


def settled(response: ModelResponse) -> Take | GiveUp:
    """What follows from a repair's response."""
    return after_repair(worth(response, REQUEST), response, request=REQUEST, cut=CUT, policy=POLICY)


def test_a_repair_may_act_or_answer() -> None:
    """A call is taken, and so is a whole answer without one."""
    acted = settled(saying(CallPart(call_id="a", name="write", arguments="{}"), end=End.TOOL_CALLS))
    assert isinstance(acted, Take)
    assert [call.name for call in acted.calls] == ["write"]
    assert settled(saying(TextPart(text="Done."))) == Take(calls=(), text="Done.")


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (saying(TextPart(text="And so"), end=End.LIMIT), "And so"),
        (saying(TextPart(text="And so"), end=End.TRANSPORT), "And so"),
        (saying(CallPart(call_id="a", name="write", arguments="{"), end=End.MALFORMED_CALL), "On and on"),
        (saying(), "On and on"),
        (saying(ReasoningPart(text="Hm.")), "On and on"),
        (saying(TextPart(text="Wait."), end=End.PAUSED), "Wait."),
    ],
)
def test_an_unusable_repair_is_the_end(response: ModelResponse, text: str) -> None:
    """It is never asked for again; what can be shown is its own text, or that of the response that was cut."""
    assert settled(response) == GiveUp(
        reason=BoundaryReason.ACTION_REPAIR_EXHAUSTED, recoverable=True, text=text, end=response.end
    )


@pytest.mark.parametrize(
    ("kind", "reason", "recoverable"),
    [
        (FailureKind.PROVIDER_TIMEOUT, BoundaryReason.PROVIDER_TIMEOUT, True),
        (FailureKind.SERVER_ERROR, BoundaryReason.PROVIDER_FAILED, True),
        (FailureKind.QUOTA, BoundaryReason.PROVIDER_FAILED, False),
        (FailureKind.CONTEXT_FULL, BoundaryReason.CONTEXT_WINDOW_EXCEEDED, False),
    ],
)
def test_a_repair_that_failed_keeps_the_name_of_its_failure(
    kind: FailureKind, reason: BoundaryReason, *, recoverable: bool
) -> None:
    """A failure of the provider is no exhaustion, and no deadline of ours."""
    failed = replace(WHOLE, end=End.PROVIDER_ERROR, failure=Failure(kind=kind, where="http"))
    given = settled(failed)
    assert isinstance(given, GiveUp)
    assert (given.reason, given.recoverable, given.text) == (reason, recoverable, "On and on")


def test_a_repair_may_be_refused() -> None:
    """A refusal stays one, with its text."""
    given = settled(saying(RefusalPart(text="No."), end=End.REFUSAL))
    assert (given.text, isinstance(given, GiveUp) and given.reason) == ("No.", BoundaryReason.PROVIDER_REFUSAL)


def test_without_any_text_the_conversation_speaks() -> None:
    """Where neither response has text, a full context shows the model's latest one."""
    request = replace(REQUEST, messages=(*REQUEST.messages, AssistantMessage(parts=(TextPart(text="Earlier."),))))
    full = replace(WHOLE, end=End.CONTEXT_FULL)
    cut = replace(CUT, parts=())
    given = after_repair(worth(full, request), full, request=request, cut=cut, policy=POLICY)
    assert given.text == "Earlier."


def test_no_policy_makes_a_repair_ask_again() -> None:
    """However many attempts it allows."""
    patient = AnswerPolicy(max_model_attempts=9)
    for response in (saying(TextPart(text="a"), end=End.LIMIT), replace(WHOLE, failure=OVERLOADED)):
        given = after_repair(worth(response, REQUEST), response, request=REQUEST, cut=CUT, policy=patient)
        assert isinstance(given, GiveUp)


@pytest.mark.parametrize(
    ("reason", "kind", "retryable"),
    [
        (BoundaryReason.IDLE_TIMEOUT, FailureKind.DEADLINE, True),
        (BoundaryReason.CALL_DEADLINE_EXCEEDED, FailureKind.DEADLINE, False),
        (BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, FailureKind.DEADLINE, False),
        (BoundaryReason.ACTION_REPAIR_TIMEOUT, FailureKind.DEADLINE, False),
        (BoundaryReason.CALLER_CANCELLED, FailureKind.CANCELLED, False),
    ],
)
def test_what_was_stopped_is_worth_nothing(reason: BoundaryReason, kind: FailureKind, *, retryable: bool) -> None:
    """Only silence may use a further attempt."""
    failed = worth_of_stop(reason)
    assert (failed.reason, failed.retryable, failed.failure) == (reason, retryable, Failure(kind=kind, where="host"))


# ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def attempts() -> tuple[Attempt, ...]:
    """A stopped call, and one that was used."""
    limits = GenerationLimits()
    state = started(
        limits, span=spanned(limits, at=0, left=None), at=0, tools_offered=True, phase=GenerationPhase.PRIMARY
    )
    why = BoundaryReason.IDLE_TIMEOUT
    first = Attempt(number=1, phase=state.phase, response=CUT, reason=why, receipt=receipt(state, why))
    return first, Attempt(number=2, phase=state.phase, response=WHOLE)


def test_an_answer_is_what_follows_from_the_last_response() -> None:
    """A usable one has its calls and its response as it came; one that is not has neither."""
    calls = CallPart(call_id="a", name="write", arguments="{}")
    response = replace(saying(TextPart(text="Now."), calls, end=End.TOOL_CALLS), native='{"tool_calls":[]}')
    tried = attempts()
    accepted = worth(response, REQUEST)
    assert isinstance(accepted, Accepted)
    used = concluded(Take(calls=accepted.calls, text="Now."), response, origin=REQUEST, attempts=tried)
    assert used == Usable(response=response, origin=REQUEST, calls=accepted.calls, text="Now.", attempts=tried)
    assert [told.repair for told in used.receipts] == [Repair.NONE]
    given = GiveUp(
        reason=BoundaryReason.PROVIDER_FAILED, recoverable=True, text="Now.", end=End.PROVIDER_ERROR, wait_seconds=90
    )
    ended = concluded(given, response, origin=REQUEST, attempts=tried)
    assert isinstance(ended, Stopped)
    assert ended.response is not None
    assert (ended.response.calls, ended.response.native, ended.response.text) == ((), "", "Now.")
    assert (ended.reason, ended.recoverable, ended.text, ended.wait_seconds) == (given.reason, True, "Now.", 90)
    assert ended.receipts == used.receipts


def test_a_response_without_calls_keeps_the_rest() -> None:
    """Calls and whatever awaits a result are left out; a picture stays."""
    picture = OpaquePart(kind="image", native="{}")
    response = replace(
        saying(
            TextPart(text="a"),
            CallPart(call_id="a", name="f", arguments="{}"),
            OpaquePart(kind="shell", native="{}", awaits_result=True),
            picture,
        ),
        native="[1]",
    )
    assert without_calls(response) == replace(response, parts=(TextPart(text="a"), picture), native="")
    assert without_native(response) == replace(response, native="")


def test_what_came_is_recorded_from_the_deltas_alone() -> None:
    """Neighbours are joined, calls stay open, and a call whose beginning was not seen has no name."""
    deltas: list[Delta] = [
        ReasoningDelta("Hm"),
        ReasoningDelta("m."),
        TextDelta("Now "),
        CallStarted(index=0, call_id="a", name="write"),
        CallDelta(index=0, text='{"x'),
        CallDelta(index=10**9, text="?"),
        CallDelta(index=0, text='":1}'),
        TextDelta("then"),
        RefusalDelta("no"),
    ]
    response = cut_response(deltas, DEADLINE)
    assert response.parts == (
        ReasoningPart(text="Hmm."),
        TextPart(text="Now "),
        CallPart(call_id="a", name="write", arguments='{"x":1}', closed=False),
        CallPart(call_id="", name="", arguments="?", closed=False),
        TextPart(text="then"),
        RefusalPart(text="no"),
    )
    assert (response.end, response.failure, response.usage) == (End.TRANSPORT, DEADLINE, None)


def test_why_a_response_was_cut_is_known_best_where_it_was_cut() -> None:
    """Only a record that says that its caller left is corrected; a whole one and another failure stay."""
    assert failed_response(CUT, DEADLINE) == replace(CUT, failure=DEADLINE)
    assert failed_response(WHOLE, DEADLINE) == WHOLE
    broken = replace(CUT, failure=Failure(kind=FailureKind.CUT, where="transport"))
    assert failed_response(broken, DEADLINE) == broken


def test_a_discarded_and_a_paused_repair_are_told_apart_from_a_failed_one() -> None:
    """The kinds of worth that end in exhaustion are these two."""
    limit = worth(saying(TextPart(text="a"), end=End.LIMIT), REQUEST)
    paused = worth(saying(TextPart(text="a"), end=End.PAUSED), REQUEST)
    assert (type(limit), type(paused)) == (Discarded, Paused)
