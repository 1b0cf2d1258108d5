"""Bounds of a run: which may be constructed, and what is spent at the start."""

from typing import Any

import pytest

from signoff.core.budget import DEFAULT_TIMEOUT_SECONDS, Limits, Usage
from signoff.errors import PolicyError


def test_a_run_is_bounded_unless_asked_otherwise() -> None:
    """Without a word there is a timeout of the whole run, and nothing is spent."""
    assert Limits().timeout_seconds == DEFAULT_TIMEOUT_SECONDS
    assert Usage() == Usage(attempts=0, repairs=0, agent_seconds=0, check_seconds=0)


@pytest.mark.parametrize("seconds", [0.001, 1, 5.5, 10**9, None])
def test_what_is_a_time(seconds: float | None) -> None:
    """A bound of time is any positive number of seconds, or none."""
    assert Limits(timeout_seconds=seconds, attempt_timeout_seconds=seconds).timeout_seconds == seconds


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), -float("inf"), True])
@pytest.mark.parametrize("field", ["timeout_seconds", "attempt_timeout_seconds", "startup_seconds"])
def test_what_is_no_time(field: str, seconds: float) -> None:
    """Nothing, less than nothing, for ever and what is no number are no times."""
    bounds: dict[str, Any] = {field: seconds}
    with pytest.raises(PolicyError, match="positive number of seconds"):
        Limits(**bounds)


@pytest.mark.parametrize("repairs", [0, -1, True])
def test_no_progress_counts_from_one(repairs: int) -> None:
    """At least one repair has to be tried before it can be without progress."""
    assert Limits(no_progress=1).no_progress == 1
    with pytest.raises(PolicyError, match="no_progress"):
        Limits(no_progress=repairs)
