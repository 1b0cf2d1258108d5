"""Requests are read strictly: what a careful client sends is understood, and anything else is refused."""

import pytest

from signoff.core.model.parts import Api
from signoff.testing import Play, ScriptedServer
from tests.testing.raw_client import ask, connect, request, run


def test_requests_are_seen() -> None:
    """Method, path, headers by lower-case name, body, protocol and the wish for a stream are kept of each request."""

    async def test() -> None:
        async with ScriptedServer([Play(), Play()]) as server:
            await ask(server, request("/v1/messages?beta=true", b'{"stream": true}'))
            chunked = (
                b"POST /x/models/m:generateContent HTTP/1.1\r\nHost: here\r\nX-A: 1\r\nx-a: 2\r\nConnection: close\r\n"
            )
            await ask(
                server, chunked + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\n{} \r\n1\r\n\n\r\n0\r\nT: 1\r\n\r\n"
            )
        first, second = server.requests
        assert (first.method, first.path, first.body) == ("POST", "/v1/messages?beta=true", b'{"stream": true}')
        assert (first.api, first.stream, first.headers["host"]) == (Api.ANTHROPIC_MESSAGES, True, "here")
        assert (second.api, second.stream, second.body) == (Api.GEMINI, False, b"{} \n")
        assert second.headers["x-a"] == "1, 2"
        assert not first.closed_by_client

    run(test)


@pytest.mark.parametrize(
    "sent",
    [
        b"HELLO\r\n\r\n",
        b"POST / HTTP/2\r\nHost: here\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost : here\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\n folded\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        b"POST / HTTP/1.1\r\nHost: here\r\nX: " + b"x" * 300_000 + b"\r\n\r\n",
    ],
    ids=range(12),
)
def test_what_is_no_request_is_refused(sent: bytes) -> None:
    """Bytes that a careful client would not send are answered with 400 and never reach the script."""

    async def test() -> None:
        async with ScriptedServer([Play()]) as server:
            heard = await ask(server, sent)
        assert heard.head.startswith(b"HTTP/1.1 400 ") or heard.ended == "reset"
        assert (server.requests, server.left) == ([], 1)

    run(test)


def test_a_client_that_leaves_inside_its_request_is_forgotten() -> None:
    """Half a request, and a connection without one, leave no trace."""

    async def test() -> None:
        async with ScriptedServer() as server:
            for sent in (b"", b"POST / HT", request()[:-1]):
                async with await connect(server) as stream:
                    await stream.send(sent)
        assert server.requests == []

    run(test)


def test_a_connection_serves_one_request_after_another() -> None:
    """Requests on one connection are answered in order, and also when they come at once."""

    async def test() -> None:
        async with ScriptedServer([Play(body=b"one"), Play(body=b"two")]) as server:
            heard = await ask(server, request(close=False) + request())
        assert heard.body.startswith(b"one")
        assert heard.body.endswith(b"two")

    run(test)
