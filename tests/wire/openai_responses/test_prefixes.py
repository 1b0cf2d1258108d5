"""A stream that breaks off anywhere is never a whole answer."""

import pytest

from signoff.core.model.arguments import are_whole
from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, End, ModelResponse
from signoff.testing.replies import call, reply
from signoff.wire import openai_responses
from signoff.wire.sse import SseDecoder
from tests.wire.openai_responses.streams import LEGAL, data_of, events_of, function_call, opening, read, record_of

pytestmark = pytest.mark.slow

STREAMS = {name: data_of(events) for name, events in LEGAL.items()}
STREAMS["built"] = b"".join(
    openai_responses.build_stream(reply("Tëxt", calls=[call("f", {"a": "é"})], reasoning="r", response_id="resp_1"))
)


def told(record: ModelResponse) -> tuple[object, ...]:
    """What of a record does not depend on how its bytes ended."""
    return record.end, record.parts, record.raw_reason, record.native, record.usage


def check_unfinished(record: ModelResponse, size: int) -> None:
    """A record of a stream that broke off promises nothing."""
    assert not record.complete, size
    assert (record.end, record.failure, record.saw_terminal) == (End.TRANSPORT, None, False), size


@pytest.mark.parametrize("name", STREAMS)
def test_no_prefix_of_a_broken_body_is_complete(name: str) -> None:
    """Before the blank line behind the terminal nothing is complete; with it everything is, whatever follows."""
    data = STREAMS[name]
    decoder, frames = openai_responses.decoder(Exchange()), SseDecoder()
    for size, byte in enumerate(data):
        check_unfinished(decoder.end(BodyEnd.CUT), size)
        for frame in frames.feed(bytes([byte])):
            decoder.feed(frame)
    assert told(decoder.end(BodyEnd.CUT)) == told(read(data)[0])


@pytest.mark.parametrize("name", STREAMS)
def test_no_prefix_of_a_body_that_ends_properly_is_complete(name: str) -> None:
    """Before the last byte of the terminal's data nothing is complete, though the body says that it is all."""
    data = STREAMS[name]
    for size in range(len(data) - 2):
        check_unfinished(read(data[:size])[0], size)
    assert told(read(data[:-2])[0]) == told(read(data)[0])


def test_a_cut_call_is_not_closed() -> None:
    """A call that a prefix cut is not closed, and a piece of its arguments is never whole; a finished one is closed."""
    item = function_call('{"path":{"b":1}}')
    events = [*opening(), *events_of(item, 0, cut=1)]
    finish = next(place for place, event in enumerate(events) if event["type"].endswith("arguments.done"))
    for size in range(len(events) + 1):
        for part in record_of(events[:size]).calls:
            assert (part.closed, are_whole(part)) == (size > finish, size > finish), size


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("piece", [1, 7])
def test_any_split_gives_the_same(name: str, piece: int) -> None:
    """However the bytes are split, the record and what was shown are the same."""
    data = STREAMS[name]
    whole, deltas = read(data)
    record, again = read(data, piece=piece)
    assert (record, again) == (whole, deltas)
