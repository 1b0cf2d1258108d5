"""The scripted server: what it saw, how it waits, what it says of its script, and that it leaves nothing behind."""

import asyncio
from pathlib import Path

import anyio
import pytest

from signoff.core.model.parts import Api, OpaquePart, TextPart
from signoff.core.model.request import UserMessage
from signoff.errors import PolicyError
from signoff.testing import BEFORE_HEAD, Fault, Framing, Play, ScriptedServer, ScriptExhausted, SeenRequest, reply
from tests.testing.certificates import contexts
from tests.testing.raw_client import CHAT, DIGITS, ask, connect, request, run


@pytest.mark.parametrize("at", [0, 4])
def test_a_stalled_server_stays_until_the_client_leaves(at: int) -> None:
    """After a stall nothing comes, the connection stays open, and the client's leaving is noticed."""

    async def test() -> None:
        async with ScriptedServer([Play(body=DIGITS, fault=Fault.STALL, cut_after=at)]) as server:
            async with await connect(server) as stream:
                await stream.send(request(close=False))
                heard = b""
                while not heard.endswith(b"\r\n\r\n" + DIGITS[:at]):
                    heard += await stream.receive()
                with anyio.move_on_after(0.02) as waited:
                    await stream.receive()
                assert waited.cancelled_caught
                assert not server.requests[0].closed_by_client
            await server.requests[0].until_left()
        assert server.requests[0].closed_by_client

    run(test)


@pytest.mark.parametrize(("at", "seen"), [(BEFORE_HEAD, b""), (0, b"\r\n\r\n"), (4, b"0123"), (10, DIGITS)])
def test_a_gate_holds_a_body(at: int, seen: bytes) -> None:
    """What is behind the gate is sent when the test opens it, and not before."""

    async def test() -> None:
        gate = anyio.Event()
        play = Play(body=DIGITS, gate=gate, gate_at=at, framing=Framing.UNTIL_CLOSE)
        async with ScriptedServer([play]) as server, await connect(server) as stream:
            await stream.send(request())
            heard = b""
            while not heard.endswith(seen) or (not heard and at != BEFORE_HEAD):
                heard += await stream.receive()
            with anyio.move_on_after(0.02) as waited:
                heard += await stream.receive()
            assert waited.cancelled_caught
            gate.set()
            async for data in stream:
                heard += data
            assert heard.endswith(b"\r\n\r\n" + DIGITS)

    run(test)


@pytest.mark.parametrize(
    ("path", "body", "api", "stream"),
    [
        ("/v1/chat/completions", b"{}", Api.OPENAI_CHAT, False),
        ("http://proxied/openai/v1/chat/completions?api-version=1", b'{"stream":true}', Api.OPENAI_CHAT, True),
        ("/v1/responses", b'{"stream":1}', Api.OPENAI_RESPONSES, False),
        ("/v1/messages", b"[", Api.ANTHROPIC_MESSAGES, False),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", b"", Api.GEMINI, True),
    ],
)
def test_the_path_chooses_the_protocol(path: str, body: bytes, api: Api, stream: bool) -> None:  # noqa: FBT001 - by name
    """The path's end says the protocol, path or body whether a stream is wanted; odd bodies are no error."""

    async def test() -> None:
        async with ScriptedServer([Play()]) as server:
            await ask(server, request(path, body))
        assert [(seen.api, seen.stream) for seen in server.requests] == [(api, stream)]

    run(test)


SAYS_HI = b'"messages":[{"role":"user","content":"Hi"}],"max_tokens":9'


@pytest.mark.parametrize(
    ("path", "body", "stream"),
    [
        ("/v1/chat/completions", b'{"model":"m-1",%b}' % SAYS_HI, False),
        ("/v1/messages", b'{"model":"m-1","stream":true,%b}' % SAYS_HI, True),
        ("/v1/responses", b'{"model":"m-1","stream":true,"input":"Hi"}', True),
        (
            "/v1beta/models/m-1:streamGenerateContent?alt=sse",
            b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}',
            True,
        ),
    ],
)
def test_requests_are_read_by_their_codec(path: str, body: bytes, *, stream: bool) -> None:
    """The request is there as values too, with model and stream also where they stand in the address."""

    async def test() -> None:
        async with ScriptedServer([Play(), Play()]) as server:
            await ask(server, request(path, body))
            await ask(server, request(path, b'{"messages": 1, "input": 1, "contents": 1}'))
        read, unread = (seen.received for seen in server.requests)
        assert unread is None
        assert read is not None
        assert (read.model, read.stream) == ("m-1", stream)
        said = [message.parts for message in read.request.messages if isinstance(message, UserMessage)]
        assert said == [(TextPart(text="Hi"),)]

    run(test)


def test_a_response_that_cannot_be_written_is_an_error() -> None:
    """What a protocol cannot say is a fault of the script, which the client gets as 500 and the test as an error."""
    foreign = OpaquePart(kind="image", native="{}")

    async def test() -> None:
        async with ScriptedServer([reply(parts=(foreign,), api=Api.GEMINI)]) as server:
            assert (await ask(server)).head.startswith(b"HTTP/1.1 500 ")

    with pytest.raises(PolicyError):
        run(test)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("/v1/embeddings"), b"404"),
        (b"GET /v1/responses HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", b"405"),
    ],
)
def test_other_requests_do_not_reach_the_script(sent: bytes, status: bytes) -> None:
    """A path of no protocol and a method that asks nothing are answered plainly, and are kept."""

    async def test() -> None:
        async with ScriptedServer([Play()]) as server:
            assert (await ask(server, sent)).head.startswith(b"HTTP/1.1 " + status)
            assert (len(server.requests), server.left) == (1, 1)

    run(test)


def test_an_exhausted_script_is_an_error() -> None:
    """A request beyond the script gets a 500 that says so, and leaving the context raises."""

    async def test() -> None:
        async with ScriptedServer([Play()]) as server:
            await ask(server)
            heard = await ask(server)
            assert heard.head.startswith(b"HTTP/1.1 500 ")
            assert b"x-should-retry: false" in heard.head
            assert b"request 2 came, and the script holds 1" in heard.body

    with pytest.raises(ScriptExhausted, match="request 2 came"):
        run(test)


def test_an_error_of_the_test_is_not_hidden() -> None:
    """When the test fails by itself, the server's error is only a note on it."""

    async def test() -> None:
        async with ScriptedServer() as server:
            await ask(server)
            raise LookupError("of the test")

    with pytest.raises(LookupError, match="of the test") as caught:
        run(test)
    assert "the script holds 0" in caught.value.__notes__[0]


def test_the_last_play_is_repeated_on_request() -> None:
    """With `repeat_last` the last play answers all that follows."""

    async def test() -> None:
        async with ScriptedServer([Play(body=b"a"), Play(body=b"b")], repeat_last=True) as server:
            assert [(await ask(server)).body for _ in range(4)] == [b"a", b"b", b"b", b"b"]

    run(test)


def test_a_function_may_choose_the_play() -> None:
    """A function in the script is given the request; what it raises comes out when the context is left."""

    async def test() -> None:
        async with ScriptedServer([lambda seen: Play(body=seen.body), refuse]) as server:
            assert (await ask(server, request(body=b"echo"))).body == b"echo"
            assert (await ask(server)).head.startswith(b"HTTP/1.1 500 ")

    def refuse(seen: SeenRequest) -> Play:
        raise LookupError(f"not {seen.path}")

    with pytest.raises(LookupError, match=f"not {CHAT}"):
        run(test)


def test_a_left_server_leaves_nothing_running() -> None:
    """Leaving the context ends idle, stalled and half-sent connections and every task, and frees the port."""

    async def test() -> None:
        before = asyncio.all_tasks()
        async with ScriptedServer([Play(body=DIGITS, fault=Fault.STALL)]) as server:
            streams = [await connect(server) for _ in range(3)]
            await streams[0].send(request(close=False))
            await streams[1].send(b"POST / HTTP/1.1\r\n")
            await streams[0].receive()
        for stream in streams:
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):  # noqa: PT012 - whenever it is noticed
                while True:
                    await stream.receive()
            await stream.aclose()
        assert asyncio.all_tasks() == before
        with pytest.raises(OSError, match=r"."):
            await connect(server)

    run(test)


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.STALL, Fault.RESET])
def test_the_server_can_speak_tls(fault: Fault, tmp_path: Path) -> None:
    """With a context for TLS the same plays are given over it, and its address is of the scheme `https`."""

    async def test() -> None:
        server_context, client_context = contexts(tmp_path)
        async with ScriptedServer([Play(body=DIGITS, fault=fault)], tls=server_context) as server:
            host, port = server.url.removeprefix("https://").split(":")
            stream = await anyio.connect_tcp(host, int(port), ssl_context=client_context, tls_standard_compatible=False)
            async with stream:
                await stream.send(request(close=False))
                heard = b""
                while not heard.endswith(DIGITS):
                    heard += await stream.receive()
            await server.requests[0].until_left()
        assert server.requests[0].closed_by_client is (fault is Fault.STALL)

    run(test)
