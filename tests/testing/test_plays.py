"""What a play sounds like on the wire, byte for byte, and where it breaks."""

from functools import partial

import pytest

from signoff.core.model.response import Failure, FailureKind
from signoff.errors import PolicyError
from signoff.testing import BEFORE_HEAD, Fault, Framing, Play
from tests.testing.raw_client import DIGITS, STREAMED, heard_of, request


@pytest.mark.parametrize(
    ("play", "sent", "header", "body"),
    [
        (Play(body=DIGITS), request(), b"content-length: 10", DIGITS),
        (Play(body=DIGITS), STREAMED, b"transfer-encoding: chunked", b"a\r\n0123456789\r\n0\r\n\r\n"),
        (Play(body=DIGITS, piece=4), STREAMED, b"chunked", b"4\r\n0123\r\n4\r\n4567\r\n2\r\n89\r\n0\r\n\r\n"),
        (Play(body=DIGITS, framing=Framing.UNTIL_CLOSE), request(), b"connection: close", DIGITS),
        (Play(body=DIGITS, framing=Framing.LENGTH, piece=1), STREAMED, b"content-length: 10", DIGITS),
        (Play(), request(), b"content-length: 0", b""),
        (Play(), STREAMED, b"chunked", b"0\r\n\r\n"),
    ],
)
def test_a_body_is_framed(play: Play, sent: bytes, header: bytes, body: bytes) -> None:
    """Streams go in chunks and other bodies with their length, unless the play says otherwise."""
    heard = heard_of(play, sent)
    assert heard.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert header in heard.head
    assert (heard.body, heard.ended) == (body, "closed")


CHUNK = b"4\r\n0123\r\n"
END = b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("framing", "fault", "header", "body", "ended"),
    [
        (Framing.CHUNKED, Fault.CLOSE, b"chunked", CHUNK + END, "closed"),
        (Framing.CHUNKED, Fault.CUT, b"chunked", CHUNK, "closed"),
        (Framing.CHUNKED, Fault.RESET, b"chunked", CHUNK, "reset"),
        (Framing.LENGTH, Fault.CLOSE, b"content-length: 4", b"0123", "closed"),
        (Framing.LENGTH, Fault.CUT, b"content-length: 10", b"0123", "closed"),
        (Framing.LENGTH, Fault.RESET, b"content-length: 10", b"0123", "reset"),
        (Framing.UNTIL_CLOSE, Fault.CLOSE, b"connection: close", b"0123", "closed"),
        (Framing.UNTIL_CLOSE, Fault.RESET, b"connection: close", b"0123", "reset"),
    ],
)
def test_a_body_breaks_where_it_is_told_to(
    framing: Framing, fault: Fault, header: bytes, body: bytes, ended: str
) -> None:
    """Exactly the bytes before the fault are sent; the framing hides a close and shows a cut; a reset is a reset."""
    heard = heard_of(Play(body=DIGITS, framing=framing, fault=fault, cut_after=4))
    assert header in heard.head
    assert (heard.body, heard.ended) == (body, ended)


def test_a_cut_behind_the_whole_body_shows_too() -> None:
    """With every byte sent, a cut still leaves the framing open: no last chunk, or a length of one byte more."""
    assert heard_of(Play(body=b"0123", fault=Fault.CUT), STREAMED).body == CHUNK
    assert b"content-length: 5" in heard_of(Play(body=b"0123", fault=Fault.CUT)).head


@pytest.mark.parametrize(("fault", "ended"), [(Fault.CLOSE, "closed"), (Fault.CUT, "closed"), (Fault.RESET, "reset")])
def test_a_connection_breaks_before_the_first_byte(fault: Fault, ended: str) -> None:
    """`BEFORE_HEAD` lets the fault happen in place of any answer."""
    assert heard_of(Play(body=DIGITS, fault=fault, cut_after=BEFORE_HEAD)) == (b"", b"", ended)


def test_a_byte_is_corrupted() -> None:
    """The lowest bit of the named byte is flipped, and nothing else."""
    assert heard_of(Play(body=DIGITS, corrupt_at=4)).body == b"0123556789"


def test_a_byte_outside_the_body_cannot_be_corrupted() -> None:
    """A corruption that would not happen is an error of the script."""
    with pytest.raises(PolicyError, match="byte 10 of a body of 10"):
        heard_of(Play(body=DIGITS, corrupt_at=10))


def test_headers_and_status_are_the_script_s() -> None:
    """Status, headers and content type of a play are sent as they are, and its own word on an event stream stands."""
    heard = heard_of(Play(status=418, body=b"x", headers={"X-Request-Id": "r1"}, content_type="text/plain"), STREAMED)
    assert heard.head.startswith(b"HTTP/1.1 418 ")
    assert b"x-request-id: r1" in heard.head
    assert b"content-type: text/plain" in heard.head
    assert b"content-type: text/event-stream" in heard_of(Play(), STREAMED).head
    assert b"HTTP/1.1 599 -" in heard_of(Play(status=599)).head


def test_a_fault_needs_to_make_sense() -> None:
    """A play that contradicts itself is refused when it is written."""
    bad = [
        partial(Play, body=b"", failure=Failure(kind=FailureKind.QUOTA, where="http")),
        partial(Play, body=b"", cut_after=1),
        partial(Play, body=b"", fault=Fault.CUT, framing=Framing.UNTIL_CLOSE),
        partial(Play, body=b"", piece=0),
    ]
    for play in bad:
        with pytest.raises(PolicyError):
            play()
