"""Reads one response of a model, in a task of its own, until it ends or the generation's machine stops it.

The task is what makes a deadline hold against a client that ignores cancellation: it is cancelled, waited for through
the grace period, and then left behind. No task group can do that, since it never leaves before its tasks have ended.

What must never be put here: a second call, a judgement of the response.
"""

import asyncio
import logging
import math
from collections.abc import Callable

import anyio
import msgspec

from signoff.core.boundary import BoundaryReason
from signoff.core.generation import Ended, Event, Generation, GoOn, Stop, TimePassed, advance, arrived, worth_of_stop
from signoff.core.generation.partial import cut_response, failed_response
from signoff.core.model.deltas import Delta
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse
from signoff.errors import BudgetExhausted, ConfigError, PolicyError, ProtocolViolation
from signoff.ports import Model, ResponseStream, Timer
from signoff.runtime.left_behind import LEFT_BEHIND

_LOG = logging.getLogger("signoff")
_CANCELLED = Failure(kind=FailureKind.CANCELLED, where="transport")
_TIMEOUTS = frozenset(
    {
        "APITimeoutError",
        "ConnectTimeout",
        "DeadlineExceeded",
        "PoolTimeout",
        "ReadTimeout",
        "Timeout",
        "TimeoutError",
        "TimeoutException",
        "WriteTimeout",
    }
)
"""Names of exceptions by which clients say that they gave up waiting; not all derive from `TimeoutError`."""
_REFUSALS = (BudgetExhausted, ConfigError, PolicyError, ProtocolViolation)
"""What a model may raise on entering where it sent nothing; after any other exception it may have sent."""


class Reading:
    """One call of a model: its deltas go to `told`, its deadlines are those of `generation`."""

    def __init__(
        self,
        model: Model,
        request: ModelRequest,
        *,
        generation: Generation,
        timer: Timer,
        told: Callable[[Delta], object],
    ) -> None:
        self.left_behind = False
        """Whether the model's client did not end within the grace period."""
        self._model = model
        self._name = model.name
        self._request = request
        self._generation = generation
        self._timer = timer
        self._told = told
        self._asked = False
        self._stream: ResponseStream | None = None
        self._exhausted = False
        self._deltas: list[Delta] = []
        self._task: asyncio.Task[None] | None = None
        self._news = anyio.Event()
        self._over = anyio.Event()
        self._awaited = math.inf
        self._interrupted = False

    @property
    def generation(self) -> Generation:
        """The state of the call after its last event."""
        return self._generation

    @property
    def sent(self) -> bool:
        """Whether the request may have been sent: the model was asked, and did not refuse before it was entered."""
        return self._stream is not None or (self._asked and not isinstance(self._error(), _REFUSALS))

    def interrupt(self) -> None:
        """Have the call stopped for its caller."""
        self._interrupted = True
        self._news.set()

    async def run(self, *, grace: float) -> BoundaryReason | None:
        """Read to the end; return why it was stopped, or None when it ended by itself. May be called once.

        Cancelled, it stops the call before it goes on to the caller, which takes at most the grace period. So does the
        leaving of a response that has ended.
        """
        # Not a task group: see above. The task is owned here until it ends, and by `LEFT_BEHIND` afterwards.
        loop = asyncio.get_running_loop()
        self._task = task = loop.create_task(self._read(), name=f"the client of the model {self._name}")
        task.add_done_callback(self._ended)
        try:
            reason = await self._decided()
            if reason is None:
                grace = await self._left(grace)
        finally:
            # On the way out of a cancellation too: what can still be said of the call is recorded by the caller.
            await self._stopped(task, grace)
        return reason

    def response(self, reason: BoundaryReason | None) -> ModelResponse:
        """The record, after `run`; `reason` is why the call was stopped. Raises what the model raised of its own."""
        if reason is not None:
            return self._cut(worth_of_stop(reason).failure or _CANCELLED)
        error, given = self._error(), self._given()
        if given is not None and self._exhausted and isinstance(error, Exception | asyncio.CancelledError):
            _log(error, self._name, when="its response was left")
        elif error is not None:
            return self._after(error, given)
        if given is None:
            raise ProtocolViolation(f"the model {self._name} gave no record; its response is lost; mend the model")
        return given

    # ── In the task ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _read(self) -> None:
        self._asked = True
        async with self._model.stream(self._request) as stream:
            self._stream = stream
            async for delta in stream:
                if not self._take(delta):
                    return
            # It has ended here: how long the client takes to leave, and what it raises then, is no part of a response.
            self._exhausted = True
            self._advance(Ended(self._timer.seconds()))
            self._news.set()

    def _take(self, delta: Delta) -> bool:
        """Take a delta in; whether more of them are wanted."""
        if self._interrupted:
            return False
        self._advance(arrived(delta, self._timer.seconds()))
        decision = self._generation.decision
        if not isinstance(decision, GoOn):
            self._news.set()
            return False
        if decision.wake_at is not None and decision.wake_at < self._awaited:
            self._news.set()
        self._deltas.append(delta)
        self._told(delta)
        return True

    # ── Beside it ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _decided(self) -> BoundaryReason | None:
        """Wait for the end of the response, a deadline, or an interruption."""
        while isinstance(self._generation.decision, GoOn):
            if self._interrupted:
                return BoundaryReason.CALLER_CANCELLED
            self._advance(TimePassed(await self._news_by(self._generation.decision.wake_at)))
        decision = self._generation.decision
        return decision.reason if isinstance(decision, Stop) else None

    async def _news_by(self, wake_at: float | None) -> float:
        """Wait for news, or for a moment; return how late it is. A wait that ended counts, whatever the clock shows."""
        self._news = anyio.Event()
        self._awaited = math.inf if wake_at is None else wake_at
        if wake_at is None:
            await self._news.wait()
            return self._timer.seconds()
        with self._timer.move_on_at(wake_at):
            await self._news.wait()
            wake_at = -math.inf
        return max(self._timer.seconds(), wake_at)

    async def _left(self, grace: float) -> float:
        """Wait for the client to leave its response, in real time; return what is left of the grace period."""
        with anyio.move_on_after(grace):
            await self._over.wait()
        return 0.0

    async def _stopped(self, task: "asyncio.Task[None]", grace: float) -> None:
        """Have the task ended; leave it behind when it will not."""
        if self._over.is_set():
            return
        if not task.done():
            self._interrupted = True
            self._advance(TimePassed(self._timer.seconds()))
            task.cancel()
        try:
            # In real time: a clock of a test says nothing about how long a client takes to clean up.
            with anyio.move_on_after(grace, shield=True):
                await self._over.wait()
        finally:
            if not task.done():
                self.left_behind = True
                LEFT_BEHIND.adopt(task)

    def _ended(self, _: "asyncio.Task[None]") -> None:
        self._advance(Ended(self._timer.seconds()))
        self._news.set()
        self._over.set()

    def _advance(self, event: Event) -> None:
        self._generation = advance(self._generation, event).state

    # ── The record ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _error(self) -> BaseException | None:
        """What the task ended in, if it has ended."""
        if self._task is None or not self._task.done():
            return None
        return asyncio.CancelledError() if self._task.cancelled() else self._task.exception()

    def _given(self) -> ModelResponse | None:
        """The record that the model gives; None when it has none, or something else in its place."""
        if self._stream is None:
            return None
        try:
            given: object = self._stream.response
        except (ProtocolViolation, asyncio.CancelledError):  # nobody is cancelled in a property
            return None
        return given if isinstance(given, ModelResponse) else None

    def _cut(self, failure: Failure) -> ModelResponse:
        """The record of a call that was stopped; no fault of the model takes its place."""
        error, given = self._error(), None
        try:
            given = self._given()
        except Exception as fault:  # noqa: BLE001 - the port: a model that fails when it is stopped changes nothing
            error = fault
        if error is not None:
            _log(error, self._name, when="it was stopped")
        return cut_response(self._deltas, failure) if given is None else failed_response(given, failure)

    def _after(self, error: BaseException, given: ModelResponse | None) -> ModelResponse:
        """The record after an exception of the model's client; one that says nothing about the network is raised."""
        failure = _failure_by(error)
        if failure is None:
            raise error
        if given is None:
            return cut_response(self._deltas, failure)
        return msgspec.structs.replace(given, failure=failure, end=End.TRANSPORT, body_end=BodyEnd.CUT)


def _log(error: BaseException, name: str, *, when: str) -> None:
    if not isinstance(error, asyncio.CancelledError):
        _LOG.warning("the model %s raised %s while %s", name, type(error).__name__, when)


def _failure_by(error: BaseException) -> Failure | None:
    """What an exception says about the network; None when it is a fault of another kind."""
    if isinstance(error, asyncio.CancelledError):
        return _CANCELLED  # nobody here had asked for it
    if any(kind.__name__ in _TIMEOUTS for kind in type(error).__mro__):
        return Failure(kind=FailureKind.PROVIDER_TIMEOUT, where="transport")
    if isinstance(error, OSError):
        return Failure(kind=FailureKind.CONNECTION, where="transport")
    return None
