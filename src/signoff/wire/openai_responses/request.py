"""Writing a request. The conversation is kept by the host, so nothing is to be stored at the provider unless asked for.

A turn of this same protocol is pasted as it came, reasoning and ids included; of any other, the neutral parts are used.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final, assert_never

from signoff.core.model.parts import CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
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
from signoff.wire.json_text import JSON, dump, load, object_of, text_of
from signoff.wire.memo import Encoded, Memo
from signoff.wire.openai_responses.words import API
from signoff.wire.slices import elements_of, members_of, object_text, pasted

DEFAULTS: Final = {"store": "false", "include": '["reasoning.encrypted_content"]'}
"""Fields that a request has unless `extra` says otherwise."""
CONTENT: Final = frozenset({"input_text", "input_image", "input_file", "input_audio", "output_text"})
"""Types that stand in a message's content; every other type is an item by itself."""

_OWN: Final = frozenset({"model", "input", "stream"})


def build_request(request: ModelRequest, *, model: str, stream: bool, memo: Memo) -> bytes:
    """Write the body of a request. Raises `PolicyError` for what this protocol cannot say."""
    customs = {
        part.call_id
        for message in request.messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, CallPart) and part.kind is CallKind.CUSTOM
    }
    lead = _leading(request.messages)
    encoded = memo.encode(request.messages[lead:], lambda message: _encode(message, customs))
    extra = members_of(request.extra)
    fields = {"model": dump(model), **DEFAULTS}
    said = {
        "instructions": _instructions(request.messages[:lead]),
        "tools": _tools(request.tools, extra.pop("tools", "[]")),
        "tool_choice": _choice(request.choice),
        "max_output_tokens": "" if request.max_output_tokens is None else str(request.max_output_tokens),
    }
    fields.update({name: text for name, text in said.items() if text})
    if stream:
        fields["stream"] = "true"
    twice = sorted(extra.keys() & ((fields.keys() | _OWN) - DEFAULTS.keys()))
    if twice:
        message = f"extra names {', '.join(twice)}, which the request itself says; it was not written. Leave it out."
        raise PolicyError(message)
    fields.update(extra)
    items = b",".join(each.items for each in encoded if each.items)
    return b'{"input":[%b],%b' % (items, object_text(fields).encode()[1:])


def _leading(messages: tuple[Message, ...]) -> int:
    """How many messages at the start are the host's instructions, and not a client's own items."""
    for place, message in enumerate(messages):
        if not isinstance(message, SystemMessage) or _is_pasted(message):
            return place
    return len(messages)


def _is_pasted(message: SystemMessage | AssistantMessage) -> bool:
    return message.api is API and bool(message.native)


def _instructions(messages: tuple[Message, ...]) -> str:
    texts = [message.text for message in messages if isinstance(message, SystemMessage)]
    return dump("\n\n".join(texts)) if texts else ""


def _choice(choice: Choice) -> str:
    if choice.mode == "auto":
        return ""
    return dump({"type": "function", "name": choice.name} if choice.name else choice.mode)


def _tools(tools: tuple[Tool, ...], extra: str) -> str:
    """The tools; those of `extra` are pasted, and a function that they hold is not written a second time."""
    given = elements_of(extra)
    values = [object_of(load(text)) for text in given]
    names = {text_of(value.get("name")) for value in values if value.get("type") == "function"}
    texts = [*(tool_text(tool) for tool in tools if tool.name not in names), *given]
    return "[" + ",".join(texts) + "]" if texts else ""


@lru_cache(maxsize=1024)
def tool_text(tool: Tool) -> str:
    """A function tool as JSON text."""
    fields = {"type": '"function"', "name": dump(tool.name)}
    if tool.description:
        fields["description"] = dump(tool.description)
    return object_text({**fields, "parameters": tool.parameters, "strict": "false"})


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _encode(message: Message, customs: set[str]) -> Encoded:
    match message:
        case SystemMessage():
            instructions: dict[str, JSON] = {"role": "developer", "content": message.text}
            texts = [pasted(message.native, dict) if _is_pasted(message) else dump(instructions)]
        case UserMessage():
            texts = list(_user(message))
        case AssistantMessage():
            texts = elements_of(pasted(message.native, list)) if _is_pasted(message) else list(_assistant(message))
        case ToolMessage():
            texts = [_result(result, message, customs) for result in message.results]
        case _:
            assert_never(message)
    return Encoded("", ",".join(texts).encode())


def _user(message: UserMessage) -> Iterator[str]:
    """One message of neighbours that are content; items of a client's own stand by themselves."""
    for inside, parts in groupby(message.parts, lambda part: isinstance(part, TextPart) or part.kind in CONTENT):
        texts = [
            dump({"type": "input_text", "text": part.text}) if isinstance(part, TextPart) else _own(part, message)
            for part in parts
        ]
        if inside:
            yield object_text({"role": '"user"', "content": "[" + ",".join(texts) + "]"})
        else:
            yield from texts


def _assistant(message: AssistantMessage) -> Iterator[str]:
    """Items without ids, made of neutral parts; reasoning is left out, since only its native form can be read."""
    for inside, parts in groupby(message.parts, lambda part: isinstance(part, TextPart | RefusalPart)):
        texts = [text for part in parts if (text := _written(part, message))]
        if inside:
            yield object_text({"role": '"assistant"', "content": "[" + ",".join(texts) + "]"})
        else:
            yield from texts


def _written(part: Part, message: AssistantMessage) -> str:
    match part:
        case TextPart():
            citations = part.citations if message.api is API and part.citations else "[]"
            return object_text({"type": '"output_text"', "text": dump(part.text), "annotations": citations})
        case RefusalPart():
            return dump({"type": "refusal", "refusal": part.text})
        case CallPart():
            return dump(_call(part))
        case OpaquePart():
            return _own(part, message)
        case ReasoningPart():
            return ""
        case _:
            assert_never(part)


def _call(part: CallPart) -> dict[str, JSON]:
    call_id = _required(part.call_id, part.name)
    if part.kind is CallKind.CUSTOM:
        return {"type": "custom_tool_call", "call_id": call_id, "name": part.name, "input": part.arguments}
    return {"type": "function_call", "call_id": call_id, "name": part.name, "arguments": part.arguments}


def _result(result: ToolResult, message: ToolMessage, customs: set[str]) -> str:
    if message.api is API and result.native:
        return pasted(result.native, dict)
    kind = "custom_tool_call_output" if result.call_id in customs else "function_call_output"
    return dump({"type": kind, "call_id": _required(result.call_id, result.name), "output": result.text})


def _required(call_id: str, name: str) -> str:
    if not call_id:
        raise PolicyError(f"a call of {name[:80]!r} has no id, and this protocol needs one; give the call an id.")
    return call_id


def _own(part: OpaquePart, message: UserMessage | AssistantMessage) -> str:
    """The native text of a part, if it is of this protocol."""
    if message.api is not API:
        whose = message.api or "nobody's"
        raise PolicyError(f"a part of type {part.kind[:80]!r} in {whose} format cannot be sent to {API}; leave it out.")
    return pasted(part.native, dict)
