"""What a breaker found in the client over HTTP stays mended: answers, ends, requests and secrets keep their places."""

import asyncio
import socket
import traceback
from collections.abc import Awaitable, Callable

import anyio
import pytest

from signoff.core.boundary import worth
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse
from signoff.errors import ConfigError, ProtocolViolation
from signoff.models import Timeouts, open_model, prompt
from signoff.testing import Fault, Play, ScriptedServer, reply
from signoff.wire.codecs import codec_of
from tests.streaming import streamed

SECRET = "sk-planted-0123456789"
REQUEST = prompt("Hello.")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def whole(text: str) -> bytes:
    """A whole HTTP response that says a text, on a connection that is kept."""
    body = codec_of(reply().api).build_response(reply(text))
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def request_read(reader: asyncio.StreamReader) -> None:
    """Read one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(length)


@pytest.mark.parametrize("unasked", [whole("Unasked."), b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
def test_what_comes_unasked_is_no_answer(unasked: bytes) -> None:
    """Bytes that a server sends between two requests are not taken for the answer to the second."""

    async def test() -> None:
        sent = anyio.Event()
        connections: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(writer)
            await request_read(reader)
            writer.write(whole("First." if len(connections) == 1 else "Second."))
            if len(connections) == 1:
                await asking.wait()
                writer.write(unasked)
            await writer.drain()
            sent.set()

        asking = anyio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with open_model(f"openai-compatible:http://127.0.0.1:{port}#m") as model:
            assert (await model.respond(REQUEST)).text == "First."
            asking.set()
            await sent.wait()
            assert (await model.respond(REQUEST)).text == "Second."
        server.close()
        for writer in connections:
            writer.close()

    anyio.run(test)


def test_closing_the_model_ends_a_body_in_progress() -> None:
    """A reader that waits for more of a body is told at once when another task closes the model."""

    async def test() -> None:
        play = Play(response=reply("Half of it, and no more."), fault=Fault.STALL, cut_after=400)
        found: list[ModelResponse] = []
        async with ScriptedServer([play]) as server:
            model = open_model(f"openai-compatible:{server.url}#m")

            async def read(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                async with model.stream(REQUEST) as stream:
                    await anext(aiter(stream))
                    task_status.started()
                    async for _ in stream:
                        pass
                found.append(stream.response)

            with anyio.fail_after(5):
                async with anyio.create_task_group() as group:
                    await group.start(read)
                    await model.close()
        assert [(one.end, one.body_end) for one in found] == [(End.TRANSPORT, BodyEnd.CUT)]

    anyio.run(test)


def test_the_head_of_a_response_has_one_deadline() -> None:
    """A server that does not read a large request, and sends no head, is given up after `head` seconds."""

    async def test() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        timeouts = Timeouts(connect=None, idle=None, head=0.3)
        with anyio.fail_after(10):
            async with open_model(f"openai-compatible:http://127.0.0.1:{port}#m", timeouts=timeouts) as model:
                response = await model.respond("x" * 30_000_000)
        listening.close()
        assert response.failure == Failure(kind=FailureKind.PROVIDER_TIMEOUT, where="transport")

    anyio.run(test)


def test_a_stream_has_one_reader_and_one_entry() -> None:
    """Two tasks that read one stream, or a second entry, send nothing twice."""

    async def test() -> None:
        async with ScriptedServer([reply("Once.")]) as server, open_model(f"openai-compatible:{server.url}#m") as model:
            stream = model.stream(REQUEST)
            async with stream as reading, anyio.create_task_group() as group:
                refused: list[BaseException] = []

                async def second() -> None:
                    try:
                        await anext(aiter(reading))
                    except ProtocolViolation as error:
                        refused.append(error)

                group.start_soon(second)
                group.start_soon(second)
            assert len(refused) == 1
            with pytest.raises(ProtocolViolation):
                await stream.__aenter__()
            assert len(server.requests) == 1

    anyio.run(test)


def test_a_key_that_the_provider_repeats_is_in_no_record() -> None:
    """In the type and code of an error, the ids, the model and the reason, nothing that holds the key is kept."""
    failing = b'{"error":{"type":"%s","code":"x %s","message":"no"}}' % (SECRET.encode(), SECRET.encode())
    ended = b'data: {"id":"%s","model":"%s","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"%s"}]}\n\n'
    plays = [
        Play(status=401, body=failing, headers={"x-request-id": SECRET}),
        Play(body=ended % ((SECRET.encode(),) * 3), content_type="text/event-stream"),
    ]

    async def test() -> None:
        async with (
            ScriptedServer(plays) as server,
            open_model("openai:m", base_url=server.url, key=lambda: SECRET) as model,
        ):
            records = [await streamed(model, REQUEST) for _ in plays]
        assert [record.end for record in records] == [End.PROVIDER_ERROR, End.UNKNOWN]
        assert SECRET not in repr(records)
        assert SECRET not in repr([worth(record, REQUEST) for record in records])

    anyio.run(test)


@pytest.mark.parametrize("name", ["openai:m", "opena:m", "openai", "openai-compatible:ftp://h#m"])
def test_no_error_of_configuration_shows_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback with its locals, as error reporters send it, holds no key of any provider."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{SECRET}@proxy")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError) as caught:
        open_model(name)
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert SECRET not in "".join(shown.format())


def test_arguments_of_another_type_are_refused_with_what_to_give() -> None:
    """A key as text, and timeouts as a number, are refused when the model is opened, without the key."""
    with pytest.raises(ConfigError, match="give a function that returns the key") as caught:
        open_model("openai:m", key=SECRET)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)
    with pytest.raises(ConfigError, match="give Timeouts"):
        open_model("openai:m", key=lambda: "k", timeouts=5)  # type: ignore[arg-type]


def test_an_empty_key_is_not_sent_where_one_is_needed() -> None:
    """A function that gives nothing is an error of the host, and no request goes out without its key."""

    async def test() -> None:
        async with ScriptedServer() as server, open_model("openai:m", base_url=server.url, key=lambda: "") as model:
            with pytest.raises(ConfigError, match="empty"):
                await model.respond(REQUEST)
        assert server.requests == []

    anyio.run(test)
