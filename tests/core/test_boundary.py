"""What a response is worth: the order of the questions, batches rejected whole, and nothing laundered."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.boundary import (
    Accepted,
    AnswerPolicy,
    AskAgain,
    BoundaryReason,
    Discarded,
    Failed,
    GiveUp,
    Paused,
    Refused,
    StrictFinish,
    Worth,
    decide,
    worth,
)
from signoff.core.model.arguments import FaultCode, are_whole
from signoff.core.model.calls import ToolCall
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import AssistantMessage, ModelRequest, Tool, UserMessage
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse, TokenUsage

READ = Tool(name="read", parameters='{"properties":{"path":{"type":"string"}},"required":["path"]}')
SHELL = OpaquePart(kind="shell_call", native="{}", awaits_result=True)
TOOLS = (READ, Tool(name="ping"), Tool(name="patch"))
REQUEST = ModelRequest(messages=(UserMessage(parts=(TextPart(text="Go."),)),), tools=TOOLS)


def call(arguments: str = '{"path":"a"}', *, call_id: str = "c1", name: str = "read") -> CallPart:
    """A closed call."""
    return CallPart(call_id=call_id, name=name, arguments=arguments)


def response(*parts: Part | str, end: End = End.NORMAL, api: Api = Api.OPENAI_CHAT) -> ModelResponse:
    """A response of these parts; a str is text."""
    made = tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)
    return ModelResponse(api=api, end=end, parts=made, saw_reason=end is not End.TRANSPORT)


def reason_of(judged: Worth) -> str:
    """Why a response was discarded, which it must have been."""
    assert isinstance(judged, Discarded), judged
    return judged.reason.value


@pytest.mark.scenario("MB-044")
def test_prose_with_a_normal_stop_is_an_answer() -> None:
    """No meaning is read into a text: one that announces more work is an answer like any other."""
    assert worth(response("let me wait"), REQUEST) == Accepted(calls=(), text="let me wait")


def test_whole_calls_are_accepted_in_order() -> None:
    """Calls come with canonical arguments, beside the text, in the order of the response."""
    free = CallPart(call_id="c3", name="patch", arguments="*** Begin", kind=CallKind.CUSTOM)
    judged = worth(
        response("Now:", call('{ "path":"a"}'), call("", call_id="c2", name="ping"), free, end=End.TOOL_CALLS), REQUEST
    )
    assert judged == Accepted(
        text="Now:",
        calls=(
            ToolCall(call_id="c1", name="read", arguments=b'{"path":"a"}'),
            ToolCall(call_id="c2", name="ping", arguments=b"{}"),
            ToolCall(call_id="c3", name="patch", arguments=b"*** Begin", kind=CallKind.CUSTOM),
        ),
    )


def test_what_the_loop_answers_is_no_fault_of_the_boundary() -> None:
    """A call of a tool that was not offered, and one that the schema refuses, do not reject their batch."""
    judged = worth(response(call("{}", name="unknown"), call("{}", call_id="c2"), end=End.TOOL_CALLS), REQUEST)
    assert isinstance(judged, Accepted)
    unknown, wrong = judged.calls
    assert (unknown.name, unknown.arguments) == ("unknown", b"{}")
    assert unknown.fault is not None
    assert unknown.fault.code is FaultCode.UNKNOWN_TOOL
    assert wrong.fault is not None
    assert (wrong.fault.code, wrong.fault.field, wrong.arguments) == (FaultCode.MISSING_REQUIRED, "path", b"{}")


SCENARIOS = [
    ("MB-036", response(call(), end=End.LIMIT), "model_output_truncated"),
    ("MB-037", response(ReasoningPart(text="hm")), "reasoning_only_response"),
    ("MB-038", response(call('{"path":'), end=End.MALFORMED_CALL), "incomplete_tool_arguments"),
    (
        "MB-039",
        response(call("{}", name="ping"), call("[]", call_id="c2"), end=End.MALFORMED_CALL),
        "invalid_tool_arguments",
    ),
    ("MB-040", response(call(), call(), end=End.TOOL_CALLS), "malformed_tool_call_batch"),
    ("MB-041", response(" \n"), "empty_model_response"),
    ("MB-045", response("Part", end=End.TRANSPORT), "model_stream_ended_without_finish_reason"),
    ("MB-207", response("Sure:", end=End.MALFORMED_CALL), "malformed_tool_call_batch"),
    ("MB-207", response(end=End.MALFORMED_CALL), "malformed_tool_call_batch"),
]


@pytest.mark.parametrize(
    ("answer", "reason"), [pytest.param(*row, marks=pytest.mark.scenario(scenario)) for scenario, *row in SCENARIOS]
)
def test_unusable_responses_have_one_reason_each(answer: ModelResponse, reason: str) -> None:
    """Each kind is told apart, leaves no call to be run, and is asked for again within the attempts."""
    judged = worth(answer, REQUEST)
    assert reason_of(judged) == reason
    first, last = (decide(judged, answer, request=REQUEST, attempt=n, policy=AnswerPolicy()) for n in (1, 2))
    assert isinstance(first, AskAgain)
    assert isinstance(last, GiveUp)
    assert (first.reason, first.wait_seconds) == (reason, 0)
    assert (last.reason, last.recoverable) == (reason, True)


@pytest.mark.parametrize(
    ("parts", "end", "reason"),
    [
        (("Some",), End.LIMIT, "model_output_truncated"),
        ((), End.LIMIT, "model_output_truncated"),
        ((ReasoningPart(text="hm"),), End.LIMIT, "reasoning_only_response"),
        ((ReasoningPart(text="hm"), call()), End.LIMIT, "model_output_truncated"),
        ((ReasoningPart(text="hm"), "A"), End.LIMIT, "model_output_truncated"),
        ((ReasoningPart(redacted=True),), End.NORMAL, "reasoning_only_response"),
        ((ReasoningPart(text=" "),), End.NORMAL, "empty_model_response"),
        ((ReasoningPart(text="hm"), " \n"), End.NORMAL, "empty_model_response"),
        ((OpaquePart(kind="web_search_call", native="{}"),), End.NORMAL, "empty_model_response"),
        ((), End.NORMAL, "empty_model_response"),
        (("Some",), End.CONTENT_FILTER, "model_output_interrupted"),
        (("Some",), End.PROVIDER_ERROR, "model_output_interrupted"),
        (("Some", call()), End.UNKNOWN, "model_output_interrupted"),
        ((call(call_id=""),), End.TOOL_CALLS, "malformed_tool_call_batch"),
        ((call(name=" "),), End.TOOL_CALLS, "malformed_tool_call_batch"),
        ((call(), call("[]", call_id="c2"), call("{", call_id="c3")), End.MALFORMED_CALL, "invalid_tool_arguments"),
        ((call(), call("{", call_id="c2"), call("[]", call_id="c3")), End.MALFORMED_CALL, "incomplete_tool_arguments"),
        ((call("", name="ping"), call("", call_id="c2")), End.TOOL_CALLS, "invalid_tool_arguments"),
        ((call('{"path":"a","path":"b"}'),), End.MALFORMED_CALL, "invalid_tool_arguments"),
        ((call('{"path":"a"}{"path":"b"}'),), End.MALFORMED_CALL, "incomplete_tool_arguments"),
        ((msgspec.structs.replace(call(), closed=False),), End.MALFORMED_CALL, "incomplete_tool_arguments"),
        ((call(),), End.MALFORMED_CALL, "malformed_tool_call_batch"),
        ((), End.MALFORMED_CALL, "malformed_tool_call_batch"),
        (("Sure:",), End.MALFORMED_CALL, "malformed_tool_call_batch"),
        (("Sure:",), End.TOOL_CALLS, "malformed_tool_call_batch"),
        ((SHELL, call()), End.TOOL_CALLS, "malformed_tool_call_batch"),
    ],
)
def test_a_discarded_response_says_why(parts: tuple[Part | str, ...], end: End, reason: str) -> None:
    """One bad call rejects its batch, the first bad one names it, and the end stays known."""
    judged = worth(response(*parts, end=end), REQUEST)
    assert reason_of(judged) == reason
    assert isinstance(judged, Discarded)
    assert judged.end is end
    began = any(isinstance(part, CallPart) for part in parts)
    assert judged.tried_tool is (began or end in {End.TOOL_CALLS, End.MALFORMED_CALL})


def test_a_discarded_batch_names_its_fault() -> None:
    """What was wrong with the arguments of the first bad call is kept, by code."""
    judged = worth(response(call(), call('{"a":"x', call_id="c2"), end=End.MALFORMED_CALL), REQUEST)
    assert isinstance(judged, Discarded)
    assert judged.fault is not None
    assert judged.fault.code is FaultCode.TRUNCATED
    other = worth(response("A", end=End.LIMIT), REQUEST)
    assert isinstance(other, Discarded)
    assert other.fault is None


def test_an_awaited_hosted_call_counts_as_a_try() -> None:
    """Also in a response that was cut, a hosted tool's call that awaits a result was an attempt to call."""
    judged = worth(response(SHELL, end=End.LIMIT), REQUEST)
    assert isinstance(judged, Discarded)
    assert judged.tried_tool


@pytest.mark.parametrize("category", ["cyber", ""])
def test_a_refusal_is_no_answer(category: str) -> None:
    """A refusal that the provider marked is told apart from text, with the provider's category."""
    refusal = RefusalPart(text="No.", category=category)
    assert worth(response("I", RefusalPart(text=""), refusal, end=End.REFUSAL), REQUEST) == Refused(category=category)
    assert worth(response("I", end=End.REFUSAL), REQUEST) == Refused(category="")


@pytest.mark.parametrize(("raw", "kind"), [("pause_turn", "pause_turn"), (None, "paused")])
def test_a_pause_is_no_answer(raw: str | None, kind: str) -> None:
    """A paused turn is told apart, in the provider's own word where it gave one."""
    paused = msgspec.structs.replace(response("Searching", end=End.PAUSED), raw_reason=raw)
    assert worth(paused, REQUEST) == Paused(kind=kind)
    assert worth(response(end=End.CONTINUATION), REQUEST) == Paused(kind="continuation")


RETRYABLE = {"rate_limited", "overloaded", "server_error", "provider_timeout", "connection", "cut", "not_the_protocol"}
REASONS = {
    "context_full": "context_window_exceeded",
    "content_filter": "provider_refusal",
    "provider_timeout": "provider_timeout",
    "deadline": "call_deadline_exceeded",
    "cancelled": "provider_cancelled",
}


@pytest.mark.parametrize("kind", list(FailureKind))
@pytest.mark.parametrize("end", list(End))
def test_a_failure_beats_what_stands_beside_it(kind: FailureKind, end: End) -> None:
    """A failure is the first question: its kind gives the reason, and whether to try again may help."""
    failure = Failure(kind=kind, where="stream", retry_after=7.5)
    failed = msgspec.structs.replace(response("Some", call(), end=end), failure=failure)
    assert worth(failed, REQUEST) == Failed(
        reason=BoundaryReason(REASONS.get(kind.value, "provider_failed")),
        failure=failure,
        retryable=kind.value in RETRYABLE,
        wait_seconds=7.5,
    )


def test_who_cancelled_is_told_apart() -> None:
    """A cancellation of ours is the caller's, one that the provider reports is its own."""
    for where, reason in (("host", "caller_cancelled"), ("stream", "provider_cancelled")):
        failure = Failure(kind=FailureKind.CANCELLED, where=where)
        judged = worth(msgspec.structs.replace(response(end=End.TRANSPORT), failure=failure), REQUEST)
        assert isinstance(judged, Failed)
        assert (judged.reason.value, judged.retryable) == (reason, False)


def test_a_full_context_without_an_error_is_a_failure() -> None:
    """A response that stopped because the context was full is not asked for again."""
    assert worth(response("Some", end=End.CONTEXT_FULL), REQUEST) == Failed(
        reason=BoundaryReason.CONTEXT_WINDOW_EXCEEDED, failure=None, retryable=False
    )


@pytest.mark.scenario("MB-046")
def test_an_end_without_a_reason_is_accepted_by_choice() -> None:
    """With strictness off, a body that ended properly is enough for a text."""
    assert worth(response("Done.", end=End.TRANSPORT), REQUEST, strict_finish="off") == Accepted(calls=(), text="Done.")


UNREASONED = response("Done.", end=End.TRANSPORT)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (msgspec.structs.replace(UNREASONED, body_end=BodyEnd.CUT), "model_stream_ended_without_finish_reason"),
        (msgspec.structs.replace(UNREASONED, saw_reason=True), "model_stream_ended_without_finish_reason"),
        (msgspec.structs.replace(UNREASONED, usage=TokenUsage(output=50)), "model_output_truncated"),
        (response(call('{"path":'), end=End.TRANSPORT), "incomplete_tool_arguments"),
        (response(end=End.TRANSPORT), "empty_model_response"),
        (response("A", end=End.UNKNOWN), "model_output_interrupted"),
    ],
)
def test_strictness_off_excuses_nothing_else(answer: ModelResponse, reason: str) -> None:
    """A broken body, a reason without its end, a used-up limit, cut calls and unknown reasons stay unusable."""
    request = msgspec.structs.replace(REQUEST, max_output_tokens=50)
    assert reason_of(worth(answer, request, strict_finish="off")) == reason


def test_strictness_off_still_sees_a_refusal() -> None:
    """A refusal without a reason behind it is a refusal; a blank one is none."""
    refused = response("I", RefusalPart(text="No.", category="bio"), end=End.TRANSPORT)
    assert worth(refused, REQUEST, strict_finish="off") == Refused(category="bio")
    blank = response("I", RefusalPart(text=" "), end=End.TRANSPORT)
    assert worth(blank, REQUEST, strict_finish="off") == Accepted(calls=(), text="I")


@pytest.mark.parametrize(
    ("part", "accepted"),
    [
        (CallPart(call_id="c1", name="ping", arguments=' {"a":1}', closed=False), True),
        (CallPart(call_id="c1", name="ping", arguments='{"a":1', closed=False), False),
        (CallPart(call_id="c1", name="ping", arguments="", closed=False), False),
        (CallPart(call_id="c1", name="ping", arguments="null", closed=False), False),
        (CallPart(call_id="c1", name="ping", arguments="{}", closed=False, kind=CallKind.CUSTOM), False),
        (CallPart(call_id="c1", name="ping", arguments="ls", kind=CallKind.CUSTOM), True),
        (CallPart(call_id="c1", name="ping", arguments=""), True),
    ],
)
def test_strictness_off_accepts_a_call_that_shows_its_own_end(part: CallPart, accepted: bool) -> None:  # noqa: FBT001
    """Of what nothing closed but the end of the body, a JSON object is whole by itself; all else may go on."""
    answer = response(part, end=End.TRANSPORT)
    assert isinstance(worth(answer, REQUEST, strict_finish="off"), Accepted) is accepted
    assert isinstance(worth(answer, REQUEST), Discarded)
    if not part.closed:  # the other protocols say that a call is closed, so that one that is not goes on
        for api in (Api.OPENAI_RESPONSES, Api.ANTHROPIC_MESSAGES, Api.GEMINI, Api.OTHER):
            assert isinstance(
                worth(response(part, end=End.TRANSPORT, api=api), REQUEST, strict_finish="off"), Discarded
            )


def test_calls_without_ids_are_named_where_the_protocol_has_none() -> None:
    """Gemini's calls get ids that count through the conversation; anywhere else a missing id is a bad batch."""
    history = (*REQUEST.messages, AssistantMessage(parts=(call(),)))
    request = msgspec.structs.replace(REQUEST, messages=history)
    parts = (call(call_id=""), call(call_id=""))
    judged = worth(response(*parts, end=End.TOOL_CALLS, api=Api.GEMINI), request)
    assert isinstance(judged, Accepted)
    assert [one.call_id for one in judged.calls] == ["signoff-call-2", "signoff-call-3"]
    for api in set(Api) - {Api.GEMINI}:
        assert reason_of(worth(response(*parts, end=End.TOOL_CALLS, api=api), request)) == "malformed_tool_call_batch"


def test_a_large_batch_takes_linear_time() -> None:
    """Many thousands of calls are judged one by one, without comparing each with each."""
    calls = [call("{}", call_id=f"c{number}") for number in range(30_000)]
    judged = worth(response(*calls, end=End.TOOL_CALLS), REQUEST)
    assert isinstance(judged, Accepted)
    assert len(judged.calls) == 30_000


TEXTS = st.sampled_from(
    ["", " ", "{}", '{"path":"a"}', '{"path":', "[]", "null", "Done.", "\u200b", "{}{}", '{"a":1,"a":2}']
)
PARTS = st.one_of(
    st.builds(TextPart, text=TEXTS),
    st.builds(ReasoningPart, text=TEXTS, redacted=st.booleans()),
    st.builds(RefusalPart, text=TEXTS, category=TEXTS),
    st.builds(OpaquePart, kind=TEXTS, native=TEXTS, awaits_result=st.booleans()),
    st.builds(
        CallPart,
        call_id=st.sampled_from(["", "c1", "c2", "c3", "signoff-call-1"]),
        name=st.sampled_from(["", "read", "ping", "other"]),
        arguments=TEXTS,
        kind=st.sampled_from(CallKind),
        closed=st.booleans(),
    ),
)
RESPONSES = st.builds(
    ModelResponse,
    api=st.sampled_from(Api),
    end=st.sampled_from(End),
    body_end=st.sampled_from(BodyEnd),
    parts=st.lists(PARTS, max_size=4).map(tuple),
    failure=st.none() | st.from_type(Failure),
    usage=st.none() | st.from_type(TokenUsage),
    saw_reason=st.booleans(),
    raw_reason=st.none() | TEXTS,
)


@given(RESPONSES, st.sampled_from(get_args(StrictFinish)), st.sampled_from([None, 1, 100]))
@settings(deadline=None, max_examples=400)
def test_every_response_has_a_worth(answer: ModelResponse, strict: StrictFinish, cap: int | None) -> None:
    """Judging never raises, gives the same answer again, and accepts only what is whole and answers something."""
    request = msgspec.structs.replace(REQUEST, max_output_tokens=cap)
    before = msgspec.json.encode(answer)
    judged = worth(answer, request, strict_finish=strict)
    assert judged == worth(answer, request, strict_finish=strict)
    assert msgspec.json.encode(answer) == before
    if isinstance(judged, Accepted):
        assert answer.failure is None
        assert answer.complete or (strict == "off" and answer.body_end is BodyEnd.CLEAN and not answer.saw_reason)
        assert judged.calls or judged.text.strip()
        assert len(judged.calls) == len(answer.calls) == len({one.call_id for one in judged.calls})
        if answer.complete:
            assert all(are_whole(one) for one in answer.calls)
    if not answer.complete and strict == "on":
        assert not isinstance(judged, Accepted)
