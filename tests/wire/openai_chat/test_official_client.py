"""The official client reads what we write, and we read what it writes and as it reads, over real sockets."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import openai
import pytest
from openai import APIConnectionError, APIError, AsyncOpenAI, ContentFilterFinishReasonError, LengthFinishReasonError
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from signoff.core.model.parts import Api, CallPart, OpaquePart, TextPart
from signoff.core.model.request import AssistantMessage, Choice, SystemMessage, ToolMessage, ToolResult, UserMessage
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.testing import Fault, Play, ScriptedServer
from signoff.testing.replies import call, reply
from signoff.wire import openai_chat
from tests.wire.openai_chat.chunks import DONE, LEGAL, START, TEXT, delta, fragment, read, read_whole, whole

T = TypeVar("T")
Client = Callable[[AsyncOpenAI], Awaitable[T]]

ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
REPLIES: dict[str, ModelResponse] = {
    "text": reply("Hello, wörld 😀", response_id="r", model="m"),
    "nothing": reply(),
    "no usage": reply("Hello", usage=None),
    "calls": reply("x", calls=[call("f", {"a": "é"}), call("g", "")], reasoning="hm"),
    "the old call": reply(
        parts=(CallPart(call_id="", name="f", arguments="{}"),), end=End.TOOL_CALLS, raw_reason="function_call"
    ),
    "a cut call": reply(calls=[call("f", '{"a":1')], end=End.MALFORMED_CALL),
    "a refusal": reply(refusal="No."),
    "the limit": reply("Hel", end=End.LIMIT),
    "the limit in a call": reply(calls=[call("f"), call("g", '{"a', closed=False)], end=End.LIMIT),
    "a filter": reply("Hel", end=End.CONTENT_FILTER),
    "an unknown end": reply("Hel", end=End.UNKNOWN, raw_reason="eos"),
    "a word for an error": reply("Hel", end=End.PROVIDER_ERROR, raw_reason="error"),
}
RAISED: dict[End, type[Exception]] = {
    End.LIMIT: LengthFinishReasonError,
    End.CONTENT_FILTER: ContentFilterFinishReasonError,
}
"""What the accumulator raises for, always; the chunks themselves say all the same."""


def run(script: list[Any], client: Client[T]) -> tuple[T, ScriptedServer]:
    """Let the official client talk to a server that follows a script."""

    async def main() -> tuple[T, ScriptedServer]:
        with anyio.fail_after(30):
            server = ScriptedServer(script)
            async with server, AsyncOpenAI(base_url=f"{server.url}/v1", api_key="sk-test", max_retries=0) as client_:
                return await client(client_), server

    return anyio.run(main)


async def ask(client: AsyncOpenAI) -> ChatCompletion:
    """The body that is not streamed."""
    completion = await client.chat.completions.create(**ASKED)
    assert isinstance(completion, ChatCompletion)
    return completion


async def chunks_of(client: AsyncOpenAI) -> list[Any]:
    """The chunks of a stream, as the client gives them without accumulating."""
    stream: Any = await client.chat.completions.create(**ASKED, stream=True)
    return [chunk async for chunk in stream]


async def accumulate(client: AsyncOpenAI) -> Any:  # noqa: ANN401
    """What the client's own accumulator makes of a stream."""
    async with client.chat.completions.stream(**ASKED) as stream:
        async for _ in stream:
            pass
        return stream.current_completion_snapshot


def seen(completion: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the client made of a response."""
    message, usage = completion.choices[0].message, completion.usage
    calls = [(each.id, each.function.name, each.function.arguments) for each in message.tool_calls or ()]
    old = message.function_call
    return {
        "id": completion.id,
        "model": completion.model,
        "reason": completion.choices[0].finish_reason,
        "text": message.content or "",
        "refusal": message.refusal,
        "reasoning": (message.model_extra or {}).get("reasoning_content", ""),
        "calls": calls + ([("", old.name, old.arguments)] if old else []),
        "usage": (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) if usage else None,
    }


def meant(response: ModelResponse) -> dict[str, Any]:
    """What a client must make of a record of ours."""
    usage = response.usage
    return {
        "id": response.response_id,
        "model": response.model,
        "reason": response.raw_reason,
        "text": response.text,
        "refusal": response.refusal,
        "reasoning": response.reasoning,
        "calls": [(each.call_id, each.name, each.arguments) for each in response.calls],
        "usage": (usage.input, usage.output, usage.total) if usage else None,
    }


@pytest.mark.parametrize("name", REPLIES)
def test_the_client_reads_what_we_write(name: str) -> None:
    """Of every end, the accumulated stream and the whole body are what our own decoder makes of the same bytes."""
    frames = b"".join(openai_chat.build_stream(REPLIES[name]))
    completion, _ = run([Play(body=frames)], accumulate)
    assert seen(completion) == meant(read(frames))
    body = openai_chat.build_response(REPLIES[name])
    completion, _ = run([Play(body=body)], ask)
    assert seen(completion) == meant(read_whole(body))


@pytest.mark.parametrize("name", REPLIES)
def test_every_frame_that_we_write_is_a_chunk(name: str) -> None:
    """No frame is skipped or refused by the client, the end marker apart."""
    frames = list(openai_chat.build_stream(REPLIES[name]))
    chunks, _ = run([Play(body=b"".join(frames))], chunks_of)
    assert len(chunks) == len(frames) - 1
    assert all(chunk.object == "chat.completion.chunk" for chunk in chunks)


@pytest.mark.parametrize("name", REPLIES)
def test_the_final_completion_of_the_accumulator(name: str) -> None:
    """It raises for the limit and the filter, always, and gives every other end."""

    async def final(client: AsyncOpenAI) -> object:
        async with client.chat.completions.stream(**ASKED) as stream:
            return await stream.get_final_completion()

    play = Play(body=b"".join(openai_chat.build_stream(REPLIES[name])))
    error = RAISED.get(REPLIES[name].end)
    if error is None:
        assert seen(run([play], final)[0])["reason"] == read(play.body or b"").raw_reason
    else:
        with pytest.raises(error):
            run([play], final)


@pytest.mark.parametrize("name", LEGAL)
def test_the_client_reads_a_stream_as_we_do(name: str) -> None:
    """On the protocol's own streams, comments and a missing end marker included, both accumulators agree."""
    body = b"".join(LEGAL[name])
    completion, _ = run([Play(body=body)], accumulate)
    assert seen(completion) == meant(read(body))


def test_the_client_takes_an_early_end_for_an_answer_and_we_do_not() -> None:
    """A body that ends properly but early has no reason and raises nothing in the client; here it was cut."""
    body = b"".join([START, *TEXT])
    completion, _ = run([Play(body=body)], accumulate)
    assert (seen(completion)["reason"], seen(completion)["text"]) == (None, "Hello é😀.")
    assert read(body).end is End.TRANSPORT


def test_the_client_loses_a_last_frame_without_its_blank_line_and_we_do_not() -> None:
    """Half a line end is missing: the reason is lost for the client, and read here."""
    body = b"".join([START, *TEXT, delta("stop")]).rstrip()
    completion, _ = run([Play(body=body)], accumulate)
    assert seen(completion)["reason"] is None
    assert (read(body).end, read(body).raw_reason) == (End.NORMAL, "stop")


def test_the_client_fuses_two_calls_of_one_index_and_we_do_not() -> None:
    """Ollama's parallel calls are one call with two names in the client; here they are two."""
    fragments = [fragment(0, "{}", call_id="a", name="f"), fragment(0, "{}", call_id="b", name="g")]
    body = b"".join([START, *fragments, delta("tool_calls"), DONE])
    completion, _ = run([Play(body=body)], accumulate)
    assert seen(completion)["calls"] == [("ab", "fg", "{}{}")]
    assert [(each.call_id, each.name) for each in read(body).calls] == [("a", "f"), ("b", "g")]


def test_the_client_returns_an_error_under_200_as_an_answer_and_we_do_not() -> None:
    """A body that is an error is a completion without choices for the client."""
    body = b'{"error":{"message":"Boom","type":"server_error","code":"server_error"}}'
    completion: Any = run([Play(body=body)], ask)[0]
    assert completion.choices is None
    assert read_whole(body).end is End.PROVIDER_ERROR


def test_a_cut_connection_is_not_an_answer_for_either() -> None:
    """The client raises, as the record of the same bytes says that they were cut."""
    body = b"".join([START, *TEXT, delta("stop"), DONE])
    with pytest.raises(APIConnectionError):
        run([Play(body=body, fault=Fault.CUT, cut_after=len(START) + 20)], accumulate)


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        (FailureKind.INVALID_REQUEST, 400, openai.BadRequestError),
        (FailureKind.AUTHENTICATION, 401, openai.AuthenticationError),
        (FailureKind.PERMISSION, 403, openai.PermissionDeniedError),
        (FailureKind.NOT_FOUND, 404, openai.NotFoundError),
        (FailureKind.RATE_LIMITED, 429, openai.RateLimitError),
        (FailureKind.OVERLOADED, 503, openai.InternalServerError),
    ],
)
def test_the_client_raises_our_errors_as_what_they_are(kind: FailureKind, status: int, error: type[APIError]) -> None:
    """Beside a status an error has its own class and code; inside a stream it ends the stream."""
    failure = Failure(kind=kind, where="http", status=status)
    with pytest.raises(error) as raised:
        run([failure], ask)
    inside = openai_chat.build_error(failure, message="Boom", in_stream=True)
    with pytest.raises(APIError, match="Boom") as stopped:
        run([Play(body=b"".join([START, *TEXT, inside]))], accumulate)
    assert raised.value.code == stopped.value.code
    assert raised.value.type == stopped.value.type


def test_what_the_client_sends_is_understood() -> None:
    """Instructions, turns, pictures, results, tools and other fields arrive in their neutral or native forms."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}
    entry = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": '{"path": "a"}'}}
    function = {"name": "write", "description": "Writes.", "parameters": {"type": "object"}}
    asked: Any = {
        "model": "m-1",
        "max_completion_tokens": 100,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look."}, picture]},
            {"role": "assistant", "content": None, "tool_calls": [entry]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
            {"role": "user", "content": "Go on."},
        ],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "write"}},
        "temperature": 0.5,
    }

    async def send(client: AsyncOpenAI) -> None:
        await client.chat.completions.create(**asked)

    _, server = run([REPLIES["text"]], send)
    sent = server.requests[0]
    assert (sent.path, sent.api, sent.stream) == ("/v1/chat/completions", Api.OPENAI_CHAT, False)
    received = openai_chat.parse_request(sent.body)
    request = received.request
    assert (received.model, received.stream, request.max_output_tokens) == ("m-1", False, 100)
    assert [(tool.name, tool.description, tool.schema) for tool in request.tools] == [
        ("write", "Writes.", {"type": "object"})
    ]
    assert (request.choice, json.loads(request.extra)) == (Choice(mode="tool", name="write"), {"temperature": 0.5})
    system, look, turn, results, go_on = request.messages
    assert isinstance(system, SystemMessage)
    assert isinstance(look, UserMessage)
    assert isinstance(turn, AssistantMessage)
    assert (system.text, [type(part) for part in look.parts]) == ("Be brief.", [TextPart, OpaquePart])
    assert turn.parts == (CallPart(call_id="c1", name="write", arguments='{"path": "a"}'),)
    assert results == ToolMessage(results=(ToolResult(call_id="c1", name="write", text="ok"),), api=Api.OPENAI_CHAT)
    assert go_on == UserMessage(parts=(TextPart(text="Go on."),), api=Api.OPENAI_CHAT)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", Choice()),
        ("none", Choice(mode="none")),
        ("required", Choice(mode="required")),
        ({"type": "function", "function": {"name": "f"}}, Choice(mode="tool", name="f")),
    ],
)
def test_each_choice_that_the_client_sends(choice: Any, expected: Choice) -> None:  # noqa: ANN401
    """The forms of the choice arrive, from a request for a stream too."""

    async def send(client: AsyncOpenAI) -> None:
        tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
        stream: Any = await client.chat.completions.create(**ASKED, tools=tools, tool_choice=choice, stream=True)
        async for _ in stream:
            pass

    _, server = run([REPLIES["text"]], send)
    received = server.requests[0].received
    assert received is not None
    assert (received.stream, received.request.choice) == (True, expected)


class Weather(BaseModel):
    """A tool as users of the client declare it."""

    city: str


def test_a_strict_tool_and_a_turn_of_the_clients_own() -> None:
    """A strict tool keeps its flag, and a message that the client made from our answer comes back with its call."""
    tool = openai.pydantic_function_tool(Weather)

    async def send(client: AsyncOpenAI) -> None:
        messages: list[Any] = [{"role": "user", "content": "Hi"}]
        first = await client.chat.completions.create(model="m", messages=messages, tools=[tool])
        messages += [first.choices[0].message, {"role": "tool", "tool_call_id": "call_1", "content": "21"}]
        await client.chat.completions.create(model="m", messages=messages, tools=[tool])

    script = [reply(calls=[call("Weather", {"city": "Bern"})], reasoning="hm"), reply("21.")]
    _, server = run(script, send)
    received = server.requests[1].received
    assert received is not None
    assert [each.name for each in received.request.tools] == ["Weather"]
    assert json.loads(received.request.extra)["tools"][0]["function"]["strict"] is True
    turn, results = received.request.messages[1:]
    assert isinstance(turn, AssistantMessage)
    assert [part for part in turn.parts if isinstance(part, CallPart)] == [
        call("Weather", {"city": "Bern"}, call_id="call_1")
    ]
    assert json.loads(turn.native)["reasoning_content"] == "hm"
    assert results == ToolMessage(
        results=(ToolResult(call_id="call_1", name="Weather", text="21"),), api=Api.OPENAI_CHAT
    )


def test_a_page_is_not_an_answer_for_us() -> None:
    """The client returns the text of a web page as if it were a completion."""
    page = b"<html>x</html>"

    async def ask_anything(client: AsyncOpenAI) -> object:
        return await client.chat.completions.create(**ASKED)

    assert run([Play(body=page, content_type="text/html")], ask_anything)[0] == page.decode()
    assert read_whole(page).failure is not None
    assert read_whole(whole({"role": "assistant", "content": "x"})).failure is None
