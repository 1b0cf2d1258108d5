"""What a client sends: read in neutral words, and written again as it came."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.parts import Api, CallPart, OpaquePart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    Message,
    SystemMessage,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import WireError
from signoff.wire import openai_chat
from signoff.wire.codec import Received
from signoff.wire.memo import Memo

OURS = Api.OPENAI_CHAT
HELLO = {"role": "user", "content": "Hi"}
ENTRY = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:,x"}}
FUNCTION = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}


def received(*messages: object, **fields: object) -> Received:
    """A client's request, read."""
    body = {"model": "m", "messages": list(messages) or [HELLO], **fields}
    return openai_chat.parse_request(json.dumps(body).encode())


def again(one: Received) -> Any:  # noqa: ANN401
    """The body that is sent on, as a value."""
    return json.loads(openai_chat.build_request(one.request, model=one.model, stream=one.stream, memo=Memo()))


MESSAGES: list[tuple[object, Message]] = [
    ({"role": "system", "content": "x"}, SystemMessage(text="x", api=OURS)),
    (HELLO, UserMessage(parts=(TextPart(text="Hi"),), api=OURS)),
    (
        {"role": "user", "content": [{"type": "text", "text": "a"}, PICTURE]},
        UserMessage(
            parts=(TextPart(text="a"), OpaquePart(kind="image_url", native=json.dumps(PICTURE, separators=(",", ":")))),
            api=OURS,
        ),
    ),
]


@pytest.mark.parametrize(("sent", "message"), MESSAGES)
def test_a_plain_message_is_neutral(sent: object, message: Message) -> None:
    """What neutral words say wholly has no native text beside them."""
    assert received(sent).request.messages == (message,)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"role": "developer", "content": "x"}, "x"),
        ({"role": "system", "content": "x", "name": "Z"}, "x"),
        ({"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
    ],
)
def test_instructions_with_more_to_them_keep_their_native_text(sent: dict[str, object], text: str) -> None:
    """The text is read, and the message goes on as it came."""
    message = received(sent).request.messages[0]
    assert isinstance(message, SystemMessage)
    assert (message.text, json.loads(message.native)) == (text, sent)


def test_a_turn_of_the_assistant() -> None:
    """Texts, refusals and calls are read, and the exact message is kept."""
    sent = '{"role":"assistant","content":"a", "tool_calls":[' + json.dumps(ENTRY) + '], "x":1.0}'
    body = '{"model":"m","messages":[' + sent + "]}"
    message = openai_chat.parse_request(body.encode()).request.messages[0]
    assert isinstance(message, AssistantMessage)
    assert message.parts == (TextPart(text="a"), CallPart(call_id="c1", name="read", arguments='{"path": "a"}'))
    assert message.native == sent
    listed = received(
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]}
    )
    assert isinstance(listed.request.messages[0], AssistantMessage)
    assert listed.request.messages[0].parts == (TextPart(text="a"), RefusalPart(text="b"))


def test_results_of_one_turn_are_one_message() -> None:
    """Results that follow each other belong together; their names are those of the calls."""
    turn = {"role": "assistant", "content": None, "tool_calls": [ENTRY, {**ENTRY, "id": "c2"}]}
    results = [{"role": "tool", "tool_call_id": mark, "content": "ok"} for mark in ("c1", "c2", "c9")]
    parted = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]}
    old = {"role": "function", "name": "f", "content": "ok"}
    messages = received(turn, *results, HELLO, parted, old).request.messages
    assert messages[1] == ToolMessage(
        results=(
            ToolResult(call_id="c1", name="read", text="ok"),
            ToolResult(call_id="c2", name="read", text="ok"),
            ToolResult(call_id="c9", name="", text="ok"),
        ),
        api=OURS,
    )
    last = messages[3]
    assert isinstance(last, ToolMessage)
    assert [(each.call_id, each.name, each.text) for each in last.results] == [("c1", "read", "ok"), ("", "f", "ok")]
    assert [json.loads(each.native) for each in last.results] == [parted, old]


def test_tools_and_bounds() -> None:
    """Functions are tools, the bound is read under either name, and the rest is kept."""
    one = received(
        tools=[{"type": "function", "function": FUNCTION}], max_tokens=9, temperature=0.5, stream=True, model="m-2"
    )
    assert (one.model, one.stream, one.request.max_output_tokens) == ("m-2", True, 9)
    assert [(tool.name, tool.description, tool.schema) for tool in one.request.tools] == [
        ("read", "Reads.", {"type": "object"})
    ]
    assert json.loads(one.request.extra) == {"max_tokens": 9, "temperature": 0.5}
    assert received(max_completion_tokens=8, max_tokens=9).request.max_output_tokens == 8


@pytest.mark.parametrize(
    ("asked", "choice"),
    [
        ("auto", Choice()),
        ("none", Choice(mode="none")),
        ("required", Choice(mode="required")),
        ({"type": "function", "function": {"name": "read"}}, Choice(mode="tool", name="read")),
        ({"type": "custom", "custom": {"name": "shell"}}, Choice()),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, Choice()),
        ("any", Choice()),
        (7, Choice()),
        ([], Choice()),
    ],
)
def test_the_choice(asked: object, choice: Choice) -> None:
    """A choice with a neutral form is read, and any is sent on as it came."""
    one = received(tools=[{"type": "function", "function": FUNCTION}], tool_choice=asked)
    assert one.request.choice == choice
    assert again(one).get("tool_choice", "auto") == asked


SENT_ON: list[dict[str, object]] = [
    {"messages": [{"role": "developer", "content": "x"}, {"role": "user", "name": "Z", "content": "a"}]},
    {
        "messages": [
            {"role": "user", "content": [PICTURE, {"type": "text", "text": "a", "prompt_cache_breakpoint": {}}]}
        ]
    },
    {"messages": [{"role": "user", "content": []}, {"role": "user", "content": None}]},
    {
        "tools": [
            {"type": "function", "function": {**FUNCTION, "strict": True}},
            {"type": "custom", "custom": {"name": "s"}},
        ]
    },
    {"tools": [{"type": "function", "function": {"name": "now"}}]},
    {"tools": [{"type": "function", "function": {"name": "1st.odd", "parameters": {"type": "object"}}}]},
    {"tools": [7, {"type": "web"}]},
    {"functions": [FUNCTION], "function_call": {"name": "read"}},
    {"max_tokens": 9},
    {"max_completion_tokens": 9},
    {"stream_options": {"include_obfuscation": False}, "stream": True},
    {"n": 2, "response_format": {"type": "json_object"}, "metadata": {"a": "b"}, "seed": None},
]


@pytest.mark.parametrize("fields", SENT_ON)
def test_a_request_is_sent_on_as_it_came(fields: dict[str, object]) -> None:
    """What has no neutral form, or has more to it, is written again as the client wrote it."""
    one = received(**fields)
    assert again(one) == {"model": "m", "messages": [HELLO], **fields}


def test_old_functions_are_tools() -> None:
    """The old pair is understood as tools too."""
    assert [tool.name for tool in received(functions=[FUNCTION]).request.tools] == ["read"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"model":"m"}',
        b'{"model":"m","messages":{}}',
        b'{"messages":[]}',
        b'{"model":7,"messages":[]}',
        b'{"model":"m","messages":[7]}',
        b'{"model":"m","messages":[{"role":"bot"}]}',
        b'{"model":"m","messages":[{"role":["user"]}]}',
        b'{"model":"m","messages":[{}]}',
        b'{"model":"m","messages":[],"max_tokens":-1}',
        b'{"model":"m","messages":[],"max_tokens":0}',
        b'{"model":"m","messages":[],"max_tokens":"9"}',
        b'{"model":"m","messages":"\xff"}',
    ],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    """A typed error says so, and nothing is guessed."""
    with pytest.raises(WireError, match="Nothing was sent on"):
        openai_chat.parse_request(body)


NAMES = st.sampled_from(
    [
        "model",
        "messages",
        "role",
        "content",
        "tools",
        "tool_calls",
        "function",
        "name",
        "id",
        "type",
        "text",
        "tool_choice",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["user", "assistant", "tool", "function"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=30,
)


@given(st.dictionaries(NAMES, VALUES), st.lists(VALUES))
def test_any_request_is_read_or_refused(fields: dict[str, object], messages: list[object]) -> None:
    """Whatever stands in a body: it is read, and can be written again, or it is refused with a typed error."""
    body = json.dumps({**fields, "model": "m", "messages": messages}).encode()
    try:
        one = openai_chat.parse_request(body)
    except WireError:
        return
    assert len(again(one)["messages"]) == len(messages)
