"""Reads one HTTP response, whatever stands in it: a stream, a whole body, an error, a web page, or nothing.

What it is, its first bytes decide, since servers and proxies label bodies wrongly. The codec reads what is of the
protocol; here it is only found out whether something is. Memory is bounded, and nothing is raised for content.
"""

from enum import StrEnum
from typing import Final

import msgspec

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.response import BodyEnd, Failure, FailureKind, ModelResponse
from signoff.errors import ProtocolViolation
from signoff.wire.codec import Codec, StreamDecoder
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import load
from signoff.wire.sse import Frame, SseDecoder

MAX_BODY: Final = 64 * 1024 * 1024
"""The longest body that is read, in bytes."""
MAX_ERROR: Final = 64 * 1024
"""How much of an error's body, or of a body that is not of the protocol, is read, in bytes."""

_BOM: Final = b"\xef\xbb\xbf"
_FIELDS: Final = (b"data", b"event", b"id", b"retry", b"error")
_LONGEST_FIELD: Final = 6
_SUCCESS: Final = range(200, 300)


class _Form(StrEnum):
    """What stands in the body."""

    UNDECIDED = "undecided"
    ERROR = "error"
    STREAM = "stream"
    WHOLE = "whole"
    OTHER = "other"


class ResponseReader:
    """Takes the bytes of one response as they come, and makes its record."""

    def __init__(self, codec: Codec, exchange: Exchange, *, streamed: bool, max_body: int = MAX_BODY) -> None:
        self._codec = codec
        self._exchange = exchange
        self._streamed = streamed
        self._max_body = max_body
        self._form = _Form.UNDECIDED if exchange.status in _SUCCESS else _Form.ERROR
        self._body = bytearray()  # what is kept: the first bytes, or all of a body that is no stream
        self._length = 0
        self._sse = SseDecoder()
        self._decoder: StreamDecoder | None = None
        self._too_large = False
        self._oddities: set[str] = set()
        self._response: ModelResponse | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing that follows can matter, so that reading may stop."""
        if self._too_large or self._response is not None:
            return True
        if self._form is _Form.ERROR or self._form is _Form.OTHER:
            return self._length >= MAX_ERROR
        return self._decoder is not None and self._decoder.finished

    def feed(self, data: bytes) -> tuple[Delta, ...]:
        """Take in more of the body; return what it adds to the response, for showing."""
        if self.finished:
            return ()
        self._length += len(data)
        if self._form is _Form.UNDECIDED:
            data = bytes(self._body) + data
            self._body.clear()
            start = data.removeprefix(_BOM).lstrip()
            self._form = self._form_of(start)
            if not start:  # white space, which is sent to keep a connection alive, is not kept
                data = _BOM if data.startswith(_BOM) else b""
            if self._form is _Form.STREAM:
                self._decoder = self._codec.decoder(self._exchange)
        if self._decoder is None:
            self._keep(data)
            # blanks are not kept, but they end somewhere too
            self._too_large = self._too_large or (self._form is _Form.UNDECIDED and self._length > self._max_body)
            return ()
        shown = self._frames(self._decoder, self._sse.feed(data))
        self._too_large = self._sse.too_large or (self._length > self._max_body and not self._decoder.finished)
        return shown

    def end(self, body_end: BodyEnd, failure: Failure | None = None) -> ModelResponse:
        """Make the record, once; `failure` is what the transport or the host says of how the body ended."""
        if self._response is not None:
            raise ProtocolViolation("this response has ended before; its record was not changed; make another reader")
        if self._too_large:
            body_end, failure = BodyEnd.CUT, self._said(FailureKind.TOO_LARGE, where="host")
        elif body_end is BodyEnd.CUT and failure is None:
            failure = self._said(FailureKind.CUT, where="transport")
        response = self._record(body_end, failure)
        if self._oddities - set(response.oddities):
            oddities = tuple(sorted(self._oddities.union(response.oddities)))
            response = msgspec.structs.replace(response, oddities=oddities)
        self._response = response
        return response

    def _form_of(self, start: bytes) -> _Form:
        """What the body is, from its first bytes that are no white space."""
        if not start or start in {_BOM[:1], _BOM[:2]}:
            return _Form.UNDECIDED
        if start[:1] in {b"{", b"["}:
            return _Form.WHOLE
        if start[:1] == b"<":
            return _Form.OTHER
        name, colon, _ = start[:_LONGEST_FIELD].replace(b"\r", b":").replace(b"\n", b":").partition(b":")
        if (colon and name in {b"", *_FIELDS}) or "event-stream" in self._exchange.content_type.lower():
            return _Form.STREAM
        unfinished = not colon and any(field.startswith(start) for field in _FIELDS)
        return _Form.UNDECIDED if unfinished else _Form.OTHER

    def _keep(self, data: bytes) -> None:
        """Keep what may be wanted of a body that is no stream, within its bound."""
        whole = self._form is _Form.WHOLE or self._form is _Form.UNDECIDED
        if len(self._body) + len(data) <= (self._max_body if whole else MAX_ERROR):
            self._body += data
            return
        self._too_large = whole
        self._body.clear()

    def _frames(self, decoder: StreamDecoder, frames: tuple[Frame, ...]) -> tuple[Delta, ...]:
        shown: list[Delta] = []
        for frame in frames:
            if decoder.finished:
                break
            shown.extend(decoder.feed(frame))
        return tuple(shown)

    def _said(self, kind: FailureKind, *, where: str) -> Failure:
        return Failure(kind=kind, where=where, status=self._exchange.status)

    def _record(self, body_end: BodyEnd, failure: Failure | None) -> ModelResponse:
        """The record, by the form of the body."""
        if self._decoder is not None:
            return self._end_of_stream(self._decoder, body_end, failure)
        host = failure is not None and failure.where == "host"
        if self._form is _Form.ERROR and not host:
            # A status of an error is a fact, also when the rest of its body was cut off.
            payload = load(bytes(self._body).removeprefix(_BOM))
            return self._failed(failure_of(payload, self._exchange, where="http"), body_end)
        if failure is not None and (host or self._form in {_Form.WHOLE, _Form.UNDECIDED}):
            return self._failed(failure, body_end)
        if self._form is _Form.WHOLE:
            if self._streamed:
                self._oddities.add("not_streamed")
            return self._codec.parse_response(self._without_bom(), self._exchange)
        if self._form is _Form.UNDECIDED:
            return self._end_of_nothing(body_end)
        return self._failed(not_the_protocol(self._exchange, length=self._length), body_end)

    def _end_of_nothing(self, body_end: BodyEnd) -> ModelResponse:
        """A body that ended before it was anything: empty, or with the first letters of a stream."""
        if bytes(self._body).removeprefix(_BOM).strip():
            return self._end_of_stream(self._codec.decoder(self._exchange), body_end, None)
        self._oddities.add("empty_body")
        return self._failed(self._said(FailureKind.CUT, where="transport"), body_end)

    def _end_of_stream(self, decoder: StreamDecoder, body_end: BodyEnd, failure: Failure | None) -> ModelResponse:
        """Give the decoder a last frame that lacks its blank line, but not half of one."""
        for frame in self._sse.end(clean=body_end is BodyEnd.CLEAN):
            if frame.data and load(frame.data) is None and not frame.data.startswith("[DONE]"):
                self._oddities.update(frame.oddities)
            elif not decoder.finished:
                decoder.feed(frame)
        if not self._streamed:
            self._oddities.add("stream_unasked")
        return decoder.end(body_end, failure)

    def _failed(self, failure: Failure, body_end: BodyEnd) -> ModelResponse:
        facts = Gathered(api=self._codec.API, failure=failure, body_end=body_end)
        return conclude(facts, self._exchange)

    def _without_bom(self) -> bytes:
        body = bytes(self._body)
        if not body.startswith(_BOM):
            return body
        self._oddities.add("bom")
        return body[len(_BOM) :]
