"""What is written towards clients: the strict form of every end, and a refusal of what the protocol cannot say."""

import json
from typing import Any

import msgspec
import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.errors import PolicyError
from signoff.testing.replies import call, reply
from signoff.wire import openai_chat
from signoff.wire.failures import failure_of
from tests.wire.openai_chat.chunks import read, read_whole

CLAUDE = Api.ANTHROPIC_MESSAGES
BROKE = Failure(kind=FailureKind.OVERLOADED, where="stream", code="slow_down")


def chunks(response: ModelResponse) -> list[Any]:
    """The chunks of a written stream, as values; the end marker is None."""
    frames = [each.removeprefix(b"data: ").removesuffix(b"\n\n") for each in openai_chat.build_stream(response)]
    return [None if each == b"[DONE]" else json.loads(each) for each in frames]


def faults_of(response: ModelResponse) -> list[str]:
    """What the strictest clients would not bear in a written stream; none is as it should be."""
    found = []
    values = chunks(response)
    first, whole = values[0], values[-1] is None
    choices = [choice for value in values if value for choice in value.get("choices", [])]
    reasons = [choice["finish_reason"] for choice in choices]
    indexes = [entry["index"] for choice in choices for entry in choice["delta"].get("tool_calls", ())]
    heads = [entry for choice in choices for entry in choice["delta"].get("tool_calls", ()) if "id" in entry]
    if first["choices"][0]["delta"]["role"] != "assistant" or any("role" in choice["delta"] for choice in choices[1:]):
        found.append("the role is not in the first chunk alone")
    if whole and (reasons.count(None) != len(reasons) - 1 or reasons[-1] is None):
        found.append("there is not one reason, at the end")
    if sorted(set(indexes)) != list(range(len(heads))) or indexes != sorted(indexes):
        found.append("indexes of calls are not dense")
    if any(not entry["id"] or not entry["type"] for entry in heads):
        found.append("a call begins without an id or a type")
    if any(
        (value["id"], value["object"]) != (first["id"], "chat.completion.chunk")
        for value in values
        if value and "id" in value
    ):
        found.append("chunks differ in identity")
    if whole and [place for place, value in enumerate(values) if value and value.get("usage")] not in (
        [],
        [len(values) - 2],
    ):
        found.append("usage is not the last chunk")
    return found


ENDS = {
    "text": (reply("Hi", usage=None), End.NORMAL, "stop"),
    "everything": (reply("Hi", calls=[call("f"), call("g", "")], reasoning="hm"), End.TOOL_CALLS, "tool_calls"),
    "nothing": (reply(), End.NORMAL, "stop"),
    "a cut call": (reply(calls=[call("f", '{"a"')], end=End.MALFORMED_CALL), End.MALFORMED_CALL, "tool_calls"),
    "no call": (reply(end=End.MALFORMED_CALL), End.MALFORMED_CALL, "tool_calls"),
    "the limit": (reply("Hi", end=End.LIMIT), End.LIMIT, "length"),
    "a full context": (reply("Hi", end=End.CONTEXT_FULL), End.LIMIT, "length"),
    "a filter": (reply("Hi", end=End.CONTENT_FILTER), End.CONTENT_FILTER, "content_filter"),
    "a refusal": (reply("Hi", refusal="No."), End.REFUSAL, "stop"),
    "a refusal without a text": (reply("Hi", end=End.REFUSAL, api=CLAUDE), End.CONTENT_FILTER, "content_filter"),
    "another's word": (reply("Hi", raw_reason="end_turn", api=CLAUDE), End.NORMAL, "stop"),
    "a word that says the same": (reply(calls=[call("f")], raw_reason="stop"), End.TOOL_CALLS, "stop"),
    "a word that says more": (reply("Hi", end=End.LIMIT, raw_reason="stop"), End.LIMIT, "length"),
    "an unknown word": (reply("Hi", end=End.UNKNOWN, raw_reason="eos"), End.UNKNOWN, "eos"),
    "a word for an error": (reply("Hi", end=End.PROVIDER_ERROR, raw_reason="error"), End.PROVIDER_ERROR, "error"),
}


@pytest.mark.parametrize("name", ENDS)
def test_each_end_is_written(name: str) -> None:
    """A stream and a body say the same end, and the stream has the form that the strictest clients want."""
    response, end, reason = ENDS[name]
    assert faults_of(response) == []
    streamed = read(*openai_chat.build_stream(response))
    whole = read_whole(openai_chat.build_response(response))
    assert (streamed.end, streamed.raw_reason, streamed.oddities) == (whole.end, whole.raw_reason, whole.oddities)
    assert (streamed.end, streamed.raw_reason) == (end, reason)
    assert streamed.parts == whole.parts


def test_the_strict_form_of_a_stream() -> None:
    """Byte for byte: the role, the text, a call's head and its arguments, the reason, the usage, the end marker."""
    response = msgspec.structs.replace(
        reply("Hi", calls=[call("f", '{"a":1}')], usage=(3, 4), response_id="r", model="m"),
        envelope='{"created":7,"object":"x","service_tier":"default"}',
    )
    head = '{"id":"r","object":"chat.completion.chunk","created":7,"model":"m","service_tier":"default","choices":['
    choice = '{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}'
    deltas = [
        ('{"role":"assistant","content":"","refusal":null}', "null"),
        ('{"content":"Hi"}', "null"),
        ('{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}', "null"),
        ('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"a\\":1}"}}]}', "null"),
        ("{}", '"tool_calls"'),
    ]
    counts = '],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}'
    texts = [head + choice % each for each in deltas] + [head + counts, "[DONE]"]
    assert list(openai_chat.build_stream(response)) == [f"data: {text}\n\n".encode() for text in texts]


@pytest.mark.parametrize(
    ("failure", "end"),
    [
        (BROKE, End.PROVIDER_ERROR),
        (None, End.PROVIDER_ERROR),
        (Failure(kind=FailureKind.CONTEXT_FULL, where="http", status=400), End.CONTEXT_FULL),
        (Failure(kind=FailureKind.TOO_LARGE, where="host"), End.PROVIDER_ERROR),
    ],
)
def test_a_failure_ends_a_stream_as_an_error(failure: Failure | None, end: End) -> None:
    """What was said before it is shown; no reason and no end marker follow; a body cannot say it."""
    response = msgspec.structs.replace(reply("Hi", end=end, api=CLAUDE), failure=failure)
    assert faults_of(response) == []
    found = read(*openai_chat.build_stream(response))
    assert found.failure is not None
    assert (found.text, found.saw_reason, found.saw_terminal) == ("Hi", False, False)
    assert found.end is end
    with pytest.raises(PolicyError, match="write an error instead"):
        openai_chat.build_response(response)


def test_an_answer_that_was_cut_has_no_end() -> None:
    """Nothing in the stream says that it is over, and no body can hold it."""
    response = reply("Hi", end=End.TRANSPORT)
    frames = list(openai_chat.build_stream(response))
    assert not any(b'"finish_reason":"' in each or b"[DONE]" in each for each in frames)
    assert read(*frames).end is End.TRANSPORT
    with pytest.raises(PolicyError, match="transport"):
        openai_chat.build_response(response)


@pytest.mark.parametrize(
    "response",
    [
        reply("Hi", end=End.PAUSED, api=CLAUDE),
        reply("Hi", end=End.CONTINUATION, api=Api.GEMINI),
        reply("Hi", end=End.UNKNOWN, raw_reason="OTHER", api=Api.GEMINI),
        reply(calls=[call("f", "{}", closed=False)], end=End.MALFORMED_CALL, api=CLAUDE),
        reply(parts=(OpaquePart(kind="server_tool_use", native="{}"),), api=CLAUDE),
        reply(parts=(TextPart(text="a", citations="[{}]"),), api=CLAUDE),
        reply(parts=(CallPart(call_id="", name="f", arguments="{}"),) * 2, end=End.TOOL_CALLS),
    ],
)
def test_what_the_protocol_cannot_say_is_refused(response: ModelResponse) -> None:
    """Pauses, unknown ends, hidden cuts, parts and citations of others, calls without ids: refused before any byte."""
    for build in (openai_chat.build_stream, openai_chat.build_response):
        with pytest.raises(PolicyError, match="Chat Completions cannot say"):
            build(response)


def test_citations_of_the_protocol_are_written() -> None:
    """They are the annotations of the message."""
    part = TextPart(text="a", citations='[{"type":"url_citation"}]')
    response = reply(parts=(part,))
    assert read(*openai_chat.build_stream(response)).parts == (part,)
    assert read_whole(openai_chat.build_response(response)).parts == (part,)


def test_texts_of_one_kind_are_one() -> None:
    """The protocol has one field for each kind of text."""
    parts = (TextPart(text="a"), ReasoningPart(text="hm"), TextPart(text="b"), RefusalPart(text="c"))
    message = json.loads(openai_chat.build_response(reply(parts=parts, end=End.REFUSAL)))["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"], message["refusal"]) == ("ab", "hm", "c")


def test_an_unknown_count_is_left_out() -> None:
    """A count that nobody gave is not written as zero."""
    response = msgspec.structs.replace(reply("Hi"), usage=TokenUsage(output=3, reasoning=2))
    usage = json.loads(openai_chat.build_response(response))["usage"]
    assert usage == {"completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}}


@pytest.mark.parametrize("kind", FailureKind)
def test_an_error_is_written_in_the_protocols_form(kind: FailureKind) -> None:
    """Its kind is read back; what only a host can know is a server's error for its client."""
    failure = Failure(kind=kind, where="http", status=500)
    body = openai_chat.build_error(failure, message="Boom é", in_stream=False)
    value = json.loads(body)
    assert value["error"].keys() == {"message", "type", "param", "code"}
    assert value["error"]["message"] == "Boom é"
    assert openai_chat.build_error(failure, message="Boom é", in_stream=True) == b"data: " + body + b"\n\n"
    host = {"connection", "cut", "not_the_protocol", "too_large", "deadline"}
    expected = FailureKind.SERVER_ERROR if kind in host else kind
    assert failure_of(value, Exchange(), where="stream").kind is expected


def test_the_providers_own_words_are_kept_where_they_say_the_kind() -> None:
    """A code that is this kind's stays; one that says something else, or a number, does not."""

    def written(kind: FailureKind, **words: str) -> tuple[str, str | None]:
        failure = Failure(kind=kind, where="http", **words)  # type: ignore[arg-type]
        error = json.loads(openai_chat.build_error(failure, message="", in_stream=False))["error"]
        return error["type"], error["code"]

    assert written(FailureKind.QUOTA, code="credit_balance_exhausted")[1] == "credit_balance_exhausted"
    assert written(FailureKind.OVERLOADED, type="overloaded_error") == ("overloaded_error", "slow_down")
    assert written(FailureKind.RATE_LIMITED, code="429", type="x") == ("requests", "rate_limit_exceeded")
    assert written(FailureKind.INVALID_REQUEST, code="string_above_max_length")[1] == "string_above_max_length"
