"""Responses, streams and errors are written in the strict form; what the protocol cannot say is refused."""

import msgspec
import orjson
import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.errors import PolicyError
from signoff.testing.replies import call, reply
from signoff.wire import anthropic_messages
from signoff.wire.failures import failure_of
from signoff.wire.json_text import load
from tests.wire.anthropic_messages.streams import LEGAL, STOP, block, finish, read, start, stopped, text, whole
from tests.wire.anthropic_messages.strict import faults_of

OURS = Api.ANTHROPIC_MESSAGES
SAYABLE = {
    End.NORMAL: "end_turn",
    End.TOOL_CALLS: "tool_use",
    End.MALFORMED_CALL: "tool_use",
    End.LIMIT: "max_tokens",
    End.CONTEXT_FULL: "model_context_window_exceeded",
    End.PAUSED: "pause_turn",
    End.REFUSAL: "refusal",
}


def stream_of(response: ModelResponse) -> bytes:
    """A response as a stream."""
    return b"".join(anthropic_messages.build_stream(response))


def again(response: ModelResponse) -> list[ModelResponse]:
    """The response, written in both forms and read again."""
    body = anthropic_messages.build_response(response)
    return [read(stream_of(response)), anthropic_messages.parse_response(body, Exchange())]


@pytest.mark.parametrize("name", LEGAL)
def test_what_was_read_is_written_again(name: str) -> None:
    """A response that was read is written with the same words, fields and signatures, and reads the same."""
    response = read(LEGAL[name])
    written = stream_of(response)
    assert faults_of(written) == []
    repeated = read(written)
    oddities = ("unknown_event",) if name == "unknown" else ()
    assert msgspec.structs.replace(repeated, envelope=response.envelope, oddities=oddities) == response
    assert orjson.loads(repeated.envelope) == orjson.loads(response.envelope)


def test_a_stream_in_its_smallest_form_is_the_same_bytes() -> None:
    """A stream whose texts came in one piece is written byte for byte."""
    head = {"input_tokens": 12, "output_tokens": 0}
    body = (
        start(usage=head)
        + block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "s+/=="},
        )
        + text(1, "x")
        + finish("end_turn", {"input_tokens": 12, "output_tokens": 7})
        + STOP
    )
    assert stream_of(read(body)) == body


@pytest.mark.parametrize(("end", "reason"), SAYABLE.items())
def test_each_end_has_its_reason(end: End, reason: str) -> None:
    """Each end that the protocol can say is said by its usual word and is read back as the same end."""
    calls = {End.TOOL_CALLS: [call("f")], End.MALFORMED_CALL: [call("f", "[1]")]}
    response = reply("x", calls=calls.get(end, []), end=end, api=OURS, refusal="No." if end is End.REFUSAL else "")
    assert faults_of(stream_of(response)) == []
    assert [(each.end, each.raw_reason) for each in again(response)] == [(end, reason)] * 2


@pytest.mark.parametrize("end", [end for end in End if end not in SAYABLE])
def test_other_ends_are_refused(end: End) -> None:
    """A broken connection, an error, a filter and an unknown end have no word here, and none is invented."""
    for write in (stream_of, anthropic_messages.build_response):
        with pytest.raises(PolicyError, match="cannot say"):
            write(reply("x", end=end, api=OURS))


def test_a_reason_of_its_own_is_kept() -> None:
    """The provider's own word is written as it came; a word of another protocol is not."""
    response = reply("x", end=End.UNKNOWN, raw_reason="moon_phase", api=OURS)
    assert [each.raw_reason for each in again(response)] == ["moon_phase"] * 2
    foreign = reply("x", raw_reason="stop", api=Api.OPENAI_CHAT)
    assert [each.raw_reason for each in again(foreign)] == ["end_turn"] * 2


def test_a_failure_is_no_message() -> None:
    """A record of a failure is never written as an answer."""
    failed = msgspec.structs.replace(reply("x"), failure=Failure(kind=FailureKind.CONTEXT_FULL, where="http"))
    with pytest.raises(PolicyError):
        stream_of(failed)


def test_a_stream_is_refused_before_its_first_frame() -> None:
    """What cannot be said is known before anything is written."""
    with pytest.raises(PolicyError):
        anthropic_messages.build_stream(reply("x", end=End.TRANSPORT))


def test_identity_is_made_from_the_content() -> None:
    """A response without an id gets one from what it says: the same each time, another for another text."""
    one, same, other = (read(stream_of(reply(said))).response_id for said in ("x", "x", "y"))
    assert (one, one.startswith("msg_")) == (same, True)
    assert one != other
    nameless = reply(parts=(CallPart(call_id="", name="f", arguments="{}"),) * 2, end=End.TOOL_CALLS)
    assert [each.call_id for each in read(stream_of(nameless)).calls] == ["toolu_0", "toolu_1"]


def test_usage_stands_in_both_places() -> None:
    """The counts of a record are written where clients look for them; absent ones as 0, which clients need."""
    usage = TokenUsage(input=12, cached_read=5, cache_write=4, output=9, reasoning=2)
    response = msgspec.structs.replace(reply("x"), usage=usage)
    for each in again(response):
        assert each.usage is not None
        assert msgspec.structs.replace(each.usage, native="{}") == usage
        assert orjson.loads(each.usage.native)["input_tokens"] == 3
    for each in again(reply("x", usage=None)):
        assert each.usage is not None
        assert (each.usage.input, each.usage.output) == (0, 0)


def test_a_cut_call_is_written_as_a_stream_only() -> None:
    """Pieces of a cut input can be streamed as they are; a body that is not streamed has no place for them."""
    response = reply(calls=[call("f", '{"a":', closed=False)], end=End.LIMIT)
    assert [each.arguments for each in read(stream_of(response)).calls] == ['{"a":']
    with pytest.raises(PolicyError, match="no JSON"):
        anthropic_messages.build_response(response)


def test_a_call_that_was_not_closed_is_never_made_whole() -> None:
    """A call whose end was never seen is not written as one that may run."""
    response = reply(calls=[call("f", '{"a":1}', closed=False)], end=End.MALFORMED_CALL)
    with pytest.raises(PolicyError, match="not whole"):
        stream_of(response)
    at_the_limit = msgspec.structs.replace(response, end=End.LIMIT)
    assert read(stream_of(at_the_limit)).end is End.LIMIT


@pytest.mark.parametrize(
    "part",
    [
        CallPart(call_id="c", name="f", arguments="x", kind=CallKind.CUSTOM),
        OpaquePart(kind="", native="5"),
        OpaquePart(kind="x", native="{}"),
    ],
)
def test_parts_without_a_block_are_refused(part: CallPart | OpaquePart) -> None:
    """Free text in a call, and what has no type, cannot be said."""
    with pytest.raises(PolicyError):
        stream_of(reply(parts=(part,), api=OURS))


def test_opaque_parts_of_others_are_refused() -> None:
    """A part in another protocol's format cannot be said, whatever it is."""
    part = OpaquePart(kind="image", native='{"type":"image"}')
    with pytest.raises(PolicyError, match="another protocol"):
        stream_of(reply(parts=(part,), api=Api.GEMINI))
    assert [each.parts for each in again(reply(parts=(part,), api=OURS))] == [(part,)] * 2


def test_what_was_changed_is_written_from_its_parts() -> None:
    """Where parts and native turn differ, the parts are what is said."""
    response = read(whole(text(0, "x"), text(1, "y")))
    changed = msgspec.structs.replace(response, parts=response.parts[:1])
    assert [each.parts for each in again(changed)] == [(TextPart(text="x"),)] * 2
    refused = read(LEGAL["refusal"])
    taken_out = msgspec.structs.replace(refused, parts=refused.parts[:1], end=End.NORMAL, raw_reason="end_turn")
    assert [each.end for each in again(taken_out)] == [End.NORMAL] * 2
    other = msgspec.structs.replace(refused, parts=(RefusalPart(text="Never.", category="bio"),))
    assert [each.parts for each in again(other)] == [other.parts] * 2


def test_reasoning_without_a_native_turn_is_unsigned() -> None:
    """Reasoning of a script has no signature, and redacted reasoning no data; both are blocks all the same."""
    parts = (ReasoningPart(text="hm"), ReasoningPart(redacted=True), TextPart(text="x"))
    assert [each.parts for each in again(reply(parts=parts))] == [parts] * 2


def test_line_ends_inside_native_texts_stay_on_one_line() -> None:
    """A block that was received over several lines is written as one frame of one line."""
    content = '[{"type":"hologram",\r\n "data":{"x":\n1.0}}]'
    body = f'{{"type":"message","content":{content},"stop_reason":"end_turn"}}'.encode()
    written = stream_of(anthropic_messages.parse_response(body, Exchange()))
    assert faults_of(written) == []
    assert written.count(b"data: ") == written.count(b"\n\n")
    assert b'"data":{"x": 1.0}' in written


ERROR_TYPES = {
    FailureKind.AUTHENTICATION: "authentication_error",
    FailureKind.PERMISSION: "permission_error",
    FailureKind.NOT_FOUND: "not_found_error",
    FailureKind.INVALID_REQUEST: "invalid_request_error",
    FailureKind.CONTEXT_FULL: "invalid_request_error",
    FailureKind.QUOTA: "billing_error",
    FailureKind.RATE_LIMITED: "rate_limit_error",
    FailureKind.OVERLOADED: "overloaded_error",
    FailureKind.SERVER_ERROR: "api_error",
    FailureKind.PROVIDER_TIMEOUT: "timeout_error",
}


@pytest.mark.parametrize(("kind", "word"), ERROR_TYPES.items())
def test_errors_have_their_types(kind: FailureKind, word: str) -> None:
    """Each kind of failure has the protocol's word for it and is read back as the same kind, in both forms."""
    failure = Failure(kind=kind, where="http")
    body = anthropic_messages.build_error(failure, message="It went wrong.", in_stream=False)
    value = orjson.loads(body)
    assert (value["type"], value["error"]["type"]) == ("error", word)
    assert value["error"]["message"].endswith("It went wrong.")
    assert failure_of(load(body), Exchange(), where="stream").kind is kind
    frame = anthropic_messages.build_error(failure, message="It went wrong.", in_stream=True)
    broken = read(start() + text(0, "x", stop=False) + frame)
    assert broken.failure is not None
    assert broken.failure.kind is kind


def test_other_failures_are_an_error_of_the_server() -> None:
    """What the protocol has no word for is its general error; its own words and codes are kept."""
    cut = anthropic_messages.build_error(Failure(kind=FailureKind.CUT, where="transport"), message="x", in_stream=False)
    assert orjson.loads(cut) == {"type": "error", "error": {"type": "api_error", "message": "x"}}
    own = Failure(kind=FailureKind.INVALID_REQUEST, where="http", type="request_too_large", code="too_big")
    written = orjson.loads(anthropic_messages.build_error(own, message="x", in_stream=False))["error"]
    assert written == {"type": "request_too_large", "message": "x", "details": {"error_code": "too_big"}}


@pytest.mark.parametrize(
    "broken",
    [
        start() + LEGAL["text"],
        LEGAL["text"].removesuffix(STOP),
        LEGAL["text"] + STOP,
        whole(text(1, "x")),
        whole(text(0, "x"), text(0, "y")),
        whole(text(0, "x", stop=False)),
        whole(text(0, "x"), stopped(0)),
        start() + finish("end_turn", {"output_tokens": 1}) + text(0, "x") + STOP,
        start(usage=None) + finish("end_turn", {"output_tokens": 1}) + STOP,
        start() + finish("end_turn") + STOP,
        start() + finish(None, {"output_tokens": 1}) + STOP,
        LEGAL["text"].replace(b"event: message_stop", b"event: message"),
        LEGAL["text"][:-1],
    ],
)
def test_the_checker_sees_each_fault(broken: bytes) -> None:
    """The checker of the strict form accepts the protocol's own streams and nothing that breaks its grammar."""
    assert faults_of(broken) != []
    assert [name for name in LEGAL if name != "unknown" and faults_of(LEGAL[name])] == []
