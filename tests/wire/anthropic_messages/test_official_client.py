"""The official client reads what we write, and we read what it writes and as it reads, over real sockets."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx2
import orjson
import pytest
from anthropic import APIStatusError, AsyncAnthropic, OverloadedError
from anthropic.types import Message

from signoff.core.model.parts import Api, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import AssistantMessage, Choice, SystemMessage, ToolMessage, ToolResult, UserMessage
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.testing import Fault, Play, ScriptedServer
from signoff.testing.replies import call, reply
from signoff.wire import anthropic_messages
from tests.wire.anthropic_messages.streams import LEGAL, STOP, finish, read, start, text, tool, whole

T = TypeVar("T")
Client = Callable[[AsyncAnthropic], Awaitable[T]]

OURS = Api.ANTHROPIC_MESSAGES
ASKED: Any = {"model": "claude-1", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
REPLIES: dict[str, ModelResponse] = {
    "normal": reply("Hello, wörld \U0001f600", api=OURS),
    "empty": reply(api=OURS),
    "calls": reply("x", calls=[call("f", {"a": "é"}), call("g")], reasoning="hm", api=OURS),
    "limit": reply("Hel", end=End.LIMIT, api=OURS),
    "context full": reply("Hel", end=End.CONTEXT_FULL, api=OURS),
    "pause": reply("Hel", end=End.PAUSED, api=OURS),
    "refusal": reply("Hel", refusal="No.", api=OURS),
    "stop sequence": reply("Hel", raw_reason="stop_sequence", api=OURS),
    "unknown": reply("Hel", end=End.UNKNOWN, raw_reason="moon_phase", api=OURS),
    "no usage": reply("Hel", usage=None, api=OURS),
    "search": read(LEGAL["search"]),
}


def run(script: list[Any], client: Client[T]) -> tuple[T, ScriptedServer]:
    """Let the official client talk to a server that follows a script."""

    async def main() -> tuple[T, ScriptedServer]:
        with anyio.fail_after(30):
            server = ScriptedServer(script)
            async with server, AsyncAnthropic(base_url=server.url, api_key="sk-test", max_retries=0) as anthropic:
                return await client(anthropic), server

    return anyio.run(main)


async def accumulate(client: AsyncAnthropic) -> Message:
    """The message that the client's own accumulator makes of a stream."""
    async with client.messages.stream(**ASKED) as stream:
        return await stream.get_final_message()


async def ask(client: AsyncAnthropic) -> Message:
    """The message of a body that is not streamed."""
    message = await client.messages.create(**ASKED)
    assert isinstance(message, Message)
    return message


async def events_of(client: AsyncAnthropic) -> list[Any]:
    """The events of a stream, as the client gives them without accumulating."""
    stream: Any = await client.messages.create(**ASKED, stream=True)
    return [event async for event in stream]


def seen(message: Message) -> dict[str, Any]:
    """What the client made of a message."""
    value: dict[str, Any] = orjson.loads(message.to_json(exclude_unset=True, warnings=False))
    blocks = [{name: field for name, field in block.items() if field is not None} for block in value["content"]]
    details = value.get("stop_details")
    return {
        "id": value["id"],
        "content": blocks,
        "stop_reason": value["stop_reason"],
        "refusal": details and details["explanation"],
        "usage": (value["usage"]["input_tokens"], value["usage"]["output_tokens"]),
    }


def meant(response: ModelResponse) -> dict[str, Any]:
    """What a client must make of a record of ours."""
    usage = response.usage
    return {
        "id": response.response_id,
        "content": orjson.loads(response.native),
        "stop_reason": response.raw_reason,
        "refusal": response.refusal,
        "usage": (usage.input, usage.output) if usage else (0, 0),
    }


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("client", [accumulate, ask])
def test_the_client_reads_what_we_write(name: str, client: Client[Message]) -> None:
    """Of every end, the accumulator and the body that is not streamed are what our own decoder makes of the bytes."""
    frames = b"".join(anthropic_messages.build_stream(REPLIES[name]))
    body = frames if client is accumulate else anthropic_messages.build_response(REPLIES[name])
    message, _ = run([Play(body=body)], client)
    assert seen(message) == meant(read(frames))


@pytest.mark.parametrize("name", sorted(LEGAL.keys() - {"limit in a call"}))
def test_the_client_reads_a_stream_as_we_do(name: str) -> None:
    """Every event of the protocol's own streams arrives, and both accumulators agree, but for a cut input."""
    events, _ = run([Play(body=LEGAL[name])], events_of)
    assert len(events) == LEGAL[name].count(b"event: ") - LEGAL[name].count(b"event: ping")
    message, _ = run([Play(body=LEGAL[name])], accumulate)
    assert seen(message) == meant(read(LEGAL[name]))


@pytest.mark.parametrize("name", REPLIES)
def test_every_frame_that_we_write_is_an_event(name: str) -> None:
    """No frame is skipped by the client."""
    frames = list(anthropic_messages.build_stream(REPLIES[name]))
    events, _ = run([Play(body=b"".join(frames))], events_of)
    assert [event.type for event in events] == [orjson.loads(each.split(b"data: ")[1])["type"] for each in frames]


def test_the_client_completes_a_cut_call_and_we_do_not() -> None:
    """A cut input looks like a valid call in the official accumulator; here it is raw, and the response not whole."""
    body = LEGAL["limit in a call"]
    message, _ = run([Play(body=body)], accumulate)
    assert seen(message)["content"][0]["input"] == {"path": "x"}
    response = read(body)
    assert (response.calls[0].arguments, response.end) == ('{"path":"x","content":"ab', End.LIMIT)


def test_the_client_drops_what_follows_an_input_and_we_do_not() -> None:
    """Two values in one input are the first one for the official accumulator; here they are a malformed call."""
    body = whole(tool(0, '{"a":1}{"b":2}'), reason="tool_use")
    message, _ = run([Play(body=body)], accumulate)
    assert seen(message)["content"][0]["input"] == {"a": 1}
    assert read(body).end is End.MALFORMED_CALL


def test_the_client_takes_an_early_end_for_an_answer_and_we_do_not() -> None:
    """A body that ends properly but early is a message without a reason for the client, and a broken one here."""
    body = start() + text(0, "Half an", stop=False)
    message, _ = run([Play(body=body)], accumulate)
    assert (message.stop_reason, seen(message)["content"]) == (None, [{"type": "text", "text": "Half an"}])
    assert (read(body).end, read(body).complete) == (End.TRANSPORT, False)


def test_a_cut_connection_is_not_an_answer_for_either() -> None:
    """The client raises an error of its transport; the record of the same bytes says that they were cut."""
    with pytest.raises(httpx2.RemoteProtocolError):
        run([Play(body=LEGAL["text"], fault=Fault.CUT, cut_after=len(LEGAL["text"]) - len(STOP))], accumulate)


@pytest.mark.parametrize("usage", [None, {"output_tokens": 7}])
def test_the_client_needs_usage_at_the_end(usage: dict[str, int] | None) -> None:
    """The accumulator dies where usage is missing, which is why it is always written; the decoder reads on."""
    body = start() + text(0, "x") + finish("end_turn", usage) + STOP
    assert read(body).end is End.NORMAL
    if usage is None:
        with pytest.raises(AttributeError):
            run([Play(body=body)], accumulate)
    else:
        assert run([Play(body=body)], accumulate)[0].usage.output_tokens == 7


def test_the_client_raises_our_errors_as_what_they_are() -> None:
    """An error beside an HTTP status has its own class, and one inside a stream ends it with its type."""
    failure = Failure(kind=FailureKind.OVERLOADED, where="http", status=529)
    with pytest.raises(OverloadedError):
        run([failure], ask)
    body = start() + text(0, "x", stop=False)
    frame = anthropic_messages.build_error(failure, message="Too busy.", in_stream=True)
    with pytest.raises(APIStatusError) as raised:
        run([Play(body=body + frame)], accumulate)
    assert (raised.value.status_code, raised.value.type) == (200, "overloaded_error")


def test_what_the_client_sends_is_understood() -> None:
    """Instructions, turns, pictures, results, tools and other fields arrive in their neutral or native forms."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    turn = [
        {"type": "thinking", "thinking": "hm", "signature": "s=="},
        {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {"path": "a"}},
    ]
    answer = [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
        },
        {"type": "text", "text": "Go on."},
    ]
    asked: Any = {
        "model": "claude-1",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look."}, picture]},
            {"role": "assistant", "content": turn},
            {"role": "user", "content": answer},
        ],
        "tools": [{"name": "write", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "stop_sequences": ["END"],
    }

    async def send(client: AsyncAnthropic) -> None:
        await client.messages.create(**asked)

    _, server = run([REPLIES["normal"]], send)
    received = anthropic_messages.parse_request(server.requests[0].body)
    assert (server.requests[0].path, received.model, received.stream) == ("/v1/messages", "claude-1", False)
    request = received.request
    assert (request.max_output_tokens, request.choice) == (100, Choice(mode="required"))
    assert [tool.name for tool in request.tools] == ["write"]
    assert orjson.loads(request.extra) == {
        "stop_sequences": ["END"],
        "tool_choice": {"disable_parallel_tool_use": True},
    }
    assert request.messages[0] == SystemMessage(text="Be brief.", api=OURS)
    assert isinstance(request.messages[1], UserMessage)
    assert [type(part) for part in request.messages[1].parts] == [TextPart, OpaquePart]
    assert isinstance(request.messages[2], AssistantMessage)
    assert request.messages[2].parts == (
        ReasoningPart(text="hm"),
        CallPart(call_id="toolu_1", name="write", arguments='{"path":"a"}'),
    )
    result = ToolResult(call_id="toolu_1", name="write", text="no", is_error=True)
    assert request.messages[3:] == (
        ToolMessage(results=(result,), api=OURS),
        UserMessage(parts=(TextPart(text="Go on."),), api=OURS),
    )


def test_the_client_asks_for_a_stream() -> None:
    """What the helper for streams sends is understood as a request for one."""
    _, server = run([REPLIES["normal"]], accumulate)
    received = server.requests[0].received
    assert received is not None
    assert received.stream is True
    assert received.request.messages == (UserMessage(parts=(TextPart(text="Hi"),), api=OURS),)


def test_a_refusal_reaches_the_client_with_its_category() -> None:
    """The category and the explanation of a refusal are where the client looks for them."""
    parts = (TextPart(text="I"), RefusalPart(text="No.", category="cyber"))
    message, _ = run([reply(parts=parts, end=End.REFUSAL, api=OURS)], accumulate)
    assert message.stop_details is not None
    assert (message.stop_details.category, message.stop_details.explanation) == ("cyber", "No.")
