"""What had come of a response, from its deltas alone: for a client that never gives its record.

What must never be put here: a guess at what was to come. Every call is left open.
"""

from collections.abc import Iterable

import msgspec

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.parts import Api, CallPart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, Failure, ModelResponse

_PARTS = {TextDelta: TextPart, ReasoningDelta: ReasoningPart, RefusalDelta: RefusalPart}


def cut_response(deltas: Iterable[Delta], failure: Failure) -> ModelResponse:
    """The record of a response that was given up, as far as its deltas tell it."""
    parts = _parts(deltas)
    facts = Gathered(api=Api.OTHER, body_end=BodyEnd.CUT, streamed=True, parts=parts, failure=failure)
    return conclude(facts, Exchange())


def failed_response(response: ModelResponse, failure: Failure) -> ModelResponse:
    """The record of a cut response with what is known better outside: why it was cut.

    A record of a whole response, or of another failure, stays as it is.
    """
    if response.failure is None or response.failure.where != "host":
        return response
    return msgspec.structs.replace(response, failure=failure)


def _parts(deltas: Iterable[Delta]) -> tuple[Part, ...]:
    """The parts, in the order in which they began; neighbours of one kind are one part."""
    runs: list[tuple[type, list[str]]] = []
    calls: dict[int, tuple[CallStarted, list[str]]] = {}
    for delta in deltas:
        if isinstance(delta, CallStarted | CallDelta):
            if delta.index not in calls:
                begun = delta if isinstance(delta, CallStarted) else CallStarted(index=delta.index, call_id="", name="")
                calls[delta.index] = begun, []
                runs.append((CallStarted, [str(delta.index)]))
            calls[delta.index][1].append(delta.text if isinstance(delta, CallDelta) else "")
        elif runs and runs[-1][0] is type(delta):
            runs[-1][1].append(delta.text)
        else:
            runs.append((type(delta), [delta.text]))
    return tuple(
        _PARTS[kind](text="".join(texts)) if kind in _PARTS else _call(*calls[int(texts[0])]) for kind, texts in runs
    )


def _call(begun: CallStarted, arguments: list[str]) -> CallPart:
    return CallPart(call_id=begun.call_id, name=begun.name, arguments="".join(arguments), closed=False)
