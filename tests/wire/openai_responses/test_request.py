"""Requests: what the host writes, and what it understands of a client's."""

import json
from typing import Any

import pytest

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
from signoff.errors import PolicyError, WireError
from signoff.testing.replies import call
from signoff.wire import openai_responses
from signoff.wire.memo import Memo
from tests.wire.openai_responses.streams import (
    Fields,
    custom_call,
    function_call,
    message,
    reasoning,
    record_of,
    search,
    stream_of,
)

API = Api.OPENAI_RESPONSES
SCHEMA = '{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'
READ = Tool(name="read", description="Reads.", parameters=SCHEMA)
READ_TOOL = {
    "type": "function",
    "name": "read",
    "description": "Reads.",
    "parameters": json.loads(SCHEMA),
    "strict": False,
}
HELLO = UserMessage(parts=(TextPart(text="Hello"),))


def body_of(*messages: Message, **fields: Any) -> Any:  # noqa: ANN401 - any JSON
    """The body of a request, as a value."""
    request = ModelRequest(messages=messages, **fields)
    return json.loads(openai_responses.build_request(request, model="m", stream=False, memo=Memo()))


def input_of(*messages: Message) -> Any:  # noqa: ANN401 - any JSON
    """The input of a request of these messages."""
    return body_of(*messages)["input"]


def test_address_and_headers() -> None:
    """One path for all; the key is a bearer, and no key is no header."""
    assert openai_responses.path("m", stream=True) == openai_responses.path("m", stream=False) == "/responses"
    assert openai_responses.headers("k") == {"content-type": "application/json", "authorization": "Bearer k"}
    assert openai_responses.headers("") == {"content-type": "application/json"}
    assert openai_responses.API is API


def test_a_plain_request() -> None:
    """Nothing is stored at the provider, reasoning is asked for, and leading instructions stand in their field."""
    system = (SystemMessage(text="One"), SystemMessage(text="Two"))
    assert body_of(*system, HELLO) == {
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "One\n\nTwo",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
    }


def test_all_fields() -> None:
    """Tools, choice, bound and further fields stand where the provider reads them; `extra` overrides the defaults."""
    extra = '{"store":true,"temperature":0.50,"include":[]}'
    for choice, written in (
        (Choice(mode="required"), "required"),
        (Choice(mode="none"), "none"),
        (Choice(mode="tool", name="read"), {"type": "function", "name": "read"}),
    ):
        body = body_of(HELLO, tools=(READ,), choice=choice, max_output_tokens=9, extra=extra)
        assert (body["tools"], body["tool_choice"], body["max_output_tokens"]) == ([READ_TOOL], written, 9)
        assert (body["store"], body["include"], body["temperature"]) == (True, [], 0.5)
    request = ModelRequest(messages=(HELLO,), extra=extra)
    assert b'"temperature":0.50' in openai_responses.build_request(request, model="m", stream=True, memo=Memo())
    assert b'"stream":true' in openai_responses.build_request(request, model="m", stream=True, memo=Memo())


@pytest.mark.parametrize(
    "extra", ['{"model":"x"}', '{"input":[]}', '{"stream":true}', '{"max_output_tokens":3}', '{"instructions":"x"}']
)
def test_extra_cannot_say_what_the_request_says(extra: str) -> None:
    """A field of the request in `extra` too is refused, and not one of both dropped."""
    with pytest.raises(PolicyError, match="which the request itself says"):
        body_of(SystemMessage(text="s"), HELLO, max_output_tokens=5, extra=extra)


def test_every_message_in_its_place() -> None:
    """Later instructions, calls of both kinds and their results become items, in order."""
    calls = (call("read", {"a": 1}, call_id="c1"), call("patch", "***", call_id="c2", kind=CallKind.CUSTOM))
    parts = (ReasoningPart(text="secret"), TextPart(text="T"), RefusalPart(text="R"), *calls)
    results = (ToolResult(call_id="c1", name="read", text="x"), ToolResult(call_id="c2", name="patch", text="y"))
    assert input_of(
        HELLO,
        AssistantMessage(parts=parts, native="[7]", api=Api.OPENAI_CHAT),
        ToolMessage(results=results),
        SystemMessage(text="Later"),
    )[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "T", "annotations": []},
                {"type": "refusal", "refusal": "R"},
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"a":1}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "***"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "y"},
        {"role": "developer", "content": "Later"},
    ]


def test_a_turn_of_this_protocol_goes_back_as_it_came() -> None:
    """Reasoning, phases, ids and unknown fields of an answer are sent back byte for byte."""
    items = [reasoning(), {**message(number=1), "phase": "commentary", "n": 1.50}, function_call(number=2), search(3)]
    record = record_of(stream_of(items))
    turn = AssistantMessage(parts=record.parts, native=record.native, api=record.api)
    request = ModelRequest(messages=(HELLO, turn))
    body = openai_responses.build_request(request, model="m", stream=True, memo=Memo())
    assert record.native[1:-1].encode() in body
    assert json.loads(body)["input"][1:] == items


def test_reasoning_alone_of_another_protocol_is_no_item() -> None:
    """A turn of which nothing can be said in this protocol leaves no hole behind."""
    turn = AssistantMessage(parts=(ReasoningPart(text="x"),), api=Api.GEMINI)
    assert len(input_of(HELLO, turn, HELLO)) == 2


def test_what_this_protocol_cannot_say_is_refused() -> None:
    """Another protocol's opaque parts and calls without an id are refused, never left out."""
    picture = OpaquePart(kind="image", native='{"type":"image"}')
    for messages in (
        (UserMessage(parts=(picture,), api=Api.ANTHROPIC_MESSAGES),),
        (HELLO, AssistantMessage(parts=(picture,))),
        (HELLO, AssistantMessage(parts=(CallPart(call_id="", name="f", arguments="{}"),))),
        (HELLO, ToolMessage(results=(ToolResult(call_id="", name="f", text="x"),))),
    ):
        with pytest.raises(PolicyError):
            input_of(*messages)


def test_a_growing_history_is_encoded_once() -> None:
    """The memo gives the same bytes as no memo, and the messages that it knows are not written again."""
    memo = Memo()
    messages: tuple[Message, ...] = (SystemMessage(text="s"), HELLO)
    for _ in range(3):
        request = ModelRequest(messages=messages)
        with_memo = openai_responses.build_request(request, model="m", stream=False, memo=memo)
        assert with_memo == openai_responses.build_request(request, model="m", stream=False, memo=Memo())
        messages = (*messages, AssistantMessage(parts=(TextPart(text="A"),)), HELLO)


ROUND: list[Fields] = [
    {"input": "Hello"},
    {"input": [{"role": "user", "content": "Hello"}], "instructions": "Be short.", "temperature": 1},
    {
        "input": [
            {"role": "developer", "content": "Dev"},
            {"role": "system", "content": [{"type": "input_text", "text": "S"}]},
        ]
    },
    {"input": [{"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "u"}]}]},
    {"input": [{"role": "user", "content": [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": True}]}]},
    {"input": [{"role": "user", "content": "x", "novel": 1}]},
    {
        "input": [
            reasoning(),
            message(number=1),
            function_call(number=2),
            {"type": "function_call_output", "call_id": "call_2", "output": "ok"},
        ]
    },
    {
        "input": [
            custom_call(),
            {"type": "custom_tool_call_output", "call_id": "call_c0", "output": [{"type": "input_text", "text": "ok"}]},
        ]
    },
    {
        "input": [
            {"id": "msg_1"},
            {"type": "item_reference", "id": "x"},
            {"type": "compaction_trigger"},
            {"type": "novel"},
        ]
    },
    {
        "input": [
            {"role": "assistant", "content": "Bare"},
            search(),
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        ]
    },
    {"input": [], "previous_response_id": "resp_0", "store": True, "include": ["x"]},
    {"input": "x", "store": False, "max_output_tokens": 5, "tools": [READ_TOOL], "tool_choice": "required"},
    {
        "input": "x",
        "tools": [{**READ_TOOL, "strict": True}, {"type": "web_search"}],
        "tool_choice": {"type": "web_search"},
    },
    {
        "input": "x",
        "tools": [READ_TOOL, {"type": "custom", "name": "read"}, READ_TOOL],
        "tool_choice": {"type": "function", "name": "read"},
    },
    {"input": "x", "tools": [{"type": "function", "name": "1 odd", "parameters": None}], "max_output_tokens": None},
    {"input": "x", "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}},
    {"prompt": {"id": "p"}, "instructions": None},
]


@pytest.mark.parametrize("sent", ROUND)
def test_a_clients_request_is_written_again(sent: Fields) -> None:
    """What a client asked is understood and written again with the same meaning; no field is lost."""
    body = {"model": "gpt-x", "stream": True, **sent}
    received = openai_responses.parse_request(json.dumps(body).encode())
    assert (received.model, received.stream) == ("gpt-x", True)
    again = json.loads(openai_responses.build_request(received.request, model="gpt-x", stream=True, memo=Memo()))
    said = again.pop("input")
    assert again == {"store": True, "include": [], **{name: value for name, value in body.items() if name != "input"}}
    assert [plain(item) for item in said] == [plain(item) for item in as_items(sent.get("input", []))]


def as_items(given: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    """Input as items."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def plain(item: Fields) -> Fields:
    """A user's message in one form."""
    content = item.get("content")
    if item.get("role") == "user" and isinstance(content, str) and item.keys() <= {"role", "content"}:
        return {"role": "user", "content": [{"type": "input_text", "text": content}]}
    return {name: value for name, value in item.items() if item.get("role") != "user" or name != "type"}


def test_a_clients_conversation_is_understood() -> None:
    """Each item of a client's input becomes the message that it is; neighbours of one side are one turn."""
    items = [
        {"role": "developer", "content": "Dev"},
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}, {"type": "input_image", "image_url": "u"}]},
        reasoning(),
        message("A", number=1),
        function_call(number=2),
        custom_call(number=3),
        {"type": "function_call_output", "call_id": "call_2", "output": "ok"},
        {"type": "custom_tool_call_output", "call_id": "call_c3", "output": [{"type": "input_text", "text": "fine"}]},
        {"type": "item_reference", "id": "x"},
    ]
    texts = [json.dumps(item) for item in items]
    body = f'{{"instructions":"Be.","input":[{",".join(texts)}]}}'
    assert openai_responses.parse_request(body.encode()).request.messages == (
        SystemMessage(text="Be."),
        SystemMessage(text="Dev", native=texts[0], api=API),
        UserMessage(
            parts=(
                TextPart(text="Hi"),
                OpaquePart(kind="input_image", native='{"type": "input_image", "image_url": "u"}'),
            ),
            api=API,
        ),
        AssistantMessage(
            parts=(
                ReasoningPart(text="Thinking"),
                TextPart(text="A"),
                CallPart(call_id="call_2", name="read", arguments='{"path":"a"}'),
                CallPart(call_id="call_c3", name="patch", arguments="*** free", kind=CallKind.CUSTOM),
            ),
            native=f"[{','.join(texts[2:6])}]",
            api=API,
        ),
        ToolMessage(
            results=(
                ToolResult(call_id="call_2", name="", text="ok", native=texts[6]),
                ToolResult(call_id="call_c3", name="", text="fine", native=texts[7]),
            ),
            api=API,
        ),
        UserMessage(parts=(OpaquePart(kind="item_reference", native=texts[8]),), api=API),
    )


def test_a_clients_tools_are_understood() -> None:
    """Functions are tools, also strict ones; a list that says more than they do stays in `extra` as it came."""
    tools = [{**READ_TOOL, "strict": True}, {"type": "web_search"}, {**READ_TOOL, "name": "write"}]
    sent = {"input": "x", "tools": tools, "tool_choice": {"type": "function", "name": "read"}, "max_output_tokens": 7}
    request = openai_responses.parse_request(json.dumps(sent).encode()).request
    assert [tool.name for tool in request.tools] == ["read", "write"]
    assert request.tools[0].schema == json.loads(SCHEMA)
    assert (request.choice, request.max_output_tokens) == (Choice(mode="tool", name="read"), 7)
    assert json.loads(request.extra) == {"store": True, "include": [], "tools": tools}


def test_our_own_request_is_understood() -> None:
    """A request that we write is received as it was, our defaults included."""
    request = ModelRequest(
        messages=(SystemMessage(text="s"), UserMessage(parts=(TextPart(text="a"), TextPart(text="b")), api=API)),
        tools=(READ,),
        choice=Choice(mode="required"),
        max_output_tokens=3,
        extra='{"temperature":0.5}',
    )
    body = openai_responses.build_request(request, model="m", stream=False, memo=Memo())
    received = openai_responses.parse_request(body)
    assert (received.request, received.model, received.stream) == (request, "m", False)


@pytest.mark.parametrize(
    "body", [b"", b"<", b"[]", b'"x"', b'{"input":7}', b'{"input":[7]}', b'{"input":"x","tools":{}}', b"\xff"]
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    """A body that cannot be read as a request raises `WireError`, and nothing else."""
    with pytest.raises(WireError, match="was not read"):
        openai_responses.parse_request(body)
