"""Words that every machine of the core shares: statuses, reasons, moments, ids.

Only closed sets and small checked values belong here; nothing that decides.
"""

import re
from enum import StrEnum

import msgspec

from signoff.errors import PolicyError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class Status(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    NOT_COMPLETED = "not_completed"
    UNVERIFIED = "unverified"
    BLOCKED = "blocked"
    BUDGET_EXHAUSTED = "budget_exhausted"
    AGENT_FAILED = "agent_failed"
    CANCELLED = "cancelled"


class Assurance(StrEnum):
    """How strong a verdict is, weakest first; computed from what was in force, never from what was asked for."""

    REPORTED = "reported"
    OBSERVED = "observed"
    ISOLATED = "isolated"
    CONFINED = "confined"
    SEPARATE = "separate"


class EndedBy(StrEnum):
    """The bound that ended a run, when one did."""

    REPAIRS_EXHAUSTED = "validation_repair_exhausted"
    REPAIR_UNAVAILABLE = "validation_repair_unavailable"
    NO_PROGRESS = "no_progress"
    TIMEOUT = "timeout"


class Reason(StrEnum):
    """Why a run is not completed: one closed set, persisted and shown."""

    CONTRACT_CHANGED = "contract_changed"
    CONTROL_CHANGED = "control_changed"
    CHECKER_ERROR = "checker_error"
    CHECK_NOT_STARTED = "check_not_started"
    UNCLEAN_EVIDENCE = "unclean_evidence"
    CHECK_ALREADY_PASSED = "check_already_passed"
    IMMUTABLE_INPUT_CHANGED = "immutable_input_changed"
    IMMUTABLE_INPUT_EVIDENCE_MISSING = "immutable_input_evidence_missing"
    SELF_CHECK_FAILED = "self_check_failed"
    SELF_CHECK_MISSING = "self_check_missing"
    CHECK_TIMEOUT = "check_timeout"
    REPORT_MISSING = "report_missing"
    TESTS_MISSING = "tests_missing"
    TESTS_SKIPPED = "tests_skipped"
    ARTIFACT_OUTSIDE_WORKSPACE = "artifact_outside_workspace"
    REQUIRED_ARTIFACT_MISSING = "required_artifact_missing"
    ARTIFACT_NOT_A_FILE = "artifact_not_a_file"
    ARTIFACT_EMPTY = "artifact_empty"
    ARTIFACT_PLACEHOLDER = "artifact_placeholder"
    ARTIFACT_TOO_SMALL = "artifact_too_small"
    ARTIFACT_HASH_MISMATCH = "artifact_hash_mismatch"
    ARTIFACT_STALE = "artifact_stale"
    ARTIFACT_UNSTABLE = "artifact_unstable"
    EVIDENCE_STALE = "evidence_stale"
    EVIDENCE_FROM_FUTURE = "evidence_from_future"
    NOTHING_CHANGED = "nothing_changed"
    AGENT_EXIT = "agent_exit"
    FINAL_EVIDENCE_MISSING = "final_evidence_missing"
    AGENT_NOT_STARTED = "agent_not_started"
    AGENT_WITHOUT_TURN = "agent_without_turn"


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """An instant on two clocks: one that never jumps, for deadlines, and one for people and records."""

    elapsed: float
    """Seconds since the run's clock was started, monotonic."""
    wall: str
    """RFC 3339 text with a zone. Derived from the start of the run plus `elapsed`, so that it cannot jump either."""

    def __post_init__(self) -> None:
        epoch_microseconds(self.wall)


def require_id(text: str, *, what: str) -> str:
    """Return `text` when it is a stable id (a letter or digit, then up to 127 of letters, digits, `.`, `_`, `-`)."""
    if not _ID.fullmatch(text):
        message = (
            f"{what} {text[:140]!r} is not a usable id; start with a letter or digit and use at most 128 of "
            "letters, digits, '.', '_' and '-'"
        )
        raise PolicyError(message)
    return text


def require_digest(text: str, *, what: str) -> str:
    """Return `text` when it is `sha256:` and 64 lower-case hexadecimal digits."""
    if not _DIGEST.fullmatch(text):
        message = f"{what} {text[:90]!r} is not a digest; write sha256: and 64 lower-case hexadecimal digits"
        raise PolicyError(message)
    return text


def require_count(number: float | None, *, what: str, least: int = 0) -> None:
    """Refuse a bound that is a bool, no integer, or below `least`; None means that there is no bound."""
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        message = f"{what} is {number!r}; give a whole number of at least {least}"
        raise PolicyError(message)


def epoch_microseconds(text: str) -> int:
    """Return the microseconds since 1970 UTC of an RFC 3339 timestamp; one without a zone is refused (CC-034)."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        message = f"timestamp {text[:60]!r} is not RFC 3339 with a zone; write it like 2030-01-31T12:00:00Z"
        raise PolicyError(message)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    month_ok = year >= 1 and 1 <= month <= 12  # noqa: PLR2004 - the calendar's own numbers
    length = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1] if month_ok else 0
    offset_hours, offset_minutes = int(found[9] or 0), int(found[10] or 0)
    if not (1 <= day <= length and hour <= 23 and minute <= 59 and second <= 60):  # noqa: PLR2004
        message = f"timestamp {text!r} names no real day or time"
        raise PolicyError(message)
    if offset_hours > 23 or offset_minutes > 59:  # noqa: PLR2004
        message = f"timestamp {text!r} has an impossible zone"
        raise PolicyError(message)
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719162
    days += _DAYS_BEFORE_MONTH[month - 1] + (1 if leap and month > 2 else 0) + day - 1  # noqa: PLR2004
    offset = (offset_hours * 60 + offset_minutes) * (-1 if found[8] == "-" else 1)
    seconds = (days * 24 + hour) * 3600 + (minute - offset) * 60 + second
    fraction = (found[7] or "").ljust(6, "0")[:6]
    return seconds * 1_000_000 + int(fraction)
