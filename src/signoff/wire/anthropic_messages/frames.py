"""The frames of a stream, one function for each kind, in the strict form that every official client reads.

Members are JSON texts, as `slices` cuts them out: what is pasted stays as it was.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from signoff.wire.anthropic_messages.blocks import kind_of, text_in
from signoff.wire.json_text import dump
from signoff.wire.slices import elements_of, object_text
from signoff.wire.sse import encode_frame

Members = Mapping[str, str]
_LINE_ENDS: Final = str.maketrans("\r\n", "  ")  # between tokens: inside a string JSON has none


def event(kind: str, members: Members) -> bytes:
    """One event, on one line."""
    return encode_frame(object_text({"type": dump(kind), **members}).translate(_LINE_ENDS), event=kind)


def ping() -> bytes:
    """An event that says nothing; it may stand anywhere."""
    return event("ping", {})


def message_start(message: Members) -> bytes:
    """The first event: the message without content and reason, with its first usage."""
    return event("message_start", {"message": object_text(message)})


def block_start(index: int, block: Members) -> bytes:
    """The start of a block; its index is its place in the content."""
    return event("content_block_start", {"index": str(index), "content_block": object_text(block)})


def block_delta(index: int, kind: str, *, members: Members) -> bytes:
    """What is added to a block."""
    delta = object_text({"type": dump(kind), **members})
    return event("content_block_delta", {"index": str(index), "delta": delta})


def block_stop(index: int) -> bytes:
    """The end of a block."""
    return event("content_block_stop", {"index": str(index)})


def message_delta(delta: Members, *, usage: Members, beside: Members) -> bytes:
    """The reason, the counts that take the place of the first ones, and what else stands beside them."""
    return event("message_delta", {"delta": object_text(delta), "usage": object_text(usage), **beside})


def message_stop() -> bytes:
    """The last event."""
    return event("message_stop", {})


def block(index: int, members: Members) -> Iterator[bytes]:
    """A whole block, from its start to its stop. A call's input is given as raw text and may be cut or no JSON."""
    match kind_of(members):
        case "text":
            citations = elements_of(members.get("citations", ""))
            kept = {name: text for name, text in members.items() if name != "citations" or not citations}
            yield block_start(index, {**kept, "text": '""'})
            if text_in(members, "text"):
                yield block_delta(index, "text_delta", members={"text": members["text"]})
            for citation in citations:
                yield block_delta(index, "citations_delta", members={"citation": citation})
        case "thinking":
            yield block_start(index, {**members, "thinking": '""', "signature": '""'})
            for name, kind in (("thinking", "thinking_delta"), ("signature", "signature_delta")):
                if text_in(members, name):
                    yield block_delta(index, kind, members={name: members[name]})
        case kind if "input" in members and kind.endswith("tool_use"):
            yield block_start(index, {**members, "input": "{}"})
            if members["input"]:
                yield block_delta(index, "input_json_delta", members={"partial_json": dump(members["input"])})
        case _:
            yield block_start(index, members)
    yield block_stop(index)
