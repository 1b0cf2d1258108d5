"""What clients send is understood, and written again it says the same."""

from typing import Any

import orjson
import pytest

from signoff.core.model.parts import Api, CallPart, OpaquePart, ReasoningPart, TextPart
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
from signoff.errors import WireError
from signoff.wire import anthropic_messages
from signoff.wire.memo import Memo

OURS = Api.ANTHROPIC_MESSAGES
HI = {"role": "user", "content": "Hi"}


def read(**fields: Any) -> ModelRequest:  # noqa: ANN401 - fields of a body
    """The request in a body."""
    body = {"model": "claude-1", "max_tokens": 100, "messages": [HI], **fields}
    return anthropic_messages.parse_request(orjson.dumps(body)).request


def again(request: ModelRequest) -> dict[str, Any]:
    """A request, written again."""
    value: dict[str, Any] = orjson.loads(
        anthropic_messages.build_request(request, model="claude-1", stream=False, memo=Memo())
    )
    return value


def test_the_smallest_request() -> None:
    """Model, bound, stream and a text are read."""
    body = {"model": "claude-1", "max_tokens": 100, "messages": [HI], "stream": True}
    received = anthropic_messages.parse_request(orjson.dumps(body))
    assert (received.model, received.stream) == ("claude-1", True)
    assert received.request == ModelRequest(
        messages=(UserMessage(parts=(TextPart(text="Hi"),), api=OURS),), max_output_tokens=100
    )


def test_instructions_come_as_text_or_blocks() -> None:
    """A text is one message, and so is each block; a cache mark is kept."""
    assert read(system="Be brief.").messages[0] == SystemMessage(text="Be brief.", api=OURS)
    marked = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    request = read(system=[{"type": "text", "text": "Be brief."}, marked])
    assert request.messages[:2] == (
        SystemMessage(text="Be brief.", api=OURS),
        SystemMessage(text="Be kind.", native=orjson.dumps(marked).decode(), api=OURS),
    )
    assert again(request)["system"] == [{"type": "text", "text": "Be brief."}, marked]


def test_instructions_among_the_messages_stay_there() -> None:
    """A client that sends them speaks a version that allows it: they are sent on as they came, first ones too."""
    said = {"role": "system", "content": [{"type": "text", "text": "Be brief."}], "clear_at": 1}
    for messages in ([HI, said, HI], [said, HI]):
        request = read(messages=messages)
        assert SystemMessage(text="Be brief.", native=orjson.dumps(said).decode(), api=OURS) in request.messages
        sent = again(request)
        assert "system" not in sent
        assert sent["messages"].index(said) == messages.index(said)


def test_blocks_of_a_user() -> None:
    """Plain texts are texts; pictures, documents and texts that say more are kept whole."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": "Look."}, picture, marked]
    request = read(messages=[{"role": "user", "content": content}])
    assert request.messages == (
        UserMessage(
            parts=(
                TextPart(text="Look."),
                OpaquePart(kind="image", native=orjson.dumps(picture).decode()),
                OpaquePart(kind="text", native=orjson.dumps(marked).decode()),
            ),
            api=OURS,
        ),
    )
    assert again(request)["messages"] == [{"role": "user", "content": content}]


def test_a_turn_with_its_results() -> None:
    """An assistant's blocks are parts and native text; results are their own message, by the name of their call."""
    turn = [
        {"type": "thinking", "thinking": "hm", "signature": "s=="},
        {"type": "text", "text": "I write."},
        {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {"n": 1.0}},
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
        {
            "type": "tool_result",
            "tool_use_id": "t_9",
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
        },
        {"type": "text", "text": "Go on."},
    ]
    request = read(messages=[HI, {"role": "assistant", "content": turn}, {"role": "user", "content": answers}])
    assert request.messages[1:] == (
        AssistantMessage(
            parts=(
                ReasoningPart(text="hm"),
                TextPart(text="I write."),
                CallPart(call_id="toolu_1", name="write", arguments='{"n":1.0}'),
            ),
            native=orjson.dumps(turn).decode(),
            api=OURS,
        ),
        ToolMessage(
            results=(
                ToolResult(call_id="toolu_1", name="write", text="ok"),
                ToolResult(call_id="t_9", name="", text="no", is_error=True),
            ),
            api=OURS,
        ),
        UserMessage(parts=(TextPart(text="Go on."),), api=OURS),
    )
    assert again(request)["messages"][1] == {"role": "assistant", "content": turn}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "image", "source": {}}, {"type": "text", "text": "b"}]}, "b"),
        ({"content": "a", "cache_control": {"type": "ephemeral"}}, "a"),
        ({"content": [{"type": "text", "text": "a", "later": 1}]}, "a"),
    ],
)
def test_a_result_that_says_more_is_kept_whole(result: dict[str, Any], text: str) -> None:
    """Its text is read, and what else it says is sent on as it came."""
    whole = {"type": "tool_result", "tool_use_id": "toolu_1", **result}
    request = read(messages=[{"role": "user", "content": [whole]}])
    (message,) = request.messages
    assert isinstance(message, ToolMessage)
    assert (message.results[0].text, message.results[0].native) == (text, orjson.dumps(whole).decode())
    assert again(request)["messages"][0]["content"] == [whole]


def test_a_result_without_content_is_empty() -> None:
    """A tool may say nothing."""
    request = read(messages=[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}])
    assert request.messages == (ToolMessage(results=(ToolResult(call_id="t", name="", text=""),), api=OURS),)


def test_plain_tools_and_choices_are_neutral() -> None:
    """Tools of the client and each choice have neutral forms, and nothing of them is left in `extra`."""
    tool = {"name": "write", "description": "Writes.", "input_schema": {"type": "object", "minProperties": 1.0}}
    request = read(tools=[tool], tool_choice={"type": "any"})
    schema = '{"type":"object","minProperties":1.0}'
    assert request.tools == (Tool(name="write", description="Writes.", parameters=schema),)
    assert (request.choice, request.extra) == (Choice(mode="required"), "{}")
    for said, choice in [
        ({"type": "auto"}, Choice()),
        ({"type": "none"}, Choice(mode="none")),
        ({"type": "tool", "name": "write"}, Choice(mode="tool", name="write")),
    ]:
        assert read(tools=[tool], tool_choice=said).choice == choice


def test_tools_that_say_more_are_spelled_out() -> None:
    """A cache mark, a server's tool or a name that others refuse is sent on, in its place, beside the neutral form."""
    tools = [
        {"type": "web_search_20260209", "name": "web_search", "max_uses": 3},
        {"name": "write", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"name": "9" * 100, "input_schema": {"type": "object"}},
    ]
    choice = {"type": "tool", "name": "write", "disable_parallel_tool_use": True}
    request = read(tools=tools, tool_choice=choice)
    assert [tool.name for tool in request.tools] == ["write"]
    assert (again(request)["tools"], again(request)["tool_choice"]) == (tools, choice)


def test_an_unknown_choice_is_sent_on() -> None:
    """A choice that nobody here knows is kept as it came."""
    tool = {"name": "write", "input_schema": {"type": "object"}}
    request = read(tools=[tool], tool_choice={"type": "maybe", "x": 1})
    assert (request.choice, again(request)["tool_choice"]) == (Choice(), {"type": "maybe", "x": 1})


def test_other_fields_are_kept_as_they_came() -> None:
    """Everything that has no neutral form is in `extra`, digits and spaces included, and sent on."""
    body = b'{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"Hi"}],"top_p":1.0,"later":{ "n":1 }}'
    request = anthropic_messages.parse_request(body).request
    assert request.extra == '{"top_p":1.0,"later":{ "n":1 },"max_tokens":0}'
    assert request.max_output_tokens is None
    assert again(request)["max_tokens"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"model":"m"}',
        b'{"messages":[]}',
        b'{"model":"m","messages":{}}',
        b'{"model":"m","messages":[1]}',
        b'{"model":"m","messages":[{"role":"user"}]}',
        b'{"model":"m","messages":[{"role":"tool","content":"x"}]}',
        b'{"model":"m","messages":[{"content":"x"}]}',
        b'{"model":"m","messages":[],"max_tokens":"many"}',
        b'{"model":"m","messages":[],"max_tokens":-1}',
        b'{"model":"m","messages":[],"system":5}',
        b'{"model":"m","messages":[],"system":[{"type":"image"}]}',
        b'{"model":"m","messages":' + b"[" * 10_000,
    ],
)
def test_a_body_of_another_form_is_refused(body: bytes) -> None:
    """It is said what is wrong, and nothing is sent on."""
    with pytest.raises(WireError, match="Nothing was sent on"):
        anthropic_messages.parse_request(body)
