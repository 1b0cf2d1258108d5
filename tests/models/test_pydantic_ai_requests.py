"""What a provider is asked by way of pydantic-ai, and what is refused before anything is sent."""

import json

import pytest

from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, ReasoningPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    ModelRequest,
    SystemMessage,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.core.model.response import End
from signoff.errors import PolicyError
from signoff.models import open_model, prompt
from signoff.testing import Play, ScriptedServer, call, reply
from tests.models.asking import run
from tests.models.providers import CHAT, CLAUDE, GEMINI, Point

WEATHER = Tool(name="weather", description="Looks out.", parameters='{"type":"object","properties":{"at":{}}}')


def test_a_request_is_said_in_the_providers_words(at: Point) -> None:
    """Messages, tools, bounds and further fields arrive in the provider's own request."""
    request = ModelRequest(
        messages=(
            SystemMessage(text="Be short."),
            UserMessage(parts=(TextPart(text="How is it"), TextPart(text="there?"))),
            AssistantMessage(
                parts=(
                    ReasoningPart(text="of another"),
                    TextPart(text="I look."),
                    CallPart(call_id="call_7", name="weather", arguments='{"at": "sea"}'),
                ),
            ),
            ToolMessage(results=(ToolResult(call_id="call_7", name="weather", text="Fog.", is_error=False),)),
        ),
        tools=(WEATHER,),
        choice=Choice(mode="tool", name="weather"),
        max_output_tokens=77,
        extra='{"seed": 4}',
    )

    async def ask() -> None:
        async with ScriptedServer([reply("Fog.")]) as server:
            at(server)
            async with open_model(CHAT) as model:
                assert (await model.respond(request)).complete
            body = json.loads(server.requests[0].body)
            assert [one["role"] for one in body["messages"]] == ["system", "user", "assistant", "tool"]
            assert json.loads(body["messages"][2]["tool_calls"][0]["function"]["arguments"]) == {"at": "sea"}
            assert "of another" not in json.dumps(body)
            assert body["messages"][3] == {"role": "tool", "tool_call_id": "call_7", "content": "Fog."}
            assert body["tools"][0]["function"]["name"] == "weather"
            assert body["tool_choice"] == "required"
            assert (body["max_completion_tokens"], body["seed"]) == (77, 4)

    run(ask)


def test_a_turn_goes_back_in_the_form_in_which_it_came(at: Point) -> None:
    """The signature of Anthropic's reasoning, which the neutral parts do not hold, is sent back."""
    signed = (
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
        b'"model":"c","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,'
        b'"output_tokens":1}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
        b'{"type":"thinking","thinking":"","signature":""}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        b'{"type":"thinking_delta","thinking":"Hm."}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        b'{"type":"signature_delta","signature":"c2lnbmVk"}}\n\n'
        b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":1,"content_block":'
        b'{"type":"text","text":"Yes."}}\n\n'
        b'event: content_block_stop\ndata: {"type":"content_block_stop","index":1}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
        b'"usage":{"output_tokens":3}}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )

    async def ask() -> None:
        async with ScriptedServer([Play(body=signed, content_type="text/event-stream"), reply("Again.")]) as server:
            at(server)
            async with open_model(CLAUDE) as model:
                first = await model.respond("Well?")
                assert (first.end, first.reasoning) == (End.NORMAL, "Hm.")
                answer = AssistantMessage(parts=first.parts, native=first.native, api=first.api)
                asked = (*prompt("Well?").messages, answer, *prompt("And?").messages)
                assert (await model.respond(ModelRequest(messages=asked))).complete
            turn = json.loads(server.requests[1].body)["messages"][1]
            assert [block.get("signature") for block in turn["content"]] == ["c2lnbmVk", None]

    run(ask)


@pytest.mark.parametrize(
    "request_",
    [
        ModelRequest(messages=(UserMessage(parts=(OpaquePart(kind="image", native="{}"),)),)),
        ModelRequest(messages=(AssistantMessage(parts=(OpaquePart(kind="image", native="{}"),)),)),
        ModelRequest(messages=(AssistantMessage(parts=(), native="[]", api=Api.OTHER),)),
        ModelRequest(messages=(AssistantMessage(parts=(), native="{", api=Api.OTHER),)),
        ModelRequest(messages=(AssistantMessage(parts=(call("f", "x", kind=CallKind.CUSTOM),)),)),
        ModelRequest(messages=prompt("Hi.").messages, extra="[1]"),
        ModelRequest(messages=prompt("Hi.").messages, extra="{"),
    ],
)
def test_what_cannot_be_said_is_refused(request_: ModelRequest, at: Point) -> None:
    """Nothing is left out in silence, and nothing is sent."""

    async def ask() -> None:
        async with ScriptedServer() as server:
            at(server)
            async with open_model(CHAT) as model:
                with pytest.raises(PolicyError):
                    await model.respond(request_)
            assert server.requests == []

    run(ask)


def test_fields_that_a_client_would_drop_are_refused(at: Point) -> None:
    """Google's client takes no further fields, so that a request with some is not sent without them."""

    async def ask() -> None:
        async with ScriptedServer() as server:
            at(server)
            async with open_model(GEMINI) as model:
                with pytest.raises(PolicyError, match="extra"):
                    await model.respond(ModelRequest(messages=prompt("Hi.").messages, extra='{"seed": 4}'))
            assert server.requests == []

    run(ask)
