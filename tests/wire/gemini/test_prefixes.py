"""Beginnings of streams, and damaged streams: never whole, never a call that may run, never an exception."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.canonical import parse
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import CallPart, OpaquePart, ReasoningPart, TextPart
from signoff.core.model.response import BodyEnd, End, ModelResponse
from signoff.wire import gemini
from signoff.wire.sse import Frame
from tests.wire.gemini.strategies import VALUES, responses, unhurried
from tests.wire.gemini.streams import LEGAL, read, seen, stream

pytestmark = pytest.mark.slow


def may_run(response: ModelResponse) -> list[CallPart]:
    """The calls that a host would run: those of a response that is complete."""
    return list(response.calls) if response.complete else []


@pytest.mark.parametrize("body_end", BodyEnd)
@pytest.mark.parametrize("name", LEGAL)
def test_no_beginning_of_a_stream_is_whole(name: str, body_end: BodyEnd) -> None:
    """Cut after any byte it is never whole; ended properly after any byte, not before the reason's chunk is there."""
    body, whole = stream(*LEGAL[name]), seen(*LEGAL[name])
    end = body.index(b"finishReason")
    proof = body.index(b"\n", end)
    for sent in range(len(body)):
        response = read(body[:sent], body_end)
        proven = sent >= proof and body_end is BodyEnd.CLEAN
        assert response.complete is proven, sent
        assert proven or response.end is End.TRANSPORT, sent
        assert proven or may_run(response) == [], sent
        assert whole.text.startswith(response.text), sent
        for call, last in zip(response.calls, whole.calls, strict=False):
            assert not call.closed or call == last, sent


@pytest.mark.parametrize("name", LEGAL)
def test_no_beginning_of_a_body_is_whole(name: str) -> None:
    """A body that is not streamed is whole with its last byte."""
    body = json.dumps(LEGAL[name]).encode()
    for sent in range(len(body)):
        assert not gemini.parse_response(body[:sent], Exchange()).complete
    assert gemini.parse_response(body, Exchange()).complete


@unhurried
@given(responses(), st.data())
def test_no_beginning_of_a_built_stream_is_whole(given: ModelResponse, choose: st.DataObject) -> None:
    """The same for streams of every shape that this codec writes."""
    body = b"".join(gemini.build_stream(given))
    if not body:
        return
    sent = choose.draw(st.integers(0, len(body) - 1))
    assert not read(body[:sent], BodyEnd.CUT).complete
    assert not read(body[: min(sent, body.rindex(b"data: "))]).complete


def check(response: ModelResponse) -> None:
    """Whatever was read, the record is sound."""
    assert all(isinstance(part, TextPart | ReasoningPart | CallPart | OpaquePart) for part in response.parts)
    for text in (response.native or "{}", response.envelope):
        assert isinstance(json.loads(text), dict)
    for call in may_run(response):
        assert call.arguments.strip() in {"", "null"} or isinstance(parse(call.arguments), dict)


FIELDS = [
    "candidates",
    "content",
    "parts",
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "name",
    "id",
    "args",
    "partialArgs",
    "jsonPath",
    "willContinue",
    "stringValue",
    "numberValue",
    "finishReason",
    "index",
    "role",
    "usageMetadata",
    "promptTokenCount",
    "promptFeedback",
    "blockReason",
    "error",
    "code",
    "status",
    "message",
    "details",
    "modelVersion",
    "responseId",
    "inlineData",
]
LEAVES = VALUES | st.sampled_from(["STOP", "model", "$.a", "$.a[0]", "[DONE]", 0, True, "\ud800"])
LIKELY = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), below, max_size=5),
    max_leaves=25,
)
PART = st.dictionaries(st.sampled_from(FIELDS), LIKELY, max_size=4)
CANDIDATE = st.fixed_dictionaries(
    {}, optional={"content": st.fixed_dictionaries({"parts": st.lists(PART, max_size=4)}), "finishReason": LIKELY}
)
CHUNK = st.fixed_dictionaries({}, optional={"candidates": st.lists(CANDIDATE, max_size=2), "usageMetadata": LIKELY})


@unhurried
@given(st.lists(LIKELY | CHUNK, max_size=4))
def test_any_json_is_a_record(chunks: list[object]) -> None:
    """Values of every type in every place are read or refused as not of the protocol, and nothing is raised."""
    decoder = gemini.decoder(Exchange())
    for one in chunks:
        decoder.feed(Frame(data=json.dumps(one)))
    check(decoder.end(BodyEnd.CLEAN))
    check(gemini.parse_response(json.dumps(chunks).encode(), Exchange()))


@unhurried
@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_a_record(data: str, event: str, error: str) -> None:
    """Frames of any text, and bodies of any bytes, are records too."""
    decoder = gemini.decoder(Exchange())
    decoder.feed(Frame(data=data, event=event))
    decoder.feed(Frame(data=data, error=error))
    check(decoder.end(BodyEnd.CLEAN))
    check(gemini.parse_response(data.encode(errors="replace"), Exchange()))


@unhurried
@given(st.sampled_from(sorted(LEGAL)), st.randoms(use_true_random=False))
def test_a_damaged_stream_is_a_record(name: str, chance: random.Random) -> None:
    """Bytes that are changed, left out, doubled or moved make another record and no exception."""
    body = bytearray(stream(*LEGAL[name]))
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(body)), chance.randint(1, 20)
        match chance.randrange(4):
            case 0:
                body[at] = chance.randrange(256)
            case 1:
                del body[at : at + length]
            case 2:
                body[at:at] = body[at : at + length]
            case _:
                body[at:at] = chance.choice([b'{"', b"[", b"\\ud800", b"null", b"\n\n", b'"error":1,', b"data: {}"])
        if not body:
            break
    for body_end in BodyEnd:
        check(read(bytes(body), body_end))
    check(gemini.parse_response(bytes(body).removeprefix(b"data: "), Exchange()))
