"""What a run may spend and what it has spent. Nothing here counts by itself: a machine of the core does."""

import math

import msgspec

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


def require_seconds(number: float | None, *, what: str) -> None:
    """Refuse a time that is not a positive, finite number of seconds; None means that there is no bound."""
    if number is None:
        return
    if isinstance(number, bool) or not math.isfinite(number) or number <= 0:
        message = f"{what} is {number!r}; give a positive number of seconds"
        raise PolicyError(message)
