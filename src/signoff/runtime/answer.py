"""Asks a model for one answer that can be used: within its attempts, deadlines and task. Decides nothing itself.

What a response is worth and what follows from it is said by `signoff.core.boundary`, how long a call may go on by
`signoff.core.generation`. Every call is charged to the task, with the usage that came, also when its response is
discarded, and told to the listener, also when the caller cancels.

What must never be put here: tools, a conversation, anything that outlives the answer.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import anyio
import msgspec

from signoff.core.boundary import AnswerPolicy, AskAgain, BoundaryReason, GiveUp, Next, Take, Worth, decide, worth
from signoff.core.budget import require_seconds
from signoff.core.generation import (
    Answer,
    Attempt,
    Generation,
    GenerationLimits,
    GenerationPhase,
    Repair,
    Stopped,
    after_repair,
    concluded,
    receipt,
    repair_request,
    spanned,
    started,
    without_calls,
    without_native,
    worth_of_stop,
)
from signoff.core.model.deltas import Delta
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import ModelResponse
from signoff.errors import PolicyError
from signoff.ports import AnswerListener, Model, Timer
from signoff.runtime.clock import HostClock
from signoff.runtime.model_task import ModelTask
from signoff.runtime.reading import Reading

_LOG = logging.getLogger("signoff")
T = TypeVar("T")
GRACE_SECONDS = 2.0
_STOPS = frozenset(
    {
        BoundaryReason.CALLER_CANCELLED,
        BoundaryReason.PROVIDER_CANCELLED,
        BoundaryReason.PROVIDER_TIMEOUT,
        BoundaryReason.IDLE_TIMEOUT,
        BoundaryReason.ACTIVE_STREAM_OVER_BUDGET,
        BoundaryReason.CALL_DEADLINE_EXCEEDED,
        BoundaryReason.ACTION_REPAIR_TIMEOUT,
        BoundaryReason.ACTION_REPAIR_EXHAUSTED,
    }
)
"""Reasons that come with a receipt: a call was stopped, not answered badly."""


class AnswerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer is asked for."""

    policy: AnswerPolicy = AnswerPolicy()
    limits: GenerationLimits = GenerationLimits()
    grace_seconds: float = GRACE_SECONDS
    """How long a call that was stopped may take to end; afterwards its client is left behind."""

    def __post_init__(self) -> None:
        require_seconds(self.grace_seconds, what="grace_seconds")
        if self.grace_seconds is None:
            raise PolicyError("grace_seconds is None; give a positive number of seconds")


async def answer(
    model: Model,
    request: ModelRequest,
    *,
    settings: AnswerSettings | None = None,
    task: ModelTask | None = None,
    clock: Timer | None = None,
    listener: AnswerListener | None = None,
) -> Answer:
    """Ask a model until it has given one usable answer, or none is to be had; nothing of it has been run.

    Raises `BudgetExhausted` when the task has nothing left for the next call, and what the model itself raises for a
    request that cannot be sent. A cancelled task ends in `Stopped`; a cancelled caller is told to the listener and goes
    on to the caller.
    """
    asking = _Asking(model, settings or AnswerSettings(), task=task, clock=clock or HostClock(), listener=listener)
    return await asking.run(request)


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call after its end."""

    response: ModelResponse
    stopped_by: BoundaryReason | None
    """Why we stopped it; None when it ended by itself."""
    generation: Generation
    left_behind: bool


class _Asking:
    """One answer in progress."""

    def __init__(
        self,
        model: Model,
        settings: AnswerSettings,
        *,
        task: ModelTask | None,
        clock: Timer,
        listener: AnswerListener | None,
    ) -> None:
        self._listener = listener
        self._model = model
        self._policy = settings.policy
        self._limits = settings.limits
        self._grace = settings.grace_seconds
        self._task = task
        self._clock = clock
        left = None if task is None else task.seconds_left()
        self._span = spanned(settings.limits, at=clock.seconds(), left=left)
        self._attempts: list[Attempt] = []

    async def run(self, request: ModelRequest) -> Answer:
        """Ask until there is something to give."""
        asked = origin = request
        attempt = 0
        while not self._is_cancelled():
            attempt += 1
            call = await self._call(asked, GenerationPhase.PRIMARY)
            if call.stopped_by is BoundaryReason.ACTIVE_STREAM_OVER_BUDGET and self._may_repair():
                return await self._repaired(call, origin)
            found = self._worth(call, asked)
            following = decide(found, call.response, request=origin, attempt=attempt, policy=self._policy)
            following = self._within_time(following, call.response)
            self._note(call, following)
            if not isinstance(following, AskAgain):
                return self._concluded(following, call, origin)
            await self._wait(following.wait_seconds)
            asked, origin = following.request, following.origin
        return self._called_off()

    async def _repaired(self, cut: _Call, origin: ModelRequest) -> Answer:
        """Make the one action repair."""
        self._note(cut, BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, repair=Repair.SCHEDULED)
        asked = repair_request(origin, cut.response, limits=self._limits)
        call = await self._call(asked, GenerationPhase.ACTION_REPAIR)
        found = self._worth(call, asked)
        following = after_repair(found, call.response, request=origin, cut=cut.response, policy=self._policy)
        self._note(call, following)
        return self._concluded(following, call, origin)

    # ── Steps ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _call(self, asked: ModelRequest, phase: GenerationPhase) -> _Call:
        """Make one call, and charge it whatever comes of it."""
        at = self._clock.seconds()
        generation = started(self._limits, span=self._span, at=at, tools_offered=bool(asked.tools), phase=phase)
        reading = Reading(self._model, asked, generation=generation, timer=self._clock, told=self._tell_delta)
        if self._task is not None:
            self._task.reserve()
        try:
            with self._watching(reading.interrupt):
                stopped_by = await reading.run(grace=self._grace)
        except anyio.get_cancelled_exc_class():
            self._note_cancelled(reading)
            raise
        except BaseException:  # whatever it is, a call that was sent is charged
            self._charge(None, sent=reading.sent)
            raise
        return self._settled(reading, stopped_by)

    def _settled(self, reading: Reading, stopped_by: BoundaryReason | None) -> _Call:
        """A call after its end. This charges it, also where the model's fault is raised."""
        response: ModelResponse | None = None
        try:
            response = reading.response(stopped_by)
        finally:
            self._charge(response, sent=reading.sent)
        return _Call(
            response=response,
            stopped_by=stopped_by,
            generation=reading.generation,
            left_behind=reading.left_behind,
        )

    def _charge(self, response: ModelResponse | None, *, sent: bool) -> None:
        if self._task is not None and sent:
            self._task.charge(response)
        elif self._task is not None:
            self._task.release()

    def _worth(self, call: _Call, asked: ModelRequest) -> Worth:
        """What a call is worth to which this was asked."""
        if call.stopped_by is not None:
            return worth_of_stop(call.stopped_by)
        return worth(call.response, asked, strict_finish=self._policy.strict_finish)

    def _within_time(self, following: Next, response: ModelResponse) -> Next:
        """What follows, given the time that is left: a wait that would end behind the deadline is not begun."""
        if not isinstance(following, AskAgain) or self._has_time(following.wait_seconds):
            return following
        return GiveUp(
            reason=following.reason,
            recoverable=True,
            text=response.text,
            end=response.end,
            wait_seconds=following.wait_seconds or None,
        )

    def _has_time(self, wait_seconds: float) -> bool:
        until = self._span.until
        return until is None or self._clock.seconds() + wait_seconds < until

    def _may_repair(self) -> bool:
        return self._limits.repair == "on" and self._has_time(0.0) and not self._is_cancelled()

    def _is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelled

    async def _wait(self, seconds: float) -> None:
        """Give a provider time, unless the task is cancelled."""
        if seconds <= 0:
            return
        woken = anyio.Event()
        with self._watching(woken.set), self._clock.move_on_at(self._clock.seconds() + seconds):
            await woken.wait()

    def _watching(self, watcher: Callable[[], object]) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self._task is None else self._task.watched(watcher)

    # ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _note(self, call: _Call, following: Next | BoundaryReason, *, repair: Repair = Repair.NONE) -> None:
        """Keep the record of an attempt, and tell it."""
        if isinstance(following, BoundaryReason):
            reason: BoundaryReason | None = following
        else:
            reason = None if isinstance(following, Take) else following.reason
        stopped = reason is not None and reason in _STOPS
        attempt = Attempt(
            number=len(self._attempts) + 1,
            phase=call.generation.phase,
            response=without_native(call.response),
            reason=reason,
            receipt=receipt(call.generation, reason, repair=repair) if reason is not None and stopped else None,
            left_behind=call.left_behind,
        )
        self._attempts.append(attempt)
        if self._listener is not None:
            _tell(self._listener.attempted, attempt)

    def _note_cancelled(self, reading: Reading) -> None:
        """Charge and record a call whose caller is cancelled."""
        cancelled = BoundaryReason.CALLER_CANCELLED
        try:
            self._note(self._settled(reading, cancelled), cancelled)
        except BaseException as error:  # noqa: BLE001 - nothing takes the place of the cancellation
            _LOG.warning("%s was raised while the caller of a model was cancelled", type(error).__name__)

    def _tell_delta(self, delta: Delta) -> None:
        if self._listener is not None:
            _tell(self._listener.added, delta)

    def _concluded(self, following: Take | GiveUp, call: _Call, origin: ModelRequest) -> Answer:
        return concluded(following, call.response, origin=origin, attempts=tuple(self._attempts))

    def _called_off(self) -> Stopped:
        """The answer of a task that was cancelled while no call was under way."""
        last = self._attempts[-1].response if self._attempts else None
        return Stopped(
            reason=BoundaryReason.CALLER_CANCELLED,
            recoverable=True,
            text="" if last is None else last.text,
            response=None if last is None else without_calls(last),
            attempts=tuple(self._attempts),
        )


def _tell(tell: Callable[[T], object], what: T) -> None:
    try:
        tell(what)
    # It is not awaited, so that a cancellation out of it is its own.
    except (Exception, asyncio.CancelledError):  # noqa: BLE001 - a listener can change nothing, so its fault ends nothing
        _LOG.exception("a listener failed; the answer goes on")
