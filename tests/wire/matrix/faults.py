"""The rows of the matrix that are about the connection and the body, and so the same for all protocols."""

from signoff.core.model.response import BodyEnd, End, FailureKind
from signoff.testing import BEFORE_HEAD, Fault, Framing, Play
from tests.wire.matrix.table import WEB_PAGE, Expected, Table, change

_HTML = "text/html; charset=utf-8"


def broken_connections(
    table: Table, *, mid_text: tuple[bytes, bytes], mid_call: tuple[bytes, bytes], partial: Expected
) -> None:
    """Fill the rows of cuts, resets and stalls inside a stream; `partial` is what had come of the text.

    The pairs are what is sent and what would have followed.
    """
    cut = change(partial, failure=FailureKind.CUT, where="transport", body_end=BodyEnd.CUT)
    in_call = change(cut, text="", calls=1)
    in_frame = (mid_text[0] + mid_text[1][:25], mid_text[1][25:])
    table.streamed("body ends mid text", mid_text[0], partial)
    table.streamed("body ends mid call", mid_call[0], change(partial, text="", calls=1))
    table.streamed("cut mid text", _broken(Fault.CUT, *mid_text), cut)
    table.streamed("cut mid call", _broken(Fault.CUT, *mid_call), in_call)
    table.streamed("body ends inside a frame", in_frame[0], partial)
    table.streamed("cut inside a frame", _broken(Fault.CUT, *in_frame), cut)
    for row in ("body ends inside a frame", "cut inside a frame"):
        table.absent_whole(row, "a body that is not streamed has no frames; see the rows of its texts")
    table.streamed("reset mid text", _broken(Fault.RESET, *mid_text), cut)
    table.streamed("stall", _broken(Fault.STALL, *mid_text), change(cut, failure=FailureKind.PROVIDER_TIMEOUT))
    no_answer = Expected(end=End.TRANSPORT, failure=FailureKind.CONNECTION, where="transport", body_end=BodyEnd.CUT)
    reset = Play(body=b"{}", fault=Fault.RESET, cut_after=BEFORE_HEAD)
    table.both("reset before any byte", stream=reset, whole=reset, expected=no_answer)


def broken_bodies(table: Table, *, text: bytes, call: bytes, at: tuple[bytes, bytes]) -> None:
    """Fill the same rows for bodies that are not streamed; they break inside the texts given in `at`.

    A body that ends properly in the middle is no JSON; of one that is cut, nothing is read.
    """
    not_json = Expected(end=End.PROVIDER_ERROR, failure=FailureKind.NOT_THE_PROTOCOL, where="stream")
    cut = Expected(end=End.TRANSPORT, failure=FailureKind.CUT, where="transport", body_end=BodyEnd.CUT)
    in_text, in_call = text.index(at[0]) + 3, call.index(at[1]) + 3
    table.whole("body ends mid text", Play(body=text, fault=Fault.CLOSE, cut_after=in_text), not_json)
    table.whole("body ends mid call", Play(body=call, fault=Fault.CLOSE, cut_after=in_call), not_json)
    table.whole("cut mid text", Play(body=text, fault=Fault.CUT, cut_after=in_text), cut)
    table.whole("cut mid call", Play(body=call, fault=Fault.CUT, cut_after=in_call, framing=Framing.CHUNKED), cut)
    table.whole("reset mid text", Play(body=text, fault=Fault.RESET, cut_after=in_text), cut)
    stalled = change(cut, failure=FailureKind.PROVIDER_TIMEOUT)
    table.whole("stall", Play(body=text, fault=Fault.STALL, cut_after=in_text), stalled)


def foreign_bodies(table: Table, *, opening: bytes, broken: bytes, seen: Expected) -> None:
    """Fill the rows of web pages and broken JSON: a frame that is `broken` follows an `opening` that is understood."""
    page = Play(body=WEB_PAGE, content_type=_HTML)
    foreign = Expected(end=End.PROVIDER_ERROR, failure=FailureKind.NOT_THE_PROTOCOL, where="stream")
    table.both("web page under status 200", stream=page, whole=page, expected=foreign)
    table.whole("broken JSON under status 200", b'{"id": "r1", "choices": [}', foreign)
    unread = change(seen, end=foreign.end, failure=foreign.failure, where=foreign.where)
    table.streamed("broken JSON under status 200", opening + broken, unread)


def other_forms(table: Table, *, stream: bytes, whole: bytes, expected: Expected) -> None:
    """Fill the rows of an empty body, and of a stream or a whole body where the other was asked for."""
    nothing = Expected(end=End.TRANSPORT, failure=FailureKind.CUT, where="transport")
    table.both("nothing under status 200", stream=b"", whole=b"", expected=nothing)
    table.streamed("the other form", Play(body=whole, content_type="application/json"), expected)
    table.whole("the other form", Play(body=stream, content_type="text/event-stream"), expected)


def http_errors(table: Table, *, limited: bytes, failed: bytes) -> None:
    """Fill the rows of HTTP errors, with the bodies that the protocol puts beside 429 and 500."""
    refused = Play(status=429, body=limited, headers={"Retry-After": "7"})
    expected = Expected(end=End.PROVIDER_ERROR, failure=FailureKind.RATE_LIMITED, where="http", retry_after=7.0)
    table.both("HTTP 429", stream=refused, whole=refused, expected=expected)
    broken = Play(status=500, body=failed)
    expected = Expected(end=End.PROVIDER_ERROR, failure=FailureKind.SERVER_ERROR, where="http")
    table.both("HTTP 500", stream=broken, whole=broken, expected=expected)


def _broken(fault: Fault, sent: bytes, kept_back: bytes) -> Play:
    return Play(body=sent + kept_back, fault=fault, cut_after=len(sent))
