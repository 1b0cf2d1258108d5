"""What the decoder makes of each kind of part, chunk and deviation."""

import json
from typing import Any

import pytest

from signoff.core.model.deltas import CallDelta, CallStarted, ReasoningDelta, TextDelta
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallPart, OpaquePart, ReasoningPart, TextPart
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind
from signoff.wire import gemini
from signoff.wire.sse import Frame
from tests.wire.gemini.streams import HEAD, LEGAL, SIGNED, USAGE, call, chunk, data, native_parts, read, seen, stream

STOP = chunk(finish="STOP")


@pytest.mark.parametrize("name", LEGAL)
def test_every_legal_stream_is_whole_and_nothing_about_it_is_odd(name: str) -> None:
    """A legal stream with a proper end is complete, byte by byte as at once, without an oddity."""
    body = stream(*LEGAL[name])
    response = read(body)
    assert (response.complete, response.saw_reason, response.oddities) == (True, True, ())
    decoder = gemini.decoder(Exchange())
    shown = [delta for one in LEGAL[name] for delta in decoder.feed(Frame(data=json.dumps(one)))]
    assert decoder.end(BodyEnd.CLEAN) == response
    assert "".join(one.text for one in shown if isinstance(one, TextDelta)) == response.text
    assert "".join(one.text for one in shown if isinstance(one, ReasoningDelta)) == response.reasoning
    pieces = [one.text for one in shown if isinstance(one, CallDelta)]
    assert pieces == [one.arguments for one in response.calls if one.arguments]
    started = [(one.call_id, one.name) for one in shown if isinstance(one, CallStarted)]
    assert started == [(one.call_id, one.name) for one in response.calls]


def test_a_role_of_another_is_noted_and_not_sent_back() -> None:
    """Whoever a chunk says is speaking, the content that goes back is the model's."""
    odd = {"candidates": [{"content": {"parts": [{"text": "a"}], "role": "user"}, "finishReason": "STOP"}]}
    response = seen(odd)
    assert (response.text, response.oddities) == ("a", ("other_role",))
    assert json.loads(response.native) == {"role": "model", "parts": [{"text": "a"}]}


def test_a_part_of_two_kinds_is_both() -> None:
    """Neither kind hides the other, and the part goes back as it came."""
    part = {"text": "a", **call("f", {"b": 1}), "inlineData": {}}
    response = seen(chunk(part), STOP)
    assert [type(one) for one in response.parts] == [TextPart, CallPart, OpaquePart]
    assert (response.end, response.oddities) == (End.TOOL_CALLS, ("part_of_two_kinds",))
    assert native_parts(response) == [part]


@pytest.mark.parametrize("name", LEGAL)
def test_an_array_of_chunks_is_the_same_response(name: str) -> None:
    """What a stream without `alt=sse` is, one JSON array, reads as the stream does."""
    whole = read(json.dumps(LEGAL[name]).encode(), streamed=False)
    streamed = seen(*LEGAL[name])
    assert (whole.parts, whole.end, whole.usage) == (streamed.parts, streamed.end, streamed.usage)
    assert whole.native == streamed.native
    assert whole.oddities == ("list_of_chunks",)


def test_text_of_one_kind_is_one_part_and_thoughts_are_never_text() -> None:
    """Runs of text and of thoughts are joined each by itself, in their order."""
    response = seen(*LEGAL["thought and signed text"])
    assert response.parts == (ReasoningPart(text="Hm. So."), TextPart(text="Yes"))
    assert native_parts(response) == [
        {"text": "Hm. So.", "thought": True},
        {"text": "Yes"},
        {"text": "", "thoughtSignature": "c2lnbmVk"},
    ]


def test_text_that_says_that_it_is_no_thought_is_text() -> None:
    """Only `true` makes a thought; the field goes back as it came."""
    part = {"text": "b", "thought": False}
    response = seen(chunk({"text": "a"}), chunk(part), STOP)
    assert (response.parts, native_parts(response)) == ((TextPart(text="ab"),), [{"text": "a"}, part])


def test_only_a_body_has_an_end_marker() -> None:
    """A stream has none, however it ended; a body that is read whole is its own."""
    assert not seen(STOP).saw_terminal
    assert read(json.dumps(STOP).encode(), streamed=False).saw_terminal


def test_a_signed_part_joins_no_other() -> None:
    """Text with a signature stays a part of its own, in both forms and in its place."""
    signed = {"text": "b", **SIGNED}
    response = seen(chunk({"text": "a"}), chunk(signed), chunk({"text": "c"}), chunk({"text": "d"}), STOP)
    assert response.parts == (TextPart(text="a"), TextPart(text="b"), TextPart(text="cd"))
    assert native_parts(response) == [{"text": "a"}, signed, {"text": "cd"}]


def test_fields_that_nobody_knows_survive() -> None:
    """Unknown fields of a part, the content, the candidate and the chunk are kept, byte for byte."""
    text = (
        '{"candidates":[{"content":{"parts":[{"text":"a","later":1.0e3},{"text":"b"}],"role":"model","x":[1, 2]},'
        '"finishReason":"STOP","safetyRatings":[{"p":0.10}]}],"promptFeedback":{"safetyRatings":[]},'
        '"createTime":"t"}'
    )
    response = seen(text, chunk({"text": "c"}, finish="STOP"))
    assert '{"text":"a","later":1.0e3},{"text":"bc"}' in response.native
    assert '"x":[1, 2]' in response.native
    assert response.envelope == (
        '{"promptFeedback":{"safetyRatings":[]},"createTime":"t","candidates":[{"safetyRatings":[{"p":0.10}]}]}'
    )
    assert response.parts == (TextPart(text="abc"),)


def test_a_body_that_came_at_once_is_kept_as_it_came() -> None:
    """The native content of a single chunk is its own text, spaces and all."""
    content = '{ "parts" : [ {"text":"a"} , {"text":"b"} ], "role":"model" }'
    body = '{"candidates":[{"content":' + content + ',"finishReason":"STOP"}]}'
    assert read(body.encode(), streamed=False).native == content


@pytest.mark.parametrize(
    "kind", ["toolCall", "toolResponse", "executableCode", "codeExecutionResult", "inlineData", "fileData", "later"]
)
def test_what_has_no_neutral_form_is_kept_whole(kind: str) -> None:
    """Hosted tools, media and kinds that are not known yet are opaque parts that wait for nothing."""
    part = {kind: {"a": [1]}, **SIGNED}
    response = seen(chunk({"text": "x"}), chunk(part, finish="STOP"))
    assert response.parts[1:] == (OpaquePart(kind=kind, native=json.dumps(part)),)
    assert response.end is End.NORMAL
    assert native_parts(response)[1] == part


def test_the_last_usage_counts_and_thoughts_are_output() -> None:
    """Usage on every chunk is a running total; output is what can be seen and what was thought."""
    early = {**chunk({"text": "a"}), "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 1}}
    usage = seen(early, STOP).usage
    assert usage is not None
    assert (usage.input, usage.output, usage.reasoning, usage.total) == (12, 7, 2, 19)
    assert json.loads(usage.native) == USAGE
    assert seen({**STOP, "usageMetadata": None}).usage is None
    counted = seen({**STOP, "usageMetadata": {"promptTokenCount": "12", "thoughtsTokenCount": 3}}).usage
    assert counted is not None
    assert (counted.input, counted.output, counted.total) == (None, 3, None)


def test_a_cap_that_is_used_up_is_a_limit() -> None:
    """STOP with as many tokens as were asked for, thoughts included, is a cut answer."""
    body = stream(chunk({"text": "a"}, finish="STOP"))
    assert read(body, cap=7).end is End.LIMIT
    assert read(body, cap=8).end is End.NORMAL


def test_ids_and_the_model_are_kept() -> None:
    """The response's id and the model that answered are those of the body."""
    response = seen(chunk({"text": "a"}), STOP)
    assert (response.response_id, response.model, response.api) == ("r-1", "m-1", gemini.API)


@pytest.mark.parametrize(
    ("frames", "oddity"),
    [
        ([data("[DONE]")], "done_marker"),
        ([b"data:\n\n"], "empty_frame"),
        ([data({})], "chunk_of_nothing_known"),
        ([data([HEAD])], "list_of_chunks"),
        ([b"event: message\n" + data(HEAD)], "event_name"),
        ([data(STOP)], "reason_repeated"),
        ([data(chunk({}))], "empty_part"),
        ([data({"candidates": [{**STOP["candidates"][0], "index": 1}]})], "more_candidates"),
    ],
)
def test_deviations_are_understood_and_noted(frames: list[bytes], oddity: str) -> None:
    """What other servers send beside the protocol neither ends nor changes a response, and is noted."""
    ordinary = stream(chunk({"text": "a"}), STOP)
    response = read(b"".join([ordinary, *frames, data(HEAD)]))
    assert (response.text, response.end, response.oddities) == ("a", End.NORMAL, (oddity,))


def test_comments_and_odd_line_ends_are_understood() -> None:
    """Frames with other line ends, a comment, or no space behind the colon are read like the others."""
    body = stream(chunk({"text": "a"}), STOP)
    assert read(b"\xef\xbb\xbf" + json.dumps(STOP).encode(), streamed=False).end is End.NORMAL
    assert gemini.parse_response(b"\xef\xbb\xbf" + json.dumps(HEAD).encode(), Exchange()).oddities == ("bom",)
    for other in (body.replace(b"\n", b"\r\n"), body.replace(b"data: ", b"data:"), b": hello\n\n" + body, body[:-2]):
        response = read(other)
        assert (response.text, response.end) == ("a", End.NORMAL)


def test_the_first_candidate_is_found_wherever_it_stands() -> None:
    """The candidate with index 0, or without an index in the first place, is the response; others are noted."""
    other = {"content": {"parts": [{"text": "no"}], "role": "model"}, "finishReason": "MAX_TOKENS", "index": 1}
    mine = {"content": {"parts": [{"text": "yes"}], "role": "model"}, "finishReason": "STOP"}
    assert seen({"candidates": [mine, other]}).text == "yes"
    response = seen({"candidates": [other, {**mine, "index": 0}]})
    assert (response.text, response.end, response.oddities) == ("yes", End.NORMAL, ("more_candidates",))
    assert seen({"candidates": [other]}).end is End.TRANSPORT


def test_content_behind_the_reason_takes_the_reason_back() -> None:
    """The last chunk with content must have the reason: what follows a reason without one shows a cut."""
    response = seen(chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}))
    assert (response.end, response.raw_reason, response.oddities) == (End.TRANSPORT, "STOP", ("content_after_reason",))
    assert seen(chunk({"text": "a"}, finish="STOP"), chunk({"text": ""})).end is End.NORMAL
    late = seen(chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}), chunk(finish="MAX_TOKENS"))
    assert (late.end, late.text) == (End.LIMIT, "ab")


def test_an_emoji_split_between_chunks_is_one_character() -> None:
    """Halves of a surrogate pair in two chunks meet; a half that stays alone becomes a replacement character."""
    first, second = (json.dumps(chunk({"text": half})) for half in ("\ud83c", "\udf88"))
    assert seen(first, second, STOP).text == "🎈"
    alone = seen(first, chunk({"text": "x"}), STOP)
    assert (alone.text, alone.complete) == ("\ufffdx", True)
    assert native_parts(alone) == [{"text": "\ufffdx"}]


def test_a_half_character_in_a_frame_does_not_hide_a_repeated_key() -> None:
    """Arguments are cut out exactly also where the frame holds half a surrogate pair."""
    args = '{"a":1, "a":2,"b":"\\\\ud83c","c":"\\ud83c\\udf88"}'
    text = json.dumps(chunk({"text": "\ud83c"}, call("f", "ARGS"), finish="STOP")).replace('"ARGS"', args)
    response = seen(text)
    assert response.calls[0].arguments == args
    assert response.end is End.MALFORMED_CALL


ERROR: dict[str, Any] = {"code": 503, "message": "Too busy.", "status": "UNAVAILABLE"}


@pytest.mark.parametrize(
    "body",
    [
        data({"error": ERROR}),
        data({"candidates": [], "error": ERROR}),
        data([{"error": ERROR}]),
        json.dumps({"error": ERROR}, indent=2).encode(),
        json.dumps([{"error": ERROR}], indent=2).encode(),
        b"error: " + json.dumps(ERROR).encode() + b"\n\n",
        b"error: " + json.dumps({"error": ERROR}).encode() + b"\n\n",
    ],
)
def test_an_error_is_found_wherever_it_stands(body: bytes) -> None:
    """As any key of a frame, inside a list, as bare JSON, or in a field of its own: an error ends the response."""
    response = read(body)
    assert response.end is End.PROVIDER_ERROR
    expected = Failure(
        kind=FailureKind.OVERLOADED, where="stream", status=503, type="UNAVAILABLE", code="503", message_length=9
    )
    assert response.failure == expected


def test_an_error_beats_everything_around_it() -> None:
    """Neither a reason before it, beside it, nor content behind it makes a response with an error whole."""
    beside = {**chunk({"text": "a"}, finish="STOP"), "error": ERROR}
    for chunks in ([STOP, {"error": ERROR}], [beside], [{"error": ERROR}, chunk({"text": "a"}, finish="STOP")]):
        for response in (seen(*chunks), seen(chunks)):
            assert (response.end, response.text) == (End.PROVIDER_ERROR, "")
    decoder = gemini.decoder(Exchange())
    decoder.feed(Frame(data=json.dumps(STOP)))
    assert not decoder.finished
    decoder.feed(Frame(data=json.dumps({"error": ERROR})))
    assert decoder.finished


WRONG: list[object] = [
    "not json",
    [1],
    7,
    {"candidates": {}},
    {"candidates": [7]},
    {"candidates": [{"content": []}]},
    {"candidates": [{"content": {"parts": {}}}]},
    chunk({"text": 7}),
    {"candidates": [{"content": {"parts": [7]}}]},
    chunk({"text": 7, **SIGNED}),
    chunk({"functionCall": "f"}),
    chunk({"functionCall": {"name": 7}}),
    chunk({"functionCall": {"name": "f", "id": 7}}),
    chunk({"functionCall": {"name": "f", "willContinue": "no"}}),
    chunk({"functionCall": {"name": "f", "partialArgs": {}}}),
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_chunk_of_other_types_is_not_the_protocol(wrong: object) -> None:
    """A known field of another type is no guess: the response is not of the protocol, whatever follows."""
    frame = wrong if isinstance(wrong, str) else json.dumps(wrong)
    response = seen(chunk({"text": "a"}), frame, STOP)
    assert response.end is End.PROVIDER_ERROR
    assert response.failure is not None
    assert (response.failure.kind, response.failure.message_length) == (FailureKind.NOT_THE_PROTOCOL, len(frame))
    body = read(frame.encode(), streamed=False)
    assert (body.complete, body.saw_terminal) == (False, False)


def test_another_protocols_chunks_are_not_the_protocol() -> None:
    """A stream or body that has none of the protocol's fields is another format, and no answer that was cut."""
    chat = {"object": "chat.completion", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
    for response in (seen(chat), read(json.dumps(chat).encode(), streamed=False)):
        assert response.failure is not None
        assert response.failure.kind is FailureKind.NOT_THE_PROTOCOL
    assert read(b"{}", streamed=False).end is End.TRANSPORT


def test_nothing_of_an_empty_stream_is_made_up() -> None:
    """No chunk, no candidate, or a candidate without anything: no parts, no usage, no native text."""
    bodies = [b"", data(HEAD), data({"candidates": []}), data({"candidates": [{}]})]
    for response in map(read, bodies):
        assert (response.end, response.parts, response.native) == (End.TRANSPORT, (), "")
        assert response.usage is None


def test_hostile_sizes_are_read_in_linear_time() -> None:
    """Twenty thousand calls in one chunk, and deep nesting, are values like any other."""
    response = seen(chunk(*[call("f", {"a": 1})] * 20_000, finish="STOP"))
    assert (len(response.calls), response.end) == (20_000, End.TOOL_CALLS)
    deep = '{"candidates":%s' % ("[" * 100_000)
    assert seen(deep).end is End.PROVIDER_ERROR
