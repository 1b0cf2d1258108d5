"""The port `Model` over HTTP, on real sockets: what is sent, what is read, and how each end is recorded."""

import socket

import anyio
import pytest
from msgspec.structs import replace

from signoff.core.model.parts import Api
from signoff.core.model.response import BodyEnd, End, FailureKind, ModelResponse
from signoff.errors import ProtocolViolation
from signoff.models import Timeouts, open_model, prompt
from signoff.models.http_stream import HttpStream
from signoff.ports import Model, ResponseStream
from signoff.testing import BEFORE_HEAD, Fault, Framing, Play, ScriptedServer, SeenRequest, call, reply
from tests.models.asking import KEY, heard, model_at, run, streamed

HASTY = Timeouts(idle=0.2, connect=0.2)
NAMES = {
    "openai:demo": (Api.OPENAI_CHAT, "/chat/completions", "authorization"),
    "openai-responses:demo": (Api.OPENAI_RESPONSES, "/responses", "authorization"),
    "anthropic:demo": (Api.ANTHROPIC_MESSAGES, "/v1/messages", "x-api-key"),
    "google:demo": (Api.GEMINI, "/v1beta/models/demo:", "x-goog-api-key"),
}
CHUNKS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Half of it"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
FIRST = CHUNKS.index(b"\n\n") + 2


def sse(body: bytes = CHUNKS, *, fault: Fault = Fault.NONE, cut_after: int | None = None) -> Play:
    """A raw stream."""
    return Play(body=body, content_type="text/event-stream", fault=fault, cut_after=cut_after)


def failure_of(response: ModelResponse) -> tuple[End, BodyEnd, FailureKind, str]:
    """How a response failed."""
    assert response.failure is not None
    return response.end, response.body_end, response.failure.kind, response.failure.where


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_is_read_in_each_protocol(name: str) -> None:
    """The deltas give the text, the record is whole, and one request went to the protocol's path with the key."""
    api, path, header = NAMES[name]

    async def ask() -> None:
        async with ScriptedServer([reply("Hello there."), reply("", calls=[call("f", {"a": 1})])]) as server:
            async with model_at(server, name) as model:
                assert model.name == name
                shown, response = await streamed(model)
                assert (shown, response.text, response.end, response.api) == (
                    "Hello there.",
                    "Hello there.",
                    End.NORMAL,
                    api,
                )
                shown, response = await streamed(model)
                assert (shown, response.end, len(response.calls)) == (response.calls[0].arguments, End.TOOL_CALLS, 1)
            assert [seen.stream for seen in server.requests] == [True, True]
            assert server.requests[0].path.startswith(path)
            assert KEY in server.requests[0].headers[header]

    run(ask)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_body_is_read_in_each_protocol(name: str) -> None:
    """`respond` asks for no stream and gives the record."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hello.")]) as server, model_at(server, name) as model:
            response = await model.respond(prompt("Say hello."))
            assert (response.text, response.end, response.streamed) == ("Hello.", End.NORMAL, False)
            assert [seen.stream for seen in server.requests] == [False]

    run(ask)


def test_it_is_a_model_of_the_port() -> None:
    """The port's shapes fit, and a stream's record may be read only when it is made."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hello.")]) as server, model_at(server) as opened:
            model: Model = opened
            async with model.stream(prompt("Hi.")) as entered:
                stream: ResponseStream = entered
                with pytest.raises(ProtocolViolation, match="in progress"):
                    _ = stream.response
                async for _ in stream:
                    pass
                assert stream.response.complete
                assert [delta async for delta in stream] == []

    run(ask)


@pytest.mark.parametrize(
    ("play", "end", "body_end", "kind", "text"),
    [
        (sse(fault=Fault.CUT, cut_after=FIRST), End.TRANSPORT, BodyEnd.CUT, FailureKind.CUT, "Half of it"),
        (
            replace(sse(fault=Fault.CUT, cut_after=FIRST), framing=Framing.LENGTH),
            End.TRANSPORT,
            BodyEnd.CUT,
            FailureKind.CUT,
            "Half of it",
        ),
        (sse(fault=Fault.CUT, cut_after=0), End.TRANSPORT, BodyEnd.CUT, FailureKind.CUT, ""),
        (sse(fault=Fault.RESET, cut_after=0), End.TRANSPORT, BodyEnd.CUT, FailureKind.CUT, ""),
        (sse(fault=Fault.CUT, cut_after=BEFORE_HEAD), End.TRANSPORT, BodyEnd.CUT, FailureKind.CONNECTION, ""),
        (sse(fault=Fault.RESET, cut_after=BEFORE_HEAD), End.TRANSPORT, BodyEnd.CUT, FailureKind.CONNECTION, ""),
        (sse(fault=Fault.CLOSE, cut_after=FIRST), End.TRANSPORT, BodyEnd.CLEAN, None, "Half of it"),
        (
            sse(fault=Fault.STALL, cut_after=FIRST),
            End.TRANSPORT,
            BodyEnd.CUT,
            FailureKind.PROVIDER_TIMEOUT,
            "Half of it",
        ),
        (
            sse(fault=Fault.STALL, cut_after=BEFORE_HEAD),
            End.TRANSPORT,
            BodyEnd.CUT,
            FailureKind.PROVIDER_TIMEOUT,
            "",
        ),
    ],
)
def test_a_break_is_recorded_with_what_came_before_it(
    play: Play, end: End, body_end: BodyEnd, kind: FailureKind | None, text: str
) -> None:
    """A cut, a reset, an early end and a stall differ in the record, and no byte before them is lost."""
    response = heard(play, timeouts=HASTY)
    assert (response.end, response.body_end, response.text, response.complete) == (end, body_end, text, False)
    assert (None if response.failure is None else response.failure.kind) == kind
    assert response.failure is None or response.failure.where == "transport"


@pytest.mark.scenario("MB-053")
def test_a_timeout_of_the_client_is_no_deadline_of_the_host() -> None:
    """When the client gives up waiting for the provider, the record says that and not that a deadline fell."""
    response = heard(sse(fault=Fault.STALL, cut_after=FIRST), timeouts=HASTY)
    assert failure_of(response) == (End.TRANSPORT, BodyEnd.CUT, FailureKind.PROVIDER_TIMEOUT, "transport")


def test_bytes_that_came_with_the_cut_are_kept() -> None:
    """What arrived while the caller was busy is read to its last byte, though the connection is gone by then."""
    pieces = [b'data: {"choices":[{"index":0,"delta":{"content":"%d,"}}]}\n\n' % number for number in range(50)]

    async def ask() -> None:
        gate = anyio.Event()
        play = replace(sse(b"".join(pieces), fault=Fault.CUT), gate=gate, gate_at=len(pieces[0]), piece=len(pieces[0]))
        async with ScriptedServer([play]) as server, model_at(server) as model, model.stream("Hi.") as stream:
            async for _ in stream:
                gate.set()
                await anyio.wait_all_tasks_blocked()
        assert stream.response.text == "".join(f"{number}," for number in range(50))
        assert failure_of(stream.response)[1:3] == (BodyEnd.CUT, FailureKind.CUT)

    run(ask)


def test_reading_stops_at_the_end_marker() -> None:
    """A server that keeps the connection open behind the end of its response is not waited for."""
    response = heard(sse(fault=Fault.STALL), timeouts=Timeouts(idle=None))
    assert (response.end, response.body_end, response.failure) == (End.NORMAL, BodyEnd.CLEAN, None)


def test_no_connection_is_a_failure_of_the_connection() -> None:
    """A refused port and a name that no look-up takes are recorded, not raised."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def ask() -> None:
        for url in (f"http://127.0.0.1:{port}", f"http://{'a' * 70}.invalid"):
            async with open_model("openai:demo", base_url=url, key=lambda: KEY) as model:
                expected = (End.TRANSPORT, BodyEnd.CUT, FailureKind.CONNECTION, "transport")
                assert failure_of(await model.respond("Hi.")) == expected

    run(ask)


def test_a_silent_port_is_given_up() -> None:
    """A connection that is never made costs no longer than the timeout."""

    async def ask() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]  # nobody answers the handshake of TLS
            model = open_model("openai:demo", base_url=f"https://127.0.0.1:{port}", key=lambda: KEY, timeouts=HASTY)
            async with model:
                expected = (End.TRANSPORT, BodyEnd.CUT, FailureKind.PROVIDER_TIMEOUT, "transport")
                assert failure_of(await model.respond("Hi.")) == expected

    run(ask)


@pytest.mark.scenario("MB-054")
def test_a_cancellation_reaches_the_caller_and_the_server() -> None:
    """A cancelled iteration ends as cancelled, the record says so with what had come, and the connection is closed."""

    async def read(stream: HttpStream) -> None:
        with anyio.CancelScope() as scope:
            async for _ in stream:
                scope.cancel()
        assert scope.cancelled_caught

    async def ask() -> None:
        play = sse(fault=Fault.STALL, cut_after=FIRST)
        async with ScriptedServer([play]) as server, model_at(server) as model, model.stream("Hi.") as stream:
            await read(stream)
            response = stream.response
            await server.requests[0].until_left()
            assert failure_of(response) == (End.TRANSPORT, BodyEnd.CUT, FailureKind.CANCELLED, "host")
            assert response.text == "Half of it"
        assert stream.response is response

    run(ask)


def test_a_cancellation_before_the_first_byte_is_recorded_too() -> None:
    """A deadline around the iteration alone finds a record of a request that nobody answered."""

    async def ask() -> None:
        asked, scope = anyio.Event(), anyio.CancelScope()

        def silence(seen: SeenRequest) -> Play:
            del seen
            asked.set()
            return sse(fault=Fault.STALL, cut_after=BEFORE_HEAD)

        async def read(stream: HttpStream) -> None:
            with scope:
                async for _ in stream:
                    pass

        async with ScriptedServer([silence]) as server, model_at(server) as model, model.stream("Hi.") as stream:
            async with anyio.create_task_group() as group:
                group.start_soon(read, stream)
                await asked.wait()
                scope.cancel()
            assert failure_of(stream.response)[2:] == (FailureKind.CANCELLED, "host")
            await server.requests[0].until_left()

    run(ask)


def test_a_body_in_answer_to_a_request_for_a_stream_is_shown() -> None:
    """A server that does not stream gives its text in the iteration all the same."""

    async def ask() -> None:
        body = b'{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello."}}]}'
        async with ScriptedServer([Play(body=body, content_type="application/json")]) as server:
            async with model_at(server) as model:
                shown, response = await streamed(model)
            assert (shown, response.text, response.end) == ("Hello.", "Hello.", End.NORMAL)
            assert "not_streamed" in response.oddities

    run(ask)


def test_leaving_early_closes_the_connection() -> None:
    """A context that is left before the end is recorded as cancelled, and the server sees its client go."""

    async def ask() -> None:
        async with ScriptedServer([sse(fault=Fault.STALL, cut_after=FIRST)]) as server, model_at(server) as model:
            async with model.stream("Hi.") as stream:
                async for _ in stream:
                    break
            await server.requests[0].until_left()
            assert failure_of(stream.response) == (End.TRANSPORT, BodyEnd.CUT, FailureKind.CANCELLED, "host")
            assert stream.response.text == "Half of it"

    run(ask)


def test_a_stream_that_is_never_read_is_never_asked_for() -> None:
    """Entering a context sends nothing; leaving it at once leaves a record of that."""

    async def ask() -> None:
        async with ScriptedServer() as server, model_at(server) as model:
            async with model.stream("Hi.") as stream:
                pass
            assert failure_of(stream.response)[2] is FailureKind.CANCELLED
            assert server.requests == []

    run(ask)
