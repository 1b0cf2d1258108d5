"""A response that is there at once, as the deltas that would have brought it. Pure."""

import sys
from collections.abc import Iterator
from typing import NamedTuple

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.parts import CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import ModelResponse


class Step(NamedTuple):
    """One delta, and the parts of the response as far as they have come with it."""

    delta: Delta
    place: int
    """Which part it belongs to."""
    shown: int
    """How many characters of that part have come."""


def steps(response: ModelResponse, piece: int = sys.maxsize) -> Iterator[Step]:
    """The deltas of a response, part by part, each of at most `piece` characters."""
    calls = 0
    for place, part in enumerate(response.parts):
        if isinstance(part, CallPart):
            yield Step(CallStarted(index=calls, call_id=part.call_id, name=part.name), place, 0)
            calls += 1
        text = _text_of(part)
        for start in range(0, len(text), piece):
            shown = text[start : start + piece]
            yield Step(_delta(part, shown, calls - 1), place, start + len(shown))


def _text_of(part: Part) -> str:
    match part:
        case TextPart() | ReasoningPart() | RefusalPart():
            return part.text
        case CallPart():
            return part.arguments
        case OpaquePart():
            return ""


def _delta(part: Part, text: str, index: int) -> Delta:
    match part:
        case ReasoningPart():
            return ReasoningDelta(text=text)
        case RefusalPart():
            return RefusalDelta(text=text)
        case CallPart():
            return CallDelta(index=index, text=text)
        case TextPart() | OpaquePart():
            return TextDelta(text=text)
