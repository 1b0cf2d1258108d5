"""One response over HTTP in progress, from its request to its record.

Entering the context writes the request's body and fetches the key; the first step of the iteration sends it. So there
is a record of whatever happens on the network, a deadline around the iteration included.
"""

import contextlib
import zlib
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import NamedTuple, Self

import aiohttp
import anyio
import anyio.lowlevel

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, Failure, FailureKind, ModelResponse
from signoff.errors import ProtocolViolation
from signoff.models.faults import FAULTS, GIVEN_UP, failure_by
from signoff.models.headers import exchange_of
from signoff.models.inflating import PIECE, Inflating
from signoff.models.line import Reply
from signoff.models.one_reader import OneReader, recorded
from signoff.models.pieces import steps
from signoff.wire.reader import ResponseReader

_CUT = Failure(kind=FailureKind.CUT, where="transport")
_PATIENCE = 0.05  # seconds to wait for the end of a body whose response is whole, so that its connection can be reused
_LAST_PIECES = 4


class Call(NamedTuple):
    """A request that is ready to be sent."""

    send: Callable[[], Awaitable[Reply]]
    """Keeps the key in its frame, where neither `repr` nor `vars` shows it."""
    reading: Callable[[Exchange], ResponseReader]
    censored: Callable[[ModelResponse], ModelResponse]
    """The record without the key, should the provider have repeated it."""
    max_output_tokens: int | None
    head_seconds: float | None
    live: "set[HttpStream]"
    """The streams of the model that are connected."""


class HttpStream:
    """Implements the port `ResponseStream`; it is the context manager too."""

    def __init__(self, prepare: Callable[[], Awaitable[Call]]) -> None:
        self._prepare = prepare
        self._call: Call | None = None
        self._one_reader = OneReader()
        self._reader: ResponseReader | None = None
        self._reply: Reply | None = None
        self._inflating = Inflating("")
        self._deltas: deque[Delta] = deque()
        self._was_shown = False
        self._response: ModelResponse | None = None

    async def __aenter__(self) -> Self:
        self._one_reader.enter()
        call = await self._prepare()
        self._call = call
        self._reader = call.reading(Exchange(max_output_tokens=call.max_output_tokens))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        whole = self._response is not None
        self._conclude(BodyEnd.CUT, GIVEN_UP)
        try:
            if whole and self._reply is not None:
                await _last_pieces(self._reply.content)
        finally:
            self._close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        """Give the next delta; ends with the response, however that ended."""
        with self._one_reader:
            while not self._deltas:
                if self._response is not None:
                    raise StopAsyncIteration
                await self._advance()
        return self._deltas.popleft()

    def let_go(self) -> None:
        """End the reading: the model is being closed."""
        if self._reply is not None:
            self._reply.content.set_exception(aiohttp.ClientConnectionError())

    @property
    def response(self) -> ModelResponse:
        """The record, once the iteration has ended or the context was left."""
        return recorded(self._response)

    async def _advance(self) -> None:
        """Take one step: send the request, or read a piece of the body."""
        data: bytes | None = None
        failure: Failure | None = None
        try:
            data = await (self._opened() if self._reply is None else self._reply.content.readany())
        except FAULTS as error:
            failure = failure_by(error, begun=self._reply is not None)
        except BaseException as error:  # noqa: BLE001 - and raised again
            # The frames of the HTTP client, which hold the request's headers, stay out of the caller's traceback.
            self._conclude(BodyEnd.CUT, GIVEN_UP)
            self._close()
            raise error.with_traceback(None) from None
        if failure is not None:
            self._break_off(failure)
        elif data is not None:
            await self._take(data)

    async def _opened(self) -> None:
        if self._call is None:
            raise ProtocolViolation("a stream was read outside its context; nothing was sent; use `async with`")
        with anyio.fail_after(self._call.head_seconds):
            reply = await self._call.send()
        self._reply = reply
        self._call.live.add(self)
        self._inflating = Inflating(reply.headers.get("Content-Encoding", ""))
        exchange = exchange_of(reply.status, reply.headers, max_output_tokens=self._call.max_output_tokens)
        self._reader = self._call.reading(exchange)

    async def _take(self, data: bytes) -> None:
        """Read what a piece of the body says; an empty one is its end."""
        if not data and not self._inflating.whole:
            self._break_off(_CUT)
            return
        try:
            for piece in self._inflating.pieces(data):
                self._feed(piece)
                if self._finished:
                    break
                if len(piece) >= PIECE:  # others get their turn
                    await anyio.lowlevel.checkpoint()
        except zlib.error:
            self._break_off(_CUT)
        if not data or self._finished:
            self._conclude(BodyEnd.CLEAN)

    def _break_off(self, failure: Failure) -> None:
        """Conclude after a fault, with every byte that had come before it."""
        if self._reply is not None:
            content = self._reply.content
            # The client keeps what it had received, and would give its exception instead of it.
            content.set_exception(None)  # type: ignore[arg-type]
            with contextlib.suppress(zlib.error):
                for piece in self._inflating.pieces(content.read_nowait()):
                    self._feed(piece)
        self._conclude(BodyEnd.CLEAN if self._finished else BodyEnd.CUT, failure)
        self._close()

    def _close(self) -> None:
        """Let go of the connection, which can be used again only where its body was read to the end."""
        reply, self._reply = self._reply, None
        if self._call is not None:
            self._call.live.discard(self)
        if reply is not None:
            reply.close()

    @property
    def _finished(self) -> bool:
        return self._reader is not None and self._reader.finished

    def _feed(self, data: bytes) -> None:
        if data and self._reader is not None:
            deltas = self._reader.feed(data)
            self._was_shown = self._was_shown or bool(deltas)
            self._deltas.extend(deltas)

    def _conclude(self, body_end: BodyEnd, failure: Failure | None = None) -> None:
        """Make the record, once: what is known first stands."""
        if self._response is not None or self._reader is None:
            return
        response = self._reader.end(body_end, failure)
        self._response = response if self._call is None else self._call.censored(response)
        if not self._was_shown and body_end is BodyEnd.CLEAN:  # it came whole, in answer to a request for a stream
            self._deltas.extend(step.delta for step in steps(self._response))


async def _last_pieces(content: aiohttp.StreamReader) -> None:
    """Read the end of a body whose response is whole, if it comes soon."""
    with contextlib.suppress(*FAULTS), anyio.move_on_after(_PATIENCE):
        for _ in range(_LAST_PIECES):
            if content.at_eof():
                return
            await content.readany()
