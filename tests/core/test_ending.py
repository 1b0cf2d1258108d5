"""How a response ended, over every combination of facts, against a table written from the protocols' own rules."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import pytest

from signoff.core.model.ending import Exchange, Finish, Gathered, conclude
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse, TokenUsage

WHOLE = CallPart(call_id="c1", name="f", arguments='{"a":1}')
CONTENTS: dict[str, tuple[Part, ...]] = {
    "text": (TextPart(text="Done."),),
    "nothing": (),
    "reasoning": (ReasoningPart(text="hmm"),),
    "call": (TextPart(text="Now:"), WHOLE),
    "bare call": (CallPart(call_id="c1", name="f", arguments=""),),
    "free call": (CallPart(call_id="c1", name="f", arguments="{", kind=CallKind.CUSTOM),),
    "hosted call": (OpaquePart(kind="computer_call", native="{}", awaits_result=True),),
    "hosted result": (OpaquePart(kind="web_search_call", native="{}"),),
    "cut call": (WHOLE, CallPart(call_id="c2", name="f", arguments='{"a":')),
    "open call": (CallPart(call_id="c1", name="f", arguments='{"a":1}', closed=False),),
    "open bare call": (CallPart(call_id="c1", name="f", arguments="", closed=False),),
    "open free call": (CallPart(call_id="c1", name="f", arguments="ls", kind=CallKind.CUSTOM, closed=False),),
    "list call": (CallPart(call_id="c1", name="f", arguments="[]"), WHOLE),
    "repeating call": (CallPart(call_id="c1", name="f", arguments='{"a":1,"a":2}'),),
    "refusal": (TextPart(text="I"), RefusalPart(text="No.")),
    "refused call": (RefusalPart(text="No."), WHOLE),
    "blank refusal": (RefusalPart(text=" "), TextPart(text="Done.")),
}
CALLS = {"call", "bare call", "free call", "hosted call"}
CUT_CALLS = {"cut call", "open call", "open bare call", "open free call", "list call", "repeating call"}
REFUSALS = {"refusal", "refused call"}

# Section by section of the protocols' table: what a reason says when its response is proven to be whole.
SAID = {
    Finish.LIMIT: End.LIMIT,
    Finish.CONTEXT_FULL: End.CONTEXT_FULL,
    Finish.FILTER: End.CONTENT_FILTER,
    Finish.REFUSAL: End.REFUSAL,
    Finish.PAUSE: End.PAUSED,
    Finish.CONTINUATION: End.CONTINUATION,
    Finish.MALFORMED_CALL: End.MALFORMED_CALL,
    Finish.ERROR: End.PROVIDER_ERROR,
    Finish.UNKNOWN: End.UNKNOWN,
}
# What proves it, beside the reason: (the end marker was seen, the body ended properly).
PROOFS = {
    Api.OPENAI_CHAT: {(True, True), (True, False), (False, True), (False, False)},
    Api.OPENAI_RESPONSES: {(True, True), (True, False)},
    Api.ANTHROPIC_MESSAGES: {(True, True), (True, False)},
    Api.GEMINI: {(True, True), (False, True)},
    Api.OTHER: {(True, True), (True, False)},
}
# Failures that speak of the answer beat everything; those that speak of the connection or of us only end what is open.
OF_THE_ANSWER = {
    ("http", FailureKind.RATE_LIMITED): End.PROVIDER_ERROR,
    ("http", FailureKind.AUTHENTICATION): End.PROVIDER_ERROR,
    ("http", FailureKind.CONTEXT_FULL): End.CONTEXT_FULL,
    ("http", FailureKind.CONTENT_FILTER): End.CONTENT_FILTER,
    ("stream", FailureKind.OVERLOADED): End.PROVIDER_ERROR,
    ("stream", FailureKind.NOT_THE_PROTOCOL): End.PROVIDER_ERROR,
    ("stream", FailureKind.CANCELLED): End.TRANSPORT,
    ("host", FailureKind.TOO_LARGE): End.PROVIDER_ERROR,
}
OF_THE_CONNECTION = {
    ("transport", FailureKind.CONNECTION),
    ("transport", FailureKind.CUT),
    ("transport", FailureKind.PROVIDER_TIMEOUT),
    ("host", FailureKind.DEADLINE),
    ("host", FailureKind.CANCELLED),
}
FAILURES = [None, *OF_THE_ANSWER, *sorted(OF_THE_CONNECTION)]


class Case(NamedTuple):
    """One combination of facts."""

    api: Api
    finish: Finish | None
    body_end: BodyEnd
    terminal: bool
    failure: tuple[str, FailureKind] | None
    content: str
    streamed: bool


def cases(api: Api) -> Iterator[Case]:
    """Every combination for one protocol."""
    rest = product([None, *Finish], BodyEnd, [True, False], FAILURES, CONTENTS, [True, False])
    return (Case(api, *facts) for facts in rest)


def is_proven(case: Case) -> bool:
    """Whether the reason and its proof were seen."""
    return case.finish is not None and (case.terminal, case.body_end is BodyEnd.CLEAN) in PROOFS[case.api]


def expected(case: Case) -> End:
    """The end that the table gives: error, end missing, filter and refusal, limit and pause, calls, normal."""
    if case.failure in OF_THE_ANSWER:
        return OF_THE_ANSWER[case.failure]
    if case.finish is None or not (is_proven(case) or (case.finish is Finish.ERROR and case.failure is None)):
        return End.TRANSPORT
    if case.finish in {Finish.ERROR, Finish.FILTER}:
        return SAID[case.finish]
    return End.REFUSAL if case.content in REFUSALS else SAID.get(case.finish) or of_calls(case)


def of_calls(case: Case) -> End:
    """How a response ended whose reason says that it is whole."""
    if case.content in CUT_CALLS:
        return End.MALFORMED_CALL
    if case.content in CALLS:
        return End.TOOL_CALLS
    return End.NORMAL if case.finish is Finish.STOP else End.MALFORMED_CALL


def concluded(case: Case, exchange: Exchange | None = None) -> ModelResponse:
    """The record of a combination."""
    failure = None if case.failure is None else Failure(kind=case.failure[1], where=case.failure[0])
    facts = Gathered(
        api=case.api,
        finish=case.finish,
        body_end=case.body_end,
        saw_terminal=case.terminal,
        failure=failure,
        parts=CONTENTS[case.content],
        streamed=case.streamed,
    )
    return conclude(facts, exchange or Exchange())


@pytest.mark.parametrize("api", list(Api))
def test_every_combination_ends_as_the_table_says(api: Api) -> None:
    """Reason, proof, failure and content give the one end of the table, for every combination of a protocol."""
    assert [(case, concluded(case).end) for case in cases(api) if concluded(case).end is not expected(case)] == []


@pytest.mark.parametrize("api", list(Api))
def test_a_failure_stays_unless_the_response_was_whole_before_it(api: Api) -> None:
    """A failure is dropped from the record only when it speaks of the connection and all had come before it."""
    for case in cases(api):
        dropped = case.failure in OF_THE_CONNECTION and is_proven(case)
        assert (concluded(case).failure is None) is (case.failure is None or dropped), case


@pytest.mark.parametrize("api", list(Api))
def test_complete_means_proven_and_whole(api: Api) -> None:
    """No response is complete without a reason of a whole one, its proof, and calls that are all whole."""
    for case in cases(api):
        if concluded(case).complete:
            assert is_proven(case), case
            assert case.finish in {Finish.STOP, Finish.CALLS}, case
            assert case.content not in CUT_CALLS | REFUSALS, case
            assert case.failure not in OF_THE_ANSWER, case


ORDINARY = Case(Api.OPENAI_CHAT, Finish.STOP, BodyEnd.CLEAN, True, None, "text", True)


@pytest.mark.parametrize(
    ("case", "oddities"),
    [
        (ORDINARY, ()),
        (ORDINARY._replace(terminal=False), ("no_done",)),
        (ORDINARY._replace(terminal=False, body_end=BodyEnd.CUT), ("cut_after_reason",)),
        (ORDINARY._replace(terminal=False, streamed=False), ()),
        (ORDINARY._replace(terminal=False, api=Api.GEMINI), ()),
        (ORDINARY._replace(terminal=False, finish=None), ()),
        (ORDINARY._replace(finish=Finish.CALLS), ("calls_missing",)),
        (ORDINARY._replace(finish=Finish.CALLS, terminal=False, content="nothing"), ("calls_missing", "no_done")),
    ],
)
def test_what_deviates_is_noted(case: Case, oddities: tuple[str, ...]) -> None:
    """A missing end marker after a reason and calls that were promised are noted beside the end."""
    assert concluded(case).oddities == oddities


@pytest.mark.parametrize(
    ("output", "cap", "end"),
    [
        (512, 512, End.LIMIT),
        (600, 512, End.LIMIT),
        (511, 512, End.TOOL_CALLS),
        (None, 512, End.TOOL_CALLS),
        (512, None, End.TOOL_CALLS),
    ],
)
def test_a_response_that_used_up_its_limit_was_cut(output: int | None, cap: int | None, end: End) -> None:
    """Whatever the reason says, a response as long as its limit is taken for cut, its whole calls included."""
    facts = Gathered(
        api=Api.GEMINI,
        finish=Finish.STOP,
        parts=(WHOLE,),
        usage=TokenUsage(output=output),
        oddities=frozenset({"usage_early"}),
    )
    response = conclude(facts, Exchange(max_output_tokens=cap))
    assert response.end is end
    assert response.oddities == (("cap_reached", "usage_early") if end is End.LIMIT else ("usage_early",))


@pytest.mark.scenario("MB-201")
@pytest.mark.parametrize("raw", ["stop", "length", "tool_calls", "insufficient_vibes", ""])
def test_the_record_keeps_what_was_gathered(raw: str) -> None:
    """The provider's own word stays as it came, and so does everything else that a codec gathered."""
    facts = Gathered(
        api=Api.ANTHROPIC_MESSAGES,
        finish=Finish.UNKNOWN,
        raw_reason=raw,
        saw_terminal=True,
        parts=CONTENTS["call"],
        usage=TokenUsage(input=3),
        response_id="r1",
        model="m",
        native="[]",
        envelope='{"x":1}',
    )
    response = conclude(facts, Exchange(request_id="q1"))
    assert response == ModelResponse(
        api=Api.ANTHROPIC_MESSAGES,
        end=End.UNKNOWN,
        raw_reason=raw,
        saw_reason=True,
        saw_terminal=True,
        parts=CONTENTS["call"],
        usage=TokenUsage(input=3),
        response_id="r1",
        request_id="q1",
        model="m",
        native="[]",
        envelope='{"x":1}',
    )
