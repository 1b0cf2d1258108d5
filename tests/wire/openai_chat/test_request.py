"""Requests to Chat Completions: every message and tool in its form, nothing lost and nothing left out silently."""

import json
from typing import Any

import pytest

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    Message,
    ModelRequest,
    SystemMessage,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import PolicyError
from signoff.wire import openai_chat
from signoff.wire.memo import Memo
from tests.wire.openai_chat.chunks import CALL_A, DONE, START, delta, read, whole

OURS = Api.OPENAI_CHAT
PICTURE = OpaquePart(kind="image_url", native='{"type":"image_url","image_url":{"url":"data:,x"}}')
CALL = CallPart(call_id="c1", name="read", arguments='{"path": "a"}')
CUSTOM = CallPart(call_id="c2", name="shell", arguments="ls", kind=CallKind.CUSTOM)
ENTRY = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
READ = Tool(name="read", description="Reads.", parameters='{"type":"object","properties":{"n":{"const":1e2}}}')
FUNCTION = {
    "name": "read",
    "description": "Reads.",
    "parameters": {"type": "object", "properties": {"n": {"const": 100}}},
}
HELLO = UserMessage(parts=(TextPart(text="Hi é😀"),))


def body_of(*messages: Message, stream: bool = False, **fields: Any) -> Any:  # noqa: ANN401
    """The body of a request, as a value."""
    request = ModelRequest(messages=messages, **fields)
    return json.loads(openai_chat.build_request(request, model="m", stream=stream, memo=Memo()))


def test_address_and_headers() -> None:
    """One path for all models; the key is a bearer, and no key is no header."""
    assert openai_chat.path("m", stream=True) == openai_chat.path("m", stream=False) == "/chat/completions"
    assert openai_chat.headers("sk") == {"content-type": "application/json", "authorization": "Bearer sk"}
    assert openai_chat.headers("") == {"content-type": "application/json"}


def test_the_least_request() -> None:
    """Model and messages, and for a stream the wish for usage."""
    least = {"model": "m", "messages": [{"role": "user", "content": "Hi é😀"}]}
    assert body_of(HELLO) == least
    assert body_of(HELLO, stream=True) == {**least, "stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (SystemMessage(text="Be brief."), {"role": "system", "content": "Be brief."}),
        (
            SystemMessage(text="x", native='{"role":"developer","content":"x"}', api=OURS),
            {"role": "developer", "content": "x"},
        ),
        (SystemMessage(text="x", native='{"other":1}', api=Api.GEMINI), {"role": "system", "content": "x"}),
        (
            UserMessage(parts=(TextPart(text="a"), PICTURE), api=OURS),
            {"role": "user", "content": [{"type": "text", "text": "a"}, json.loads(PICTURE.native)]},
        ),
        (
            UserMessage(
                parts=(OpaquePart(kind="message", native='{"role":"user","name":"Z","content":"a"}'),), api=OURS
            ),
            {"role": "user", "name": "Z", "content": "a"},
        ),
        (AssistantMessage(parts=(TextPart(text="a"), TextPart(text="b"))), {"role": "assistant", "content": "ab"}),
        (AssistantMessage(parts=(CALL,)), {"role": "assistant", "content": None, "tool_calls": [ENTRY]}),
        (
            AssistantMessage(parts=(ReasoningPart(text="hm"), TextPart(text="a"), RefusalPart(text="no"))),
            {"role": "assistant", "content": "a", "refusal": "no"},
        ),
        (
            AssistantMessage(parts=(CUSTOM,)),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}}],
            },
        ),
        (
            AssistantMessage(parts=(CallPart(call_id="", name="f", arguments="{}"),)),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        ),
        (
            AssistantMessage(parts=(TextPart(text="a"),), native='{"role":"assistant","x":1}', api=OURS),
            {"role": "assistant", "x": 1},
        ),
        (
            AssistantMessage(parts=(TextPart(text="a"),), native='{"role":"system","content":"b"}', api=OURS),
            {"role": "assistant", "content": "a"},
        ),
        (
            AssistantMessage(parts=(TextPart(text="a"),), native="[1]", api=Api.ANTHROPIC_MESSAGES),
            {"role": "assistant", "content": "a"},
        ),
        (
            AssistantMessage(parts=(TextPart(text="a"), PICTURE), api=OURS),
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, json.loads(PICTURE.native)]},
        ),
        (
            ToolMessage(results=(ToolResult(call_id="", name="f", text="ok"),)),
            {"role": "function", "name": "f", "content": "ok"},
        ),
        (
            ToolMessage(results=(ToolResult(call_id="c", name="f", text="ok", native='{"n":1}'),), api=OURS),
            {"n": 1},
        ),
        (
            ToolMessage(results=(ToolResult(call_id="c", name="f", text="ok", is_error=True, native="{}"),)),
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ),
    ],
)
def test_each_message_has_its_form(message: Message, written: object) -> None:
    """Neutral parts are written as the protocol has them, and a native text of this protocol as it is."""
    assert body_of(HELLO, message)["messages"][1:] == [written]


def test_the_results_of_a_turn_are_messages_of_their_own() -> None:
    """Several results are several messages, and none is none."""
    results = tuple(ToolResult(call_id=mark, name="f", text=mark) for mark in "ab")
    written = [{"role": "tool", "tool_call_id": mark, "content": mark} for mark in "ab"]
    assert body_of(ToolMessage(results=results), ToolMessage(results=()), HELLO)["messages"][:2] == written


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(parts=(PICTURE,)),
        UserMessage(parts=(PICTURE,), api=Api.GEMINI),
        AssistantMessage(parts=(PICTURE,), api=Api.ANTHROPIC_MESSAGES),
        AssistantMessage(parts=(CALL, CallPart(call_id="", name="f", arguments="{}"))),
        AssistantMessage(parts=(CallPart(call_id="", name="f", arguments="x", kind=CallKind.CUSTOM),)),
        UserMessage(parts=(TextPart(text="\ud83d"),)),
    ],
)
def test_what_cannot_be_said_is_refused(message: Message) -> None:
    """Parts of another protocol, calls that no result could name, and texts that are not Unicode are refused."""
    with pytest.raises(PolicyError):
        body_of(message)


def test_a_turn_goes_back_as_it_came() -> None:
    """The message of a whole response is pasted byte for byte; that of a stream is what the provider meant."""
    message = b'{ "role":"assistant", "content":null, "reasoning_content":"hm\\u0020", "n":1.0 }'
    response_of_body = openai_chat.parse_response(whole("M").replace(b'"M"', message), Exchange())
    streamed = read(START, delta(reasoning="hm"), *CALL_A, delta("tool_calls"), DONE)
    for response in (response_of_body, streamed):
        turn = AssistantMessage(parts=response.parts, native=response.native, api=OURS)
        request = ModelRequest(messages=(HELLO, turn))
        body = openai_chat.build_request(request, model="m", stream=False, memo=Memo())
        assert b"," + response.native.encode() + b"]" in body
    assert response_of_body.native == message.decode()
    assert json.loads(streamed.native) == {
        "role": "assistant",
        "content": "",
        "reasoning": "hm",
        "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "write", "arguments": '{"path":"a"}'}}
        ],
    }


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (Choice(), None),
        (Choice(mode="none"), "none"),
        (Choice(mode="required"), "required"),
        (Choice(mode="tool", name="read"), {"type": "function", "function": {"name": "read"}}),
    ],
)
def test_tools_and_choice(choice: Choice, written: object) -> None:
    """Tools are functions with their schema, and the choice is written unless it is the usual one."""
    body = body_of(HELLO, tools=(READ, Tool(name="now")), choice=choice)
    now = {"name": "now", "parameters": {"type": "object", "properties": {}}}
    assert body["tools"] == [{"type": "function", "function": each} for each in (FUNCTION, now)]
    assert body.get("tool_choice") == written


def test_a_choice_without_tools_is_not_written() -> None:
    """Without tools there is nothing to forbid, and the provider would refuse the field."""
    assert "tool_choice" not in body_of(HELLO, choice=Choice(mode="none"))


def test_bounds_and_extra() -> None:
    """The bound has its new name unless `extra` gives the old one; other fields of `extra` are written as they are."""
    assert body_of(HELLO, max_output_tokens=7)["max_completion_tokens"] == 7
    old = body_of(HELLO, max_output_tokens=7, extra='{"max_tokens":5,"temperature":0.5,"seed":123456789012345678901}')
    assert (old["max_tokens"], old["temperature"], old["seed"]) == (5, 0.5, 123456789012345678901)
    assert "max_completion_tokens" not in old
    options = '{"stream_options":{"include_usage":false}}'
    assert body_of(HELLO, stream=True, extra=options)["stream_options"] == {"include_usage": False}
    assert "stream_options" not in body_of(HELLO, extra=options)


def test_tools_in_extra_are_written_as_they_stand() -> None:
    """A tool that is spelled out there takes the place of its neutral form; others stand behind."""
    strict = {"type": "function", "function": {**FUNCTION, "strict": True}}
    custom = {"type": "custom", "custom": {"name": "shell"}}
    extra = json.dumps({"tools": [custom, strict], "tool_choice": {"type": "custom", "custom": {"name": "shell"}}})
    body = body_of(HELLO, tools=(READ,), extra=extra)
    assert body["tools"] == [strict, custom]
    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "shell"}}


@pytest.mark.parametrize("extra", ["", "[]", "{", "null", '{"model":"x"}', '{"messages":[]}', '{"stream":true}'])
def test_an_extra_that_cannot_be_used_is_refused(extra: str) -> None:
    """It is one object, and does not name what the request itself says."""
    with pytest.raises(PolicyError, match="nothing was sent"):
        body_of(HELLO, extra=extra)


def test_a_growing_history_is_encoded_once() -> None:
    """With one memo the messages that the last request had are not written anew, and the bytes are the same."""
    memo = Memo()
    messages: tuple[Message, ...] = (HELLO,)
    for turn in range(3):
        messages = (*messages, AssistantMessage(parts=(TextPart(text=str(turn)),)), HELLO)
        request = ModelRequest(messages=messages)
        with_memo = openai_chat.build_request(request, model="m", stream=True, memo=memo)
        assert with_memo == openai_chat.build_request(request, model="m", stream=True, memo=Memo())
