"""One call of a model as a small machine: it goes on until a deadline, or until the response has ended.

The nearest deadline stops a call. `total` is that of the whole answer, `idle` runs anew from whatever a call adds,
`active` begins with the first thing that it adds and ends for good with its first tool call; it holds only for a first
call to which tools were offered. An action repair has a deadline of its own in its place. Deadlines that fall together
are told apart by the alphabet of their names. A response that has ended is never stopped, however late that is seen.

What must never be put here: a clock, text of the model, what follows from a stop.
"""

from enum import StrEnum
from typing import NamedTuple, TypeAlias, assert_never

import msgspec

from signoff.core.boundary.reasons import BoundaryReason
from signoff.core.generation.limits import GenerationLimits, Span
from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta


class GenerationPhase(StrEnum):
    """Which call of an answer this is."""

    PRIMARY = "primary"
    """A call with the whole request."""
    ACTION_REPAIR = "action_repair"


class DeltaKind(StrEnum):
    """What a delta adds."""

    NOTHING = "nothing"
    """It is empty: a sign of life, and no progress."""
    WORDS = "words"
    """Text, reasoning or a refusal."""
    CALL = "call"
    """A tool call begins."""
    ARGUMENTS = "arguments"
    """More of a tool call."""


class DeltaArrived(msgspec.Struct, frozen=True):
    """A delta came."""

    at: float
    kind: DeltaKind
    characters: int = 0


class TimePassed(msgspec.Struct, frozen=True):
    """It is this late now."""

    at: float


class Ended(msgspec.Struct, frozen=True):
    """The response has ended, in whatever way."""

    at: float


class GoOn(msgspec.Struct, frozen=True):
    """Read on. Send `TimePassed` at `wake_at` unless something else comes before; None is never."""

    wake_at: float | None


class Stop(msgspec.Struct, frozen=True):
    """End the call; nothing more of it is taken."""

    reason: BoundaryReason


class Close(msgspec.Struct, frozen=True):
    """Judge the response: it ended by itself."""


Event: TypeAlias = DeltaArrived | TimePassed | Ended
Decision: TypeAlias = GoOn | Stop | Close


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one call."""

    span: Span
    limits: GenerationLimits
    phase: GenerationPhase
    tools_offered: bool
    began_at: float
    at: float
    """When the last event was; an event that claims to be earlier is taken as of then."""
    added_at: float
    """When the call last added something, or began."""
    active_since: float | None = None
    calls: int = 0
    characters: int = 0
    """Of text, reasoning, refusals and arguments, as far as they came."""
    decision: Decision


class Step(NamedTuple):
    """The next state, and what is to be done."""

    state: Generation
    decision: Decision


def started(
    limits: GenerationLimits, *, span: Span, at: float, tools_offered: bool, phase: GenerationPhase
) -> Generation:
    """A call that is sent now; its `decision` says when to wake it first."""
    state = Generation(
        span=span,
        limits=limits,
        phase=phase,
        tools_offered=tools_offered,
        began_at=at,
        at=at,
        added_at=at,
        decision=GoOn(None),
    )
    return msgspec.structs.replace(state, decision=_going_on(state))


def arrived(delta: Delta, at: float) -> DeltaArrived:
    """The event of a delta."""
    match delta:
        case TextDelta() | ReasoningDelta() | RefusalDelta():
            return DeltaArrived(at, DeltaKind.WORDS if delta.text else DeltaKind.NOTHING, len(delta.text))
        case CallStarted():
            return DeltaArrived(at, DeltaKind.CALL)
        case CallDelta():
            return DeltaArrived(at, DeltaKind.ARGUMENTS if delta.text else DeltaKind.NOTHING, len(delta.text))
        case _:
            assert_never(delta)


def advance(state: Generation, event: Event) -> Step:
    """Take an event in. Behind a stop or an end nothing changes any more, so that what comes late does no harm."""
    if not isinstance(state.decision, GoOn):
        return Step(state, state.decision)
    at = event.at if event.at > state.at else state.at  # noqa: FURB136 - for each delta, and `max` costs three times this
    if isinstance(event, Ended):
        return _decided(state, at, Close())
    wake_at = state.decision.wake_at
    if wake_at is not None and at >= wake_at:
        return _decided(state, at, Stop(min(_deadlines(state))[1]))
    if isinstance(event, TimePassed) or event.kind is DeltaKind.NOTHING:
        return Step(msgspec.structs.replace(state, at=at), state.decision)
    moved = msgspec.structs.replace(
        state,
        at=at,
        added_at=at,
        active_since=at if state.active_since is None else state.active_since,
        calls=_calls(state.calls, event.kind),
        characters=state.characters + event.characters,
    )
    following = _going_on(moved)
    if following.wake_at == wake_at:
        return Step(moved, state.decision)
    return _decided(moved, at, following)


def _calls(calls: int, kind: DeltaKind) -> int:
    """How many calls have begun; arguments without a beginning belong to one all the same."""
    return calls + 1 if kind is DeltaKind.CALL else max(calls, 1) if kind is DeltaKind.ARGUMENTS else calls


def _decided(state: Generation, at: float, decision: Decision) -> Step:
    return Step(msgspec.structs.replace(state, at=at, decision=decision), decision)


def _going_on(state: Generation) -> GoOn:
    deadlines = _deadlines(state)
    return GoOn(min(deadlines)[0] if deadlines else None)


def _deadlines(state: Generation) -> list[tuple[float, BoundaryReason]]:
    """The deadlines that hold now, each with its name; the least of them is the nearest."""
    limits, until = state.limits, state.span.until
    found: list[tuple[float, BoundaryReason]] = []
    if until is not None:
        found.append((until, BoundaryReason.CALL_DEADLINE_EXCEEDED))
    if limits.idle is not None:
        found.append((state.added_at + limits.idle, BoundaryReason.IDLE_TIMEOUT))
    if state.phase is GenerationPhase.ACTION_REPAIR:
        if limits.action_repair is not None:
            found.append((state.began_at + limits.action_repair, BoundaryReason.ACTION_REPAIR_TIMEOUT))
    elif limits.active is not None and state.active_since is not None and state.tools_offered and not state.calls:
        found.append((state.active_since + limits.active, BoundaryReason.ACTIVE_STREAM_OVER_BUDGET))
    return found


# ── Receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Repair(StrEnum):
    """What a stop has to do with an action repair."""

    NONE = "none"
    SCHEDULED = "scheduled"
    """One follows this stop."""
    ATTEMPTED = "attempted"
    """It is the repair itself that was stopped."""


class GenerationReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """Why and when a call was stopped. No text of the model stands in it."""

    reason: BoundaryReason
    phase: GenerationPhase
    elapsed: float
    """Seconds since the answer was asked for."""
    phase_elapsed: float
    """Seconds since this call was sent."""
    partial_characters: int
    calls: int
    """How many tool calls it had begun."""
    repair: Repair
    requested_total: float | None
    effective_total: float | None

    @property
    def partial_available(self) -> bool:
        """Whether anything of a response had come."""
        return self.partial_characters > 0


def receipt(state: Generation, reason: BoundaryReason, *, repair: Repair = Repair.NONE) -> GenerationReceipt:
    """The receipt of a call that was stopped at its last event, by a deadline, its caller or its provider."""
    in_repair = state.phase is GenerationPhase.ACTION_REPAIR
    return GenerationReceipt(
        reason=reason,
        phase=state.phase,
        elapsed=state.at - state.span.began_at,
        phase_elapsed=state.at - state.began_at,
        partial_characters=state.characters,
        calls=state.calls,
        repair=Repair.ATTEMPTED if in_repair else repair,
        requested_total=state.span.requested_total,
        effective_total=state.span.effective_total,
    )
