"""Builds the body of a request. Roles alternate: neighbours of one role are one content."""

from collections.abc import Sequence
from itertools import takewhile
from typing import assert_never

from signoff.core.canonical import parse
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Message,
    ModelRequest,
    SystemMessage,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import CanonicalError, PolicyError
from signoff.wire.gemini.declared import config_text, tools_text
from signoff.wire.gemini.exact import Unreadable
from signoff.wire.gemini.fields import Node, fields_of, items_of, node_of
from signoff.wire.gemini.parts import call_text, id_of, opaque_text, text_part, thought_part
from signoff.wire.json_text import dump
from signoff.wire.memo import Encoded, Memo
from signoff.wire.slices import array_text, object_text

_BEGIN = {role: b'{"role":"%b","parts":[' % role.encode() for role in ("user", "model")}
_END = b"]},"
_OBJECTS = ("toolConfig", "generationConfig")


def build_request(request: ModelRequest, *, model: str, stream: bool, memo: Memo) -> bytes:
    """Write the body; model and streaming are in the address. Raises `PolicyError` for what cannot be said."""
    del model, stream
    systems = list(takewhile(lambda one: isinstance(one, SystemMessage), request.messages))
    encoded = memo.encode(request.messages[len(systems) :], _encoded)
    members = {"systemInstruction": _instruction(systems)} if systems else {}
    members.update(_settings(request))
    rest = b"".join(b",%b:%b" % (dump(key).encode(), text.encode()) for key, text in members.items())
    return b'{"contents":[%b]%b}' % (_contents(encoded), rest)


def _contents(encoded: Sequence[Encoded]) -> bytes:
    """The contents, those of one role together; a message that says nothing to this provider is none."""
    pieces: list[bytes] = []
    before = ""  # the role of the content that is open
    for role, items in encoded:
        if not items:
            continue
        if before and role == before:
            pieces += (b",", items)
            continue
        pieces += (_END if before else b"," if pieces else b"", _BEGIN[role] if role else b"", items)
        before = role
    if before:
        pieces.append(b"]}")
    return b"".join(pieces)


def _encoded(message: Message) -> Encoded:
    """One message as parts under their role."""
    match message:
        case UserMessage(parts=parts, api=api):
            texts = [text_part(part.text) if isinstance(part, TextPart) else opaque_text(part, api) for part in parts]
            return _under("user", texts)
        case AssistantMessage(native=native, api=Api.GEMINI) if native:
            return _pasted(native)
        case AssistantMessage(parts=parts, api=api):
            return _under("model", [text for part in parts if (text := _said(part, api))])
        case ToolMessage(results=results, api=api):
            return _under("user", [_result(result, api) for result in results])
        case SystemMessage():
            raise PolicyError(
                "Gemini takes instructions only before the conversation; nothing was written. Move it there."
            )
        case _:
            assert_never(message)


def _under(role: str, texts: Sequence[str]) -> Encoded:
    return Encoded(role, ",".join(texts).encode())


def _pasted(native: str) -> Encoded:
    """A turn of the model's as it came: its parts, or the whole content where more than parts stands in it."""
    parts = _parts_in(native)
    fields = node_of(native).value
    if isinstance(fields, dict) and fields.keys() <= {"role", "parts"}:
        return _under("model", parts)
    return Encoded("", native.encode())


def _parts_in(native: str) -> list[str]:
    """The texts of the parts of a native content. Raises `PolicyError`."""
    try:
        parts = fields_of(node_of(native)).get("parts")
        if parts is not None and isinstance(parts.value, list):
            return [part.text for part in items_of(parts)]
    except Unreadable:
        pass
    raise PolicyError("the native text of a message is no content of Gemini's; nothing was written. Leave it empty.")


def _said(part: Part, api: Api | None) -> str:
    """One part of an earlier answer; empty for reasoning of another provider."""
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return text_part(text)
        case ReasoningPart(text=text):
            return thought_part(text) if api is Api.GEMINI and text else ""
        case CallPart():
            return call_text(part, blank="{}")
        case OpaquePart():
            return opaque_text(part, api)
        case _:
            assert_never(part)


def _result(result: ToolResult, api: Api | None) -> str:
    """One result of a call: an object, as the protocol wants it."""
    if api is Api.GEMINI and result.native:
        return opaque_text(OpaquePart(kind="functionResponse", native=result.native), api)
    if not result.name:
        raise PolicyError("a result of a call has no name, and Gemini matches by it; nothing was written. Name it.")
    response = object_text({"error" if result.is_error else "result": dump(result.text)})
    members = {**id_of(result.call_id), "name": dump(result.name), "response": response}
    return object_text({"functionResponse": object_text(members)})


def _instruction(systems: Sequence[Message]) -> str:
    """The leading instructions as one content."""
    native = [one for one in systems if isinstance(one, SystemMessage) and one.native and one.api is Api.GEMINI]
    if native and len(systems) == 1:
        _parts_in(native[0].native)
        return native[0].native
    parts: list[str] = []
    for one in systems:
        if isinstance(one, SystemMessage):
            parts.extend(_parts_in(one.native) if one in native else [text_part(one.text)])
    return object_text({"parts": array_text(parts)})


def _settings(request: ModelRequest) -> dict[str, str]:
    """Everything beside the conversation: tools, choice, bounds, and the extra fields that they are merged with."""
    extra = _extra(request.extra)
    tools, config, generation = (extra.pop(key, None) for key in ("tools", "toolConfig", "generationConfig"))
    settings: dict[str, str] = {}
    if request.tools or tools is not None:
        settings["tools"] = tools_text(request.tools, tools)
    if request.tools or config is not None or request.choice.mode != "auto":
        settings["toolConfig"] = config_text(request.choice, config)
    if request.max_output_tokens is not None or generation is not None:
        settings["generationConfig"] = _generation(request.max_output_tokens, fields_of(generation))
    return settings | {key: node.text for key, node in extra.items()}


def _generation(tokens: int | None, fields: dict[str, Node]) -> str:
    members = {key: node.text for key, node in fields.items()}
    if tokens is not None:
        if "maxOutputTokens" in members:
            raise PolicyError("max_output_tokens stands in `extra` too; nothing was written. Say it in one place.")
        members = {"maxOutputTokens": str(tokens), **members}
    return object_text(members)


def _extra(text: str) -> dict[str, Node]:
    """The extra fields of a request, in camel case. Raises `PolicyError`."""
    try:
        value = parse(text)
        fields = fields_of(Node(value, text.strip()))
    except (CanonicalError, Unreadable) as error:
        raise PolicyError(f"the extra fields of a request are not one JSON object: {error}") from None
    wrong = [key for key in _OBJECTS if key in fields and not isinstance(fields[key].value, dict)]
    if not isinstance(value, dict) or wrong or not isinstance(fields.get("tools", Node([], "")).value, list):
        message = f"extra fields are not as Gemini has them ({', '.join(wrong) or 'an object, with a list of tools'})"
        raise PolicyError(f"{message}; nothing was written. Correct them.")
    for key in ("contents", "systemInstruction"):
        if key in fields:
            raise PolicyError(f"`extra` holds {key}, which the messages say; nothing was written. Take it out.")
    return fields
