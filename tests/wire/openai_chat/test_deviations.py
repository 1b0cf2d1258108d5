"""What compatible servers send beside the protocol: understood, noted as an oddity, and never taken for more."""

from typing import Any

import pytest

from signoff.core.canonical import parse
from signoff.core.model.parts import ReasoningPart, TextPart
from signoff.core.model.response import End, FailureKind
from tests.wire.openai_chat.chunks import (
    CALL_A,
    COUNTED,
    DONE,
    START,
    TEXT,
    USAGE,
    chunk,
    delta,
    fragment,
    frame,
    read,
    read_whole,
    shown,
    whole,
)


def native(text: str) -> Any:  # noqa: ANN401
    """The native turn as a value."""
    return parse(text)


# ── Texts and fields ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_under_its_name(name: str) -> None:
    """Servers call it differently and want it back as they sent it."""
    response = read(START, delta(**{name: "Hm"}), delta(**{name: "."}), *CALL_A, delta("tool_calls"), DONE)
    assert response.parts[0] == ReasoningPart(text="Hm.")
    assert native(response.native)[name] == "Hm."
    body = read_whole(whole({"role": "assistant", "content": "Hi", name: "Hm."}))
    assert body.parts == (ReasoningPart(text="Hm."), TextPart(text="Hi"))


def test_reasoning_under_two_names_is_one() -> None:
    """The same reasoning twice is one part, shown once, and kept under both names."""
    pieces = [delta(reasoning="Hm", reasoning_content="Hm"), delta(reasoning=".", reasoning_content=".")]
    response = read(START, *pieces, *TEXT, delta("stop"), DONE)
    assert (response.reasoning, response.oddities) == ("Hm.", ("reasoning_twice",))
    assert native(response.native)["reasoning"] == native(response.native)["reasoning_content"] == "Hm."
    assert len(shown([START, *pieces])) == 2


def test_unknown_fields_of_a_turn_are_put_together() -> None:
    """Texts grow, lists grow, objects are merged, a signature that is repeated stays one, anything else is the last."""
    signed = {"google": {"thought_signature": "c2ln"}}
    call = {
        "index": 0,
        "id": "a",
        "type": "function",
        "extra_content": signed,
        "function": {"name": "f", "arguments": "{}"},
    }
    deltas = [
        delta(tool_calls=[call]),
        delta(tool_calls=[{"index": 0, "extra_content": signed}]),
        delta(reasoning_details=[{"i": 1}], note="a", flag=True, audio={"id": "au", "data": "AA", "n": 1}),
        delta(reasoning_details=[{"i": 2}], note="b", flag=True, audio={"data": "AA", "n": 2}),
    ]
    turn = native(read(START, *deltas, delta("stop"), DONE).native)
    assert turn["tool_calls"][0]["extra_content"] == signed
    assert turn["reasoning_details"] == [{"i": 1}, {"i": 2}]
    assert (turn["note"], turn["flag"], turn["audio"]) == ("ab", True, {"id": "au", "data": "AAAA", "n": 2})


def test_unknown_fields_of_a_response_are_in_the_envelope() -> None:
    """Top-level fields, and those of the choice, are kept; the random padding is not."""
    first = chunk(prompt_filter_results=[{"x": 1}], obfuscation="a8f")
    last = chunk(
        {"index": 0, "delta": {}, "finish_reason": "stop", "native_finish_reason": "END"}, timings={"ms": 2**70}
    )
    response = read(first, START, *TEXT, last, DONE)
    assert native(response.envelope) == {
        "object": "chat.completion.chunk",
        "created": 1,
        "prompt_filter_results": [{"x": 1}],
        "timings": {"ms": 2**70},
        "choices": [{"native_finish_reason": "END"}],
    }


def test_a_pair_split_over_two_chunks() -> None:
    """Half of an emoji at the end of a chunk waits for its other half."""
    halves = [delta(content="MARK").replace(b"MARK", half) for half in (rb"a\ud83d", rb"\ude00b")]
    response = read(START, *halves, delta("stop"), DONE)
    assert (response.text, response.end) == ("a😀b", End.NORMAL)
    assert "".join(each.text for each in shown(halves)) == "a😀b"  # type: ignore[union-attr]


def test_content_as_a_list_of_parts() -> None:
    """Its texts are text, and the list goes back as it came."""
    parts = [{"type": "text", "text": "Hi"}, {"type": "thinking", "thinking": []}]
    response = read(START, delta(content=parts[:1]), delta(content=parts[1:]), delta("stop"), DONE)
    assert (response.text, response.oddities, native(response.native)["content"]) == ("Hi", ("content_parts",), parts)
    assert read_whole(whole({"role": "assistant", "content": parts})).text == "Hi"


def test_citations_stay_with_their_text() -> None:
    """Annotations are the text's citations, and part of the turn."""
    cited = [{"type": "url_citation", "url_citation": {"url": "https://a.example", "start_index": 0, "end_index": 2}}]
    response = read(START, *TEXT, delta(annotations=cited), delta("stop"), DONE)
    part = response.parts[0]
    assert isinstance(part, TextPart)
    assert native(part.citations) == native(response.native)["annotations"] == cited


@pytest.mark.parametrize("key", ["content", "refusal", "reasoning", "reasoning_content"])
def test_a_text_of_a_wrong_type(key: str) -> None:
    """It is kept in the turn, noted, and shown to nobody."""
    response = read(START, delta(**{key: 7}), *TEXT, delta("stop"), DONE)
    assert (response.text, response.oddities, native(response.native)[key]) == ("Hello é😀.", (f"unread_{key}",), 7)


# ── Chunks and frames ────────────────────────────────────────────────────────────────────────────────────────────────


def test_azure_sends_chunks_without_delta() -> None:
    """The first chunk has no choices and no identity; filter results come in chunks without a delta."""
    first = frame({"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": []})
    filtered = frame(
        {"choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}}], "id": "", "object": ""}
    )
    response = read(first, START, *TEXT, filtered, delta("stop"), DONE)
    assert (response.end, response.response_id, response.model) == (End.NORMAL, "chatcmpl-1", "m-1")
    assert response.oddities == ("no_delta",)


@pytest.mark.parametrize("place", range(5))
def test_usage_anywhere(place: int) -> None:
    """Usage counts wherever it stands; before the reason it is noted."""
    frames = [START, *TEXT, delta("stop"), DONE]
    frames.insert(place, COUNTED)
    response = read(*frames)
    assert response.usage is not None or place == 5
    assert response.oddities == (("usage_early",) if place < 4 else ())


def test_usage_on_the_chunk_of_the_reason_and_on_every_chunk() -> None:
    """With the reason it is in its place; of several the last counts, and null takes nothing back."""
    last = chunk({"index": 0, "delta": {}, "finish_reason": "stop"}, usage=USAGE)
    assert read(START, last, DONE).oddities == ()
    running = [chunk({"index": 0, "delta": {"content": "a"}}, usage={"completion_tokens": n}) for n in (1, 2)]
    usage = read(START, *running, delta("stop"), chunk(usage=None), DONE).usage
    assert usage is not None
    assert (usage.output, usage.input, usage.total) == (2, None, None)


def test_no_usage_is_none_and_wrong_counts_are_none() -> None:
    """Nothing is counted as zero that was not given."""
    assert read(START, delta("stop"), DONE).usage is None
    odd = read(
        START, delta("stop"), chunk(usage={"prompt_tokens": "7", "completion_tokens": -1, "total_tokens": 1.5}), DONE
    )
    assert odd.usage is not None
    assert (odd.usage.input, odd.usage.output, odd.usage.total) == (None, None, None)
    assert read(START, delta("stop"), chunk(usage=[7]), DONE).oddities == ("unread_usage",)
    cached = read(START, delta("stop"), chunk(usage={"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}), DONE).usage
    assert cached is not None
    assert (cached.input, cached.cached_read) == (9, 8)


def test_more_choices() -> None:
    """Only the first choice is read, also when another stands before it, and the others are noted."""
    other = {"index": 1, "delta": {"content": "No"}, "finish_reason": "length"}
    response = read(START, chunk(other, {"index": 0, "delta": {"content": "Yes"}}), chunk(other), delta("stop"), DONE)
    assert (response.text, response.end, response.oddities) == ("Yes", End.NORMAL, ("more_choices",))
    body = whole({"role": "assistant", "content": "Yes"}).replace(b'"index":0', b'"index":1')
    assert (read_whole(body).end, read_whole(body).oddities) == (End.TRANSPORT, ("more_choices", "no_choices"))


def test_a_choice_without_index_and_a_whole_message_in_a_stream() -> None:
    """Both are read as what they must be."""
    response = read(chunk({"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}), DONE)
    assert (response.text, response.end) == ("Hi", End.NORMAL)
    assert response.oddities == ("choice_without_index", "message_in_stream")


def test_identity_changes_midway() -> None:
    """The first id and model stay."""
    response = read(START, delta("stop").replace(b"chatcmpl-1", b"chatcmpl-2").replace(b"m-1", b"m-2"), DONE)
    assert (response.response_id, response.model, response.oddities) == ("chatcmpl-1", "m-1", ("id_changed",))


def test_content_behind_the_reason() -> None:
    """It is read and noted; a call that goes on behind its reason is read whole or not at all."""
    response = read(START, TEXT[0], delta("stop"), TEXT[1], DONE)
    assert (response.text, response.oddities) == ("Hello é😀.", ("after_finish",))
    assert read(START, *CALL_A[:2], delta("tool_calls"), CALL_A[2], DONE).end is End.TOOL_CALLS
    assert read(START, *CALL_A, delta("tool_calls"), fragment(0, "x"), DONE).end is End.MALFORMED_CALL


@pytest.mark.parametrize(
    ("first", "second", "raw", "oddity"),
    [
        ("stop", "stop", "stop", "finish_repeated"),
        ("stop", "length", "length", "finish_changed"),
        ("length", "stop", "length", "finish_changed"),
        ("content_filter", "stop", "content_filter", "finish_changed"),
        ("stop", "content_filter", "content_filter", "finish_changed"),
        ("eos", "stop", "eos", "finish_changed"),
    ],
)
def test_two_reasons(first: str, second: str, raw: str, oddity: str) -> None:
    """A second reason never makes whole what the first called cut."""
    response = read(START, *TEXT, delta(first), delta(second), DONE)
    assert (response.raw_reason, response.oddities) == (raw, (oddity,))


def test_a_reason_that_is_no_word() -> None:
    """An empty reason is none, and one of another type is unknown."""
    empty, number = read(START, delta(""), DONE), read(START, delta(7), DONE)
    assert (empty.end, empty.raw_reason, empty.oddities) == (End.TRANSPORT, None, ("empty_reason",))
    assert (number.end, number.raw_reason, number.oddities) == (End.UNKNOWN, "7", ("unread_reason",))


ERRORS = {
    "OpenRouter, beside a reason": chunk(
        {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}, error={"code": 502, "message": "Provider"}
    ),
    "vLLM, old": frame({"object": "error", "message": "Boom", "type": "BadRequestError", "param": None, "code": 400}),
    "vLLM, new": frame({"error_type": "BadRequestError", "error_message": "too long"}),
    "a text": frame({"error": "Boom"}),
    "a list": frame([{"error": {"code": 500, "message": "Boom", "status": "INTERNAL"}}]),
    "llama.cpp": b'error: {"code":500,"message":"Boom","type":"server_error"}\n\n',
    "llama.cpp, a text": b"error: Boom\n\n",
    "bare lines": b'{\n  "error": {\n    "code": 500,\n    "message": "Boom"\n  }\n}\n\n',
}


@pytest.mark.parametrize("name", ERRORS)
def test_each_shape_of_an_error(name: str) -> None:
    """Every shape of an error ends the stream as an error, and what follows it is not read."""
    response = read(START, *TEXT, ERRORS[name], delta("stop"), DONE)
    assert response.failure is not None
    assert (response.end, response.text, response.saw_terminal) == (End.PROVIDER_ERROR, "Hello é😀.", False)
    assert response.failure.where == "stream"
    assert response.failure.message_length > 0
    assert response.raw_reason == ("error" if "OpenRouter" in name else None)


def test_an_error_that_is_null_is_none() -> None:
    """A field `error` without anything in it is a field."""
    assert (
        read(START, chunk({"index": 0, "delta": {"content": "Hi"}}, error=None), delta("stop"), DONE).end is End.NORMAL
    )


@pytest.mark.parametrize("data", ["{", "7", "null", '"text"', "[]", '{"choices":[', "<html>", "NaN"])
def test_a_frame_that_cannot_be_read(data: str) -> None:
    """Broken JSON, or JSON that is no chunk, ends the response: nobody knows what it would have said."""
    response = read(START, *TEXT, f"data: {data}\n\n".encode(), delta("stop"), DONE)
    assert response.failure is not None
    assert (response.end, response.failure.kind) == (End.PROVIDER_ERROR, FailureKind.NOT_THE_PROTOCOL)


def test_frames_of_another_protocol() -> None:
    """A stranger's frame among chunks is noted; nothing but strangers' frames is another protocol."""
    strange = frame({"type": "ping"})
    assert read(START, strange, *TEXT, delta("stop"), DONE).oddities == ("unknown_frame",)
    response = read(strange, frame({"type": "message_start", "message": {}}), DONE)
    assert response.failure is not None
    assert response.failure.kind is FailureKind.NOT_THE_PROTOCOL


@pytest.mark.parametrize(
    ("value", "end"),
    [
        ({"choices": {}}, End.NORMAL),
        ({"choices": "x"}, End.TRANSPORT),
        ({"choices": [7, None, [], "x"]}, End.TRANSPORT),
        ({"choices": [{"index": True, "delta": 7}]}, End.TRANSPORT),
    ],
)
def test_wrong_types_in_chunks(value: object, end: End) -> None:
    """They are skipped; where content may have stood in choice 0, the rest is not whole."""
    response = read(START, frame(value), *TEXT, delta("stop"), DONE)
    assert (response.end, response.text) == (end, "Hello é😀.")


def test_the_end_marker_ends_reading() -> None:
    """Whatever begins with it ends the stream, as clients have it, and later bytes are ignored."""
    response = read(START, *TEXT, delta("stop"), b"data: [DONE] bye\n\n", delta(content="more"), b"data: {\n\n")
    assert (response.text, response.saw_terminal, response.oddities) == ("Hello é😀.", True, ())


def test_names_and_empty_frames_do_not_matter() -> None:
    """Only data counts; an empty frame is noted."""
    named = [b"event: chunk\n" + each for each in (START, *TEXT, delta("stop"))]
    assert read(*named, DONE).oddities == ()
    assert read(START, b"event: ping\n\n", b"data:\n\n", delta("stop"), DONE).oddities == ("empty_frame",)


# ── Whole bodies ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error":{"message":"Boom","type":"server_error","code":"server_error"}}', FailureKind.SERVER_ERROR),
        (b'[{"error":{"code":503,"status":"UNAVAILABLE"}}]', FailureKind.OVERLOADED),
        (b'{"object":"error","message":"Boom","code":400}', FailureKind.INVALID_REQUEST),
        (b'{"choices":null,"error":{"code":429}}', FailureKind.RATE_LIMITED),
        (b'{"choices":[],"error":{"code":429}}', FailureKind.RATE_LIMITED),
        (b'{"choices":null}', FailureKind.NOT_THE_PROTOCOL),
        (b'{"object":"chat.completion"}', FailureKind.NOT_THE_PROTOCOL),
        (b"{}", FailureKind.NOT_THE_PROTOCOL),
        (b"[]", FailureKind.NOT_THE_PROTOCOL),
        (b'{"choices":[{"message"', FailureKind.NOT_THE_PROTOCOL),
        (b'{"a":"\xff"}', FailureKind.NOT_THE_PROTOCOL),
    ],
)
def test_a_body_that_is_no_answer(body: bytes, kind: FailureKind) -> None:
    """An error under status 200, another format, and broken JSON are told apart."""
    response = read_whole(body)
    assert response.failure is not None
    assert (response.end, response.failure.kind) == (End.PROVIDER_ERROR, kind)


def test_a_body_without_choices_has_no_reason() -> None:
    """No choices and no error: nothing failed, and nothing was said."""
    response = read_whole(b'{"id":"c","choices":[]}')
    assert (response.end, response.failure, response.oddities) == (End.TRANSPORT, None, ("no_choices",))


def test_a_choice_without_a_message() -> None:
    """It says nothing, and its reason counts."""
    response = read_whole(b'{"choices":[{"index":0,"text":"x","finish_reason":"stop"}]}')
    assert (response.parts, response.end, response.oddities) == ((), End.NORMAL, ("no_message",))
