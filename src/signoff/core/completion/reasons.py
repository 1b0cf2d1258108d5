"""What follows from each reason: whether the agent is asked to mend it, and the status when it stands at the end.

The table is the rule; nothing else in the project knows which reasons can be repaired.
"""

import msgspec

from signoff.core.values import Reason, Status


class Consequence(msgspec.Struct, frozen=True):
    """What a reason leads to."""

    repaired: bool
    """Fed back to the agent for a repair."""
    status: Status
    """The run's status when the reason still stands at its end."""


_BLOCKED = Consequence(repaired=False, status=Status.BLOCKED)
_MENDED = Consequence(repaired=True, status=Status.NOT_COMPLETED)
_FAILED = Consequence(repaired=False, status=Status.AGENT_FAILED)

CONSEQUENCES: dict[Reason, Consequence] = {
    # The order is the gravity: the first of several is the reason of the verdict.
    Reason.CONTRACT_CHANGED: _BLOCKED,
    Reason.CONTROL_CHANGED: _BLOCKED,
    Reason.CHECKER_ERROR: _BLOCKED,
    Reason.CHECK_NOT_STARTED: _BLOCKED,
    Reason.UNCLEAN_EVIDENCE: _BLOCKED,
    Reason.CHECK_ALREADY_PASSED: _BLOCKED,
    Reason.IMMUTABLE_INPUT_CHANGED: _MENDED,
    Reason.IMMUTABLE_INPUT_EVIDENCE_MISSING: _MENDED,
    Reason.SELF_CHECK_FAILED: _MENDED,
    Reason.SELF_CHECK_MISSING: _MENDED,
    Reason.CHECK_TIMEOUT: _MENDED,
    Reason.REPORT_MISSING: _MENDED,
    Reason.TESTS_MISSING: _MENDED,
    Reason.TESTS_SKIPPED: _MENDED,
    Reason.ARTIFACT_OUTSIDE_WORKSPACE: _MENDED,
    Reason.REQUIRED_ARTIFACT_MISSING: _MENDED,
    Reason.ARTIFACT_NOT_A_FILE: _MENDED,
    Reason.ARTIFACT_EMPTY: _MENDED,
    Reason.ARTIFACT_PLACEHOLDER: _MENDED,
    Reason.ARTIFACT_TOO_SMALL: _MENDED,
    Reason.ARTIFACT_HASH_MISMATCH: _MENDED,
    Reason.ARTIFACT_UNSTABLE: _MENDED,
    Reason.EVIDENCE_STALE: _MENDED,
    Reason.EVIDENCE_FROM_FUTURE: _MENDED,
    Reason.ARTIFACT_STALE: _MENDED,
    Reason.NOTHING_CHANGED: _MENDED,
    Reason.AGENT_EXIT: _MENDED,
    Reason.FINAL_EVIDENCE_MISSING: _MENDED,
    Reason.AGENT_NOT_STARTED: _FAILED,
    Reason.AGENT_WITHOUT_TURN: _FAILED,
}
_GRAVITY = {reason: place for place, reason in enumerate(CONSEQUENCES)}
AGAIN = frozenset({Reason.EVIDENCE_STALE, Reason.EVIDENCE_FROM_FUTURE})
"""Reasons for which the checks are taken once more before the agent is asked."""


def by_gravity(reasons: frozenset[Reason] | set[Reason]) -> tuple[Reason, ...]:
    """Return the reasons with the gravest first."""
    return tuple(sorted(reasons, key=_GRAVITY.__getitem__))
