"""The official client reads what we write, and we read what it writes and as it reads, over real sockets."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

from signoff.core.model.deltas import CallDelta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import AssistantMessage, Choice, SystemMessage, ToolMessage, UserMessage
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.testing import Fault, Play, ScriptedServer
from signoff.testing.replies import call, reply
from signoff.wire import openai_responses
from tests.wire.openai_responses.streams import LEGAL, data_of, function_call, message, read, reasoning

T = TypeVar("T")
Client = Callable[[AsyncOpenAI], Awaitable[T]]

CITED = TextPart(
    text="Hello", citations='[{"type":"url_citation","start_index":0,"end_index":5,"url":"u","title":"t"}]'
)
SEARCH = OpaquePart(
    kind="web_search_call",
    native='{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}',
)
MIXED: tuple[Part, ...] = (
    ReasoningPart(text="Thinking"),
    ReasoningPart(redacted=True),
    CITED,
    SEARCH,
    call("f", {"a": "é 😀"}, call_id="call_1"),
    call("g", "*** free\n", call_id="call_2", kind=CallKind.CUSTOM),
    TextPart(text="After"),
)
REPLIES: dict[str, ModelResponse] = {
    "normal": reply("Hello"),
    "empty": reply(),
    "mixed": reply(parts=MIXED, end=End.TOOL_CALLS),
    "reasoning only": reply(reasoning="Hm"),
    "refusal": reply("Partly.", refusal="No."),
    "cut call": reply(calls=[call("f", '{"a":', closed=False)], end=End.MALFORMED_CALL),
    "no usage": reply("x", usage=None),
    "limit": reply("Hel", end=End.LIMIT),
    "limit in a call": reply(calls=[call("f", '{"a":', closed=False)], end=End.LIMIT),
    "filter": reply("Hel", end=End.CONTENT_FILTER),
    "steered": reply("Hel", end=End.PAUSED),
    "failed": reply("Hel", end=End.PROVIDER_ERROR),
    "context full": reply(end=End.CONTEXT_FULL),
}


def run(script: list[Any], client: Client[T]) -> tuple[T, ScriptedServer]:
    """Let the official client talk to a server that follows a script."""

    async def main() -> tuple[T, ScriptedServer]:
        with anyio.fail_after(30):
            server = ScriptedServer(script)
            async with server, AsyncOpenAI(base_url=f"{server.url}/v1", api_key="sk-test", max_retries=0) as openai:
                return await client(openai), server

    return anyio.run(main)


def content_of(response: Response) -> list[tuple[str, ...]]:
    """What the official client made of the items."""
    found: list[tuple[str, ...]] = []
    for item in response.output:
        match item.type:
            case "message":
                found += [
                    (part.type, part.text if part.type == "output_text" else part.refusal) for part in item.content
                ]
            case "function_call":
                found.append((item.type, item.call_id, item.name, item.arguments))
            case "custom_tool_call":
                found.append((item.type, item.call_id, item.name, item.input))
            case "reasoning":
                found.append((item.type, "".join(part.text for part in item.summary)))
            case kind:
                found.append((kind,))
    return found


def expected_of(parts: tuple[Part, ...]) -> list[tuple[str, ...]]:
    """What it should make of them."""
    found: list[tuple[str, ...]] = []
    for part in parts:
        match part:
            case TextPart():
                found.append(("output_text", part.text))
            case RefusalPart():
                found.append(("refusal", part.text))
            case ReasoningPart():
                found.append(("reasoning", part.text))
            case CallPart(kind=CallKind.FUNCTION):
                found.append(("function_call", part.call_id, part.name, part.arguments))
            case CallPart():
                found.append(("custom_tool_call", part.call_id, part.name, part.arguments))
            case OpaquePart():
                found.append((part.kind,))
    return found


@pytest.mark.parametrize("name", REPLIES)
def test_a_response_that_is_not_streamed(name: str) -> None:
    """The client reads every part, the status, the details and the usage that we wrote, and so do we."""
    script = REPLIES[name]

    async def ask(openai: AsyncOpenAI) -> tuple[Response, bytes]:
        raw = await openai.responses.with_raw_response.create(model="m", input="x")
        return raw.parse(), raw.content

    (response, body), _ = run([script], ask)
    assert content_of(response) == expected_of(script.parts)
    record = openai_responses.parse_response(body, Exchange())
    check_end(response, record)
    assert (record.parts, record.end) == (script.parts, script.end)


def check_end(response: Response, record: ModelResponse) -> None:
    """The client's account of the end is ours."""
    details, error = response.incomplete_details, response.error
    words = (response.status, error.code if error else details.reason if details else None)
    assert "/".join(word for word in words if word) == record.raw_reason
    assert (response.id, response.model) == (record.response_id, record.model)
    if record.usage is None or response.usage is None:
        assert (record.usage, response.usage) == (None, None)
        return
    assert response.usage.input_tokens_details.cached_tokens == record.usage.cached_read
    assert (response.usage.input_tokens, response.usage.output_tokens) == (record.usage.input, record.usage.output)


@pytest.mark.parametrize("name", REPLIES)
def test_raw_events(name: str) -> None:
    """The client reads every event of a stream, and the pieces make the parts; the last event has the end."""
    script = REPLIES[name]

    async def ask(openai: AsyncOpenAI) -> list[Any]:
        return [event async for event in await openai.responses.create(model="m", input="x", stream=True)]

    events, _ = run([script], ask)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    final = events[-1].response
    assert content_of(final) == expected_of(script.parts)
    record, deltas = read(b"".join(openai_responses.build_stream(script)))
    check_end(final, record)
    for kind, name_of_event in (
        (TextDelta, "output_text"),
        (RefusalDelta, "refusal"),
        (ReasoningDelta, "reasoning_summary_text"),
    ):
        said = "".join(event.delta for event in events if event.type == f"response.{name_of_event}.delta")
        assert said == "".join(delta.text for delta in deltas if isinstance(delta, kind))
    arguments = [event.delta for event in events if event.type.endswith(("arguments.delta", "input.delta"))]
    assert "".join(arguments) == "".join(delta.text for delta in deltas if isinstance(delta, CallDelta))


@pytest.mark.parametrize("name", REPLIES)
def test_the_accumulator(name: str) -> None:
    """The client's strict accumulator takes every stream that we write; only a completed one has a final response."""
    script = REPLIES[name]

    async def ask(openai: AsyncOpenAI) -> Response | str:
        async with openai.responses.stream(model="m", input="x") as stream:
            try:
                return await stream.get_final_response()
            except RuntimeError as error:
                return str(error)

    final, _ = run([script], ask)
    record, _ = read(b"".join(openai_responses.build_stream(script)))
    if record.raw_reason != "completed":
        assert final == "Didn't receive a `response.completed` event."
        return
    assert isinstance(final, Response)
    assert content_of(final) == expected_of(script.parts)
    check_end(final, record)


@pytest.mark.parametrize("name", sorted(LEGAL.keys() - {"error"}))
def test_a_vendors_stream_is_read_as_the_client_reads_it(name: str) -> None:
    """Of a stream that the vendor sends, the client's accumulator and our decoder make the same response."""
    body = data_of(LEGAL[name])

    async def ask(openai: AsyncOpenAI) -> Response:
        async with openai.responses.stream(model="m", input="x") as stream:
            events: list[Any] = [event async for event in stream]
        whole: Response = events[-1].response
        return whole

    response, _ = run([Play(body=body)], ask)
    record, _ = read(body)
    assert content_of(response) == expected_of(record.parts)
    check_end(response, record)


def test_errors_reach_the_client() -> None:
    """An error before a stream is raised with its class, one inside it is an event or raised, never an answer."""
    failure = Failure(kind=FailureKind.RATE_LIMITED, where="http", code="rate_limit_exceeded")

    async def ask(openai: AsyncOpenAI) -> list[str]:
        seen = []
        try:
            await openai.responses.create(model="m", input="x")
        except Exception as error:  # noqa: BLE001 - whichever class the client chooses is the fact
            seen.append(type(error).__name__)
        events = [event async for event in await openai.responses.create(model="m", input="x", stream=True)]
        return [*seen, events[-2].type, events[-1].type, getattr(events[-1], "code", "")]

    inside = Play(response=reply("Hel"), failure=failure, in_stream=True)
    seen, _ = run([Play(failure=failure), inside], ask)
    assert seen == ["RateLimitError", "response.output_item.done", "error", "rate_limit_exceeded"]


def test_a_stream_without_its_end() -> None:
    """Where a body ends properly before the terminal, the client's raw stream says nothing, and our record does."""
    body = b"".join(openai_responses.build_stream(reply("Hello")))
    cut = body.index(b"event: response.completed")

    async def ask(openai: AsyncOpenAI) -> str:
        events = [event async for event in await openai.responses.create(model="m", input="x", stream=True)]
        return events[-1].type

    last, _ = run([Play(body=body, fault=Fault.CLOSE, cut_after=cut)], ask)
    assert last == "response.output_item.done"
    assert read(body[:cut])[0].end is End.TRANSPORT


def test_a_string_as_input() -> None:
    """A request of a string is a user's message, and what the client leaves out means what the vendor says."""

    async def ask(openai: AsyncOpenAI) -> object:
        return await openai.responses.create(model="gpt-x", input="Hi", instructions="Be short.", temperature=0.5)

    _, server = run([reply("x")], ask)
    received = openai_responses.parse_request(server.requests[0].body)
    assert (received.model, received.stream) == ("gpt-x", False)
    assert received.request.messages == (SystemMessage(text="Be short."), UserMessage(parts=(TextPart(text="Hi"),)))
    assert json.loads(received.request.extra) == {"temperature": 0.5, "store": True, "include": []}
    assert server.requests[0].headers["authorization"] == "Bearer sk-test"
    assert server.requests[0].path == "/v1" + openai_responses.path("gpt-x", stream=False)


def test_a_conversation_of_the_client() -> None:
    """What the client makes of an answer and sends back with results is the turn that we gave it."""
    script = reply(parts=MIXED, end=End.TOOL_CALLS, response_id="resp_1", api=Api.OPENAI_RESPONSES)
    tool: Any = {
        "type": "function",
        "name": "f",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }

    async def ask(openai: AsyncOpenAI) -> object:
        async with openai.responses.stream(model="m", input="Hi", tools=[tool]) as stream:
            first = await stream.get_final_response()
        results: list[Any] = [
            {"type": "function_call_output", "call_id": "call_1", "output": "one"},
            {"type": "custom_tool_call_output", "call_id": "call_2", "output": "two"},
        ]
        said: list[Any] = [{"role": "user", "content": "Hi"}, *first.output, *results]
        choice: Any = {"type": "function", "name": "f"}
        return await openai.responses.create(
            model="m",
            input=said,
            tools=[tool],
            tool_choice=choice,
            store=False,
            max_output_tokens=99,
        )

    _, server = run([script, reply("Done")], ask)
    received = server.requests[1].received
    assert received is not None
    request = received.request
    assert [tool.name for tool in request.tools] == ["f"]
    assert (request.choice, request.max_output_tokens) == (Choice(mode="tool", name="f"), 99)
    user, turn, results = request.messages
    assert user == UserMessage(parts=(TextPart(text="Hi"),), api=Api.OPENAI_RESPONSES)
    assert isinstance(turn, AssistantMessage)
    assert expected_of(turn.parts) == expected_of(MIXED)
    assert isinstance(results, ToolMessage)
    assert [(each.call_id, each.text) for each in results.results] == [("call_1", "one"), ("call_2", "two")]


def test_forms_of_the_tool_choice() -> None:
    """Every form of the tool choice that the client can send is understood or kept as it came."""
    forms: list[Any] = [
        "auto",
        "none",
        "required",
        {"type": "function", "name": "f"},
        {"type": "custom", "name": "f"},
        {"type": "mcp", "server_label": "s"},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        {"type": "web_search_preview"},
    ]

    async def ask(openai: AsyncOpenAI) -> None:
        for form in forms:
            await openai.responses.create(model="m", input="x", tool_choice=form)

    _, server = run([reply("x")] * len(forms), ask)
    found = []
    for seen in server.requests:
        request = openai_responses.parse_request(seen.body).request
        found.append((request.choice.mode, json.loads(request.extra).get("tool_choice")))
    assert found == [
        ("auto", None),
        ("none", None),
        ("required", None),
        ("tool", None),
        *(("auto", form) for form in forms[4:]),
    ]


def test_items_that_the_client_types_know() -> None:
    """The items that these tests are written with are whole for the client's own types."""
    for item in (message(), function_call(), reasoning()):
        whole = Response.model_validate({**LEGAL["text"][-1]["response"], "output": [item]})
        assert whole.output[0].model_dump(exclude_unset=True) == item
