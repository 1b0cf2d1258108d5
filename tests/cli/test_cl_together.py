"""Two runs in one project at once: each has its own records, and no change is counted that may be the other's."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.door import Done, agent, finished, run_signoff, start_signoff

BOTH_LIVE = 'touch "../in-$1"; until [ -e ../in-a ] && [ -e ../in-b ]; do sleep 0.02; done'
"""An agent's first act, by its name: it waits until the other run's agent is at work too."""


def two_runs(work: Path, *args: str, script: str) -> tuple[Done, Done]:
    """Run two agents, named a and b, whose attempts overlap; return how both runs ended."""
    command = (*args, *agent(work, f"{BOTH_LIVE}\n{script}"))
    runs: list[subprocess.Popen[bytes]] = [start_signoff("run", "--json", *command, name, cwd=work) for name in "ab"]
    one, two = [finished(each) for each in runs]
    return one, two


def events_of(done: Done, work: Path) -> list[dict[str, Any]]:
    """Return the events of a run as its record holds them."""
    shown = run_signoff("show", done.json["run_id"], "--json", cwd=work).json
    assert shown["state"] == "finished"
    events: list[dict[str, Any]] = shown["events"]
    return events


@pytest.mark.scenario("CL-012")
def test_both_have_their_own_records_and_neither_counts_the_changes(work: Path) -> None:
    """Each run's record is whole and its own; with green checks before, a change made meanwhile completes neither."""
    both = two_runs(work, "--verify", "true", "--max-repairs", "0", script='echo "$1" >"$1.txt"')
    ids = [done.json["run_id"] for done in both]
    assert [(done.code, done.json["reason"]) for done in both] == [(1, "nothing_changed")] * 2, both
    listed = run_signoff("runs", "--json", cwd=work).json
    assert (sorted(row["run_id"] for row in listed["runs"]), listed["total"]) == (sorted(ids), 2)
    for done, other in zip(both, reversed(ids), strict=True):
        events = events_of(done, work)
        assert [event["type"] for event in events].count("AgentEnded") == 1
        assert (events[0]["run_id"], events[-1]["type"]) == (done.json["run_id"], "RunFinished")
        shared = [event["picture"]["shared_with"] for event in events if event["type"] == "PictureTaken"]
        assert shared[-1] == [other]


@pytest.mark.scenario("CL-012")
def test_work_of_two_runs_at_once_counts_for_neither(work: Path) -> None:
    """Nobody can say whose the change is, so neither run is completed; the reason names the other run."""
    both = two_runs(work, "--verify", "test -s out.txt", "--max-repairs", "0", script="echo hello >out.txt")
    for done, other in zip(both, reversed(both), strict=True):
        assert (done.code, done.json["status"], done.json["reason"]) == (1, "not_completed", "nothing_changed")
        assert other.json["run_id"] in done.json["failures"][0]["detail"]


@pytest.mark.scenario("CL-012")
def test_a_file_that_both_checks_would_write_is_reported(work: Path) -> None:
    """A check that writes into the workspace is named in a warning of both runs, with the file."""
    args = ("--verify", "date +%s%N >>shared.log; test -s out.txt", "--max-repairs", "0")
    for done in two_runs(work, *args, script="echo hello >out.txt"):
        assert [warning for warning in done.json["warnings"] if "'shared.log'" in warning], done.json["warnings"]


@pytest.mark.scenario("CL-012")
def test_a_run_that_is_alone_again_counts_its_changes(work: Path) -> None:
    """A run that ended before another began takes nothing from it."""
    args = ("run", "--json", "--verify", "true", "--max-repairs", "0")
    first = run_signoff(*args, *agent(work, "echo 1 >one.txt"), cwd=work)
    second = run_signoff(*args, *agent(work, "echo 2 >two.txt"), cwd=work)
    assert [(done.code, done.json["status"]) for done in (first, second)] == [(0, "completed")] * 2
