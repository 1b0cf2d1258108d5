"""Doers that follow a script, for tests of whatever drives a run: they keep the rules of their ports, and do nothing.

A script that is exhausted raises `ScriptExhausted`, which is no `Exception`: a driver that turns the exceptions of its
doers into events would otherwise hide a fault of the test behind a verdict.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from signoff.core.completion.contract import ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, Picture
from signoff.core.goal.decisions import RunAgent
from signoff.core.goal.events import AgentOutcome, Role, Stage
from signoff.errors import PolicyError
from signoff.models.scripted import ScriptExhausted
from signoff.testing.fake_clock import FakeClock

T = TypeVar("T")

Act: TypeAlias = AgentOutcome | Callable[[RunAgent], AgentOutcome]
"""One attempt of a scripted agent: its outcome, or a function that does something and returns one."""


class ScriptedVerifier:
    """Implements the port `Verifier`: gives each check's results and the pictures in the order of its script."""

    def __init__(
        self,
        *,
        checks: Mapping[str, Iterable[CheckEvidence | Exception]],
        pictures: Iterable[Picture | Exception],
        clock: FakeClock | None = None,
    ) -> None:
        self.asked: list[str] = []
        """What was asked for, in order: `before tests`, `after tests`, `picture baseline`."""
        self._checks = {command_id: deque(results) for command_id, results in checks.items()}
        self._pictures = deque(pictures)
        self._clock = clock

    async def check(
        self, command: ValidationCommand, *, stage: Stage, timeout_seconds: float, deadline_bound: bool
    ) -> CheckEvidence:
        """Return the next result of this check; the clock moves on by its duration."""
        del timeout_seconds, deadline_bound
        asked = f"{stage} {command.id}"
        self.asked.append(asked)
        evidence = _next(self._checks.get(command.id, deque()), asked=asked)
        if isinstance(evidence, Exception):
            raise evidence
        if evidence.command_id != command.id:
            message = f"the script of check {command.id} holds a result of {evidence.command_id}; nothing was given"
            raise PolicyError(message)
        if self._clock is not None:
            self._clock.advance(evidence.duration_seconds)
        return evidence

    async def picture(self, role: Role) -> Picture:
        """Return the next picture, whatever it is taken for."""
        asked = f"picture {role}"
        self.asked.append(asked)
        picture = _next(self._pictures, asked=asked)
        if isinstance(picture, Exception):
            raise picture
        return picture

    @property
    def left(self) -> int:
        """How many results and pictures of the script were not asked for."""
        return len(self._pictures) + sum(map(len, self._checks.values()))


class ScriptedAgent:
    """Implements the port `AgentRunner`: plays one act of its script, or raises it, for each attempt."""

    def __init__(self, acts: Iterable[Act | Exception], *, clock: FakeClock | None = None) -> None:
        self.decisions: list[RunAgent] = []
        """What it was given, attempt by attempt."""
        self._acts: deque[Act | Exception] = deque(acts)
        self._clock = clock

    async def run(self, decision: RunAgent) -> AgentOutcome:
        """Play the next act; the clock moves on by the duration of its outcome."""
        self.decisions.append(decision)
        act = _next(self._acts, asked=f"attempt {decision.attempt}")
        if isinstance(act, Exception):
            raise act
        outcome = act if isinstance(act, AgentOutcome) else act(decision)
        if self._clock is not None:
            self._clock.advance(outcome.duration_seconds)
        return outcome

    @property
    def left(self) -> int:
        """How many acts of the script were not played."""
        return len(self._acts)


def _next(script: deque[T], *, asked: str) -> T:
    if not script:
        raise ScriptExhausted(f"{asked} was asked for, and the script holds nothing more for it; write what it gives.")
    return script.popleft()
