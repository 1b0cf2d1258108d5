"""Streams are read as the protocol says: what is shown on the way, and what the record says at the end."""

import orjson
import pytest

from signoff.core.model.deltas import CallDelta, CallStarted, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, End, FailureKind, TokenUsage
from signoff.wire.anthropic_messages.words import FINISHES
from tests.wire.anthropic_messages.streams import (
    FOUND,
    LEGAL,
    SEARCH,
    STOP,
    block,
    delta,
    event,
    finish,
    read,
    start,
    stopped,
    text,
    tool,
    watch,
    whole,
)

WITHOUT_CALLS = {
    "end_turn": End.NORMAL,
    "stop_sequence": End.NORMAL,
    "tool_use": End.MALFORMED_CALL,
    "max_tokens": End.LIMIT,
    "model_context_window_exceeded": End.CONTEXT_FULL,
    "pause_turn": End.PAUSED,
    "compaction": End.PAUSED,
    "refusal": End.REFUSAL,
    "moon_phase": End.UNKNOWN,
    None: End.TRANSPORT,
}
"""What each stop reason means for a response without calls."""


def test_every_reason_of_the_codec_is_tried() -> None:
    """The table of reasons here and the one of the codec name the same words."""
    assert WITHOUT_CALLS.keys() - {None, "moon_phase"} == FINISHES.keys()


@pytest.mark.parametrize(("reason", "end"), WITHOUT_CALLS.items())
@pytest.mark.parametrize("call", ["none", "whole", "cut"])
def test_each_reason_has_its_end(reason: str | None, end: End, call: str) -> None:
    """A whole call turns a normal end into calls to be run, a cut call makes it malformed, and no other end changes."""
    frames = {"none": text(0, "x"), "whole": tool(0, '{"path":"a"}'), "cut": tool(0, '{"path":')}
    response = read(whole(frames[call], reason=reason))
    if reason in {"end_turn", "stop_sequence", "tool_use"} and call != "none":
        end = End.TOOL_CALLS if call == "whole" else End.MALFORMED_CALL
    assert (response.end, response.raw_reason, response.saw_terminal) == (end, reason, True)
    assert response.complete is (end in {End.NORMAL, End.TOOL_CALLS})


def test_a_text_is_read_as_it_comes() -> None:
    """Text is shown piece by piece, and the record has it whole, with everything that the head said."""
    response, shown = watch(LEGAL["text"])
    assert shown == [TextDelta("Hello"), TextDelta(", wörld \U0001f600.")]
    assert response.parts == (TextPart(text="Hello, wörld \U0001f600."),)
    assert (response.api, response.streamed, response.complete) == (Api.ANTHROPIC_MESSAGES, True, True)
    assert (response.response_id, response.model, response.oddities) == ("msg_1", "claude-1", ())
    assert orjson.loads(response.native) == [{"type": "text", "text": "Hello, wörld \U0001f600."}]
    assert orjson.loads(response.envelope) == {"stop_sequence": None}


def test_a_call_is_the_exact_join_of_its_pieces() -> None:
    """Spaces, repeated keys and digits of the input stay as they were sent, in the part and in the native turn."""
    raw = '{"path" : "a", "path":"b",  "n": 1.50e3}'
    response, shown = watch(whole(tool(0, "", raw[:9], raw[9:]), reason="tool_use"))
    assert shown == [CallStarted(0, "toolu_0", "write"), CallDelta(0, raw[:9]), CallDelta(0, raw[9:])]
    assert response.parts == (CallPart(call_id="toolu_0", name="write", arguments=raw),)
    assert response.end is End.MALFORMED_CALL
    assert f'"input":{raw}' in response.native


def test_a_call_without_pieces_has_no_arguments() -> None:
    """No pieces are an empty text, which the boundary reads as no arguments; the native turn has an empty object."""
    response = read(LEGAL["call without input"])
    assert [call.arguments for call in response.calls] == [""]
    assert (response.end, '"input":{}' in response.native) == (End.TOOL_CALLS, True)


def test_an_input_in_the_start_counts_when_no_pieces_follow() -> None:
    """Some servers send the whole input with the start: it is taken exactly as it stands there."""
    sent = tool(0, input="@").replace(b'"@"', b'{"path": "a",  "n":1.0}')
    response = read(whole(sent, reason="tool_use"))
    assert [call.arguments for call in response.calls] == ['{"path": "a",  "n":1.0}']
    assert (response.end, response.oddities) == (End.TOOL_CALLS, ())


def test_pieces_beat_an_input_in_the_start() -> None:
    """Where both come, the pieces are what is kept; nothing says which was meant, so the call is not whole."""
    response = read(whole(tool(0, '{"b":2}', input={"a": 1}), reason="tool_use"))
    assert [call.arguments for call in response.calls] == ['{"b":2}']
    assert (response.oddities, response.end) == (("input_twice",), End.MALFORMED_CALL)


@pytest.mark.parametrize("reason", ["max_tokens", "tool_use"])
def test_a_cut_call_stays_as_it_was_cut(reason: str) -> None:
    """A cut input is neither completed nor dropped, whatever the reason says, and there is no native turn of it."""
    response = read(whole(text(0, "Look."), tool(1, '{"path":"x","content":"ab'), reason=reason))
    assert [call.arguments for call in response.calls] == ['{"path":"x","content":"ab']
    assert response.end is (End.LIMIT if reason == "max_tokens" else End.MALFORMED_CALL)
    assert (response.complete, response.native) == (False, "")


@pytest.mark.parametrize("raw", ['{"a":1}{"b":2}', '{"a":1,"a":1}', "[1]", "{'a': 1}", '"x"', "{}x"])
def test_no_tolerant_reading_of_an_input(raw: str) -> None:
    """What the official clients repair, merge or accept is a malformed call here, kept as it came."""
    response = read(whole(tool(0, raw), reason="tool_use"))
    assert (response.end, [call.arguments for call in response.calls]) == (End.MALFORMED_CALL, [raw])


def test_reasoning_keeps_its_signature_in_the_native_turn() -> None:
    """Reasoning is shown and is no answer; its signature stays byte for byte, and redacted data too."""
    redacted = block(1, {"type": "redacted_thinking", "data": "ZGF0YQ==", "later": [1]})
    thinking = LEGAL["search"][LEGAL["search"].index(b"event: content_block_start") :].split(
        b"event: content_block_stop"
    )[0]
    response, shown = watch(whole(thinking + stopped(0), redacted))
    assert shown == [ReasoningDelta("Let me "), ReasoningDelta("see.")]
    assert response.parts == (ReasoningPart(text="Let me see."), ReasoningPart(redacted=True))
    assert orjson.loads(response.native) == [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln/+bmVk=="},
        {"type": "redacted_thinking", "data": "ZGF0YQ==", "later": [1]},
    ]


def test_reasoning_without_its_signature_is_not_sent_back() -> None:
    """Reasoning that broke off is evidence, but no part of the turn that may be sent back."""
    first = start() + block(0, {"type": "thinking", "thinking": "", "signature": ""}, stop=False)
    response = read(first + delta(0, {"type": "thinking_delta", "thinking": "hm"}), body_end=BodyEnd.CUT)
    assert (response.reasoning, response.native, response.end) == ("hm", "[]", End.TRANSPORT)


def test_server_tools_are_opaque() -> None:
    """What the provider runs itself is no call for the client; it is kept whole, unknown fields included."""
    response = read(LEGAL["search"])
    assert response.end is End.NORMAL
    assert [type(part) for part in response.parts] == [ReasoningPart, OpaquePart, OpaquePart, TextPart]
    search, found = (part for part in response.parts if isinstance(part, OpaquePart))
    assert (search.kind, found.kind, search.awaits_result) == ("server_tool_use", "web_search_tool_result", False)
    assert orjson.loads(search.native)["input"] == {"query": "x"}
    assert orjson.loads(found.native) == FOUND
    assert orjson.loads(response.native)[1:3] == [orjson.loads(search.native), FOUND]


def test_citations_are_kept_with_their_text() -> None:
    """Citations come one by one and make a list, in the part and in the native turn."""
    response = read(LEGAL["search"])
    (cited,) = (part for part in response.parts if isinstance(part, TextPart))
    assert [each["type"] for each in orjson.loads(cited.citations)] == ["web_search_result_location", "char_location"]
    assert orjson.loads(response.native)[3]["citations"] == orjson.loads(cited.citations)


def test_a_server_call_without_its_result_is_a_pause() -> None:
    """Under `tool_use`, a server call that is open and no client call mean that the provider wants to go on."""
    open_call = whole(SEARCH.replace(b'"index":1', b'"index":0'), reason="tool_use")
    assert read(open_call).end is End.PAUSED
    answered = whole(SEARCH.replace(b'"index":1', b'"index":0'), block(1, FOUND), reason="tool_use")
    assert read(answered).end is End.MALFORMED_CALL
    beside = whole(SEARCH.replace(b'"index":1', b'"index":0'), tool(1, "{}"), reason="tool_use")
    assert read(beside).end is End.TOOL_CALLS


@pytest.mark.parametrize(
    ("details", "part"),
    [
        ({"category": "cyber", "explanation": "No."}, RefusalPart(text="No.", category="cyber")),
        ({"category": None, "explanation": "No."}, RefusalPart(text="No.")),
        ({"category": "bio", "explanation": None}, RefusalPart(text="", category="bio")),
        ({"category": None, "explanation": None}, None),
        (None, None),
    ],
)
def test_a_refusal_has_its_details(details: dict[str, object] | None, part: RefusalPart | None) -> None:
    """What the provider says of a refusal follows the text that it interrupted; else the reason alone says it."""
    response, shown = watch(whole(text(0, "I"), reason="refusal", stop_details=details))
    assert response.parts == (TextPart(text="I"), *([part] if part else []))
    assert response.end is End.REFUSAL
    assert [each for each in shown if isinstance(each, RefusalDelta)] == (
        [RefusalDelta(part.text)] if part and part.text else []
    )


def test_a_compaction_replaces_and_a_fallback_changes_the_model() -> None:
    """A compaction's one delta is its content; from a fallback block on, another model answers."""
    compaction = block(0, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "Short."})
    fallback = block(1, {"type": "fallback", "from": {"model": "claude-1"}, "to": {"model": "claude-0"}})
    response = read(whole(compaction, fallback))
    assert [part.kind for part in response.parts if isinstance(part, OpaquePart)] == ["compaction", "fallback"]
    assert orjson.loads(response.native)[0] == {"type": "compaction", "content": "Short."}
    assert response.model == "claude-0"


def test_usage_is_the_last_count_of_each_kind() -> None:
    """All input is the sum of three counts; those of the start stay where the end is silent."""
    first = {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 1}
    last = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 2}, "cache_read_input_tokens": None}
    response = read(start(usage={**first, "service_tier": "standard"}) + finish("end_turn", last) + STOP)
    native = {**first, "output_tokens": 9, "service_tier": "standard", "output_tokens_details": {"thinking_tokens": 2}}
    assert response.usage is not None
    assert orjson.loads(response.usage.native) == native
    assert response.usage == TokenUsage(
        input=12, cached_read=5, cache_write=4, output=9, reasoning=2, native=response.usage.native
    )


def test_usage_that_never_came_is_none() -> None:
    """Absent usage is None and no zero; usage in either place alone counts."""
    assert read(start(usage=None) + finish("end_turn") + STOP).usage is None
    late = read(start(usage=None) + finish("end_turn", {"output_tokens": 3}) + STOP).usage
    early = read(start() + finish("end_turn") + STOP).usage
    assert late is not None
    assert early is not None
    assert [(each.input, each.output) for each in (late, early)] == [(None, 3), (12, None)]


@pytest.mark.parametrize("more", [b"", finish("end_turn"), finish("end_turn", {"input_tokens": 12})])
def test_the_output_of_a_start_is_a_placeholder(more: bytes) -> None:
    """It is no count until a later event brings one; the input is known, and the provider's own words stay."""
    first = {"input_tokens": 12, "output_tokens": 1, "output_tokens_details": {"thinking_tokens": 0}}
    usage = read(start(usage=first) + text(0, "many words", stop=False) + more, body_end=BodyEnd.CUT).usage
    assert usage is not None
    assert (usage.input, usage.output, usage.reasoning) == (12, None, None)
    assert orjson.loads(usage.native) == first


@pytest.mark.parametrize("worse", ["pause_turn", "max_tokens", "refusal", "moon_phase"])
@pytest.mark.parametrize("better", ["end_turn", "tool_use"])
def test_the_worst_reason_counts(worse: str, better: str) -> None:
    """Of several reasons the worst one counts, in whatever order they come, and also behind one taken back."""
    between: tuple[bytes, ...] = (b"", finish(None))
    for frames in (*(finish(worse) + each + finish(better) for each in between), finish(better) + finish(worse)):
        changed = read(start() + frames + STOP)
        assert (changed.end, changed.raw_reason) == (WITHOUT_CALLS[worse], worse)
        assert changed.oddities == ("reason_changed",)


def test_a_reason_is_taken_back_by_null_and_not_by_silence() -> None:
    """Null takes a reason back, a repeated reason is the same one, and silence changes nothing."""
    assert read(start() + finish("end_turn") + finish("end_turn") + STOP).oddities == ()
    taken_back = read(start() + finish("end_turn") + finish(None) + STOP)
    assert (taken_back.end, taken_back.raw_reason) == (End.TRANSPORT, None)
    silent = read(start() + finish("end_turn") + event("message_delta", delta={}, usage={"output_tokens": 2}) + STOP)
    assert (silent.end, silent.oddities) == (End.NORMAL, ())


def test_a_limit_that_the_reason_hides_is_seen() -> None:
    """A response that used up what was asked for was cut, whatever its reason says."""
    response = read(whole(text(0, "x")), exchange=Exchange(max_output_tokens=7))
    assert (response.end, response.oddities) == (End.LIMIT, ("cap_reached",))


def test_an_error_event_beats_the_reason() -> None:
    """An error ends the stream, whatever came before it; of its text only the length is kept."""
    error = event("error", error={"type": "overloaded_error", "message": "sk-secret busy"})
    response = read(start() + text(0, "x") + finish("end_turn") + error + STOP)
    assert (response.end, response.text) == (End.PROVIDER_ERROR, "x")
    assert response.failure is not None
    assert (response.failure.kind, response.failure.where) == (FailureKind.OVERLOADED, "stream")
    assert (response.failure.type, response.failure.message_length) == ("overloaded_error", 14)
    assert "secret" not in repr(response)


def test_unknown_fields_survive() -> None:
    """Fields, blocks and reasons that nobody here knows are in the record, with their digits as they came."""
    first = start(diagnostics={"n": 1}, container=None)
    content = block(0, {"type": "text", "text": "x", "later": "@"}).replace(b'"@"', b'{"n": 1.0}')
    last = event("message_delta", delta={"stop_reason": "end_turn", "container": {"id": "c"}}, context_management={})
    response = read(first + content + last + STOP)
    assert response.native == '[{"type":"text","text":"x","later":{"n": 1.0}}]'
    assert orjson.loads(response.envelope) == {
        "stop_sequence": None,
        "diagnostics": {"n": 1},
        "container": {"id": "c"},
        "context_management": {},
    }


def test_pieces_may_split_a_character() -> None:
    """The halves of a pair in two frames are one character again, shown only when it is whole."""
    frames = start() + text(0, "@", "%") + finish("end_turn") + STOP
    response, shown = watch(frames.replace(b'"@"', rb'"a\ud83d"').replace(b'"%"', rb'"\ude00b"'))
    assert (response.text, shown) == ("a\U0001f600b", [TextDelta("a"), TextDelta("\U0001f600b")])


def test_very_many_calls_are_read() -> None:
    """Many calls with any indexes cost a time that is linear in their number."""
    count = 20_000
    body = start() + b"".join(tool(index * 7, "{}") for index in range(count)) + finish("tool_use") + STOP
    response = read(body, pieces=range(1 << 16, len(body), 1 << 16))
    assert (len(response.calls), response.end) == (count, End.TOOL_CALLS)
