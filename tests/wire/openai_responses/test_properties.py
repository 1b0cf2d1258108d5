"""What holds for every response and every input of the Responses codec."""

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.model.ending import Exchange, Finish, Gathered, conclude
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.errors import WireError
from signoff.wire import openai_responses
from signoff.wire.openai_responses.outcome import REASONS
from signoff.wire.sse import Frame
from tests.wire.openai_responses.streams import LEGAL, data_of, read
from tests.wire.openai_responses.strict import faults_of

pytestmark = pytest.mark.slow

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
WORDS = st.text("abz_09", min_size=1, max_size=8)
ARGUMENTS = st.one_of(TEXTS, st.dictionaries(TEXTS, st.integers()).map(json.dumps))
CITATIONS = st.sampled_from(["", '[{"type":"url_citation","url":"u"}]'])
OPAQUE = [
    OpaquePart(kind="web_search_call", native='{"id":"ws_x","type":"web_search_call","status":"completed"}'),
    OpaquePart(kind="computer_call", native='{"id":"cu_x","type":"computer_call","call_id":"c"}', awaits_result=True),
]
CALLS = st.builds(
    CallPart, call_id=WORDS, name=WORDS, arguments=ARGUMENTS, kind=st.sampled_from(CallKind), closed=st.booleans()
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=TEXTS, citations=CITATIONS),
    st.builds(RefusalPart, text=TEXTS),
    st.builds(ReasoningPart, text=TEXTS.filter(bool)),
    st.builds(ReasoningPart, redacted=st.booleans()),
    CALLS,
)
COUNTS = st.integers(0, 10**9)
USAGES = st.none() | st.builds(
    TokenUsage, input=COUNTS, cached_read=COUNTS, cache_write=COUNTS, output=COUNTS, reasoning=COUNTS, total=COUNTS
)
FAILED = Failure(kind=FailureKind.RATE_LIMITED, where="stream", code="rate_limit_exceeded", message_length=36)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(["type", "item"]), inner)
    ),
    max_leaves=8,
)


@st.composite
def responses(draw: st.DrawFn) -> ModelResponse:
    """Any response that this protocol can say, with the end that its facts have."""
    parts = draw(st.lists(PARTS, max_size=5))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), draw(st.sampled_from(OPAQUE)))
    words = draw(st.sampled_from(["completed", *(f"incomplete/{reason}" for reason in (*REASONS, "novel")), "failed"]))
    whole = words in {"completed", "incomplete/steered"}
    if parts and isinstance(last := parts[-1], CallPart) and not whole:
        parts[-1] = msgspec.structs.replace(last, closed=False)
    finish = REASONS.get(words.partition("/")[2], Finish.UNKNOWN) if "/" in words else Finish.STOP
    failure = FAILED if words == "failed" else None
    facts = Gathered(
        api=Api.OPENAI_RESPONSES,
        finish=Finish.ERROR if failure else finish,
        raw_reason=f"failed/{FAILED.code}" if failure else words,
        saw_terminal=True,
        parts=tuple(parts),
        usage=draw(USAGES),
        response_id=f"resp_{draw(WORDS)}",
        model=draw(WORDS),
        failure=failure,
    )
    return conclude(facts, Exchange())


def told(record: ModelResponse) -> ModelResponse:
    """A record without what only its bytes say."""
    usage = None if record.usage is None else msgspec.structs.replace(record.usage, native="{}")
    return msgspec.structs.replace(record, native="", envelope="{}", streamed=False, usage=usage)


@given(responses())
def test_a_response_is_read_as_it_was_written(record: ModelResponse) -> None:
    """Written as a body or as a stream and read again, a response is the same, and its stream is strict."""
    stream = b"".join(openai_responses.build_stream(record))
    assert faults_of(stream) == []
    streamed, _ = read(stream)
    whole = openai_responses.parse_response(openai_responses.build_response(record), Exchange())
    assert told(streamed) == told(record)
    assert told(whole) == told(record)
    assert b"".join(openai_responses.build_stream(streamed)) == stream


@given(responses(), st.data())
def test_a_built_stream_cut_anywhere_is_not_complete(record: ModelResponse, data: st.DataObject) -> None:
    """No prefix of what we write is taken for a whole answer."""
    stream = b"".join(openai_responses.build_stream(record))
    size = data.draw(st.integers(0, len(stream) - 3))
    for body_end in BodyEnd:
        assert not read(stream[:size], body_end=body_end)[0].complete


@given(JSONS | st.binary(max_size=30) | st.text(max_size=30))
def test_any_body_gives_a_record(value: Any) -> None:  # noqa: ANN401 - any JSON
    """A body of any content is read into a record, and a request is read or refused; nothing else is raised."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    assert isinstance(openai_responses.parse_response(body, Exchange()), ModelResponse)
    with contextlib.suppress(WireError):
        openai_responses.parse_request(body)


@given(st.lists(JSONS | st.text(max_size=20), max_size=5), JSONS)
def test_any_frames_give_a_record(values: list[Any], inner: Any) -> None:  # noqa: ANN401 - any JSON
    """Frames of any content are read into a record."""
    decoder = openai_responses.decoder(Exchange())
    for value in [*values, {"type": "response.completed", "response": inner}]:
        decoder.feed(Frame(data=value if isinstance(value, str) else json.dumps(value)))
    assert isinstance(decoder.end(BodyEnd.CLEAN), ModelResponse)


@given(st.sampled_from(sorted(LEGAL)), st.data())
@settings(max_examples=300)
def test_mutated_streams_give_records(name: str, data: st.DataObject) -> None:
    """Legal streams whose events are dropped, doubled, swapped or changed in any field are read; nothing is raised.

    Whatever is done to the events, a stream without its terminal is not complete.
    """
    events = list(LEGAL[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place, other = (data.draw(st.integers(0, len(events) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["drop", "double", "swap", "change"])):
            case "drop":
                events = [*events[:place], *events[place + 1 :]] or events
            case "double":
                events = [*events[:place], events[other], *events[place:]]
            case "swap":
                events[place], events[other] = events[other], events[place]
            case _:
                field = data.draw(st.sampled_from(sorted(events[place])))
                changed = data.draw(JSONS)
                events[place] = {**events[place], field: str(changed) if field == "type" else changed}
    record, _ = read(data_of(events))
    ended = any(
        f"response.{word}" in event["type"] for event in events for word in ("completed", "incomplete", "failed")
    )
    assert ended or not record.complete


@given(st.sampled_from(sorted(LEGAL)), st.data())
def test_corrupted_bytes_give_records(name: str, data: st.DataObject) -> None:
    """A stream with any byte changed is read, and what is complete has only whole calls."""
    body = bytearray(data_of(LEGAL[name]))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert isinstance(read(bytes(body))[0], ModelResponse)
