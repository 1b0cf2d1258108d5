"""A client that sees every byte, for the tests of the scripted server."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio
from anyio.abc import SocketStream

from signoff.testing import Play, ScriptedServer

CHAT = "/v1/chat/completions"
DIGITS = b"0123456789"


class Heard(NamedTuple):
    """What a client that reads to the end heard."""

    head: bytes
    body: bytes
    ended: str
    """`closed` or `reset`."""


def request(path: str = CHAT, body: bytes = b"{}", *, close: bool = True) -> bytes:
    """A request as a client writes it."""
    connection = b"Connection: close\r\n" if close else b""
    return b"POST %b HTTP/1.1\r\nHost: here\r\n%bContent-Length: %d\r\n\r\n%b" % (
        path.encode(),
        connection,
        len(body),
        body,
    )


async def connect(server: ScriptedServer) -> SocketStream:
    """A connection to the server."""
    return await anyio.connect_tcp("127.0.0.1", int(server.url.rpartition(":")[2]))


async def ask(server: ScriptedServer, sent: bytes = request()) -> Heard:
    """Send bytes on a new connection and read until it ends."""
    async with await connect(server) as stream:
        await stream.send(sent)
        with anyio.fail_after(10):
            heard, ended = await _all_of(stream)
    head, _, body = heard.partition(b"\r\n\r\n")
    return Heard(head, body, ended)


async def _all_of(stream: SocketStream) -> tuple[bytes, str]:
    """Everything that comes, and how it ended."""
    heard = b""
    try:
        async for data in stream:
            heard += data
    except anyio.BrokenResourceError:
        return heard, "reset"
    return heard, "closed"


async def ask_once(play: Play, sent: bytes) -> Heard:
    """What one play sounds like."""
    async with ScriptedServer([play]) as server:
        return await ask(server, sent)


def heard_of(play: Play, sent: bytes = request()) -> Heard:
    """What one play sounds like, from outside a loop."""
    return anyio.run(ask_once, play, sent)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test's own coroutine under a deadline."""

    async def bounded() -> None:
        with anyio.fail_after(10):
            await test()

    anyio.run(bounded)


STREAMED = request(body=b'{"stream": true}')
