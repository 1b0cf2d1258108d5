"""Bounds of a run and of a model task: which may be constructed, what is spent, and what forbids another call."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from signoff.core.budget import (
    DEFAULT_TIMEOUT_SECONDS,
    Limits,
    TaskBound,
    TaskLimits,
    TaskUsage,
    Usage,
    charged,
    spent,
)
from signoff.core.model.response import TokenUsage
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


# ── Model tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "bounds", [{}, {"max_calls": None}, {"max_calls": 0}, {"max_calls": True}, {"max_tokens": -1}, {"max_tokens": 1.5}]
)
def test_a_task_has_at_least_one_bound(bounds: dict[str, Any]) -> None:
    """A task without any bound, or with one that is none, is not made."""
    with pytest.raises(PolicyError):
        TaskLimits(**bounds)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "9"])
def test_a_task_has_a_real_time(seconds: object) -> None:
    """Its timeout is a positive, finite number of seconds."""
    bounds: dict[str, Any] = {"max_calls": 1, "timeout_seconds": seconds}
    with pytest.raises(PolicyError, match="positive number of seconds"):
        TaskLimits(**bounds)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (None, (0, 0, 0, 1)),
        (TokenUsage(), (0, 0, 0, 1)),
        (TokenUsage(input=10, output=5, total=15), (10, 5, 15, 0)),
        (TokenUsage(input=10, output=5), (10, 5, 15, 0)),
        (TokenUsage(input=10, output=5, total=22), (10, 5, 22, 0)),
        (TokenUsage(input=10), (10, 0, 10, 1)),
        (TokenUsage(total=30), (0, 0, 30, 1)),
        (TokenUsage(input=0, output=0, total=0), (0, 0, 0, 0)),
        (TokenUsage(input=-10, output=-5, total=-15), (0, 0, 0, 0)),
    ],
)
def test_what_a_call_costs(told: TokenUsage | None, expected: tuple[int, int, int, int]) -> None:
    """What was not told is counted apart, since it is not zero; what is below zero takes nothing back."""
    usage = charged(TaskUsage(), told)
    assert usage.calls == 1
    assert (usage.input_tokens, usage.output_tokens, usage.tokens, usage.calls_without_usage) == expected


def test_a_count_that_was_not_the_last_is_no_whole_one() -> None:
    """It is added, and its call stands among those of which not everything is known."""
    usage = charged(TaskUsage(), TokenUsage(input=10, output=5), is_final=False)
    assert usage == TaskUsage(calls=1, input_tokens=10, output_tokens=5, tokens=15, calls_without_usage=1)


NUMBERS = st.none() | st.integers(-(10**6), 10**6)


@given(st.lists(st.none() | st.builds(TokenUsage, input=NUMBERS, output=NUMBERS, total=NUMBERS)))
def test_usage_never_decreases(calls: list[TokenUsage | None]) -> None:
    """Whatever providers tell, no number goes down, and every call is counted."""
    usage = TaskUsage()
    for told in calls:
        before, usage = usage, charged(usage, told)
        assert all(new >= old for old, new in zip(astuple(before), astuple(usage), strict=True))
    assert usage.calls == len(calls)


@pytest.mark.parametrize(
    ("limits", "under_way", "elapsed", "bound"),
    [
        ({"max_calls": 4}, 0, 10**9, None),
        ({"max_calls": 4}, 1, 0, TaskBound.MAX_MODEL_CALLS),
        ({"max_calls": 3}, 0, 0, TaskBound.MAX_MODEL_CALLS),
        ({"max_tokens": 101}, 9, 0, None),
        ({"max_tokens": 100}, 0, 0, TaskBound.MAX_TOKENS),
        ({"timeout_seconds": 5}, 9, 4.999, None),
        ({"timeout_seconds": 5}, 0, 5, TaskBound.TIMEOUT),
        ({"max_calls": 3, "max_tokens": 1, "timeout_seconds": 1}, 0, 9, TaskBound.MAX_MODEL_CALLS),
    ],
)
def test_what_forbids_another_call(
    limits: dict[str, Any], under_way: int, elapsed: float, bound: TaskBound | None
) -> None:
    """Calls that are under way count as calls; each bound holds at its number and not below it."""
    usage = TaskUsage(calls=3, tokens=100)
    assert spent(TaskLimits(**limits), usage, under_way=under_way, elapsed=elapsed) is bound
