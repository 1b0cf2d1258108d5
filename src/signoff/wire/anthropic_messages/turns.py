"""The blocks of each kind of message, for requests.

Call ids of other protocols are made legal here, and the same in the result: a legal id stays, any other becomes its
digest. A call that came without an id gets one from its turn, its name and its place, for nothing else identifies it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, assert_never

from signoff.core.canonical import parse
from signoff.core.model.parts import (
    CallKind,
    CallPart,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
)
from signoff.core.model.request import AssistantMessage, Message, ToolMessage, ToolResult, UserMessage
from signoff.errors import CanonicalError, PolicyError
from signoff.wire.anthropic_messages.words import API
from signoff.wire.json_text import dump, load, text_of
from signoff.wire.slices import elements_of, members_of, object_text, pasted

_LEGAL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DIGITS: Final = 40


class Turn(NamedTuple):
    """The assistant's turn that a message is, or answers."""

    place: int
    as_it_came: bool
    """Whether it is sent back as the provider sent it, with the ids that it has."""


def turns_of(messages: Sequence[Message]) -> Mapping[int, Turn]:
    """The turn of each message, by the message's identity."""
    turn = Turn(0, as_it_came=False)
    turns: dict[int, Turn] = {}
    for place, message in enumerate(messages, start=1):
        if isinstance(message, AssistantMessage):
            turn = Turn(place, as_it_came=bool(_own(message)))
        turns[id(message)] = turn
    return turns


def user_blocks(message: UserMessage) -> list[str]:
    """The blocks of a user's message. Raises `PolicyError` when nothing is left of it."""
    blocks = [
        _text_block(part) if isinstance(part, TextPart) else _opaque(part, own=message.api is API)
        for part in message.parts
        if not isinstance(part, TextPart) or part.text.strip()
    ]
    if not blocks:
        raise PolicyError("a user's message is blank, which the provider refuses; nothing was sent; leave it out")
    return blocks


def result_blocks(message: ToolMessage, turn: Turn) -> list[str]:
    """The blocks of the results of one turn."""
    ids = _Ids(turn)
    own = message.api is API
    return [
        pasted(result.native, dict) if own and result.native else _result(result, ids.of(result.call_id, result.name))
        for result in message.results
    ]


def assistant_blocks(message: AssistantMessage, turn: Turn) -> list[str]:
    """The blocks of an assistant's turn: as it came, if it came from this protocol, else from its neutral parts."""
    own = _own(message)
    if not own:
        ids = _Ids(turn)
        return list(_from_parts(message.parts, ids, own=message.api is API))
    blocks = elements_of(own)
    if any(isinstance(part, TextPart) and not part.text.strip() for part in message.parts):
        return [block for block in blocks if not _is_blank(members_of(block))]
    return blocks


def _own(message: AssistantMessage) -> str:
    return pasted(message.native, list) if message.api is API and message.native else ""


def _is_blank(block: Mapping[str, str]) -> bool:
    return load(block.get("type", "")) == "text" and not text_of(load(block.get("text", ""))).strip()


def _from_parts(parts: Sequence[Part], ids: "_Ids", *, own: bool) -> Iterator[str]:
    for part in parts:
        match part:
            case TextPart():
                if part.text.strip():
                    yield _text_block(part, cited=own)
            case RefusalPart():
                if part.text.strip():
                    yield object_text({"type": '"text"', "text": dump(part.text)})
            case ReasoningPart():
                pass  # without its signature, which only its own turn holds, no provider takes it
            case CallPart():
                yield _call(part, ids.of(part.call_id, part.name))
            case OpaquePart():
                yield _opaque(part, own=own)
            case _:
                assert_never(part)


def _text_block(part: TextPart, *, cited: bool = False) -> str:
    block = {"type": '"text"', "text": dump(part.text)}
    return object_text({**block, "citations": part.citations} if cited and part.citations else block)


def _call(call: CallPart, call_id: str) -> str:
    """A call whose input is exactly its raw text, which must be an object."""
    text = call.arguments.strip()
    if text in {"", "null"}:
        text = "{}"
    try:
        is_object = isinstance(parse(text), dict)
    except CanonicalError:
        is_object = False
    if call.kind is CallKind.CUSTOM or not is_object:
        raise PolicyError(
            f"the arguments of a call of {call.name[:80]!r} are not one JSON object, as the Messages API demands; "
            "nothing was sent; leave out the turn with its results"
        )
    return object_text({"type": '"tool_use"', "id": dump(call_id), "name": dump(call.name), "input": text})


def _opaque(part: OpaquePart, *, own: bool) -> str:
    if not own:
        raise PolicyError(f"a part of type {part.kind[:40]!r} of another protocol cannot be sent; leave it out")
    return pasted(part.native, dict)


def _result(result: ToolResult, call_id: str) -> str:
    block = {"type": '"tool_result"', "tool_use_id": dump(call_id), "content": dump(result.text)}
    return object_text({**block, "is_error": "true"} if result.is_error else block)


class _Ids:
    """Makes the ids of one turn legal; calls and results that were the same stay the same."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._nameless: Counter[str] = Counter()

    def of(self, call_id: str, name: str) -> str:
        if call_id and (self._turn.as_it_came or _LEGAL_ID.fullmatch(call_id)):
            return call_id
        key = ["id", call_id]
        if not call_id:
            key = ["place", str(self._turn.place), name, str(self._nameless[name])]
            self._nameless[name] += 1
        return f"call_{hashlib.sha256(dump([*key]).encode()).hexdigest()[:_DIGITS]}"
