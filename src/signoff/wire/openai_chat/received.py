"""Reads a client's request body. What has no neutral form stays as it came: a message's native text, or `extra`."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from signoff.core.model.ending import Finish
from signoff.core.model.parts import CallPart, OpaquePart, TextPart, UserPart
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
from signoff.wire.json_text import JSON, count_of, dump, list_of, load, object_of, text_of
from signoff.wire.openai_chat.exact import ExactChoice, ExactChoices, messages_in
from signoff.wire.openai_chat.request import WHOLE_MESSAGE
from signoff.wire.openai_chat.turn import Turn
from signoff.wire.openai_chat.words import API

Fields: TypeAlias = dict[str, JSON]
_OURS: Final = frozenset({"model", "messages", "stream", "max_completion_tokens"})
_RESULTS: Final = frozenset({"tool", "function"})
_CHOICES: Final = ("auto", "none", "required")
_NEEDED: Final = frozenset({"name", "parameters"})
_PLAIN: Final = _NEEDED | {"description"}


def parse_request(body: bytes) -> Received:
    """Read a client's request body; fields without a neutral form are kept in `extra`. Raises `WireError`."""
    value = load(body)
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise _unread("the body is no JSON object with a list of messages")
    model = value.get("model")
    if not isinstance(model, str):
        raise _unread("it names no model")
    extra = {name: field for name, field in value.items() if name not in _OURS}
    try:
        request = ModelRequest(
            messages=tuple(_messages(list_of(value["messages"]), messages_in(body.decode()))),
            tools=tuple(_tools(extra)),
            choice=_choice(extra),
            max_output_tokens=_most(value),
            extra=dump(extra),
        )
    except PolicyError as error:
        raise _unread(str(error)) from None
    return Received(request=request, model=model, stream=value.get("stream") is True)


def _unread(why: str) -> WireError:
    return WireError(f"The request is not one of Chat Completions: {why}. Nothing was sent on. Correct the request.")


def _most(value: Fields) -> int | None:
    """The bound of the output under either name; the old one stays in `extra` too, so that it is written again."""
    for name in ("max_completion_tokens", "max_tokens"):
        if value.get(name) is not None:
            most = count_of(value[name])
            if most is None:
                raise _unread(f"{name} is no count of tokens")
            return most
    return None


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _messages(values: list[JSON], exact: list[str]) -> Iterator[Message]:
    """The messages; results that follow each other are those of one turn."""
    names: dict[str, str] = {}
    results: list[ToolResult] = []
    for place, value in enumerate(values):
        fields = object_of(value)
        native = exact[place] if place < len(exact) else dump(value)
        if text_of(fields.get("role")) in _RESULTS:
            results.append(_result(fields, native, names))
            continue
        if results:
            yield ToolMessage(results=tuple(results), api=API)
            results = []
        message = _message(fields, native, place)
        if isinstance(message, AssistantMessage):
            names.update((part.call_id, part.name) for part in message.parts if isinstance(part, CallPart))
        yield message
    if results:
        yield ToolMessage(results=tuple(results), api=API)


def _message(fields: Fields, native: str, place: int) -> Message:
    match fields.get("role"):
        case "system" | "developer" as role:
            plain = role == "system" and _is_plain(fields, {"role", "content"})
            return SystemMessage(text=_text(fields.get("content")), native="" if plain else native, api=API)
        case "user":
            return UserMessage(parts=tuple(_user_parts(fields, native)), api=API)
        case "assistant":
            turn = Turn(set())
            turn.take(fields, ExactChoice(ExactChoices(""), 0, name="message"), whole=True)
            return AssistantMessage(parts=turn.parts(Finish.STOP), native=native, api=API)
        case role:
            raise _unread(f"message {place} has the role {dump(role)[:40]}")


def _is_plain(fields: Fields, names: set[str]) -> bool:
    """Whether a message has these fields and no other, and a plain text as its content."""
    return fields.keys() == names and isinstance(fields.get("content"), str)


def _text(content: JSON) -> str:
    """The text of a content, whether it is one or a list of parts."""
    if isinstance(content, list):
        return "".join(text_of(object_of(part).get("text")) for part in content)
    return text_of(content)


def _user_parts(fields: Fields, native: str) -> Iterator[UserPart]:
    """The parts of a user's message; one with fields beside its content is kept as a whole."""
    content = fields.get("content")
    if fields.keys() != {"role", "content"} or not isinstance(content, str | list):
        yield OpaquePart(kind=WHOLE_MESSAGE, native=native)
    elif isinstance(content, str):
        yield TextPart(text=text_of(content))
    else:
        yield from (_user_part(object_of(part), part) for part in content)


def _user_part(fields: Fields, part: JSON) -> UserPart:
    text = fields.get("text")
    if isinstance(text, str) and fields.keys() == {"type", "text"} and fields["type"] == "text":
        return TextPart(text=text_of(text))
    return OpaquePart(kind=text_of(fields.get("type")), native=dump(part))


def _result(fields: Fields, native: str, names: dict[str, str]) -> ToolResult:
    """A result; the old role `function` has a name and no id."""
    call_id = text_of(fields.get("tool_call_id"))
    plain = _is_plain(fields, {"role", "tool_call_id", "content"}) and bool(call_id)
    return ToolResult(
        call_id=call_id,
        name=text_of(fields.get("name")) or names.get(call_id, ""),
        text=_text(fields.get("content")),
        native="" if plain else native,
    )


# ── Tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tools(extra: Fields) -> Iterator[Tool]:
    """The tools that have a neutral form. One with more to it stays in `extra` too, and is written from there."""
    spelled: list[JSON] = []
    for entry in list_of(extra.pop("tools", None)):
        fields = object_of(entry)
        function = object_of(fields.get("function"))
        tool = _tool(function) if fields.get("type") == "function" else None
        if tool is not None:
            yield tool
        if tool is None or fields.keys() != {"type", "function"} or not _PLAIN >= function.keys() >= _NEEDED:
            spelled.append(entry)
    if spelled:
        extra["tools"] = spelled
    yield from filter(None, (_tool(object_of(entry)) for entry in list_of(extra.get("functions"))))


def _tool(function: Fields) -> Tool | None:
    parameters = function.get("parameters")
    try:
        return Tool(
            name=text_of(function.get("name")),
            description=text_of(function.get("description")),
            parameters=dump(parameters) if parameters is not None else NO_PARAMETERS,
        )
    except PolicyError:
        return None


def _choice(extra: Fields) -> Choice:
    """The choice, taken out of `extra` where it has a neutral form."""
    asked = extra.get("tool_choice")
    named = object_of(asked)
    if asked is None or asked in _CHOICES:
        extra.pop("tool_choice", None)
        return Choice() if asked is None else Choice(mode=text_of(asked))
    name = text_of(object_of(named.get("function")).get("name"))
    if name and named.get("type") == "function":
        del extra["tool_choice"]
        return Choice(mode="tool", name=name)
    return Choice()
