"""A provider that follows a script, on a real socket: it speaks the four protocols and breaks where it is told to.

What a model on the wire does with a response can be tried only with real bytes from a real connection: with one that
is reset, stalls, or ends properly in the middle of a word. The request's path chooses the protocol, the script chooses
the answer. Only a scripted peer belongs here: it judges nothing and never waits for time.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator
from http import HTTPStatus
from types import TracebackType
from typing import Self, TypeAlias

import anyio
import anyio.lowlevel
import msgspec

from signoff.core.model.parts import Api
from signoff.core.model.response import Failure, ModelResponse
from signoff.errors import SignoffError
from signoff.models.scripted import ScriptExhausted
from signoff.testing.http_requests import LONGEST_HEAD, BadRequest, HttpRequest, read_request
from signoff.testing.plays import BEFORE_HEAD, Answer, Fault, Framing, Play, answer_of, asks_for_stream
from signoff.wire.codec import Received
from signoff.wire.codecs import codec_of

_PLAIN = Play()
_LAST_CHUNK = b"0\r\n\r\n"
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_PHRASES = {int(status): status.phrase for status in HTTPStatus}
_ENDINGS = {
    "/chat/completions": Api.OPENAI_CHAT,
    "/responses": Api.OPENAI_RESPONSES,
    "/messages": Api.ANTHROPIC_MESSAGES,
    ":generateContent": Api.GEMINI,
    ":streamGenerateContent": Api.GEMINI,
}


class SeenRequest:
    """One request that the server read, and whether its client stayed to the end."""

    def __init__(self, request: HttpRequest, left: anyio.Event) -> None:
        self.method = request.method
        self.path = request.path
        """The target with its query, as it came."""
        self.headers = request.headers
        """By lower-case name."""
        self.body = request.body
        self.api = api_of(request.path)
        """The protocol that the path asks for, or None."""
        self.stream = asks_for_stream(request.path, request.body)
        """Whether the response is wanted as a stream."""
        self.received = _received(self)
        """The request as its codec reads it; None when it cannot."""
        self._answered = False
        self._left = left

    @property
    def closed_by_client(self) -> bool:
        """Whether the client closed the connection before the answer was sent to its end."""
        return self._left.is_set() and not self._answered

    def note_answered(self) -> None:
        """Take note that the answer was sent to its end."""
        self._answered = True

    async def until_left(self) -> None:
        """Return when the client has closed the connection that this request came on."""
        await self._left.wait()


Act: TypeAlias = Play | ModelResponse | Failure | Callable[[SeenRequest], Play]
"""What one request is answered with: a play, what a play would hold, or a function that makes one."""


class ScriptedServer:
    """Answers the requests that come to 127.0.0.1 with the plays of its script, in order.

    A request beyond the script is answered with status 500, and leaving the context then raises `ScriptExhausted`.
    """

    def __init__(
        self, script: Iterable[Act] = (), *, repeat_last: bool = False, tls: ssl.SSLContext | None = None
    ) -> None:
        self.requests: list[SeenRequest] = []
        """What was asked, in the order of arrival."""
        self.url = ""
        """`http://127.0.0.1:PORT`, once the context is entered."""
        self._script = list(script)
        self._played = 0
        self._repeat_last = repeat_last
        self._tls = tls
        self._error: BaseException | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def left(self) -> int:
        """How many plays of the script were not asked for."""
        return len(self._script) - self._played

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(self._protocol, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'http' if self._tls is None else 'https'}://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await server.wait_closed()
        if self._error is None:
            return
        if error is None:
            raise self._error
        error.add_note(f"the scripted server: {self._error}")

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        reader = _Reader()
        return asyncio.StreamReaderProtocol(reader, lambda _, writer: self._connected(reader, writer))

    async def _connected(self, reader: "_Reader", writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end, in a task of the loop's own, which therefore never ends in an error."""
        task = asyncio.current_task()
        if task is None or self._server is None:
            writer.transport.abort()
            return
        self._tasks.add(task)
        # With no buffer, `drain` returns when the kernel has every byte. TLS takes an empty buffer of 0 bytes for full.
        writer.transport.set_write_buffer_limits(high=0 if self._tls is None else 1)
        try:
            with contextlib.suppress(OSError):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        except Exception as error:  # noqa: BLE001 - whatever is wrong here is raised where the context is left
            self._error = self._error or error
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self._tasks.discard(task)

    async def _serve(self, reader: "_Reader", writer: asyncio.StreamWriter) -> None:
        going_on = True
        while going_on:
            try:
                request = await read_request(reader)
            except BadRequest as error:
                await _send(writer, _plain(HTTPStatus.BAD_REQUEST, f"not a request: {error}"))
                return
            if request is None:
                return
            seen = SeenRequest(request, reader.left)
            self.requests.append(seen)
            going_on = await self._answer(seen, reader, writer) and request.keeps_alive

    async def _answer(self, seen: SeenRequest, reader: "_Reader", writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another may follow on the connection."""
        play, answer = self._next(seen)
        going_on = False

        async def perform() -> None:
            nonlocal going_on
            with contextlib.suppress(OSError):
                going_on = await _perform(play, answer, writer)
                seen.note_answered()

        await _first_of(perform, reader.left.wait)
        return going_on

    def _next(self, seen: SeenRequest) -> tuple[Play, Answer]:
        """The next play, written out; what cannot be is answered plainly, and an error of the script is kept."""
        if seen.api is None:
            return Play(), _plain(HTTPStatus.NOT_FOUND, f"no protocol is spoken at {seen.path}")
        if seen.method != "POST":
            return Play(), _plain(HTTPStatus.METHOD_NOT_ALLOWED, f"{seen.method} is not POST")
        try:
            play = self._act(seen)
            return play, answer_of(play, seen.api, stream=seen.stream)
        except (ScriptExhausted, Exception) as error:  # noqa: BLE001 - a script's function may raise what it likes
            self._error = self._error or error
            return Play(), _plain(HTTPStatus.INTERNAL_SERVER_ERROR, f"the script is at fault: {error}")

    def _act(self, seen: SeenRequest) -> Play:
        if self._played < len(self._script):
            act = self._script[self._played]
            self._played += 1
        elif self._repeat_last and self._script:
            act = self._script[-1]
        else:
            message = (
                f"request {len(self.requests)} came, and the script holds {len(self._script)}; write what it gets."
            )
            raise ScriptExhausted(message)
        match act:
            case Play():
                return act
            case ModelResponse():
                return Play(response=act)
            case Failure():
                return Play(failure=act)
            case _:
                return act(seen)


class _Reader(asyncio.StreamReader):
    """A reader that says at once when its client has left, also while nobody reads."""

    def __init__(self) -> None:
        super().__init__(limit=LONGEST_HEAD)
        self.left = anyio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.left.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.left.set()


def api_of(path: str) -> Api | None:
    """The protocol that a request's path asks for, or None."""
    place = path.partition("?")[0]
    return next((api for ending, api in _ENDINGS.items() if place.endswith(ending)), None)


def _received(seen: SeenRequest) -> Received | None:
    """The request as the codec of its protocol reads it; what Gemini has in the address is filled in."""
    if seen.api is None:
        return None
    try:
        received = codec_of(seen.api).parse_request(seen.body)
    except SignoffError:
        return None
    model = received.model or seen.path.rpartition("/")[2].partition(":")[0]
    return msgspec.structs.replace(received, model=model, stream=seen.stream)


def _plain(status: HTTPStatus, text: str) -> Answer:
    """A short text; official clients are told not to try again."""
    body = text.encode()
    headers = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(body)),
        "x-should-retry": "false",
        "connection": "close",
    }
    return Answer(status, headers, (body,), Framing.LENGTH)


async def _perform(play: Play, answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Send an answer and let its fault happen; whether another request may follow."""
    if play.cut_after != BEFORE_HEAD:
        await _send(writer, answer, play=play)
    match play.fault:
        case Fault.NONE | Fault.CLOSE if play.cut_after != BEFORE_HEAD:
            return "connection" not in answer.headers
        case Fault.RESET:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            writer.transport.abort()
        case Fault.STALL:
            await anyio.sleep_forever()
        case _:
            writer.close()
    return False


async def _send(writer: asyncio.StreamWriter, answer: Answer, *, play: Play = _PLAIN) -> None:
    """Write head and body, waiting at the gate; a chunked body is ended unless the fault is to show."""
    for position, data in _writes(answer, play.fault):
        if play.gate is not None and position == play.gate_at:
            await play.gate.wait()
        if data and data != _LAST_CHUNK:
            # Lets a client in the same loop read each write for itself.
            await anyio.lowlevel.checkpoint()
        writer.write(data)
        await writer.drain()


def _writes(answer: Answer, fault: Fault) -> Iterator[tuple[int, bytes]]:
    """What is written, each with the number of the body's bytes before it; the last write may be empty."""
    yield BEFORE_HEAD, _head(answer)
    position = 0
    chunked = answer.framing is Framing.CHUNKED
    for piece in answer.pieces:
        yield position, b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece
        position += len(piece)
    yield position, _LAST_CHUNK if chunked and fault in {Fault.NONE, Fault.CLOSE} else b""


def _head(answer: Answer) -> bytes:
    reason = _PHRASES.get(answer.status, "-")
    lines = [f"HTTP/1.1 {answer.status} {reason}", *(f"{name}: {value}" for name, value in answer.headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    """Run several until the first of them returns."""

    async def run(wait: Callable[[], Awaitable[object]]) -> None:
        await wait()
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for wait in waits:
            group.start_soon(run, wait)
