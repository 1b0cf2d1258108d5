"""Reads a client's request body. What has no neutral form stays as it came: a part's native text, or `extra`."""

from collections.abc import Iterator, Mapping
from typing import Final

from signoff.core.model.parts import CallPart, OpaquePart, TextPart, UserPart
from signoff.core.model.request import (
    AssistantMessage,
    Message,
    ModelRequest,
    SystemMessage,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import PolicyError, WireError
from signoff.wire.anthropic_messages.blocks import kind_of, part_of, parts_in, text_in
from signoff.wire.anthropic_messages.offers import read_choice, read_tools
from signoff.wire.anthropic_messages.words import API
from signoff.wire.codec import Received
from signoff.wire.json_text import load
from signoff.wire.slices import elements_of, members_of, object_text

_OURS: Final = frozenset({"model", "messages", "system", "stream", "max_tokens", "tools", "tool_choice"})
_PLAIN_TEXT: Final = {"type", "text"}
_PLAIN_RESULT: Final = {"type", "tool_use_id", "content", "is_error"}


def parse_request(body: bytes) -> Received:
    """Read a client's request body; fields without a neutral form are kept in `extra`. Raises `WireError`."""
    value = load(body)
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise _unread("the body is no JSON object with a list of messages")
    if not isinstance(value.get("model"), str):
        raise _unread("it names no model")
    members = members_of(body.decode())
    extra = {name: text for name, text in members.items() if name not in _OURS}
    tools, spelled = read_tools(members.get("tools", "[]"))
    choice, added = read_choice(members.get("tool_choice", "{}"))
    most = value.get("max_tokens")
    if most is not None and type(most) is not int:
        raise _unread("max_tokens is no count of tokens")
    extra.update({"tools": spelled} if spelled else {})
    extra.update({"tool_choice": added} if added else {})
    extra.update({"max_tokens": "0"} if most == 0 else {})  # only warms the provider's cache
    try:
        request = ModelRequest(
            messages=(*_system(members.get("system", "null")), *_messages(elements_of(members["messages"]))),
            tools=tuple(tools),
            choice=choice,
            max_output_tokens=most or None,
            extra=object_text(extra),
        )
    except PolicyError as error:
        raise _unread(str(error)) from None
    return Received(request=request, model=text_in(members, "model"), stream=value.get("stream") is True)


def _unread(why: str) -> WireError:
    return WireError(f"The request is not one of the Messages API: {why}. Nothing was sent on. Correct the request.")


def _system(text: str) -> Iterator[SystemMessage]:
    """The instructions: one message a block."""
    value = load(text)
    if value is None:
        return
    if isinstance(value, str):
        yield SystemMessage(text=text_in({"system": text}, "system"), api=API)
        return
    if not isinstance(value, list):
        raise _unread("system is neither a text nor a list of blocks")
    for block in elements_of(text):
        members = members_of(block)
        if kind_of(members) != "text":
            raise _unread("a block of system is no text")
        native = "" if members.keys() <= _PLAIN_TEXT else block
        yield SystemMessage(text=text_in(members, "text"), native=native, api=API)


def _messages(texts: list[str]) -> Iterator[Message]:
    """The messages; a user's message that holds results is their message, and what else it says is another."""
    names: dict[str, str] = {}
    for place, text in enumerate(texts):
        members = members_of(text)
        content = members.get("content", "null")
        if not isinstance(load(content), str | list):
            raise _unread(f"message {place} has a content that is neither a text nor a list of blocks")
        match text_in(members, "role"):
            case "user":
                yield from _user(content, names)
            case "assistant":
                message = _assistant(content)
                names.update((part.call_id, part.name) for part in message.parts if isinstance(part, CallPart))
                yield message
            case "system":
                yield SystemMessage(text=_text_of(content), native=text, api=API)
            case role:
                raise _unread(f"message {place} has the role {role[:40]!r}")


def _assistant(content: str) -> AssistantMessage:
    blocks = elements_of(content)
    if not blocks:
        said = text_in({"content": content}, "content")
        return AssistantMessage(parts=(TextPart(text=said),) if said else (), api=API)
    return AssistantMessage(parts=tuple(parts_in(blocks)), native=content, api=API)


def _user(content: str, names: Mapping[str, str]) -> Iterator[Message]:
    said = load(content)
    if isinstance(said, str):
        yield UserMessage(parts=(TextPart(text=text_in({"content": content}, "content")),), api=API)
        return
    results: list[ToolResult] = []
    parts: list[UserPart] = []
    for block in elements_of(content):
        members = members_of(block)
        if kind_of(members) == "tool_result":
            results.append(_result(block, members, names))
        else:
            parts.append(_user_part(block, members))
    if results:
        yield ToolMessage(results=tuple(results), api=API)
    if parts or not results:
        yield UserMessage(parts=tuple(parts), api=API)


def _user_part(block: str, members: Mapping[str, str]) -> UserPart:
    """A part of a user's message; a text that says more, such as a cache mark, is kept whole."""
    part = part_of(members)
    if isinstance(part, TextPart) and members.keys() <= _PLAIN_TEXT:
        return part
    return OpaquePart(kind=kind_of(members), native=block)


def _result(block: str, members: Mapping[str, str], names: Mapping[str, str]) -> ToolResult:
    """A result, with its native text where the plain one does not say everything."""
    call_id = text_in(members, "tool_use_id")
    content = members.get("content", '""')
    blocks = [members_of(each) for each in elements_of(content)]
    plain = len(blocks) <= 1 and all(kind_of(each) == "text" and each.keys() <= _PLAIN_TEXT for each in blocks)
    return ToolResult(
        call_id=call_id,
        name=names.get(call_id, ""),
        text=_text_of(content),
        is_error=load(members.get("is_error", "false")) is True,
        native="" if plain and members.keys() <= _PLAIN_RESULT else block,
    )


def _text_of(content: str) -> str:
    """The text of a content that is a string, or of the text blocks in it."""
    blocks = [members_of(each) for each in elements_of(content)]
    texts = [text_in(each, "text") for each in blocks if kind_of(each) == "text"]
    return "".join(texts) if blocks else text_in({"content": content}, "content")
