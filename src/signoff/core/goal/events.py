"""What happened to a goal run, in past participles. The counterpart is `decisions.py`: each decision has one event.

Every event is journaled before a decision that follows from it is acted on, so the fold of a journal is the run.
Times arrive here and nowhere else.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from signoff.core.budget import Limits
from signoff.core.completion.contract import Contract, Mode
from signoff.core.completion.evidence import CheckEvidence, Picture
from signoff.core.goal.verdict import Verdict
from signoff.core.values import Assurance, Moment, require_id
from signoff.errors import PolicyError


class Kind(StrEnum):
    """What is run: an agent until it is verified, or the contract once."""

    RUN = "run"
    CHECK = "check"


class Role(StrEnum):
    """Why a picture of the workspace is taken."""

    BASELINE = "baseline"
    AFTER_AGENT = "after_agent"
    AFTER_CHECKS = "after_checks"


class Stage(StrEnum):
    """When a check is taken."""

    BEFORE = "before"
    AFTER = "after"


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one attempt of the agent ended; none of it is evidence of completion."""

    started: bool
    exit_code: int | None = None
    """128 + n for a signal; None when it was not started or the host ended it."""
    error: str = ""
    timed_out: bool = False
    output_sha256: str | None = None
    output_size: int = 0
    output_tail: str = ""
    leftovers: int = 0
    """Processes of the attempt that were still alive when it ended, and were ended by the host."""
    duration_seconds: float = 0.0


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The contract was sealed and the host is about to begin."""

    at: Moment
    run_id: str
    kind: Kind
    contract: Contract
    requested_mode: Mode = Mode.ENFORCE
    """What was asked for, also where nothing was declared that it could apply to."""
    contract_source: Literal["explicit_structured", "no_explicit_contract", "model_final_response"] = (
        "explicit_structured"
    )
    """Whether a contract decides, or none could be made of what was asked for, or none was asked for."""
    limits: Limits
    goal: str = ""
    command: tuple[str, ...] = ()
    """The agent's command as given, for people; empty for a check."""
    workspace: str
    assurance: Assurance
    strict_exit: bool = False
    allow_no_change: bool = False
    signoff_version: str

    def __post_init__(self) -> None:
        require_id(self.run_id, what="run id")
        bounds = (self.contract.max_repairs, self.limits.timeout_seconds, self.limits.no_progress)
        if self.kind is Kind.RUN and all(bound is None for bound in bounds):
            message = "a run without max_repairs, timeout and no_progress may never end; give it one of them"
            raise PolicyError(message)


class CheckSettled(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A validation command ended, was ended, or could not be started. Completes `RunCheck`."""

    at: Moment
    stage: Stage
    evidence: CheckEvidence


class PictureTaken(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The workspace was looked at. Completes `TakePicture`."""

    at: Moment
    role: Role
    picture: Picture


class AgentEnded(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The agent's process tree ended, or could not be started. Completes `RunAgent`."""

    at: Moment
    attempt: int
    outcome: AgentOutcome


class VerifierFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The host could not look: a verifier raised. Completes the decision that it was performing."""

    at: Moment
    what: str
    """What was being done, such as `check tests` or `picture after_agent`."""
    error: str


class ReceiptWritten(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The receipt is on disk. Completes `WriteReceipt`."""

    at: Moment
    path: str
    sha256: str


class ReceiptFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The receipt could not be written; the verdict stands without it. Completes `WriteReceipt`."""

    at: Moment
    error: str


class CancelRequested(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A person or the system asked the run to end."""

    at: Moment
    by: Literal["SIGINT", "SIGTERM", "SIGHUP", "caller"]


class RunFinished(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The run's last record. Completes `Finish`."""

    at: Moment
    verdict: Verdict


Event = (
    RunStarted
    | CheckSettled
    | PictureTaken
    | AgentEnded
    | VerifierFailed
    | ReceiptWritten
    | ReceiptFailed
    | CancelRequested
    | RunFinished
)
