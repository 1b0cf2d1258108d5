"""Reading a client's request.

Nothing of it is lost: what the neutral request cannot say is kept as the client wrote it, in native texts and in
`extra`, so that `build_request` writes a request that means the same.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from signoff.core.model.parts import OpaquePart, TextPart, UserPart
from signoff.core.model.request import (
    NO_PARAMETERS,
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
from signoff.wire.codec import Received
from signoff.wire.json_text import JSON, count_of, list_of, load, object_of, text_of
from signoff.wire.openai_responses.items import Item, array_of, parts_of
from signoff.wire.openai_responses.request import DEFAULTS, tool_text
from signoff.wire.openai_responses.words import API
from signoff.wire.slices import elements_of, members_of, object_text

_ABSENT_MEANS: Final = {"store": "true", "include": "[]"}
"""What the provider takes where the client says nothing, and `build_request` would say something else."""
_ITS_OWN: Final = frozenset({"compaction", "mcp_approval_request", "mcp_list_tools", "program", "reasoning"})
"""Items of the model that are not named `*_call`."""
_PLAIN_MESSAGE: Final = frozenset({"type", "role", "content", "id", "status"})
_TOOL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def parse_request(body: bytes) -> Received:
    """Read a client's request body; fields without a neutral form are kept in `extra`. Raises `WireError`."""
    value = load(body)
    if not isinstance(value, dict):
        raise WireError("the body is no JSON object; the request was not read. Send one object as the Responses API.")
    fields = members_of(body.decode())
    extra = {**_ABSENT_MEANS, **fields}
    messages = _messages(value, extra)
    tools = _tools(value, extra)
    choice = _choice(value, extra)
    cap = count_of(value.get("max_output_tokens")) or None
    if cap is not None:
        del extra["max_output_tokens"]
    for name in ("model", "stream"):
        extra.pop(name, None)
    request = ModelRequest(
        messages=messages,
        tools=tools,
        choice=choice,
        max_output_tokens=cap,
        extra=object_text({name: text for name, text in extra.items() if DEFAULTS.get(name) != text}),
    )
    return Received(request=request, model=text_of(value.get("model")), stream=value.get("stream") is True)


def _messages(value: dict[str, JSON], extra: dict[str, str]) -> tuple[Message, ...]:
    messages: list[Message] = []
    if isinstance(value.get("instructions"), str):
        messages.append(SystemMessage(text=text_of(value["instructions"])))
        del extra["instructions"]
    given, text = value.get("input"), extra.pop("input", "[]")
    if isinstance(given, str):
        messages.append(UserMessage(parts=(TextPart(text=text_of(given)),)))
    elif isinstance(given, list):
        messages.extend(_conversation(elements_of(text)))
    elif given is not None:
        raise WireError("`input` is neither text nor a list of items; the request was not read. Send one of them.")
    return tuple(messages)


# ── Items ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _conversation(texts: Iterable[str]) -> Iterable[Message]:
    """Items as messages: neighbours of the model make one turn, neighbours that answer it one message of results."""
    for side, group in groupby(map(_item, texts), _side):
        items = tuple(group)
        match side:
            case "assistant":
                yield AssistantMessage(parts=parts_of(items, set()), native=array_of(items), api=API)
            case "tool":
                yield ToolMessage(results=tuple(_result(item) for item in items), api=API)
            case "system":
                yield from (SystemMessage(text=_text(item), native=item.text, api=API) for item in items)
            case _:
                yield from (_user(item) for item in items)


def _item(text: str) -> Item:
    value = load(text)
    if not isinstance(value, dict):
        raise WireError("an element of `input` is no object; the request was not read. Send items.")
    kind = value.get("type") or ("message" if "role" in value else "item_reference" if "id" in value else "")
    return Item({**value, "type": kind}, text)


def _side(item: Item) -> str:
    """Whose an item is: what the model said, a result of its calls, an instruction, or all else."""
    if item.kind == "message":
        role = item.value.get("role")
        return "assistant" if role == "assistant" else "system" if role in {"system", "developer"} else "user"
    if item.kind.endswith("_output") or item.kind == "mcp_approval_response":
        return "tool"
    return "assistant" if item.kind.endswith("_call") or item.kind in _ITS_OWN else "user"


def _user(item: Item) -> UserMessage:
    """A message of the user, or an item that belongs to nobody, whole."""
    content = item.value.get("content")
    if item.kind != "message" or item.value.keys() - _PLAIN_MESSAGE or item.value.get("role") != "user":
        return UserMessage(parts=(OpaquePart(kind=item.kind, native=item.text),), api=API)
    if isinstance(content, str):
        return UserMessage(parts=(TextPart(text=text_of(content)),), api=API)
    texts = elements_of(members_of(item.text).get("content", "[]"))
    return UserMessage(parts=tuple(_user_part(text) for text in texts), api=API)


def _user_part(text: str) -> UserPart:
    part = object_of(load(text))
    if part.keys() == {"type", "text"} and part["type"] == "input_text" and isinstance(part["text"], str):
        return TextPart(text=text_of(part["text"]))
    return OpaquePart(kind=text_of(part.get("type")), native=text)


def _result(item: Item) -> ToolResult:
    output = item.value.get("output")
    return ToolResult(
        call_id=item.call_id or text_of(item.value.get("approval_request_id")),
        name=text_of(item.value.get("name")),
        text=text_of(output) if isinstance(output, str) else _text_in(output),
        native=item.text,
    )


def _text(item: Item) -> str:
    content = item.value.get("content")
    return text_of(content) if isinstance(content, str) else _text_in(content)


def _text_in(content: JSON) -> str:
    return "".join(text_of(object_of(part).get("text")) for part in list_of(content))


# ── Tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tools(value: dict[str, JSON], extra: dict[str, str]) -> tuple[Tool, ...]:
    """The functions among the tools; the whole list stays in `extra` if it says more than they do."""
    given, text = value.get("tools"), extra.pop("tools", "[]")
    if given is None:
        return ()
    if not isinstance(given, list):
        raise WireError("`tools` is no list; the request was not read. Send a list of tools.")
    tools: dict[str, Tool] = {}
    for each in elements_of(text):
        tool = _tool(object_of(load(each)), each)
        if tool is not None:
            tools.setdefault(tool.name, tool)
    if [load(tool_text(tool)) for tool in tools.values()] != given:
        extra["tools"] = text
    return tuple(tools.values())


def _tool(fields: dict[str, JSON], text: str) -> Tool | None:
    """A function tool in neutral words; None for what is none, or has a name or schema that is not usable."""
    name, description = fields.get("name"), fields.get("description")
    if fields.get("type") != "function" or not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        return None
    parameters = members_of(text).get("parameters", "null")
    try:
        return Tool(
            name=name,
            description=text_of(description),
            parameters=NO_PARAMETERS if fields.get("parameters") is None else parameters,
        )
    except PolicyError:
        return None


def _choice(value: dict[str, JSON], extra: dict[str, str]) -> Choice:
    """The tool choice; a form that `Choice` cannot say stays in `extra`."""
    match value.get("tool_choice"):
        case None:
            choice = Choice()
        case "auto" | "none" | "required" as mode:
            choice = Choice(mode=mode)
        case {"type": "function", "name": str(name), **rest} if name and not rest:
            choice = Choice(mode="tool", name=name)
        case _:
            return Choice()
    extra.pop("tool_choice", None)
    return choice
