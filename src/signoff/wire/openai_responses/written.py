"""From the parts of a response to output items in the strict form.

Ids are made from the response's own id and the item's place, so that the same response is written the same way again.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, assert_never

from signoff.core.canonical import digest_bytes
from signoff.core.model.parts import CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import ModelResponse
from signoff.errors import PolicyError
from signoff.wire.json_text import JSON, dump, list_of, load, text_of
from signoff.wire.openai_responses.items import Item, items_of, parts_of
from signoff.wire.openai_responses.words import API

_SHORT: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PREFIXES: Final = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


def items_from(response: ModelResponse, *, whole: bool) -> tuple[Item, ...]:
    """The items of a response: those that the provider sent, if its parts still say the same, else new ones.

    With `whole` false the last message or call is marked as unfinished. Raises `PolicyError` for a part that is in
    another protocol's format.
    """
    stem = stem_of(response)
    items = items_of(response.native, set()) if response.api is API else ()
    if not items or parts_of(items, set(), last_is_whole=whole) != response.parts:
        values = list(_values(response.parts, whole=whole))
        items = tuple(Item(value, dump(value)) for value in values)
    return tuple(_with_id(item, stem, place) for place, item in enumerate(items))


def response_id_of(response: ModelResponse) -> str:
    """The id of a response; one made from its content when it has none."""
    return response.response_id or f"resp_{stem_of(response)}"


def stem_of(response: ModelResponse) -> str:
    """What the ids of a response's items have in common: short, and the same each time."""
    stem = response.response_id.removeprefix("resp_")
    if _SHORT.fullmatch(stem):
        return stem
    said = response.response_id or repr((response.parts, response.model))
    return digest_bytes(said.encode(errors="backslashreplace")).partition(":")[2][:32]


def _with_id(item: Item, stem: str, place: int) -> Item:
    if text_of(item.value.get("id")):
        return item
    prefix = _PREFIXES.get(item.kind, "item")
    value: dict[str, JSON] = {"id": f"{prefix}_{stem}_{place}", **{k: v for k, v in item.value.items() if k != "id"}}
    return Item(value, dump(value), closed=item.closed)


def _values(parts: Sequence[Part], *, whole: bool) -> Iterator[dict[str, JSON]]:
    """Items without ids; texts and refusals that stand side by side make one message."""
    place = 0
    for inside, group in groupby(parts, lambda part: isinstance(part, TextPart | RefusalPart)):
        members = tuple(group)
        place += len(members)
        finished = whole or place < len(parts)
        if inside:
            content: list[JSON] = [_content(part) for part in members]
            status = "completed" if finished else "incomplete"
            yield {"type": "message", "status": status, "role": "assistant", "content": content}
        else:
            yield from (_value(part) for part in members)


def _content(part: Part) -> dict[str, JSON]:
    if isinstance(part, RefusalPart):
        return {"type": "refusal", "refusal": part.text}
    text, citations = (part.text, part.citations) if isinstance(part, TextPart) else ("", "")
    return {"type": "output_text", "text": text, "annotations": list_of(load(citations)), "logprobs": []}


def _value(part: Part) -> dict[str, JSON]:
    match part:
        case CallPart():
            return _call(part)
        case ReasoningPart():
            summary: list[JSON] = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {"type": "reasoning", "summary": summary, **({"encrypted_content": ""} if part.redacted else {})}
        case OpaquePart():
            value = load(part.native)
            if not isinstance(value, dict) or not isinstance(value.get("type"), str):
                raise PolicyError(f"a part of type {part.kind[:80]!r} is no output item of {API}; leave it out.")
            return value
        case TextPart() | RefusalPart():
            return _content(part)
        case _:
            assert_never(part)


def _call(part: CallPart) -> dict[str, JSON]:
    status = "completed" if part.closed else "incomplete"
    common: dict[str, JSON] = {"status": status, "call_id": part.call_id, "name": part.name}
    if part.kind is CallKind.CUSTOM:
        return {"type": "custom_tool_call", **common, "input": part.arguments}
    return {"type": "function_call", **common, "arguments": part.arguments}
