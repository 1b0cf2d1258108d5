"""The official client, over a real socket: it reads what this codec builds, and this codec reads what it sends."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from google import genai
from google.genai import types
from google.genai.client import AsyncClient
from google.genai.errors import APIError, ClientError, ServerError

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallPart, OpaquePart, ReasoningPart, TextPart
from signoff.core.model.request import AssistantMessage, Choice, SystemMessage, ToolMessage, UserMessage
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.testing import Fault, Play, ScriptedServer, SeenRequest
from signoff.wire import gemini
from signoff.wire.failures import failure_of
from signoff.wire.memo import Memo
from tests.wire.gemini.streams import LEGAL, read, stream

USAGE = TokenUsage(input=12, cached_read=3, output=7, reasoning=2, total=19)
PARTS = (
    ReasoningPart(text="Hm."),
    TextPart(text="Hello\n🎈"),
    CallPart(call_id="c1", name="read", arguments='{"path": "a", "n": [1, 2.5]}'),
    CallPart(call_id="", name="now", arguments="{}"),
    OpaquePart(kind="executableCode", native='{"executableCode":{"code":"1+1","language":"PYTHON"}}'),
)
ENDS = {
    End.NORMAL: "STOP",
    End.TOOL_CALLS: "STOP",
    End.LIMIT: "MAX_TOKENS",
    End.CONTENT_FILTER: "SAFETY",
    End.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
    End.UNKNOWN: "OTHER",
    End.TRANSPORT: None,
}


class Heard(NamedTuple):
    """What the client gave its caller."""

    text: str
    thoughts: str
    calls: list[tuple[str, str, Any]]
    reasons: list[str]
    usage: tuple[int | None, int | None, int | None] | None


def heard(chunks: Sequence[types.GenerateContentResponse]) -> Heard:
    """All chunks of one response together."""
    parts = [part for chunk in chunks if chunk.candidates for part in (chunk.parts or [])]
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks if chunk.candidates]
    counts = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    calls = [part.function_call for part in parts if part.function_call]
    return Heard(
        text="".join(part.text or "" for part in parts if not part.thought),
        thoughts="".join(part.text or "" for part in parts if part.thought),
        calls=[(one.id or "", one.name or "", one.args or {}) for one in calls],
        reasons=[reason.value for reason in reasons if reason],
        usage=None
        if not counts
        else (counts[-1].prompt_token_count, counts[-1].candidates_token_count, counts[-1].thoughts_token_count),
    )


@asynccontextmanager
async def client_of(server: ScriptedServer) -> AsyncIterator[AsyncClient]:
    """The official client, whose base address is the server."""
    async with httpx2.AsyncClient() as web:
        options = types.HttpOptions(base_url=server.url, httpx_async_client=web)
        async with genai.Client(api_key="none", http_options=options).aio as client:
            yield client


async def _ask(client: AsyncClient, *, streamed: bool) -> Heard:
    if not streamed:
        return heard([await client.models.generate_content(model="m", contents="Hi")])
    chunks = await client.models.generate_content_stream(model="m", contents="Hi")
    return heard([chunk async for chunk in chunks])


def ask(*plays: Play, streamed: bool) -> Heard | APIError | httpx2.RemoteProtocolError:
    """What the client makes of an answer."""

    async def run() -> Heard | APIError | httpx2.RemoteProtocolError:
        async with ScriptedServer(plays) as server, client_of(server) as client:
            try:
                return await _ask(client, streamed=streamed)
            except (APIError, httpx2.RemoteProtocolError) as error:
                return error

    return anyio.run(run)


def built(response: ModelResponse, *, streamed: bool) -> bytes:
    """A response as this codec writes it."""
    return b"".join(gemini.build_stream(response)) if streamed else gemini.build_response(response)


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("end", ENDS)
def test_the_client_reads_every_end_as_this_codec_does(end: End, *, streamed: bool) -> None:
    """Text, thoughts, calls, reason and tokens of a built response reach the client's caller."""
    parts = tuple(part for part in PARTS if end is not End.NORMAL or not isinstance(part, CallPart))
    response = ModelResponse(api=Api.GEMINI, end=end, parts=parts, usage=USAGE, response_id="r", model="m")
    body = built(response, streamed=streamed)
    own, theirs = read(body, streamed=streamed), ask(Play(body=body), streamed=streamed)
    assert isinstance(theirs, Heard)
    reason = ENDS[end]
    assert theirs.reasons == ([reason] if reason else [])
    assert (own.end, own.raw_reason) == (end, reason)
    assert (theirs.text, theirs.thoughts) == (own.text, own.reasoning) == ("Hello\n🎈", "Hm.")
    assert theirs.calls == [(one.call_id, one.name, json.loads(one.arguments)) for one in own.calls]
    assert theirs.usage == (12, 5, 2)
    assert own.usage is not None
    assert (own.usage.input, own.usage.output, own.usage.reasoning) == (12, 7, 2)


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
def test_a_blocked_prompt_reaches_the_client(*, streamed: bool) -> None:
    """A response without candidates tells the client why."""
    response = ModelResponse(api=Api.GEMINI, end=End.CONTENT_FILTER, raw_reason="prompt/JAILBREAK", usage=USAGE)
    theirs = ask(Play(body=built(response, streamed=streamed)), streamed=streamed)
    assert theirs == Heard("", "", [], [], (12, 5, 2))


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("kind", FailureKind)
def test_an_error_with_its_status_reaches_the_client(kind: FailureKind, *, streamed: bool) -> None:
    """Beside an HTTP status the body of an error gives the client its code and its word."""
    body = gemini.build_error(Failure(kind=kind, where="http"), message="It broke.", in_stream=False)
    inside = json.loads(body)["error"]
    error = ask(Play(body=body, status=inside["code"]), streamed=streamed)
    assert isinstance(error, ClientError if inside["code"] < 500 else ServerError)
    assert (error.code, error.status, error.message) == (inside["code"], inside["status"], "It broke.")
    own = failure_of(json.loads(body), Exchange(status=inside["code"]), where="http")
    assert (own.status, own.type) == (error.code, error.status)


def test_an_error_inside_a_stream_reaches_the_client() -> None:
    """A frame of an error behind text raises in the client, and ends the response for this codec."""
    frames = list(gemini.build_stream(ModelResponse(api=Api.GEMINI, end=End.TRANSPORT, parts=PARTS[:2])))
    failure = Failure(kind=FailureKind.OVERLOADED, where="http")
    body = b"".join(frames) + gemini.build_error(failure, message="Too busy.", in_stream=True)
    error = ask(Play(body=body), streamed=True)
    assert isinstance(error, ServerError)
    assert (error.code, error.status) == (503, "UNAVAILABLE")
    own = read(body)
    assert (own.end, own.text) == (End.PROVIDER_ERROR, "Hello\n🎈")
    assert own.failure is not None
    assert own.failure.kind is FailureKind.OVERLOADED


def test_an_error_in_bare_lines_reaches_both() -> None:
    """An error that is printed over lines, in place of frames, raises in the client and is a failure here."""
    body = json.dumps({"error": {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"}}, indent=2).encode()
    error, own = ask(Play(body=body), streamed=True), read(body)
    assert isinstance(error, ClientError)
    assert (error.code, own.end) == (429, End.PROVIDER_ERROR)
    assert own.failure is not None
    assert own.failure.kind is FailureKind.RATE_LIMITED


def test_a_stream_that_ends_early_is_no_error_for_the_client_and_a_cut_here() -> None:
    """A proper end without a reason is what the client takes for an answer; here it is a transport end."""
    body = stream(*LEGAL["text"][:1])
    theirs, own = ask(Play(body=body), streamed=True), read(body)
    assert isinstance(theirs, Heard)
    assert (theirs.text, theirs.reasons) == (own.text, []) == ("Hel", [])
    assert own.end is End.TRANSPORT
    broken = ask(Play(body=body + body, fault=Fault.CUT, cut_after=len(body)), streamed=True)
    assert isinstance(broken, httpx2.RemoteProtocolError)


def test_a_chat_keeps_built_turns_and_sends_signatures_back() -> None:
    """No chunk of a built stream makes the client's chat drop a turn, and its next request reads as the same turn."""
    response = ModelResponse(api=Api.GEMINI, end=End.NORMAL, parts=(TextPart(text="a"), TextPart(text="b")))
    signed = stream(*LEGAL["thought and signed text"])
    seen: list[SeenRequest] = []

    async def run() -> None:
        async with ScriptedServer([built_play(response), Play(body=signed), built_play(response)]) as server:
            async with client_of(server) as client:
                chat = client.chats.create(model="m")
                for text in ("one", "two", "three"):
                    [_ async for _ in await chat.send_message_stream(text)]
            seen.extend(server.requests)

    anyio.run(run)
    received = gemini.parse_request(seen[-1].body).request
    said = [message for message in received.messages if isinstance(message, AssistantMessage)]
    assert "".join(part.text for one in said for part in one.parts if isinstance(part, TextPart)) == "abYes"
    assert any("c2lnbmVk" in one.native for one in said)
    assert [one.parts[0] for one in received.messages if isinstance(one, UserMessage)] == [
        TextPart(text=text) for text in ("one", "two", "three")
    ]


def built_play(response: ModelResponse) -> Play:
    """A response as this codec streams it."""
    return Play(body=built(response, streamed=True))


CONTENTS = [
    types.Content(
        role="user", parts=[types.Part(text="Look."), types.Part.from_bytes(data=b"png", mime_type="image/png")]
    ),
    types.Content(
        role="model",
        parts=[
            types.Part(text="Hm.", thought=True),
            types.Part(
                function_call=types.FunctionCall(id="c1", name="read", args={"path": "a"}), thought_signature=b"signed"
            ),
        ],
    ),
    types.Content(
        role="user",
        parts=[
            types.Part(function_response=types.FunctionResponse(id="c1", name="read", response={"result": "text"})),
            types.Part(function_response=types.FunctionResponse(name="now", response={"output": {"at": 1}})),
            types.Part(text="Go on."),
        ],
    ),
]
CONFIG = types.GenerateContentConfig(
    system_instruction="Be brief.",
    temperature=0.1,
    max_output_tokens=9,
    tools=[
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name="read",
                    description="Reads.",
                    parameters=types.Schema(
                        type=types.Type.OBJECT,
                        properties={"path": types.Schema(type=types.Type.STRING, nullable=True)},
                        required=["path"],
                    ),
                ),
                types.FunctionDeclaration(name="now", parameters_json_schema={"type": "object"}),
            ]
        ),
        types.Tool(google_search=types.GoogleSearch()),
    ],
    tool_config=types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(
            mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["read"]
        )
    ),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def sent(*, streamed: bool) -> SeenRequest:
    """A full request as the client sends it."""
    requests: list[SeenRequest] = []
    answer = ModelResponse(api=Api.GEMINI, end=End.NORMAL, parts=(TextPart(text="a"),))

    async def run() -> None:
        body = built(answer, streamed=streamed)
        async with ScriptedServer([Play(body=body)]) as server, client_of(server) as client:
            if streamed:
                chunks = await client.models.generate_content_stream(model="m", contents=CONTENTS, config=CONFIG)
                [_ async for _ in chunks]
            else:
                await client.models.generate_content(model="m", contents=CONTENTS, config=CONFIG)
            requests.extend(server.requests)

    anyio.run(run)
    return requests[0]


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
def test_what_the_client_sends_is_understood(*, streamed: bool) -> None:
    """Messages, tools, choice and bounds of the client's request have their neutral form."""
    request = sent(streamed=streamed)
    # the client asks for another version of the interface; the rest of the address is the same
    assert request.path.removeprefix("/v1/") == gemini.path("m", stream=streamed).removeprefix("/v1beta/")
    assert request.headers["x-goog-api-key"] == gemini.headers("none")["x-goog-api-key"]
    received = gemini.parse_request(request.body).request
    system, look, answer, results, go_on = received.messages
    assert system == SystemMessage(text="Be brief.")
    assert isinstance(look, UserMessage)
    assert [type(part) for part in look.parts] == [TextPart, OpaquePart]
    assert isinstance(answer, AssistantMessage)
    assert answer.parts == (
        ReasoningPart(text="Hm."),
        CallPart(call_id="c1", name="read", arguments='{"path": "a"}'),
    )
    assert isinstance(results, ToolMessage)
    assert [(one.call_id, one.name, one.text, one.native == "") for one in results.results] == [
        ("c1", "read", "text", True),
        ("", "now", '{"output": {"at": 1}}', False),
    ]
    assert go_on == UserMessage(parts=(TextPart(text="Go on."),), api=Api.GEMINI)
    assert [(tool.name, tool.description) for tool in received.tools] == [("read", "Reads."), ("now", "")]
    assert received.tools[0].schema == {
        "type": "object",
        "properties": {"path": {"type": ["string", "null"]}},
        "required": ["path"],
    }
    assert (received.choice, received.max_output_tokens) == (Choice(mode="tool", name="read"), 9)
    assert json.loads(received.extra) == {"generationConfig": {"temperature": 0.1}, "tools": [{"googleSearch": {}}]}


def test_what_was_read_is_built_again_for_the_same_protocol() -> None:
    """A client's request that is read and built again says the same, in the form of the client's own types."""
    request = sent(streamed=False)
    received = gemini.parse_request(request.body)
    body = gemini.build_request(received.request, model="m", stream=False, memo=Memo())
    again = json.loads(body)
    before = json.loads(request.body)
    assert again["contents"] == before["contents"]
    assert again["generationConfig"] == before["generationConfig"]
    assert again["toolConfig"] == before["toolConfig"]
    assert again["systemInstruction"]["parts"] == before["systemInstruction"]["parts"]
    assert {"googleSearch": {}} in again["tools"]
    assert gemini.parse_request(body).request.tools == received.request.tools


def test_a_built_request_is_valid_for_the_clients_types() -> None:
    """Every field of a built request is one that the client's types know: they refuse all others."""
    request = gemini.parse_request(sent(streamed=False).body).request
    body = json.loads(gemini.build_request(request, model="m", stream=False, memo=Memo()))
    for content in body["contents"]:
        types.Content.model_validate(content)
    types.Content.model_validate(body["systemInstruction"])
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(body["toolConfig"])
    types.GenerationConfig.model_validate(body["generationConfig"])
