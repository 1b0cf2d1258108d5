"""The host's verdict on a run, and the rows that explain it. A value; who reaches it is `advance.py`."""

from typing import Literal

import msgspec

from signoff.core.budget import Usage
from signoff.core.completion.assess import Failure
from signoff.core.values import Assurance, EndedBy, Reason, Status

NoteOnEvidence = Literal["exit_status_only", "unrelated_change"]


class CheckRow(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement of the contract and what became of it."""

    id: str
    kind: Literal["command", "artifact", "immutable"]
    words: str
    """The command, path or pattern, for people."""
    before: Literal["passed", "failed", "not_taken"] = "not_taken"
    passed: bool | None = None
    """None when it was not taken since the agent's last act."""
    reason: Reason | None = None
    detail: str = ""
    exit_code: int | None = None
    tests: int | None = None
    """Tests that the report holds as passed; None without a report."""
    duration_seconds: float | None = None
    output_tail: str = ""
    output_sha256: str | None = None
    sha256: str | None = None
    """Digest of an artifact that is one file or one directory."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, and why; only `completed` says that the work is done."""

    status: Status
    reason: Reason | None = None
    """The gravest failed code."""
    reasons: tuple[Reason, ...] = ()
    ended_by: EndedBy | None = None
    failures: tuple[Failure, ...] = ()
    checks: tuple[CheckRow, ...] = ()
    evidence: tuple[NoteOnEvidence, ...] = ()
    """What a reader should know about the strength of a completed verdict."""
    assurance: Assurance
    basis: str | None = None
    usage: Usage = Usage()
    agent_exit_code: int | None = None
    claimed_done: bool = False
    """Whether the agent ended by itself with status 0; a claim, shown and never believed."""
