"""What is known about a goal run at one moment: the fold of its events, a frozen value."""

from enum import StrEnum

import msgspec

from signoff.core.budget import Usage
from signoff.core.completion.assess import Failure
from signoff.core.completion.evidence import CheckEvidence, Picture
from signoff.core.goal.decisions import Decision
from signoff.core.goal.events import AgentOutcome, RunStarted
from signoff.core.goal.verdict import Verdict
from signoff.core.values import Moment


class Phase(StrEnum):
    """Where a goal run stands; each phase waits for the events of its row in `advance.TABLE`."""

    NEW = "new"
    CHECKING_BEFORE = "checking_before"
    PICTURING_BASELINE = "picturing_baseline"
    RUNNING = "running"
    PICTURING = "picturing"
    CHECKING = "checking"
    CONFIRMING = "confirming"
    RECORDING = "recording"
    FINISHING = "finishing"
    FINISHED = "finished"


class GoalState(msgspec.Struct, frozen=True, kw_only=True):
    """A goal run. Build it only by `advance` from `GoalState()`."""

    phase: Phase = Phase.NEW
    at: Moment | None = None
    """The moment of the last event."""
    run: RunStarted | None = None
    pending: tuple[str, ...] = ()
    """Ids of checks that were asked for, or are still to be asked for, in order."""
    before: tuple[CheckEvidence, ...] = ()
    held_before: tuple[str, ...] = ()
    """Ids of the checks and artifacts that held before the agent started."""
    attempt: int = 0
    agent: AgentOutcome | None = None
    after_agent: Picture | None = None
    after_checks: Picture | None = None
    checks: tuple[CheckEvidence, ...] = ()
    last_checks: tuple[CheckEvidence, ...] = ()
    """The checks of the attempt before, which the last judgement speaks of."""
    again: bool = False
    """The checks of this attempt were taken a second time already."""
    failures: tuple[Failure, ...] = ()
    """What failed at the last judgement."""
    usage: Usage = Usage()
    signature: str = ""
    """Failures and workspace of the last rejected claim, to see whether a repair changed anything."""
    unchanged_repairs: int = 0
    verdict: Verdict | None = None
    receipt_path: str | None = None
    receipt_error: str = ""


class Transition(msgspec.Struct, frozen=True):
    """A step of the machine: the next state, and what the host is to do."""

    state: GoalState
    decisions: tuple[Decision, ...] = ()
