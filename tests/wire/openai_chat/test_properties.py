"""Whatever a response holds is read back as it was written, and whatever bytes come make a record."""

import json
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.canonical import JSON
from signoff.core.model.response import BodyEnd, End, ModelResponse
from signoff.errors import PolicyError
from signoff.wire import openai_chat
from signoff.wire.sse import SseDecoder, encode_frame
from tests.wire.openai_chat.chunks import LEGAL, frame, read, read_whole, reader
from tests.wire.openai_chat.strategies import responses

NAMES = [
    *(
        "id",
        "object",
        "model",
        "choices",
        "index",
        "delta",
        "message",
        "finish_reason",
        "content",
        "refusal",
        "reasoning",
    ),
    *(
        "tool_calls",
        "function_call",
        "function",
        "custom",
        "name",
        "arguments",
        "input",
        "type",
        "usage",
        "error",
        "code",
    ),
    *("status", "error_type", "annotations", "prompt_tokens", "prompt_tokens_details", "role", "x"),
]
LEAVES = st.sampled_from(["", "stop", "length", "a", "{}", "\ud83d", "assistant", "custom", "slow_down", 0, 1, 10**9])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | LEAVES
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=25,
)
CHUNKS = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {}, optional={"index": st.just(0) | VALUES, "delta": VALUES, "message": VALUES, "finish_reason": VALUES}
            ),
            max_size=3,
        )
    },
    optional={"usage": VALUES, "id": VALUES, "model": VALUES, "error": VALUES, "object": VALUES},
)
MUTATIONS = [
    b"",
    b"\x00",
    b"\xff",
    b"\n",
    b"\n\n",
    b"\r",
    b'"',
    b"{",
    b"}",
    b"[",
    b":",
    b",",
    b"data: ",
    b"null",
    b"1e999",
    b"\\ud83d",
]


def bare(response: ModelResponse) -> ModelResponse:
    """A record without what only the bytes tell."""
    usage = None if response.usage is None else msgspec.structs.replace(response.usage, native="{}")
    return msgspec.structs.replace(response, native="", envelope="{}", usage=usage, streamed=True, saw_terminal=True)


@given(responses())
def test_a_stream_that_was_written_is_read_as_the_response(response: ModelResponse) -> None:
    """Parts, reason, usage and identity of any response survive the wire as a stream."""
    found = read(*openai_chat.build_stream(response))
    assert bare(found) == bare(response)
    assert (found.streamed, found.saw_terminal) == (True, response.saw_reason)


@given(responses())
def test_a_body_that_was_written_is_read_as_the_response(response: ModelResponse) -> None:
    """The same in one body, but for an answer that was cut, which no body can say."""
    if response.end is End.TRANSPORT:
        with pytest.raises(PolicyError, match="nothing was written"):
            openai_chat.build_response(response)
        return
    assert bare(read_whole(openai_chat.build_response(response))) == bare(response)


@given(responses())
def test_what_is_kept_of_a_turn_is_the_turn(response: ModelResponse) -> None:
    """The native text of a turn, sent as a whole message, gives the same parts."""
    found = read(*openai_chat.build_stream(response))
    body = msgspec.json.encode(
        {"choices": [{"index": 0, "message": json.loads(found.native), "finish_reason": found.raw_reason}]}
    )
    assert read_whole(body).parts == found.parts


@given(responses())
def test_the_frames_of_a_stream_are_written_as_they_were_read(response: ModelResponse) -> None:
    """Decoded and encoded again, the strict form is the same bytes."""
    body = b"".join(openai_chat.build_stream(response))
    assert b"".join(encode_frame(each.data, event=each.event) for each in SseDecoder().feed(body)) == body


@given(responses(), st.data())
def test_any_cut_of_any_stream_is_no_answer(response: ModelResponse, data: st.DataObject) -> None:
    """Before its reason no prefix of a stream is whole; what it has of texts and calls is a beginning."""
    body = b"".join(openai_chat.build_stream(response))
    reason = body.find(b'"finish_reason":"')
    cut = data.draw(st.integers(0, len(body) if reason < 0 else reason))
    reading = reader()
    reading.feed(body[:cut])
    found = reading.end(data.draw(st.sampled_from(BodyEnd)))
    assert (found.end, found.complete) == (End.TRANSPORT, False)
    assert response.text.startswith(found.text)
    assert not any(call.closed for call in found.calls[-1:])


def checked(response: ModelResponse) -> None:
    """What holds of every record: it can be written down, and what is whole has its reason."""
    msgspec.json.encode(response)
    assert response.saw_reason or not response.complete
    assert all(call.closed for call in response.calls) or not response.complete
    assert response.native == "" or isinstance(json.loads(response.native), dict)
    assert isinstance(json.loads(response.envelope), dict)


def read_anything(body: bytes, piece: int) -> None:
    """Read bytes as a stream and as a body, however they end."""
    for body_end, streamed in product(BodyEnd, (True, False)):
        reading = reader(streamed=streamed)
        shown = [reading.feed(body[start : start + piece]) for start in range(0, len(body), piece)]
        msgspec.json.encode(shown)
        checked(reading.end(body_end))


def mutated(data: st.DataObject) -> bytes:
    """A legal stream, changed in a few places."""
    body = b"".join(LEGAL[data.draw(st.sampled_from(sorted(LEGAL)))])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        length = data.draw(st.sampled_from([0, 1, 1, 5, 60]))
        body = body[:start] + data.draw(st.sampled_from(MUTATIONS)) + body[start + length :]
    return body


def any_chunks(data: st.DataObject) -> bytes:
    """Frames of any JSON, most of them shaped like chunks."""
    values = data.draw(st.lists(CHUNKS | VALUES, max_size=4))
    return b"".join(encode_frame(json.dumps(value)) for value in values)


@pytest.mark.parametrize("make", [mutated, any_chunks])
def test_whatever_comes_makes_a_record(make: object, request: pytest.FixtureRequest) -> None:
    """Nothing is raised for any content, and what cannot be read is a typed failure; `--deep` tries far more."""
    examples = 5_000 if request.config.getoption("--deep") else 300

    @settings(max_examples=examples)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        body = make(data)  # type: ignore[operator]
        read_anything(body, data.draw(st.sampled_from([1, 7, 4096])))
        checked(read_whole(json.dumps(data.draw(CHUNKS)).encode()))

    fuzz()


@given(VALUES)
def test_any_value_in_a_frame_makes_a_record(value: JSON) -> None:
    """A frame with any JSON in it, before a regular end."""
    checked(read(encode_frame(json.dumps(value)), frame({"choices": [{"index": 0, "finish_reason": "stop"}]})))
