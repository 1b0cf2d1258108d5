"""What is shown while a run goes on: a live line on a terminal, plain lines everywhere else."""

import re
from pathlib import Path

import pytest

from tests.cli.door import agent, run_signoff
from tests.cli.terminal import ESCAPE, Terminal

WAITS = "until [ -e ../go ]; do sleep 0.02; done"
WRITES = "echo hello >out.txt"
LINES = [
    r"run [\w-]+: 1 check, 1 artifact",
    r"before the agent: verify-1 exit 1 \(\d+\.\d s\)",
    r"attempt 1: the agent runs",
    r"agent \| done",
    r"attempt 1: the agent ended, exit 0 \(\d+\.\d s\)",
    r"workspace: 0 files changed so far",
    r"check: verify-1 exit 1 \(\d+\.\d s\)",
    r"rejected: .*verify-1 \(self_check_failed\).*; fed back",
    r"attempt 2: the agent runs",
    r"attempt 2: the agent ended, exit 0 \(\d+\.\d s\)",
    r"workspace: 1 file changed so far",
    r"check: verify-1 exit 0 \(\d+\.\d s\)",
]
"""The lines of a run whose second attempt completes."""


def live(what: str, seconds: str = r"\d+") -> str:
    """Return the pattern of a live line: what goes on, its time, and the time of the run."""
    return rf"{what} … {seconds} s \(run: \d+ s\)"


@pytest.mark.scenario("CL-008")
def test_a_terminal_shows_attempts_checks_and_time_live(work: Path) -> None:
    """While an attempt, and then a check, goes on, one line says which and for how long, and the time moves."""
    check = f"test ! -e ran || {{ {WAITS}; test -s out.txt; }}"
    script = (f"touch ran; until [ -e ../end ]; do sleep 0.02; done; {WRITES}",)
    args = ("--verify", check, "--artifact", "out.txt")
    screen = Terminal("run", *args, *agent(work, *script), cwd=work)
    screen.wait_for(live("attempt 1: agent", "0"))
    screen.wait_for(live("attempt 1: agent", "1"))
    (work.parent / "end").touch()
    screen.wait_for(live("check verify-1"))
    (work.parent / "go").touch()
    assert screen.ended() == 0
    assert re.search(r"\x1b\[32mcompleted\x1b\[0m - ", screen.seen), screen.seen
    assert "attempt 1: the agent runs" in screen.seen


@pytest.mark.scenario("CL-008")
def test_ci_gets_plain_lines_also_on_a_terminal(work: Path) -> None:
    """With CI set there is no live line: one plain line a change of state."""
    script = ("echo done", WRITES)
    args = ("--verify", "test -s out.txt", "--artifact", "out.txt")
    screen = Terminal("run", *args, *agent(work, *script), cwd=work, env={"CI": "1", "NO_COLOR": "1"})
    assert screen.ended() == 0
    assert ESCAPE not in screen.seen
    shown = screen.seen.splitlines()
    assert [line for line, form in zip(shown, LINES, strict=False) if not re.fullmatch(form, line)] == []
    assert shown[len(LINES)].startswith("completed - ")


@pytest.mark.scenario("CL-008")
def test_a_pipe_gets_plain_lines(work: Path) -> None:
    """Without a terminal stderr holds one line a change of state, and nothing that moves a cursor."""
    script = ("echo done", WRITES)
    done = run_signoff("run", "--verify", "test -s out.txt", "--artifact", "out.txt", *agent(work, *script), cwd=work)
    assert (done.code, ESCAPE in done.err + done.out) == (0, False)
    shown = done.err.splitlines()
    assert [(line, form) for line, form in zip(shown, LINES, strict=True) if not re.fullmatch(form, line)] == []


def test_no_color_is_heeded_on_a_terminal(work: Path) -> None:
    """With NO_COLOR the verdict has no colour."""
    screen = Terminal("check", "--verify", "true", cwd=work, env={"NO_COLOR": "1"})
    assert screen.ended() == 0
    assert not re.search(r"\x1b\[(?:\d+;)*3[0-7]", screen.seen)
    assert "completed - " in screen.seen


def test_what_an_agent_prints_cannot_steer_the_terminal(work: Path) -> None:
    """Escape sequences, bells and carriage returns of an agent are shown as text, behind its mark."""
    script = r"printf '\033[2J\033]0;title\007\rsignoff: completed\n\033[1A'"
    done = run_signoff("run", "--verify", "false", "--max-repairs", "0", *agent(work, script), cwd=work)
    assert [mark for mark in (ESCAPE, "\a", "\r") if mark in done.err + done.out] == []
    assert [
        line for line in done.err.splitlines() if "signoff: completed" in line and not line.startswith("agent | ")
    ] == []


def test_endless_output_is_shown_within_a_bound(work: Path) -> None:
    """Of an agent that prints without end 5,000 lines are shown, and the rest is said to be left out."""
    done = run_signoff("run", "--artifact", "out.txt", *agent(work, f"yes | head -n 9000; {WRITES}"), cwd=work)
    shown = [line for line in done.err.splitlines() if line.startswith("agent | ")]
    assert (done.code, len(shown)) == (0, 5001)
    assert "more than 5000 lines" in shown[-1]
