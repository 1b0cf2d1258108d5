"""Whatever stands in an HTTP response is told apart by its first bytes, within bounds, and comes to one record."""

from collections.abc import Sequence

import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse
from signoff.errors import ProtocolViolation
from signoff.wire import openai_chat
from signoff.wire.reader import MAX_ERROR, ResponseReader
from tests.wire.openai_chat.chunks import DONE, START, TEXT, delta, whole

ANSWER = whole({"role": "assistant", "content": "Hello é😀."})
STREAM = b"".join([START, *TEXT, delta("stop"), DONE])
ERROR = b'{"error":{"message":"Boom","type":"server_error","code":"slow_down"}}'
PAGE = b"<!DOCTYPE html><html><body>Bad gateway</body></html>"
BOM = b"\xef\xbb\xbf"
DEADLINE = Failure(kind=FailureKind.DEADLINE, where="host")
BROKEN = Failure(kind=FailureKind.CUT, where="transport")


def read(
    *pieces: bytes,
    status: int = 200,
    content_type: str = "",
    streamed: bool = True,
    body_end: BodyEnd = BodyEnd.CLEAN,
    failure: Failure | None = None,
    max_body: int = 1_000_000,
) -> ModelResponse:
    """The record of a body that came in these pieces."""
    exchange = Exchange(status=status, content_type=content_type, retry_after=3)
    reader = ResponseReader(openai_chat, exchange, streamed=streamed, max_body=max_body)
    for piece in pieces:
        reader.feed(piece)
    return reader.end(body_end, failure)


def singly(body: bytes) -> Sequence[bytes]:
    """A body, byte by byte."""
    return [bytes([byte]) for byte in body]


def kind(response: ModelResponse) -> FailureKind | None:
    """The kind of a record's failure."""
    return None if response.failure is None else response.failure.kind


ANSWERS = {
    "a stream": (STREAM, True, ()),
    "a whole answer": (ANSWER, False, ()),
    "a whole answer to a request for a stream": (ANSWER, True, ("not_streamed",)),
    "a stream that nobody asked for": (STREAM, False, ("stream_unasked",)),
    "white space in front of a whole answer": (b" \r\n\t" + ANSWER, False, ()),
    "white space in front of a stream": (b"\n\n\r\n" + STREAM, True, ()),
    "a mark in front of a whole answer": (BOM + ANSWER, False, ("bom",)),
    "a mark in front of a stream": (BOM + STREAM, True, ("bom",)),
    "a comment in front of a stream": (b": x\n\n" + STREAM, True, ()),
    "another field in front of a stream": (b"retry: 5\rid: 7\r\r" + STREAM, True, ()),
}


@pytest.mark.parametrize("content_type", ["", "text/event-stream", "application/json", "text/html"])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_whatever_it_is_called(name: str, content_type: str) -> None:
    """The first bytes decide how a body is read: not its content type, and not how they arrive."""
    body, streamed, oddities = ANSWERS[name]
    for pieces in ([body], singly(body)):
        response = read(*pieces, streamed=streamed, content_type=content_type)
        assert (response.end, response.text, response.oddities) == (End.NORMAL, "Hello é😀.", oddities)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PAGE, FailureKind.NOT_THE_PROTOCOL),
        (b"Internal Server Error", FailureKind.NOT_THE_PROTOCOL),
        (b"database error: x\n", FailureKind.NOT_THE_PROTOCOL),
        (b"\x1f\x8b\x08\x00", FailureKind.NOT_THE_PROTOCOL),
        (b'{"choices":', FailureKind.NOT_THE_PROTOCOL),
        (b"[1,2]", FailureKind.NOT_THE_PROTOCOL),
        (ERROR, FailureKind.OVERLOADED),
        (b"data: " + ERROR + b"\n\n", FailureKind.OVERLOADED),
    ],
)
def test_what_stands_in_place_of_an_answer(body: bytes, expected: FailureKind, *, streamed: bool) -> None:
    """A page, a text, broken JSON and an error under status 200 are failures, each of its kind."""
    for pieces in ([body], singly(body)):
        response = read(*pieces, streamed=streamed)
        assert (response.end, kind(response)) == (End.PROVIDER_ERROR, expected)


def test_a_page_says_how_long_it_was() -> None:
    """The length of what was no answer is kept, and nothing else of it."""
    for content_type in ("text/html", "text/event-stream"):
        response = read(PAGE, content_type=content_type)
        assert response.failure is not None
        assert (response.failure.message_length, response.native, response.parts) == (len(PAGE), "", ())


@pytest.mark.parametrize("body", [b"", b" \n", BOM, BOM + b"\n"])
@pytest.mark.parametrize("streamed", [True, False])
def test_nothing_at_all_is_a_cut(body: bytes, *, streamed: bool) -> None:
    """A body that ends properly with nothing in it was cut."""
    response = read(body, streamed=streamed)
    assert (response.end, kind(response), response.oddities) == (End.TRANSPORT, FailureKind.CUT, ("empty_body",))


@pytest.mark.parametrize(
    ("status", "body", "end", "expected"),
    [
        (401, ERROR.replace(b"slow_down", b"invalid_api_key"), End.PROVIDER_ERROR, FailureKind.AUTHENTICATION),
        (429, ERROR, End.PROVIDER_ERROR, FailureKind.OVERLOADED),
        (429, b"", End.PROVIDER_ERROR, FailureKind.RATE_LIMITED),
        (502, PAGE, End.PROVIDER_ERROR, FailureKind.SERVER_ERROR),
        (500, STREAM, End.PROVIDER_ERROR, FailureKind.SERVER_ERROR),
        (504, b"", End.TRANSPORT, FailureKind.PROVIDER_TIMEOUT),
        (
            400,
            BOM + ERROR.replace(b"slow_down", b"context_length_exceeded"),
            End.CONTEXT_FULL,
            FailureKind.CONTEXT_FULL,
        ),
        (400, ERROR.replace(b"slow_down", b"content_filter"), End.CONTENT_FILTER, FailureKind.CONTENT_FILTER),
        (302, PAGE, End.PROVIDER_ERROR, FailureKind.NOT_THE_PROTOCOL),
        (100, b"", End.PROVIDER_ERROR, FailureKind.NOT_THE_PROTOCOL),
    ],
)
def test_a_status_that_is_no_success(status: int, body: bytes, end: End, expected: FailureKind) -> None:
    """The body is read as an error, whatever it is, and the status counts where it says nothing."""
    response = read(*singly(body), status=status)
    assert response.failure is not None
    assert (response.end, kind(response)) == (end, expected)
    assert (response.failure.where, response.failure.status, response.failure.retry_after) == ("http", status, 3)


def test_an_error_that_was_cut_keeps_its_status() -> None:
    """That the rest of an error is missing changes nothing; that the host gave up is said."""
    assert kind(read(ERROR[:20], status=429, body_end=BodyEnd.CUT, failure=BROKEN)) is FailureKind.RATE_LIMITED
    assert kind(read(ERROR[:20], status=429, body_end=BodyEnd.CUT, failure=DEADLINE)) is FailureKind.DEADLINE


@pytest.mark.parametrize("body", [b"", b"da", ANSWER[:30], ANSWER, STREAM[:40]])
def test_a_body_that_was_cut(body: bytes) -> None:
    """The failure of the transport or the host is kept; where none is given, the cut is one."""
    for failure, expected in ((None, FailureKind.CUT), (BROKEN, FailureKind.CUT), (DEADLINE, FailureKind.DEADLINE)):
        response = read(body, body_end=BodyEnd.CUT, failure=failure)
        assert (response.end, kind(response), response.body_end) == (End.TRANSPORT, expected, BodyEnd.CUT)


def test_a_page_that_was_cut_is_a_page() -> None:
    """What stood there was no answer, with its end or without; a deadline of the host comes first."""
    assert kind(read(PAGE[:20], body_end=BodyEnd.CUT, failure=BROKEN)) is FailureKind.NOT_THE_PROTOCOL
    assert kind(read(PAGE[:20], body_end=BodyEnd.CUT, failure=DEADLINE)) is FailureKind.DEADLINE


def test_a_cut_behind_a_whole_answer_takes_nothing_back() -> None:
    """After the proof of its end a stream is whole, and the failure of the connection is none of the response."""
    response = read(STREAM[: -len(DONE)], body_end=BodyEnd.CUT, failure=BROKEN)
    assert (response.end, response.failure, response.oddities) == (End.NORMAL, None, ("cut_after_reason",))


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (delta("stop").rstrip(), End.NORMAL),
        (delta("stop")[:-1], End.NORMAL),
        (delta("stop")[:40], End.TRANSPORT),
        (b"data: [DO", End.TRANSPORT),
        (b"data: [DONE]", End.TRANSPORT),
    ],
)
def test_a_last_frame_without_its_blank_line(last: bytes, end: End) -> None:
    """It counts if it is whole; half a frame is as if it had not come."""
    response = read(START, *TEXT, last)
    assert (response.end, response.failure, response.saw_terminal) == (end, None, last.endswith(b"[DONE]"))
    assert "unterminated_frame" in response.oddities


@pytest.mark.parametrize(
    ("status", "body", "when"),
    [
        (200, STREAM, len(STREAM)),
        (200, b"data: " + ERROR + b"\n\n", len(ERROR) + 8),
        (200, PAGE + b" " * MAX_ERROR, MAX_ERROR),
        (500, ERROR + b" " * MAX_ERROR, MAX_ERROR),
    ],
)
def test_reading_may_stop(status: int, body: bytes, when: int) -> None:
    """Once the end marker or an error was seen, or what is no answer is long enough, nothing more is wanted."""
    reader = ResponseReader(openai_chat, Exchange(status=status), streamed=True)
    seen = []
    for piece in (body[: when - 1], body[when - 1 : when], STREAM):
        reader.feed(piece)
        seen.append(reader.finished)
    assert seen == [False, True, True]
    assert reader.feed(STREAM) == ()
    assert reader.end(BodyEnd.CLEAN).end is (End.NORMAL if body is STREAM else End.PROVIDER_ERROR)


@pytest.mark.parametrize("body", [ANSWER, b"".join([START, *TEXT * 9, delta("stop")]), b'{"a":"' + b"x" * 900])
def test_a_body_over_the_bound(body: bytes) -> None:
    """Reading stops at the bound, whatever the reason said before, and the record says why."""
    reader = ResponseReader(openai_chat, Exchange(), streamed=True, max_body=100)
    for piece in singly(body):
        reader.feed(piece)
    assert reader.finished
    response = reader.end(BodyEnd.CLEAN)
    assert (response.end, kind(response), response.body_end) == (End.PROVIDER_ERROR, FailureKind.TOO_LARGE, BodyEnd.CUT)


def test_an_answer_at_the_bound_is_read() -> None:
    """The bound itself is not over it."""
    assert read(ANSWER, max_body=len(ANSWER)).end is End.NORMAL
    assert read(STREAM, max_body=len(STREAM)).end is End.NORMAL


def test_a_frame_over_its_bound() -> None:
    """One frame that is too long ends the response, and what came before it is kept."""
    response = read(START, *TEXT, b"data: " + b"x" * 9_000_000, max_body=20_000_000)
    assert (response.end, kind(response), response.text) == (End.PROVIDER_ERROR, FailureKind.TOO_LARGE, "Hello é😀.")


def test_white_space_without_end_is_not_kept() -> None:
    """A server that keeps the connection alive with blanks costs no memory, and its answer is read."""
    reader = ResponseReader(openai_chat, Exchange(), streamed=False)
    for _ in range(10_000):
        reader.feed(b" \n")
    reader.feed(ANSWER)
    assert reader.end(BodyEnd.CLEAN).end is End.NORMAL


def test_a_response_ends_once() -> None:
    """The record is made once; a second end is a fault of the caller."""
    reader = ResponseReader(openai_chat, Exchange(), streamed=True)
    reader.feed(STREAM)
    reader.end(BodyEnd.CLEAN)
    assert reader.finished
    with pytest.raises(ProtocolViolation, match="ended before"):
        reader.end(BodyEnd.CUT)


def test_blanks_before_the_first_byte_are_bounded() -> None:
    """White space that keeps a connection alive is not kept, and still ends at the bound of a body."""
    reader = ResponseReader(openai_chat, Exchange(), streamed=True, max_body=100)
    finished = []
    for blank in [b"\n"] * 100 + [b" "]:
        reader.feed(blank)
        finished.append(reader.finished)
    assert finished == [False] * 100 + [True]
    assert reader.end(BodyEnd.CLEAN).failure == Failure(kind=FailureKind.TOO_LARGE, where="host", status=200)
