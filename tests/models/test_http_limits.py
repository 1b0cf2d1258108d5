"""What a model over HTTP does with the rest of HTTP: codings, sizes, redirects, cookies, statuses, other requests."""

import gzip
import tracemalloc
import zlib

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from signoff.core.model.response import BodyEnd, End, Failure, FailureKind
from signoff.errors import ConfigError, PolicyError, ProtocolViolation
from signoff.models import Timeouts, open_model, prompt
from signoff.models.http import HttpModel
from signoff.models.inflating import PIECE, Inflating
from signoff.testing import Fault, Play, ScriptedServer, reply
from signoff.testing.scripted_server import Act
from tests.models.asking import KEY, heard, model_at, run, streamed

TEXT = "The quick brown fox. " * 50
CHUNKS = (
    b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % TEXT.encode()
    + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
RAW = zlib.compressobj(wbits=-15)
DEFLATED = RAW.compress(CHUNKS) + RAW.flush()
MIB = 1024 * 1024


def packed(body: bytes, coding: str, fault: Fault = Fault.NONE) -> Play:
    """A compressed stream."""
    headers = {"content-encoding": coding}
    return Play(body=body, headers=headers, content_type="text/event-stream", piece=100, fault=fault)


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (gzip.compress(CHUNKS), "gzip"),
        (gzip.compress(CHUNKS[:50]) + gzip.compress(CHUNKS[50:]) + b"\0\0", "GZIP"),
        (zlib.compress(CHUNKS), "deflate"),
        (DEFLATED, "deflate"),
        (CHUNKS, "identity"),
    ],
)
def test_a_compressed_stream_is_unpacked(body: bytes, coding: str) -> None:
    """Each form of the codings that were asked for gives the text."""
    response = heard(packed(body, coding))
    assert (response.text, response.end) == (TEXT, End.NORMAL)


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.CUT])
def test_a_compressed_stream_that_stops_in_its_middle_is_cut(fault: Fault) -> None:
    """A body that HTTP calls whole is cut all the same when its packed stream is not at its end."""
    noise = bytes(range(256)).hex() * 4
    body = gzip.compress(CHUNKS.partition(b"\n\n")[0] + b"\n\n" + f": {noise}\n\n".encode() + CHUNKS)[:-30]
    response = heard(packed(body, "gzip", fault))
    assert (response.end, response.body_end, response.complete) == (End.TRANSPORT, BodyEnd.CUT, False)
    assert response.failure is not None
    assert response.failure.kind is FailureKind.CUT


def test_what_is_not_packed_as_its_coding_says_is_cut() -> None:
    """A broken packed stream is a broken response."""
    response = heard(packed(b"this is no gzip", "gzip"))
    assert (response.end, response.body_end) == (End.TRANSPORT, BodyEnd.CUT)


def test_a_coding_that_was_not_asked_for_is_not_the_protocol() -> None:
    """Its bytes are no stream of events, and nothing of them is believed."""
    response = heard(replace(packed(b"\x8b\x01\x02", "br"), content_type="application/json"))
    assert response.failure is not None
    assert response.failure.kind is FailureKind.NOT_THE_PROTOCOL


def test_a_bomb_is_read_to_its_bound_only() -> None:
    """A small body that unpacks to much more than the bound is recorded as too large, in little memory."""
    stream = zlib.compressobj(wbits=31)
    comment = b":" + b"0" * (MIB - 2) + b"\n"
    body = b"".join(stream.compress(comment) for _ in range(200)) + stream.flush()
    play = Play(body=body, headers={"content-encoding": "gzip"}, content_type="text/event-stream")
    tracemalloc.start()
    try:
        response = heard(play)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert response.failure is not None
    assert (response.failure.kind, response.failure.where) == (FailureKind.TOO_LARGE, "host")
    assert response.body_end is BodyEnd.CUT
    assert peak < 32 * MIB


def test_a_body_is_unpacked_in_bounded_pieces() -> None:
    """However much a piece unpacks to, it is given in parts of at most PIECE bytes, and all of it."""
    inflating = Inflating("gzip")
    pieces = list(inflating.pieces(gzip.compress(b"\0" * (5 * PIECE))))
    assert (max(map(len, pieces)), sum(map(len, pieces)), inflating.whole) == (PIECE, 5 * PIECE, True)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure(status: int) -> None:
    """The address that a redirect names is never asked, with or without the key."""

    async def ask() -> None:
        async with ScriptedServer() as other:
            play = Play(status=status, headers={"location": f"{other.url}/chat/completions"}, body=b"")
            async with ScriptedServer([play]) as server, model_at(server) as model:
                _, response = await streamed(model)
                assert response.failure is not None
                assert response.failure.status == status
                assert response.failure.kind is FailureKind.NOT_THE_PROTOCOL
                assert (len(server.requests), other.requests) == (1, [])

    run(ask)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FailureKind.AUTHENTICATION),
        (404, FailureKind.NOT_FOUND),
        (429, FailureKind.RATE_LIMITED),
        (500, FailureKind.SERVER_ERROR),
        (503, FailureKind.OVERLOADED),
    ],
)
def test_an_error_status_is_recorded_and_not_tried_again(status: int, kind: FailureKind) -> None:
    """One request, one record: with the kind, the wait that the server asked for, and its id of the request."""
    headers = {"retry-after": "7", "x-request-id": "req_1"}
    response = heard(Play(failure=Failure(kind=kind, where="http", status=status), headers=headers))
    assert response.failure is not None
    assert (response.end, response.failure.kind, response.failure.status) == (End.PROVIDER_ERROR, kind, status)
    assert (response.failure.retry_after, response.request_id) == (7.0, "req_1")


def test_a_response_keeps_its_request_id() -> None:
    """The id that a provider's support asks for is in the record of a good response too."""
    assert heard(Play(response=reply("Hi."), headers={"request-id": "req_2"})).request_id == "req_2"


def test_a_head_beyond_its_bound_is_not_read() -> None:
    """An endless header ends the request and is not kept."""
    response = heard(Play(response=reply("Hi."), headers={"x-much": "a" * 40_000}))
    assert response.failure is not None
    assert (response.failure.kind, response.failure.where) == (FailureKind.NOT_THE_PROTOCOL, "transport")


def test_cookies_are_not_kept() -> None:
    """What a server sets is not sent back to it."""

    async def ask() -> None:
        plays: list[Act] = [Play(response=reply("1"), headers={"set-cookie": "a=b; Path=/"}), reply("2")]
        async with ScriptedServer(plays) as server, model_at(server) as model:
            await streamed(model)
            await streamed(model)
            assert ["cookie" in seen.headers for seen in server.requests] == [False, False]

    run(ask)


def test_a_large_request_is_sent_whole() -> None:
    """A body of several MiB arrives with its length, and warns nobody."""

    async def ask() -> None:
        async with ScriptedServer([reply("Read.")]) as server, model_at(server) as model:
            text = "word " * MIB
            assert (await model.respond(text)).complete
            (seen,) = server.requests
            assert seen.headers["content-length"] == str(len(seen.body))
            assert text.encode() in seen.body

    run(ask)


def test_two_streams_of_one_model_do_not_wait_for_each_other() -> None:
    """While one response is held back, another is asked for, read and ended."""

    async def ask() -> None:
        gate = anyio.Event()
        first = Play(response=reply("first"), gate=gate)
        async with ScriptedServer([first, reply("second")]) as server, model_at(server) as model:
            found: list[str] = []

            async def read() -> None:
                found.append((await streamed(model))[1].text)

            async with anyio.create_task_group() as group:
                group.start_soon(read)
                while not server.requests:
                    await anyio.lowlevel.checkpoint()
                await read()
                gate.set()
            assert found == ["second", "first"]

    run(ask)


def test_a_conversation_that_grows_is_sent_as_it_is() -> None:
    """What is remembered of the last request never leaks into one that begins in another way."""

    async def ask() -> None:
        async with ScriptedServer([reply("."), reply("."), reply(".")]) as server, model_at(server) as model:
            for text in ("one", "two", "one"):
                await model.respond(text)
            assert server.requests[0].body == server.requests[2].body != server.requests[1].body

    run(ask)


def test_connections_are_kept_and_let_go() -> None:
    """Requests that follow each other share a connection; closing the model closes it, and a second time is nothing."""

    async def ask() -> None:
        async with ScriptedServer([reply("1"), reply("2")]) as server:
            model = model_at(server)
            await streamed(model)
            await streamed(model)
            assert server.requests[0]._left is server.requests[1]._left
            await model.close()
            await model.close()
            await server.requests[0].until_left()
            with pytest.raises(ProtocolViolation, match="closed"):
                await model.respond("Hi.")

    run(ask)


class Soon:
    """A gate that opens after a few turns of the loop."""

    async def wait(self) -> None:
        """Return in a moment."""
        for _ in range(20):
            await anyio.lowlevel.checkpoint()


def test_a_connection_is_kept_when_its_body_ends_a_moment_late() -> None:
    """The end of a body that comes right behind the end marker of its stream is waited for, briefly."""

    async def ask() -> None:
        late = Play(body=CHUNKS, content_type="text/event-stream", gate=Soon(), gate_at=len(CHUNKS))
        async with ScriptedServer([late, reply("2")]) as server, model_at(server) as model:
            assert (await streamed(model))[1].complete
            await streamed(model)
            assert server.requests[0]._left is server.requests[1]._left

    run(ask)


def test_a_model_serves_one_loop() -> None:
    """In another event loop it says so, and sends nothing."""
    models: list[HttpModel] = []

    async def first() -> None:
        async with ScriptedServer([reply("1")]) as server:
            models.append(model_at(server))
            await models[0].respond("Hi.")

    async def second() -> None:
        with pytest.raises(ProtocolViolation, match="another event loop"):
            await models[0].respond("Hi.")
        await models[0].close()

    run(first)
    run(second)


def test_what_the_protocol_cannot_say_is_refused_before_anything_is_sent() -> None:
    """Entering the context raises, and the server is not asked."""

    async def ask() -> None:
        async with ScriptedServer() as server, model_at(server) as model:
            request = replace(prompt("Hi."), extra="[1]")
            with pytest.raises(PolicyError):
                await model.respond(request)
            assert server.requests == []

    run(ask)


def test_a_context_is_a_context_or_nothing() -> None:
    """The check of certificates cannot be switched off by a value that a careless caller might give."""
    with pytest.raises(ConfigError, match="SSLContext"):
        open_model("openai:demo", key=lambda: KEY, ssl=False)  # type: ignore[arg-type]
    assert Timeouts().idle == 120
