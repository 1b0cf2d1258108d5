"""A stream that is cut after any byte: never whole before its reason is there, and never a call that may run."""

import pytest

from signoff.core.model.response import BodyEnd, End, ModelResponse
from tests.wire.openai_chat.chunks import LEGAL, reader

pytestmark = pytest.mark.slow


def prefixes(frames: list[bytes], body_end: BodyEnd) -> list[ModelResponse]:
    """What is made of every prefix of a stream, by length, when the body ends there like this."""
    body = b"".join(frames)
    made = []
    for length in range(len(body) + 1):
        reading = reader()
        reading.feed(body[:length])
        made.append(reading.end(body_end))
    return made


def proof(frames: list[bytes], body_end: BodyEnd) -> int:
    """How many bytes prove the answer whole: up to the frame that holds the reason.

    At a clean end its blank line may be missing; after a cut it may not.
    """
    place = next(place for place, each in enumerate(frames) if b'"finish_reason":"' in each)
    return len(b"".join(frames[: place + 1])) - (2 if body_end is BodyEnd.CLEAN else 0)


@pytest.mark.parametrize("body_end", BodyEnd)
@pytest.mark.parametrize("name", LEGAL)
def test_no_prefix_is_whole_before_its_reason(name: str, body_end: BodyEnd) -> None:
    """Up to the reason the answer was cut and its last call is open; from there on it is the whole one's."""
    frames = LEGAL[name]
    made = prefixes(frames, body_end)
    whole, proven = made[-1], proof(frames, body_end)
    for length, response in enumerate(made):
        if length < proven:
            assert (response.end, response.saw_reason) == (End.TRANSPORT, False), length
            assert all(call.closed for call in response.calls[:-1]), length
            assert not any(call.closed for call in response.calls[-1:]), length
            assert whole.text.startswith(response.text), length
        else:
            assert (response.end, response.parts) == (whole.end, whole.parts), length
            assert response.complete == whole.complete, length
    assert whole.end is not End.TRANSPORT


@pytest.mark.parametrize("name", LEGAL)
def test_the_pieces_do_not_matter(name: str) -> None:
    """One byte at a time, frame by frame or at once: the same record, and the same things shown."""
    frames = LEGAL[name]
    body = b"".join(frames)
    records = []
    for pieces in ([body], frames, [bytes([byte]) for byte in body]):
        reading = reader()
        seen = [each for piece in pieces for each in reading.feed(piece)]
        records.append((seen, reading.end(BodyEnd.CLEAN)))
    assert records[0] == records[1] == records[2]
