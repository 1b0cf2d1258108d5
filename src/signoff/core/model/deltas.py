"""What a response in progress adds. For showing and for deadlines: only the finished record is evidence."""

from typing import TypeAlias

import msgspec


class TextDelta(msgspec.Struct, frozen=True):
    """More visible text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """More reasoning."""

    text: str


class RefusalDelta(msgspec.Struct, frozen=True):
    """More of a refusal."""

    text: str


class CallStarted(msgspec.Struct, frozen=True):
    """A call began; nothing of it may run yet."""

    index: int
    """Its place among the calls of this response, from 0."""
    call_id: str
    name: str


class CallDelta(msgspec.Struct, frozen=True):
    """More of a call's arguments, as raw text."""

    index: int
    text: str


Delta: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | CallStarted | CallDelta
