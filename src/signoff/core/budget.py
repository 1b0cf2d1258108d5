"""What a run or a model task may spend and what it has spent. Nothing here counts by itself: its owner does."""

import math
from enum import StrEnum

import msgspec

from signoff.core.model.response import TokenUsage
from signoff.core.values import require_count
from signoff.errors import PolicyError

DEFAULT_TIMEOUT_SECONDS = 24 * 3600.0
DEFAULT_MAX_REPAIRS = 5
STARTUP_SECONDS = 5.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one run; a bound that is None does not exist."""

    timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS
    """Seconds for the whole run, checks included."""
    attempt_timeout_seconds: float | None = None
    """Seconds for one attempt of the agent."""
    no_progress: int | None = None
    """Repairs with the same failures and the same workspace after which the run ends; None switches it off."""
    startup_seconds: float = STARTUP_SECONDS
    """An agent that ends non-zero within this time, without output or change, had no turn."""

    def __post_init__(self) -> None:
        require_seconds(self.timeout_seconds, what="timeout")
        require_seconds(self.attempt_timeout_seconds, what="attempt timeout")
        require_seconds(self.startup_seconds, what="start-up time")
        require_count(self.no_progress, what="no_progress", least=1)


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has spent so far; no number ever decreases."""

    attempts: int = 0
    repairs: int = 0
    agent_seconds: float = 0.0
    check_seconds: float = 0.0


# ── Model tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────


class TaskBound(StrEnum):
    """What of a model task is used up."""

    MAX_MODEL_CALLS = "max_model_calls"
    MAX_TOKENS = "max_tokens"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class TaskLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one model task; a bound that is None does not exist, but at least one must."""

    max_calls: int | None = None
    """Requests to models, each second attempt and each repair included."""
    max_tokens: int | None = None
    """Input and output together. They are known after a call, so that the last one may go beyond."""
    timeout_seconds: float | None = None
    """From the moment that the task was made."""

    def __post_init__(self) -> None:
        require_count(self.max_calls, what="max_calls", least=1)
        require_count(self.max_tokens, what="max_tokens", least=1)
        require_seconds(self.timeout_seconds, what="the task's timeout")
        if self.max_calls is None and self.max_tokens is None and self.timeout_seconds is None:
            raise PolicyError("a model task has no bound; it was not made; give max_calls, max_tokens or a timeout")


class TaskUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a model task has spent so far; no number ever decreases."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens: int = 0
    """All tokens: the provider's total where it is more than input and output."""
    calls_without_usage: int = 0
    """Calls whose input or output was not told, or not at their end: what they spent is unknown, and not zero."""


def charged(usage: TaskUsage, told: TokenUsage | None, *, is_final: bool = True) -> TaskUsage:
    """The usage after one more call, with what its provider told of it.

    What was told on the way of a response that never gave its reason is added, and is not final: more was spent.
    """
    told = told or TokenUsage()
    given, made, total = (max(number or 0, 0) for number in (told.input, told.output, told.total))
    return TaskUsage(
        calls=usage.calls + 1,
        input_tokens=usage.input_tokens + given,
        output_tokens=usage.output_tokens + made,
        tokens=usage.tokens + max(total, given + made),
        calls_without_usage=usage.calls_without_usage + (not is_final or told.input is None or told.output is None),
    )


def spent(limits: TaskLimits, usage: TaskUsage, *, under_way: int, elapsed: float) -> TaskBound | None:
    """Which bound forbids another call; `under_way` counts those that have not been charged yet."""
    if limits.max_calls is not None and usage.calls + under_way >= limits.max_calls:
        return TaskBound.MAX_MODEL_CALLS
    if limits.max_tokens is not None and usage.tokens >= limits.max_tokens:
        return TaskBound.MAX_TOKENS
    if limits.timeout_seconds is not None and elapsed >= limits.timeout_seconds:
        return TaskBound.TIMEOUT
    return None


def require_seconds(number: object, *, what: str) -> None:
    """Refuse a time that is not a positive, finite number of seconds; None means that there is no bound."""
    if number is None:
        return
    if not isinstance(number, int | float) or isinstance(number, bool) or not math.isfinite(number) or number <= 0:
        message = f"{what} is {number!r}; give a positive number of seconds"
        raise PolicyError(message)
