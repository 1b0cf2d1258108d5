"""How long the generation of an answer may take, and what is done to make it act. Every deadline is off unless set.

What must never be put here: a clock, and how often a model is asked (that is `AnswerPolicy`).
"""

from typing import Literal, TypeAlias

import msgspec

from signoff.core.budget import require_seconds
from signoff.core.values import require_count
from signoff.errors import PolicyError

ActionRepair: TypeAlias = Literal["on", "off"]
"""Whether a stream that was cut for not acting is followed by one short call that asks for an action."""


class GenerationLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Deadlines of one answer, in seconds; one that is None is off."""

    total: float | None = None
    """For the whole answer: every attempt, the waits between them, and an action repair."""
    idle: float | None = None
    """From the start of a call, or from the last thing it added, to the next; what is empty adds nothing."""
    active: float | None = None
    """From the first thing that a call adds, where tools were offered, until it begins a tool call."""
    action_repair: float | None = None
    """For the action repair."""
    repair: ActionRepair = "on"
    """`on` makes one action repair after the active deadline, whatever is left of the model attempts."""
    repair_output_tokens: int = 1024
    """How much an action repair may put out, reasoning included; a lower bound of the request itself holds."""
    partial_chars: int = 8192
    """How much of the end of the stream that was cut the action repair is shown, in characters."""

    def __post_init__(self) -> None:
        for name in ("total", "idle", "active", "action_repair"):
            require_seconds(getattr(self, name), what=f"the deadline {name}")
        if self.repair not in {"on", "off"}:
            raise PolicyError(f"repair is {self.repair!r}; give 'on' or 'off'")
        for name, least in (("repair_output_tokens", 1), ("partial_chars", 0)):
            if getattr(self, name) is None:
                raise PolicyError(f"{name} is None; give a whole number of at least {least}")
            require_count(getattr(self, name), what=name, least=least)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The time of one whole answer."""

    began_at: float
    """Seconds on the caller's clock, as all times here."""
    requested_total: float | None = None
    """The deadline that the limits ask for."""
    effective_total: float | None = None
    """The deadline that holds: the limits' own, or what was left of the task's time."""

    @property
    def until(self) -> float | None:
        """When the answer must have ended."""
        return None if self.effective_total is None else self.began_at + self.effective_total


def spanned(limits: GenerationLimits, *, at: float, left: float | None) -> Span:
    """The span of an answer that begins now; `left` is what the task has of its time, None without a deadline."""
    bounds = [bound for bound in (limits.total, None if left is None else max(left, 0.0)) if bound is not None]
    return Span(began_at=at, requested_total=limits.total, effective_total=min(bounds, default=None))
