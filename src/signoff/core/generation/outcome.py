"""What a caller gets of one answer: calls and text that may be used, or why there are none, and each attempt's record.

What must never be put here: a judgement of a response (that is `signoff.core.boundary`).
"""

from typing import TypeAlias

import msgspec

from signoff.core.boundary import BoundaryReason, GiveUp, Take
from signoff.core.generation.machine import GenerationPhase, GenerationReceipt
from signoff.core.model.calls import ToolCall
from signoff.core.model.parts import CallPart, OpaquePart
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import ModelResponse


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model, whatever came of it."""

    number: int
    """From 1, an action repair counted on."""
    phase: GenerationPhase
    response: ModelResponse
    """As it came, but without its native text."""
    reason: BoundaryReason | None = None
    """Why its response is not used; None when it is."""
    receipt: GenerationReceipt | None = None
    """Where the call was stopped, by a deadline, its caller or its provider, or where an action repair failed."""
    left_behind: bool = False
    """The model's client did not end within the grace period; what it does now is not waited for."""


class Usable(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer, or a whole batch of calls."""

    response: ModelResponse
    """The accepted response, with its native text."""
    origin: ModelRequest
    """What it is the next turn of: the request as it was given, or after a pause one that ends with the paused turn."""
    calls: tuple[ToolCall, ...]
    text: str
    attempts: tuple[Attempt, ...]
    """All calls that were made for it, in order; the last gave the response."""

    @property
    def receipts(self) -> tuple[GenerationReceipt, ...]:
        """The receipts of the calls that were stopped on the way."""
        return _receipts(self.attempts)


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """There is no usable answer."""

    reason: BoundaryReason
    recoverable: bool
    """Whether a later turn may do better."""
    text: str = ""
    """What can be shown for it, and is no answer: the visible part, or of a full context the latest text."""
    response: ModelResponse | None = None
    """The last response, without calls and native text; None when no call was made."""
    attempts: tuple[Attempt, ...] = ()
    wait_seconds: float | None = None
    """How long the provider asked to wait, or the next attempt would have, where there was no time for it."""

    @property
    def receipts(self) -> tuple[GenerationReceipt, ...]:
        """The receipts of the calls that were stopped."""
        return _receipts(self.attempts)


Answer: TypeAlias = Usable | Stopped


def concluded(
    following: Take | GiveUp, response: ModelResponse, *, origin: ModelRequest, attempts: tuple[Attempt, ...]
) -> Answer:
    """The answer that follows from the last response."""
    if isinstance(following, Take):
        return Usable(response=response, origin=origin, calls=following.calls, text=following.text, attempts=attempts)
    return Stopped(
        reason=following.reason,
        recoverable=following.recoverable,
        text=following.text,
        response=without_calls(response),
        attempts=attempts,
        wait_seconds=following.wait_seconds,
    )


def without_calls(response: ModelResponse) -> ModelResponse:
    """A response of which nothing can be run: no call, nothing that awaits a result, no native text that holds one."""
    kept = tuple(
        part
        for part in response.parts
        if not (isinstance(part, CallPart) or (isinstance(part, OpaquePart) and part.awaits_result))
    )
    return msgspec.structs.replace(response, parts=kept, native="")


def without_native(response: ModelResponse) -> ModelResponse:
    """A response for records: its parts say what its native text says, in half of the room."""
    return msgspec.structs.replace(response, native="")


def _receipts(attempts: tuple[Attempt, ...]) -> tuple[GenerationReceipt, ...]:
    return tuple(attempt.receipt for attempt in attempts if attempt.receipt is not None)
