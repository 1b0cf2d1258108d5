"""What compatible servers send against the grammar is understood, noted, and never lost."""

import pytest

from signoff.core.model.parts import TextPart
from signoff.core.model.response import BodyEnd, End, FailureKind
from signoff.wire import anthropic_messages
from signoff.wire.sse import SseDecoder
from tests.wire.anthropic_messages.streams import (
    LEGAL,
    PING,
    STOP,
    STREAMED,
    block,
    delta,
    event,
    finish,
    frame,
    json_pieces,
    read,
    start,
    stopped,
    text,
    tool,
    whole,
)

LOST_PIECES: tuple[tuple[object, tuple[str, ...]], ...] = (
    ({"type": "input_json_delta", "partial_json": None}, ("delta_not_text",)),
    ({"type": "input_json_delta", "partial_json": {"b": 1}}, ("delta_not_text",)),
    ({"type": "hum_delta", "partial_json": ',"b":1'}, ("unknown_delta",)),
    ({"partial_json": ',"b":1'}, ("unknown_delta",)),
    ([], ("unknown_delta",)),
    ({"type": "text_delta", "text": ',"b":1'}, ("block_unclosed", "delta_of_other_kind")),
)
"""What may have been a piece of an input and cannot be taken, with what is noted."""
DEVIATIONS = {
    "no names": (LEGAL["call"].replace(b"event: ", b"x: "), ("event_name_missing",), End.TOOL_CALLS),
    "other names": (
        LEGAL["call"].replace(b"event: content_block_delta", b"event: message"),
        ("event_name_differs",),
        End.TOOL_CALLS,
    ),
    "types only as names": (
        LEGAL["call"].replace(b'{"type":"message_stop"}', b"{}"),
        ("type_missing",),
        End.TOOL_CALLS,
    ),
    "a sentinel of another protocol": (
        start() + text(0, "x") + frame(b"[DONE]") + finish("end_turn") + STOP,
        ("done_marker",),
        End.NORMAL,
    ),
    "a frame without data": (
        start() + b"event: ping\n\n" + text(0, "x") + finish("end_turn") + STOP,
        ("empty_frame",),
        End.NORMAL,
    ),
    "a relay's own event": (
        start() + frame({"x": 1}, name="vertex_event") + text(0, "x") + finish("end_turn") + STOP,
        ("type_missing", "unknown_event"),
        End.NORMAL,
    ),
    "a second start": (
        start() + text(0, "x") + start(usage=None) + finish("end_turn") + STOP,
        ("second_message_start",),
        End.NORMAL,
    ),
    "another message's start": (
        start() + text(0, "x") + start(usage=None, id="msg_2") + text(0, "y") + finish("end_turn") + STOP,
        ("index_reused", "second_message_start"),
        End.TRANSPORT,
    ),
    "no start": (text(0, "x") + finish("end_turn") + STOP, ("block_before_start", "message_start_missing"), End.NORMAL),
    "interleaved blocks": (
        start()
        + text(0, "x", stop=False)
        + tool(1, '{"a"', stop=False)
        + delta(0, {"type": "text_delta", "text": "y"})
        + delta(1, json_pieces(":1}")[0])
        + stopped(1)
        + stopped(0)
        + finish("tool_use")
        + STOP,
        (),
        End.TOOL_CALLS,
    ),
    "a gap": (whole(text(1, "x"), text(10**12, "y")), ("index_gap",), End.NORMAL),
    "an index used again": (whole(text(0, "x"), text(0, "y")), ("index_reused",), End.NORMAL),
    "no index": (
        whole(text(0, "x", "y")).replace(b'"index":0,', b"").replace(b',"index":0', b""),
        ("index_missing",),
        End.NORMAL,
    ),
    "an index that is none": (
        whole(text(0, "x", "y")).replace(b'"index":0', b'"index":-1'),
        ("index_missing",),
        End.NORMAL,
    ),
    "a block never stopped": (whole(text(0, "x", stop=False)), ("block_unclosed",), End.NORMAL),
    "a call never stopped": (
        whole(tool(0, '{"a":1}', stop=False), reason="tool_use"),
        ("block_unclosed",),
        End.MALFORMED_CALL,
    ),
    "a call that goes on after its stop": (
        whole(tool(0, '{"a":1'), delta(0, json_pieces("}")[0]), reason="tool_use"),
        ("block_unclosed", "delta_after_stop"),
        End.MALFORMED_CALL,
    ),
    "a stop without a start": (whole(text(0, "x"), stopped(5)), ("stop_without_start",), End.NORMAL),
    "a second stop": (whole(text(0, "x"), stopped(0)), ("second_stop",), End.NORMAL),
    "a text without a start": (
        whole(delta(3, {"type": "text_delta", "text": "x"})),
        ("block_unclosed", "delta_without_start"),
        End.NORMAL,
    ),
    "an input without a start": (
        whole(delta(3, json_pieces('{"a":1}')[0]), stopped(3), reason="tool_use"),
        ("block_unclosed", "delta_without_start", "stop_without_start"),
        End.MALFORMED_CALL,
    ),
    "a delta of another kind": (
        whole(text(0, "x", stop=False), delta(0, {"type": "thinking_delta", "thinking": "y"}), stopped(0)),
        ("block_unclosed", "delta_of_other_kind"),
        End.NORMAL,
    ),
    "an unknown delta": (
        whole(block(0, {"type": "text", "text": "x"}, {"type": "hum_delta", "hum": 1})),
        ("unknown_delta",),
        End.NORMAL,
    ),
    "a piece that is no text": (
        whole(block(0, {"type": "text", "text": "x"}, {"type": "text_delta", "text": 1})),
        ("delta_not_text",),
        End.TRANSPORT,
    ),
    "a thought that is no text": (
        whole(block(0, {"type": "thinking", "thinking": "x"}, {"type": "thinking_delta", "thinking": 1})),
        ("delta_not_text",),
        End.NORMAL,
    ),
    "an input in the start that is no object": (whole(tool(0, input=[]), reason="tool_use"), (), End.MALFORMED_CALL),
    "content in the start": (
        start(content=[{"type": "text", "text": "x"}]) + finish("end_turn") + STOP,
        ("content_in_start",),
        End.NORMAL,
    ),
    "a reason in the start": (start(stop_reason="end_turn") + STOP, ("reason_in_start",), End.TRANSPORT),
    "a reason that is no text": (start() + finish(5) + STOP, ("reason_not_text",), End.UNKNOWN),
    "half a character in an input": (
        whole(tool(0, "@"), reason="tool_use").replace(b'"@"', rb'"{\"a\":\"\ud83d\"}"'),
        ("half_character",),
        End.MALFORMED_CALL,
    ),
    **{
        f"a call with {lost} in it": (
            whole(tool(0, '{"a":1', stop=False), delta(0, lost), *rest, reason="tool_use"),  # type: ignore[arg-type]
            oddities,
            End.MALFORMED_CALL,
        )
        for rest in [[delta(0, json_pieces("}")[0]), stopped(0)]]
        for lost, oddities in LOST_PIECES
    },
    "no end of the last frame": (LEGAL["text"][:-1], ("unterminated_frame",), End.NORMAL),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_is_understood_and_noted(name: str) -> None:
    """What servers send against the grammar is read for what it is, with the codes of what was noted."""
    body, oddities, end = DEVIATIONS[name]
    response = read(body)
    assert (response.oddities, response.end) == (oddities, end)


def test_nothing_is_lost_by_a_deviation() -> None:
    """Texts of reused indexes, of other kinds and without a start are all in the record, in their order."""
    reused = read(DEVIATIONS["an index used again"][0])
    assert [part.text for part in reused.parts if isinstance(part, TextPart)] == ["x", "y"]
    other = read(DEVIATIONS["a delta of another kind"][0])
    assert (other.text, other.reasoning) == ("x", "y")
    assert read(DEVIATIONS["a text without a start"][0]).text == "x"
    assert read(DEVIATIONS["content in the start"][0]).text == "x"
    interleaved = read(DEVIATIONS["interleaved blocks"][0])
    assert (interleaved.text, [call.arguments for call in interleaved.calls]) == ("xy", ['{"a":1}'])
    assert read(DEVIATIONS["a second start"][0]).response_id == "msg_1"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (frame({"error": {"type": "rate_limit_error", "message": "x"}}), FailureKind.RATE_LIMITED),
        (frame({"type": "api_error", "message": "x"}, name="error"), FailureKind.SERVER_ERROR),
        (event("message_delta", delta={"stop_reason": "end_turn"}, error={"code": 429}), FailureKind.RATE_LIMITED),
        (event("message_stop", error={"type": "overloaded_error"}), FailureKind.OVERLOADED),
        (frame({"type": "message_stop"}, name="error"), FailureKind.SERVER_ERROR),
        (frame(b"upstream failed", name="error"), FailureKind.SERVER_ERROR),
        (b'error: {"type":"overloaded_error","message":"x"}\n\n', FailureKind.OVERLOADED),
    ],
)
def test_errors_of_other_shapes_are_errors(data: bytes, kind: FailureKind) -> None:
    """An error without a type, as plain text, or in a field of its own ends the stream as an error."""
    response = read(start() + text(0, "x") + data + finish("end_turn") + STOP)
    assert response.failure is not None
    assert (response.end, response.failure.kind, response.oddities) == (End.PROVIDER_ERROR, kind, ("error_shape",))


@pytest.mark.parametrize("data", [b"{", b"[1]", b"null", b"<html>", b'"text"', b"[" * 10_000])
def test_a_frame_that_is_no_event_is_not_the_protocol(data: bytes) -> None:
    """A frame that cannot be an event ends the stream as another protocol; what came before stays."""
    response = read(start() + text(0, "x") + frame(data) + finish("end_turn") + STOP)
    assert response.failure is not None
    assert (response.failure.kind, response.text) == (FailureKind.NOT_THE_PROTOCOL, "x")
    assert response.failure.message_length == len(data)


def test_a_stream_of_another_protocol_is_not_this_one() -> None:
    """Events that are all unknown are no message, unless the connection broke."""
    chunk = frame({"choices": [{"delta": {"content": "x"}}]})
    response = read(PING + chunk)
    assert response.failure is not None
    assert response.failure.kind is FailureKind.NOT_THE_PROTOCOL
    cut = read(chunk, body_end=BodyEnd.CUT).failure
    assert cut is not None
    assert cut.kind is FailureKind.CUT


def test_nothing_behind_the_end_matters() -> None:
    """After `message_stop`, or an error, the decoder is finished: what follows changes nothing."""
    for body in (LEGAL["text"], start() + event("error", error={"type": "api_error"})):
        decoder = anthropic_messages.decoder(STREAMED)
        frames = SseDecoder().feed(body)
        for each in frames:
            assert not decoder.finished
            decoder.feed(each)
        expected = decoder.end(BodyEnd.CLEAN)
        assert decoder.finished
        assert [decoder.feed(each) for each in SseDecoder().feed(LEGAL["call"] + frame(b"{"))][-1] == ()
        assert decoder.end(BodyEnd.CLEAN) == expected
