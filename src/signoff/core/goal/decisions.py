"""What the host is asked to do next, in imperatives. The counterpart is `events.py`: each decision has one event.

A decision carries all that is needed to perform it; whoever performs it decides nothing.
"""

import msgspec

from signoff.core.completion.assess import Failure
from signoff.core.completion.evidence import CheckEvidence
from signoff.core.goal.events import Role, Stage
from signoff.core.goal.verdict import Verdict


class TakePicture(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Look at the workspace. Completed by `PictureTaken`, or by `VerifierFailed` when the time is up."""

    role: Role
    timeout_seconds: float | None = None


class RunCheck(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Run one validation command. Completed by `CheckSettled` or `VerifierFailed`."""

    command_id: str
    stage: Stage
    timeout_seconds: float
    deadline_bound: bool = False
    """The time given is what is left of the run, less than the command's own timeout."""


class RunAgent(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Run the agent once, with what failed so far. Completed by `AgentEnded`."""

    attempt: int
    failures: tuple[Failure, ...] = ()
    checks: tuple[CheckEvidence, ...] = ()
    """The checks as last taken, for the ends of their output."""
    timeout_seconds: float | None = None


class WriteReceipt(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Write the statement of a verdict. Completed by `ReceiptWritten` or `ReceiptFailed`."""

    statement: bytes
    """Canonical JSON, as it is to be enveloped and signed."""


class Finish(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Record the end and tell the caller. Completed by `RunFinished`."""

    verdict: Verdict


Decision = TakePicture | RunCheck | RunAgent | WriteReceipt | Finish
