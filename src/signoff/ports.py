"""The doers that a run needs, as Protocols of one to five methods. Implemented without inheriting.

Only shapes belong here: no defaults, no code.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from signoff.core.completion.contract import ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, Picture
from signoff.core.goal.decisions import Decision, RunAgent
from signoff.core.goal.events import AgentOutcome, Event, Role, Stage
from signoff.core.journal import Record, RunEnds
from signoff.core.values import Moment

if TYPE_CHECKING:  # importing them costs more than all the rest, and commands that ask no model need none of it
    from signoff.core.generation import Attempt
    from signoff.core.model.deltas import Delta
    from signoff.core.model.request import ModelRequest
    from signoff.core.model.response import ModelResponse


class Clock(Protocol):
    """Says when it is, on a clock that never jumps and as a wall time derived from it."""

    def now(self) -> Moment:
        """Return the present moment."""
        ...


class Timer(Clock, Protocol):
    """A clock that can be read often and waited on."""

    def seconds(self) -> float:
        """Return what `now` has as `elapsed`, without the cost of a wall time."""
        ...

    def move_on_at(self, seconds: float) -> AbstractContextManager[object]:
        """A block that is left, by cancelling what waits in it, when the clock has come so far; nothing is raised."""
        ...


class Store(Protocol):
    """Keeps journals. A record that `append` has returned for survives the process."""

    async def append(self, record: Record) -> None:
        """Write the next record of a run; raise `JournalConflict` when its number is taken or leaves a gap."""
        ...

    async def read(self, run_id: str) -> tuple[Record, ...]:
        """Return the records of a run in order; empty when there is no such run. Checks the chain."""
        ...

    async def runs(self) -> tuple[RunEnds, ...]:
        """Return the ends of every run, the run that began last first."""
        ...

    async def close(self) -> None:
        """Let go of the store; afterwards every other call raises `StoreError`."""
        ...


class Verifier(Protocol):
    """Gathers evidence about one workspace; judges nothing."""

    async def check(
        self, command: ValidationCommand, *, stage: Stage, timeout_seconds: float, deadline_bound: bool
    ) -> CheckEvidence:
        """Run one validation command to its end."""
        ...

    async def picture(self, role: Role) -> Picture:
        """Look at the workspace, its artifacts, immutable inputs and control files."""
        ...


class AgentRunner(Protocol):
    """Runs the agent once."""

    async def run(self, decision: RunAgent) -> AgentOutcome:
        """Give the agent its goal and feedback, and return when its process tree has ended."""
        ...


class ResponseStream(Protocol):
    """One response in progress: iterate over what it adds, then read the record."""

    def __aiter__(self) -> "AsyncIterator[Delta]":
        """Give each delta as it comes; ends with the response, however that ended, and raises nothing for it."""
        ...

    @property
    def response(self) -> "ModelResponse":
        """The record, once the iteration has ended or the context was left; before that, `ProtocolViolation`."""
        ...


class Model(Protocol):
    """Asks a model once: no second attempt, no repair. What a provider does wrong is in the record, never raised."""

    @property
    def name(self) -> str:
        """The model as the user named it, for records."""
        ...

    def stream(self, request: "ModelRequest") -> AbstractAsyncContextManager[ResponseStream]:
        """Send a request and read its response as it comes; leaving the context early ends the connection.

        Entering raises `PolicyError`, `ConfigError`, `ProtocolViolation` or `BudgetExhausted` only if nothing was sent.
        """
        ...

    async def respond(self, request: "ModelRequest") -> "ModelResponse":
        """Send a request and read its response at once, without streaming."""
        ...

    async def close(self) -> None:
        """Let go of connections; a second call does nothing."""
        ...


class AnswerListener(Protocol):
    """Is told how an answer comes about; can change nothing."""

    def added(self, delta: "Delta") -> None:
        """Hear what a response in progress adds. It belongs to the attempt that is told of next, and may be void."""
        ...

    def attempted(self, attempt: "Attempt") -> None:
        """Hear of one attempt, when it has been judged or stopped; also of one that its caller cancelled."""
        ...


class ReceiptWriter(Protocol):
    """Writes the statement of a verdict to a place outside the workspace, or where the user said."""

    async def write(self, statement: bytes) -> tuple[str, str]:
        """Return the receipt's path and the digest of its bytes."""
        ...

    async def withdraw(self) -> None:
        """Take back what `write` put there, if it did: the run was cancelled before its receipt was recorded."""
        ...


class Listener(Protocol):
    """Is told what happens; can change nothing."""

    def told(self, event: Event, decisions: Sequence[Decision]) -> None:
        """Hear an event, after it was journaled, and what follows from it."""
        ...


__all__ = [
    "AgentRunner",
    "AnswerListener",
    "Clock",
    "Listener",
    "Model",
    "ReceiptWriter",
    "Record",
    "ResponseStream",
    "RunEnds",
    "Store",
    "Timer",
    "Verifier",
]
