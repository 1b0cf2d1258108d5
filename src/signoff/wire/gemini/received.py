"""Reads the body of a client's request. What has no neutral form is kept: beside its message, or in `extra`."""

from collections.abc import Iterator
from itertools import groupby

from signoff.core.model.parts import Api, OpaquePart, TextPart, UserPart
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
from signoff.wire.codec import Received
from signoff.wire.gemini.content import Content
from signoff.wire.gemini.declared import read_choice, read_tools
from signoff.wire.gemini.exact import At, Source, Unreadable
from signoff.wire.gemini.fields import Node, fields_of, items_of, node_of, renamed, written
from signoff.wire.json_text import join, text_of
from signoff.wire.slices import array_text

_RESULT = "functionResponse"
_PLAIN_RESULT = {"id", "name", "response"}


def parse_request(body: bytes) -> Received:
    """Read a client's request body; model and streaming are in its address. Raises `WireError`."""
    try:
        return Received(request=_request(node_of(body.decode().strip())))
    except (UnicodeDecodeError, Unreadable):
        raise WireError("the body is no request of Gemini's; it was not sent on. Send contents with parts.") from None
    except PolicyError as error:
        raise WireError(f"the request holds a value that cannot be: {error}") from None


def _request(node: Node) -> ModelRequest:
    fields = fields_of(node)
    systems = _systems(fields.pop("systemInstruction", None))
    messages = [message for content in _list(fields.pop("contents", None)) for message in _messages(content)]
    tools, other_tools = read_tools(fields.pop("tools", None))
    choice, other_config = read_choice(fields.pop("toolConfig", None))
    generation = fields_of(fields.get("generationConfig"))
    tokens = generation.pop("maxOutputTokens", None)
    if tokens is not None:
        fields["generationConfig"] = Node(None, written(generation))
        if not generation:
            del fields["generationConfig"]
    for key, text in (("tools", other_tools), ("toolConfig", other_config)):
        if text:
            fields[key] = Node(None, text)
    return ModelRequest(
        messages=(*systems, *messages),
        tools=tools,
        choice=choice,
        max_output_tokens=_count(tokens),
        extra=written(fields),
    )


def _systems(node: Node | None) -> list[Message]:
    """The instructions: a message for each part where all are text, else one that keeps the content."""
    if node is None or node.value is None:
        return []
    fields = fields_of(node)
    parts = [renamed(part) for part in _list(fields.get("parts"))]
    if fields.keys() <= {"role", "parts"} and all(_is_plain(part) for part in parts):
        return [SystemMessage(text=_said(part)) for part in parts]
    return [SystemMessage(text="\n".join(filter(None, map(_said, parts))), native=node.text, api=Api.GEMINI)]


def _messages(content: Node) -> Iterator[Message]:
    """The messages in one content: results of calls apart from what else the user says."""
    fields = fields_of(content)
    role = fields["role"].value if "role" in fields else "user"
    parts = [renamed(part, inside="functionCall") for part in _list(fields.get("parts"))]
    if any(not isinstance(part.value, dict) for part in parts):
        raise Unreadable
    if role == "model":
        yield _answer(content.text, parts)
        return
    if not (role is None or (isinstance(role, str) and role in {"user", "function", "tool"})):
        raise Unreadable
    for is_result, group in groupby(parts, key=lambda part: isinstance(part.value, dict) and _RESULT in part.value):
        if is_result:
            yield ToolMessage(results=tuple(map(_result, group)), api=Api.GEMINI)
        else:
            yield UserMessage(parts=tuple(map(_user_part, group)), api=Api.GEMINI)


def _answer(native: str, parts: list[Node]) -> AssistantMessage:
    """An earlier answer, kept as it came."""
    source, content = Source(array_text(part.text for part in parts)), Content()
    for place, part in enumerate(parts):
        content.take(part.value, At(source, (place,)))
    return AssistantMessage(parts=content.parts, native=native, api=Api.GEMINI)


def _user_part(part: Node) -> UserPart:
    if _is_plain(part):
        return TextPart(text=_said(part))
    fields = fields_of(part)
    return OpaquePart(
        kind=next((key for key in fields if key not in {"thought", "thoughtSignature"}), ""), native=part.text
    )


def _result(part: Node) -> ToolResult:
    """One result of a call; all of it is kept where a text does not say it."""
    fields = fields_of(fields_of(part)[_RESULT])
    response = fields_of(fields.get("response"))
    word = next(iter(response), "")
    value = response[word].value if response else None
    plain = len(response) == 1 and word in {"result", "error"} and isinstance(value, str)
    whole = plain and fields.keys() <= _PLAIN_RESULT and fields_of(part).keys() == {_RESULT}
    return ToolResult(
        call_id=text_of(fields["id"].value) if "id" in fields else "",
        name=text_of(fields["name"].value) if "name" in fields else "",
        text=text_of(value) if plain else fields["response"].text if "response" in fields else "",
        is_error=word == "error" and len(response) == 1,
        native="" if whole else part.text,
    )


def _is_plain(part: Node) -> bool:
    """Whether a part is text and nothing else."""
    return isinstance(part.value, dict) and part.value.keys() == {"text"} and isinstance(part.value["text"], str)


def _said(part: Node) -> str:
    value = part.value.get("text") if isinstance(part.value, dict) else None
    return join((value,)) if isinstance(value, str) else ""


def _list(node: Node | None) -> list[Node]:
    """The items of an array that must be there; raises `Unreadable` for anything else."""
    if node is None or not isinstance(node.value, list):
        raise Unreadable
    return items_of(node)


def _count(node: Node | None) -> int | None:
    """A number of tokens; raises `Unreadable` for what is no number."""
    if node is None or node.value is None:
        return None
    if type(node.value) is not int:
        raise Unreadable
    return node.value
