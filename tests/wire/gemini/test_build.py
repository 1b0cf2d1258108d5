"""What is built is the strict form, is read back as it was, and what the protocol cannot say is refused."""

import json

import msgspec
import pytest
from hypothesis import given

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.errors import PolicyError
from signoff.wire import gemini
from signoff.wire.codec import Codec
from signoff.wire.failures import failure_of
from tests.wire.gemini.strategies import responses, unhurried
from tests.wire.gemini.streams import data, read

CODEC: Codec = gemini
"""The package itself is the codec; the type checker holds it to that."""


def bare(response: ModelResponse) -> ModelResponse:
    """A record without what only the way of reading decides."""
    usage = response.usage and msgspec.structs.replace(response.usage, native="{}")
    return msgspec.structs.replace(
        response, native="", envelope="{}", saw_terminal=False, streamed=False, usage=usage, oddities=()
    )


def response(*parts: Part, end: End = End.NORMAL, **facts: object) -> ModelResponse:
    """A record of Gemini's."""
    return msgspec.structs.replace(ModelResponse(api=Api.GEMINI, end=end, parts=parts), **facts)


@unhurried
@given(responses())
def test_what_is_built_reads_as_it_was(given: ModelResponse) -> None:
    """A response built as a body and as a stream reads as the same record, native text and flags apart."""
    assert bare(gemini.parse_response(gemini.build_response(given), Exchange())) == given
    body = b"".join(gemini.build_stream(given))
    if body:
        read_back = read(body)
        assert bare(read_back) == given
        assert read_back.oddities == ()


@unhurried
@given(responses())
def test_a_stream_is_data_frames_with_parts_and_nothing_else(given: ModelResponse) -> None:
    """Each frame is one line of `data: ` and a blank line; each chunk has parts; reason and usage are on the last."""
    frames = list(gemini.build_stream(given))
    for frame in frames:
        assert frame.startswith(b"data: {")
        assert frame.endswith(b"}\n\n")
        assert (frame.count(b"\n"), frame.count(b"\r")) == (2, 0)
    chunks = [json.loads(frame[6:]) for frame in frames]
    if "promptFeedback" in (chunks[-1] if chunks else {}):
        return
    candidates = [chunk["candidates"][0] for chunk in chunks]
    assert all(one["content"]["parts"] and one["content"]["role"] == "model" for one in candidates)
    assert all("finishReason" not in one for one in candidates[:-1])
    assert all("usageMetadata" not in chunk for chunk in chunks[:-1])


def test_the_finish_chunk_says_nothing_else() -> None:
    """The reason comes last, with an empty text, so that a client's chat keeps the turn."""
    *_, last = gemini.build_stream(response(TextPart(text="a"), usage=TokenUsage(input=1, output=2), model="m"))
    assert json.loads(last[6:]) == {
        "candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
        "modelVersion": "m",
    }


def test_a_body_without_parts_has_an_empty_text() -> None:
    """A client's chat drops a turn that has no parts."""
    body = json.loads(gemini.build_response(response()))
    assert body["candidates"][0]["content"]["parts"] == [{"text": ""}]


def test_a_cut_response_has_no_finish() -> None:
    """A record that ended in transport is written without a reason, and reads as cut."""
    cut = response(TextPart(text="a"), TextPart(text="b"), end=End.TRANSPORT, usage=TokenUsage(input=1))
    for read_back in (read(b"".join(gemini.build_stream(cut))), read(gemini.build_response(cut), streamed=False)):
        assert (read_back.end, read_back.text, read_back.saw_reason) == (End.TRANSPORT, "ab", False)
        assert read_back.usage is not None
    assert list(gemini.build_stream(response(end=End.TRANSPORT))) == []


def test_line_ends_in_raw_text_do_not_break_a_frame() -> None:
    """Arguments and native parts that were printed over several lines stay on the line of their frame."""
    arguments, native = '{\r\n "a": "x\\n"\n}', '{\n"laterKind": 1}'
    body = b"".join(
        gemini.build_stream(
            response(
                CallPart(call_id="", name="f", arguments=arguments),
                OpaquePart(kind="laterKind", native=native),
                end=End.TOOL_CALLS,
            )
        )
    )
    assert [line[:6] for line in body.decode().splitlines() if line] == ["data: "] * 3
    read_back = read(body)
    assert json.loads(read_back.calls[0].arguments) == {"a": "x\n"}


@pytest.mark.parametrize(
    ("part", "end"),
    [
        (CallPart(call_id="", name="f", arguments='{"a":'), End.TOOL_CALLS),
        (CallPart(call_id="", name="f", arguments='{"a":1,"a":2}'), End.TOOL_CALLS),
        (CallPart(call_id="", name="f", arguments="[]"), End.MALFORMED_CALL),
        (CallPart(call_id="", name="f", arguments="null"), End.TOOL_CALLS),
        (CallPart(call_id="", name="f", arguments="{}", closed=False), End.LIMIT),
        (CallPart(call_id="", name="f", arguments="{}", kind=CallKind.CUSTOM), End.TOOL_CALLS),
        (OpaquePart(kind="x", native="[]"), End.NORMAL),
        (RefusalPart(text="no"), End.NORMAL),
        (TextPart(text="a", citations="[]"), End.NORMAL),
        (TextPart(text="a"), End.REFUSAL),
        (TextPart(text="a"), End.PAUSED),
        (TextPart(text="a"), End.CONTEXT_FULL),
        (TextPart(text="a"), End.PROVIDER_ERROR),
    ],
)
def test_what_the_protocol_cannot_say_is_refused(part: Part, end: End) -> None:
    """Before the first frame: nothing of such a response is written."""
    given = response(part, end=end)
    with pytest.raises(PolicyError):
        gemini.build_response(given)
    with pytest.raises(PolicyError):
        next(gemini.build_stream(given))


def test_another_protocols_response_is_written_in_this_ones_words() -> None:
    """Its end decides the reason, not its own word; its parts that only it knows are refused."""
    chat = ModelResponse(api=Api.OPENAI_CHAT, end=End.LIMIT, raw_reason="length", parts=(ReasoningPart(text="hm"),))
    read_back = read(gemini.build_response(chat), streamed=False)
    assert (read_back.end, read_back.raw_reason, read_back.parts) == (End.LIMIT, "MAX_TOKENS", chat.parts)
    foreign = msgspec.structs.replace(chat, parts=(OpaquePart(kind="audio", native="{}"),))
    with pytest.raises(PolicyError):
        gemini.build_response(foreign)


def test_a_reason_that_says_another_end_is_not_written() -> None:
    """STOP on an answer that used up its cap would hide the limit."""
    capped = response(TextPart(text="a"), end=End.LIMIT, raw_reason="STOP")
    assert read(gemini.build_response(capped), streamed=False).end is End.LIMIT


def test_ids_that_the_provider_did_not_give_are_not_written() -> None:
    """A call's id of signoff's own is left out."""
    own = response(CallPart(call_id="signoff-call-1", name="f", arguments="{}"), end=End.TOOL_CALLS)
    assert read(gemini.build_response(own), streamed=False).calls[0].call_id == ""


@pytest.mark.parametrize("kind", FailureKind)
def test_an_error_is_an_error_to_everybody(kind: FailureKind) -> None:
    """Each failure is an error with a code of its kind, as a body and as a frame whose first key is `error`."""
    failure = Failure(kind=kind, where="http", retry_after=1.5)
    body = gemini.build_error(failure, message="It broke.\n", in_stream=False)
    frame = gemini.build_error(failure, message="It broke.\n", in_stream=True)
    assert frame == data(body.decode())
    assert next(iter(json.loads(body))) == "error"
    error = json.loads(body)["error"]
    assert (error["code"] >= 400, error["message"]) == (True, "It broke.\n")
    seen = failure_of(json.loads(body), Exchange(status=error["code"]), where="http")
    assert (seen.retry_after, seen.message_length) == (1.5, 10)
    unsaid = {
        FailureKind.CONTEXT_FULL: FailureKind.INVALID_REQUEST,
        FailureKind.CONTENT_FILTER: FailureKind.INVALID_REQUEST,
        FailureKind.QUOTA: FailureKind.RATE_LIMITED,
        FailureKind.CONNECTION: FailureKind.OVERLOADED,
        FailureKind.CUT: FailureKind.OVERLOADED,
        FailureKind.DEADLINE: FailureKind.PROVIDER_TIMEOUT,
        FailureKind.NOT_THE_PROTOCOL: FailureKind.SERVER_ERROR,
        FailureKind.TOO_LARGE: FailureKind.SERVER_ERROR,
    }
    assert seen.kind is unsaid.get(kind, kind)
    assert read(frame).end in {End.PROVIDER_ERROR, End.TRANSPORT}


def test_an_errors_own_status_is_kept() -> None:
    """The code inside is the failure's status if that is one of an error."""
    for status, code in ((418, 418), (200, 503), (None, 503)):
        failure = Failure(kind=FailureKind.OVERLOADED, where="http", status=status)
        assert json.loads(gemini.build_error(failure, message="", in_stream=False))["error"]["code"] == code
