"""Whatever a response holds is read back as it was written, and whatever bytes come make a record."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.canonical import JSON
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, End, ModelResponse, TokenUsage
from signoff.errors import PolicyError, WireError
from signoff.wire import anthropic_messages
from signoff.wire.json_text import dump
from signoff.wire.memo import Memo
from tests.wire.anthropic_messages.streams import LEGAL, event, frame, read
from tests.wire.anthropic_messages.strict import faults_of

pytestmark = pytest.mark.slow

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)
CITATIONS = st.lists(OBJECTS, min_size=1, max_size=2).map(lambda items: dump([*items]))
CALLS = st.builds(
    CallPart, call_id=TEXTS.filter(bool), name=TEXTS, arguments=OBJECTS.map(dump) | st.just("{}"), closed=st.just(True)
)
PARTS = st.one_of(
    st.builds(
        TextPart,
        text=TEXTS,
        citations=st.just("") | CITATIONS,
    ),
    st.builds(ReasoningPart, text=TEXTS),
    st.just(ReasoningPart(redacted=True)),
    CALLS,
    OBJECTS.map(lambda fields: OpaquePart(kind="hologram", native=dump({"type": "hologram", "fields": fields}))),
)
COUNTS = st.none() | st.integers(0, 10**6)


@st.composite
def usages(draw: st.DrawFn) -> TokenUsage:
    """Counts that fit together: the cached input is part of all input."""
    read_, written = draw(COUNTS), draw(COUNTS)
    uncached, output = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    total = uncached + (read_ or 0) + (written or 0)
    return TokenUsage(input=total, cached_read=read_, cache_write=written, output=output, reasoning=draw(COUNTS))


@st.composite
def responses(draw: st.DrawFn) -> ModelResponse:
    """Whole responses of this protocol, with every end that it can say."""
    parts: tuple[Part, ...] = tuple(draw(st.lists(PARTS, max_size=5)))
    calls = any(isinstance(part, CallPart) for part in parts)
    whole = (End.TOOL_CALLS, "tool_use") if calls else (End.NORMAL, "end_turn")
    others = [(End.LIMIT, "max_tokens"), (End.PAUSED, "pause_turn"), (End.UNKNOWN, "moon_phase")]
    end, reason = draw(st.sampled_from([whole, *others, (End.REFUSAL, "refusal")]))
    if end is End.REFUSAL:
        parts = (*parts, draw(st.builds(RefusalPart, text=TEXTS.filter(bool), category=TEXTS)))
    return ModelResponse(
        api=Api.ANTHROPIC_MESSAGES,
        end=end,
        raw_reason=reason,
        saw_reason=True,
        saw_terminal=True,
        parts=parts,
        usage=draw(usages()),
        response_id=draw(TEXTS.filter(bool)),
        model=draw(TEXTS),
    )


def without_form(response: ModelResponse) -> ModelResponse:
    """A response without what only the form in which it came says."""
    usage = response.usage and msgspec.structs.replace(response.usage, native="{}")
    return msgspec.structs.replace(response, usage=usage, native="", envelope="{}", streamed=False)


@given(responses())
def test_what_is_written_is_read_back(response: ModelResponse) -> None:
    """A response that is written, streamed or not, and read again, is the same but for its form."""
    stream = b"".join(anthropic_messages.build_stream(response))
    body = anthropic_messages.build_response(response)
    assert faults_of(stream) == []
    assert without_form(read(stream)) == response
    assert without_form(anthropic_messages.parse_response(body, Exchange())) == response


@given(responses())
def test_what_was_read_is_written_the_same_for_ever(response: ModelResponse) -> None:
    """Once read, a response is written with its native turn, and the bytes never change again."""
    first = b"".join(anthropic_messages.build_stream(response))
    once = read(first)
    assert b"".join(anthropic_messages.build_stream(once)) == first
    assert anthropic_messages.build_response(once) == anthropic_messages.build_response(response)


EVENTS = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    ]
)
WORDS = st.sampled_from(
    ["text", "thinking", "tool_use", "text_delta", "input_json_delta", "citations_delta", "compaction_delta"]
)
NAMES = (
    *("type", "index", "delta", "content_block", "message", "content", "usage", "error", "to", "model", "id", "name"),
    *("text", "partial_json", "thinking", "signature", "input", "citation", "citations", "input_tokens"),
    *("stop_reason", "stop_details", "explanation"),
)
SHAPES: st.SearchStrategy[JSON] = st.recursive(
    VALUES | WORDS,
    lambda inner: st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, inner)),
    max_leaves=6,
)
INDEXED = st.fixed_dictionaries({"index": st.integers(-1, 2)})


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """One frame that is nearly of the protocol, or not at all."""
    kind = draw(EVENTS)
    fields = draw(SHAPES.filter(lambda value: isinstance(value, dict)) | INDEXED)
    assert isinstance(fields, dict)
    texts = {**fields, **draw(INDEXED), "type": kind}
    return draw(
        st.sampled_from([frame(dump(texts).encode(), name=kind), frame(dump(draw(SHAPES)).encode()), event("ping")])
    )


def checked(response: ModelResponse) -> None:
    """What holds for every record: it can be stored, and only a whole one is complete."""
    assert msgspec.json.decode(msgspec.json.encode(response), type=ModelResponse) == response
    if response.complete:
        assert response.saw_terminal
        assert response.failure is None
        assert all(call.closed for call in response.calls)
    try:
        anthropic_messages.build_response(response)
        list(anthropic_messages.build_stream(response))
    except PolicyError:
        pass


@given(st.lists(frames(), max_size=12), st.sampled_from(BodyEnd))
def test_any_frames_make_a_record(pieces: list[bytes], body_end: BodyEnd) -> None:
    """Events of any shape, in any order, raise nothing and make a record that can be stored and judged."""
    checked(read(b"".join(pieces), body_end=body_end))


@given(st.sampled_from(sorted(LEGAL)), st.data())
def test_any_mutation_of_a_stream_makes_a_record(name: str, data: st.DataObject) -> None:
    """Frames of a legal stream that are lost, repeated or exchanged, and bytes that are changed, make a record."""
    pieces = [each + b"\n\n" for each in LEGAL[name].split(b"\n\n")[:-1]]
    order = data.draw(st.lists(st.integers(0, len(pieces) - 1), max_size=len(pieces) + 3))
    body = bytearray(b"".join(pieces[place] for place in order) if data.draw(st.booleans()) else LEGAL[name])
    for place in data.draw(st.lists(st.integers(0, max(len(body) - 1, 0)), max_size=3)):
        body[place : place + 1] = data.draw(st.binary(max_size=2))
    checked(read(bytes(body)))


@given(SHAPES | st.builds(lambda value: {"type": "message", "content": value, "stop_reason": "tool_use"}, SHAPES))
def test_any_body_makes_a_record(value: JSON) -> None:
    """A body of any shape makes a record."""
    checked(anthropic_messages.parse_response(dump(value).encode(), Exchange()))


@given(st.binary(max_size=50))
def test_any_bytes_make_a_record(body: bytes) -> None:
    """A body of any bytes makes a record."""
    checked(anthropic_messages.parse_response(body, Exchange()))


BLOCKS = st.lists(SHAPES, max_size=3)
MESSAGES = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXTS | BLOCKS})


@given(
    st.fixed_dictionaries(
        {"model": TEXTS, "messages": st.lists(MESSAGES | SHAPES, max_size=4)},
        optional={"system": SHAPES, "tools": SHAPES | BLOCKS, "tool_choice": SHAPES, "max_tokens": VALUES},
    )
)
def test_any_request_is_read_or_refused(body: dict[str, JSON]) -> None:
    """A client's body is read, and written again, or refused by one of the two errors that say why."""
    try:
        received = anthropic_messages.parse_request(dump(body).encode())
        anthropic_messages.build_request(received.request, model="m", stream=False, memo=Memo())
    except (WireError, PolicyError):
        pass
