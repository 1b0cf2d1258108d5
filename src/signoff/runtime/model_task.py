"""What callers of models may spend together: calls, tokens and time, and one cancellation for all of them.

A task is shared by being passed on, never by inheritance. It is for callers on one event loop. What must never be put
here: retries, and prices.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from signoff.core.budget import TaskBound, TaskLimits, TaskUsage, charged, spent
from signoff.core.model.response import ModelResponse
from signoff.errors import BudgetExhausted, ProtocolViolation
from signoff.ports import Timer
from signoff.runtime.clock import HostClock

_ADVICE = {
    TaskBound.CANCELLED: "it was cancelled",
    TaskBound.MAX_MODEL_CALLS: "its calls are used up",
    TaskBound.MAX_TOKENS: "its tokens are used up",
    TaskBound.TIMEOUT: "its time is up",
}


class ModelTask:
    """A budget that is shared by whoever is given it. Its time begins when it is made.

    Every call is announced by `reserve` before it is made and ended by exactly one `charge`, or by `release` when
    nothing was sent.
    """

    def __init__(self, limits: TaskLimits, *, clock: Timer | None = None) -> None:
        self._limits = limits
        self._clock = clock or HostClock()
        self._began_at = self._clock.seconds()
        self._usage = TaskUsage()
        self._under_way = 0
        self._cancelled = False
        self._watchers: list[Callable[[], object]] = []

    @property
    def limits(self) -> TaskLimits:
        """What it may spend."""
        return self._limits

    @property
    def usage(self) -> TaskUsage:
        """What it has spent, calls that are under way not included."""
        return self._usage

    @property
    def under_way(self) -> int:
        """How many calls are reserved and not charged yet."""
        return self._under_way

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def seconds_left(self) -> float | None:
        """What is left of its time, from 0 on; None without a bound."""
        bound = self._limits.timeout_seconds
        return None if bound is None else max(bound - self._elapsed(), 0.0)

    def reserve(self) -> None:
        """Announce a call. Raises `BudgetExhausted` when nothing is left for it, or the task was cancelled."""
        bound = TaskBound.CANCELLED if self._cancelled else self._spent()
        if bound is not None:
            raise BudgetExhausted(
                f"the model task has nothing left ({bound}): {_ADVICE[bound]}; the call was not made; end the work "
                "with what there is, or give it a new task",
                bound=bound,
            )
        self._under_way += 1

    def charge(self, response: ModelResponse | None) -> None:
        """End a call with the usage that its response tells; None is a call of which nothing is known."""
        usage = charged(self._usage, None)  # whatever a model gives for a response, the call was made
        try:
            if response is not None:
                usage = charged(self._usage, response.usage, is_final=response.saw_reason)
        finally:
            self._end_one()
            self._usage = usage

    def release(self) -> None:
        """End a call of which nothing was sent."""
        self._end_one()

    def cancel(self) -> None:
        """End what is under way for this task and forbid further calls; a second call does nothing."""
        if self._cancelled:
            return
        self._cancelled = True
        for watcher in tuple(self._watchers):
            watcher()

    @contextmanager
    def watched(self, watcher: Callable[[], object]) -> Iterator[None]:
        """Within this block `cancel` calls the watcher; it is called at once when the task is cancelled already."""
        self._watchers.append(watcher)
        try:
            if self._cancelled:
                watcher()
            yield
        finally:
            self._watchers.remove(watcher)

    def _elapsed(self) -> float:
        return self._clock.seconds() - self._began_at

    def _spent(self) -> TaskBound | None:
        return spent(self._limits, self._usage, under_way=self._under_way, elapsed=self._elapsed())

    def _end_one(self) -> None:
        if self._under_way < 1:
            raise ProtocolViolation("a call was charged that was not reserved; nothing was counted; call reserve first")
        self._under_way -= 1
