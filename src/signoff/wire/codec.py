"""What every protocol's codec can do. Each protocol is one package of this room, and the package is the codec.

A codec is pure in both directions: bytes in, values out, and back. It accepts what compatible servers really send and
notes each deviation as an oddity; it builds only the strict form. It decides nothing about a response's worth: facts
go to `signoff.core.model.ending`.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import BodyEnd, Failure, ModelResponse
from signoff.wire.memo import Memo
from signoff.wire.sse import Frame


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A client's request, as a server reads it from the body."""

    request: ModelRequest
    model: str = ""
    """Empty where the protocol has it in the address (Gemini)."""
    stream: bool = False


class StreamDecoder(Protocol):
    """Reads the frames of one streamed response."""

    @property
    def finished(self) -> bool:
        """Whether the end marker or an error was seen, so that nothing behind it can matter."""
        ...

    def feed(self, frame: Frame) -> tuple[Delta, ...]:
        """Take in one frame; never raises for its content. What it adds is returned for showing."""
        ...

    def end(self, body_end: BodyEnd, failure: Failure | None = None) -> ModelResponse:
        """Make the record; `failure` is what the transport or the host says, the decoder's own failure beats it."""
        ...


class Codec(Protocol):
    """One provider protocol, in both directions."""

    @property
    def API(self) -> Api:  # noqa: N802 - a module's constant
        """Which protocol this is."""
        ...

    def path(self, model: str, *, stream: bool) -> str:
        """The path behind the base address, with a query where the protocol needs one; begins with a slash."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """The headers that a request needs, the key among them when it is not empty."""
        ...

    def build_request(self, request: ModelRequest, *, model: str, stream: bool, memo: Memo) -> bytes:
        """Write the body of a request. Raises `PolicyError` for what this protocol cannot say."""
        ...

    def parse_request(self, body: bytes) -> Received:
        """Read a client's request body; fields without a neutral form are kept in `extra`. Raises `WireError`."""
        ...

    def decoder(self, exchange: Exchange) -> StreamDecoder:
        """A decoder for one streamed response with status 200."""
        ...

    def parse_response(self, body: bytes, exchange: Exchange) -> ModelResponse:
        """Read a body that is not streamed, with status 200; never raises for its content."""
        ...

    def build_response(self, response: ModelResponse) -> bytes:
        """Write a response that is not streamed, from its parts, reason and usage. Raises `PolicyError`."""
        ...

    def build_stream(self, response: ModelResponse) -> Iterator[bytes]:
        """Write a response as a stream, one frame at a time, in the strict form. Raises `PolicyError`."""
        ...

    def build_error(self, failure: Failure, *, message: str, in_stream: bool) -> bytes:
        """Write an error: the body beside an HTTP error status, or the frame inside a stream."""
        ...
