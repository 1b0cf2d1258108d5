"""Writes the body of a request. An assistant's turn of this protocol goes back as it came, unknown fields included.

Two things have no place here and are left out: that a tool failed (its text says so), and what another provider cited.
"""

from collections.abc import Sequence
from typing import Final, assert_never

import orjson

from signoff.core.model.parts import CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Message,
    ModelRequest,
    SystemMessage,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.errors import PolicyError
from signoff.wire.json_text import JSON, dump, list_of, load, object_of, text_of, write
from signoff.wire.memo import Encoded, Memo
from signoff.wire.openai_chat.forms import calls_of
from signoff.wire.openai_chat.words import API
from signoff.wire.slices import pasted

WHOLE_MESSAGE: Final = "message"
"""The kind of the one opaque part of a user's message that has fields beside its content."""
_OURS: Final = ("model", "messages", "stream")


def path(model: str, *, stream: bool) -> str:  # noqa: ARG001 - one signature for all protocols
    """The path behind the base address."""
    return "/chat/completions"


def headers(key: str) -> dict[str, str]:
    """The headers that a request needs."""
    fixed = {"content-type": "application/json"}
    return {**fixed, "authorization": f"Bearer {key}"} if key else fixed


def build_request(request: ModelRequest, *, model: str, stream: bool, memo: Memo) -> bytes:
    """Write the body of a request. Raises `PolicyError` for what this protocol cannot say.

    Fields in `extra` win over those written here; `max_tokens` in it takes the place of `max_completion_tokens`, for
    the servers that know only the old name.
    """
    extra = load(request.extra)
    if not isinstance(extra, dict) or any(name in extra for name in _OURS):
        raise PolicyError(f"`extra` is no JSON object, or names one of {', '.join(_OURS)}; nothing was sent; change it")
    items = [encoded.items for encoded in memo.encode(request.messages, _encode) if encoded.items]
    body: dict[str, object] = {"model": model, "messages": orjson.Fragment(b"[%b]" % b",".join(items))}
    body.update(_tools(request, extra))
    if request.max_output_tokens is not None and "max_tokens" not in extra:
        body["max_completion_tokens"] = request.max_output_tokens
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    for name, value in extra.items():
        if name != "tools" and (stream or name != "stream_options"):
            body[name] = orjson.Fragment(dump(value))
    return write(body)


def _tools(request: ModelRequest, extra: dict[str, JSON]) -> dict[str, object]:
    """The tools and the choice; a tool that `extra` spells out is written as it stands there."""
    if "functions" in extra:  # the old form, kept whole
        return {}
    spelled = list_of(extra.get("tools"))
    places = {text_of(object_of(object_of(entry).get("function")).get("name")): n for n, entry in enumerate(spelled)}
    exact = [orjson.Fragment(dump(entry)) for entry in spelled]
    taken = [places.get(tool.name) for tool in request.tools]
    in_place = set(taken)
    tools = [_tool(tool) if n is None else exact[n] for tool, n in zip(request.tools, taken, strict=True)]
    tools.extend(entry for n, entry in enumerate(exact) if n not in in_place)
    written: dict[str, object] = {"tools": tools} if tools else {}
    choice = request.choice
    if choice.mode == "tool":
        written["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif choice.mode != "auto" and tools:
        written["tool_choice"] = choice.mode
    return written


def _tool(tool: Tool) -> object:
    function: dict[str, object] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = orjson.Fragment(tool.parameters)
    return {"type": "function", "function": function}


def _encode(message: Message) -> Encoded:
    """One message, or the messages of the results of one turn."""
    match message:
        case SystemMessage():
            return Encoded("", _own(message) or write({"role": "system", "content": message.text}))
        case UserMessage():
            return Encoded("", _user(message))
        case AssistantMessage():
            own = _own(message)
            # A server that names another role, or none, would give its words another's authority.
            spoken = object_of(load(own)).get("role") == "assistant"
            return Encoded("", own if spoken else write(_assistant(message)))
        case ToolMessage():
            results = [_result(result, own=message.api is API) for result in message.results]
            return Encoded("", b",".join(results))
        case _:
            assert_never(message)


def _own(message: SystemMessage | AssistantMessage) -> bytes:
    """The message as it came, if it came from this protocol."""
    return pasted(message.native, dict).encode() if message.api is API and message.native else b""


def _user(message: UserMessage) -> bytes:
    parts = message.parts
    own = message.api is API
    first = parts[0] if len(parts) == 1 else None
    if isinstance(first, OpaquePart) and first.kind == WHOLE_MESSAGE and own and _is_users(first.native):
        return pasted(first.native, dict).encode()
    if isinstance(first, TextPart):
        return write({"role": "user", "content": first.text})
    content = [_content(part, own=own) for part in parts]
    return write({"role": "user", "content": content})


def _is_users(native: str) -> bool:
    """Whether a whole message is the user's own: a part of one that only looks like a message stays a part."""
    return object_of(load(native)).get("role") in ("user", "function")


def _content(part: TextPart | OpaquePart, *, own: bool) -> object:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if not own:
        raise PolicyError(f"a part of type {part.kind[:40]!r} of another protocol cannot be sent; leave it out")
    return orjson.Fragment(pasted(part.native, dict))


def _assistant(message: AssistantMessage) -> dict[str, object]:
    """An assistant's turn from its neutral parts; reasoning is nobody else's to read."""
    own = message.api is API
    texts: list[TextPart | OpaquePart] = []
    refusal: list[str] = []
    calls: list[CallPart] = []
    for part in message.parts:
        match part:
            case TextPart() | OpaquePart():
                texts.append(part)
            case RefusalPart():
                refusal.append(part.text)
            case CallPart():
                calls.append(part)
            case ReasoningPart():
                pass
            case _:
                assert_never(part)
    written: dict[str, object] = {"role": "assistant", "content": _assistant_content(texts, own=own)}
    if refusal:
        written["refusal"] = "".join(refusal)
    written.update(calls_of(calls))
    return written


def _assistant_content(parts: Sequence[TextPart | OpaquePart], *, own: bool) -> object:
    """One string where that is enough, null where there is nothing."""
    if any(isinstance(part, OpaquePart) for part in parts):
        return [_content(part, own=own) for part in parts]
    return "".join(part.text for part in parts if isinstance(part, TextPart)) if parts else None


def _result(result: ToolResult, *, own: bool) -> bytes:
    if own and result.native:
        return pasted(result.native, dict).encode()
    if not result.call_id:
        return write({"role": "function", "name": result.name, "content": result.text})
    return write({"role": "tool", "tool_call_id": result.call_id, "content": result.text})
