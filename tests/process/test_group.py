"""What a process started ends with it; what left its session cannot hold up the run."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.process import Stop, holders, run
from tests.process.running import (
    GRACEFUL,
    PATIENCE,
    PYTHON,
    Pipe,
    agent_stopped_when_it_prints,
    alive,
    check,
    command,
    printed,
    wait_until,
)

BOTH = pytest.mark.parametrize("pipe", ["must_close", "may_linger"])


def pids_in(folder: Path) -> list[int]:
    """Return the numbers that the programs under test wrote as names of files."""
    return [int(file.name) for file in folder.iterdir()]


@BOTH
def test_leftovers_are_ended_and_counted(tmp_path: Path, pipe: Pipe) -> None:
    """Processes that hold nothing but outlive their parent are ended when it has exited."""
    script = "for n in 1 2 3; do sleep 3600 >&- 2>&- & touch $!; done; exit 6"
    ended = run(command("sh", "-c", script, cwd=tmp_path), timeout=PATIENCE, stop=Stop(), pipe=pipe)
    assert (ended.exit_code, ended.killed_leftovers, ended.held_by, ended.remaining) == (6, 3, (), ())
    assert [alive(pid) for pid in pids_in(tmp_path)] == [False] * 3


def test_leftovers_of_an_agent_get_its_grace(tmp_path: Path) -> None:
    """What an agent left is asked first, so that a server can close its files."""
    script = "sh -c 'trap \"touch closed; exit\" TERM; touch ready; while :; do sleep 0.05; done' >&- 2>&- &"
    waiting = "while ! test -e ready; do sleep 0.05; done"
    given = command("sh", "-c", f"{script} {waiting}", cwd=tmp_path)
    ended = run(given, timeout=PATIENCE, stop=Stop(), pipe="may_linger", grace=PATIENCE)
    assert (ended.exit_code, ended.killed_leftovers >= 1) == (0, True)
    assert (tmp_path / "closed").exists()


@BOTH
def test_fifty_sleepers_are_all_ended(tmp_path: Path, pipe: Pipe) -> None:
    """Many processes that hold the pipe are ended, and named up to a bound."""
    script = "n=0; while [ $n -lt 50 ]; do sleep 3600 & touch $!; n=$((n+1)); done"
    ended = run(command("sh", "-c", script, cwd=tmp_path), timeout=3, stop=Stop(), pipe=pipe)
    assert (ended.exit_code, ended.killed_leftovers, ended.remaining) == (0, 50, ())
    assert (len(ended.held_by), ended.held_by[-1]) == (8, "and 43 more")
    assert [pid for pid in pids_in(tmp_path) if alive(pid)] == []


def test_processes_that_keep_forking_are_all_ended(tmp_path: Path) -> None:
    """A chain in which every process starts the next and ends itself does not outrun the kill."""
    chain = tmp_path / "chain"
    chain.write_text("#!/bin/sh\necho $$ >> pids\n./chain &\n")
    chain.chmod(0o755)
    ended = run(command("./chain", cwd=tmp_path), timeout=0.5, stop=Stop(), pipe="must_close")
    assert (ended.timed_out, ended.remaining) == (True, ())
    size = (tmp_path / "pids").stat().st_size
    assert [int(pid) for pid in (tmp_path / "pids").read_text().split() if alive(int(pid))] == []
    assert (tmp_path / "pids").stat().st_size == size


def test_groups_made_by_job_control_are_ended(tmp_path: Path) -> None:
    """A shell with job control puts its background jobs into groups of their own; they end with the session."""
    script = "set -m; sleep 3600 >&- 2>&- & touch $!; ps -o pgid= -p $! > /dev/null"
    ended = run(command("bash", "-c", script, cwd=tmp_path), timeout=PATIENCE, stop=Stop(), pipe="must_close")
    (pid,) = pids_in(tmp_path)
    assert (ended.killed_leftovers, alive(pid)) == (1, False)


@pytest.fixture
def escaped(tmp_path: Path) -> Iterator[Path]:
    """Give a folder in which programs that leave the session note their numbers, and kill them afterwards."""
    yield tmp_path
    for pid in pids_in(tmp_path):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not alive(pid))  # type: ignore[misc]


LEAVE = (
    "import os\nif os.fork(): os._exit(0)\nos.setsid()\nopen(str(os.getpid()), 'w').close()\nwhile True:\n    {action}"
)


def test_a_silent_process_of_another_session_is_named_and_not_waited_for(escaped: Path) -> None:
    """A process that left the session keeps the pipe of a check open until the timeout, and no longer."""
    program = LEAVE.format(action="__import__('time').sleep(60)")
    ended = run(command(*PYTHON, program, cwd=escaped), timeout=1, stop=Stop(), pipe="must_close")
    (pid,) = pids_in(escaped)
    assert (ended.timed_out, ended.exit_code, len(ended.held_by)) == (True, 0, 1)
    assert ended.held_by[0].startswith(f"pid {pid} (")
    assert ended.duration_seconds < PATIENCE / 2


@BOTH
def test_a_flood_from_another_session_does_not_hang_the_run(escaped: Path, pipe: Pipe) -> None:
    """A process that left the session and prints without end cannot keep the run alive."""
    flood = "try: os.write(1, b'x' * 65536)\n    except OSError: __import__('time').sleep(60)"
    program = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n" + LEAVE.format(action=flood)
    ended = run(command(*PYTHON, program, cwd=escaped), timeout=1, stop=Stop(), pipe=pipe)
    (pid,) = pids_in(escaped)
    assert ended.exit_code == 0
    assert ended.held_by[0].startswith(f"pid {pid} (")
    assert ended.duration_seconds < PATIENCE / 2


def test_a_killed_check_still_names_who_escaped_with_its_pipe(escaped: Path) -> None:
    """When the process itself is killed at the timeout, what holds its pipe beyond that is named."""
    program = LEAVE.format(action="__import__('time').sleep(60)").replace("os._exit(0)", "__import__('time').sleep(60)")
    ended = run(command(*PYTHON, program, cwd=escaped), timeout=1, stop=Stop(), pipe="must_close")
    (pid,) = pids_in(escaped)
    assert (ended.timed_out, ended.exit_code, ended.killed_leftovers) == (True, None, 0)
    assert [name.startswith(f"pid {pid} (") for name in ended.held_by] == [True]


LACKS = {
    "no exit descriptor": [(os, "pidfd_open")],
    "no waiting without taking": [(os, "waitid")],
    "neither": [(os, "pidfd_open"), (os, "waitid")],
}


@pytest.fixture(params=[*LACKS, "no process list", "nothing"])
def poor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Take away what other systems do not have."""
    lack: str = request.param
    for module, name in LACKS.get(lack, LACKS["neither"] if lack == "nothing" else []):
        monkeypatch.delattr(module, name)
    if lack in {"no process list", "nothing"}:
        monkeypatch.setattr(holders, "_PROC", tmp_path)
    return lack


@pytest.mark.usefixtures("poor")
class TestOnPoorerSystems:
    """The same truth where the system offers less."""

    def test_ends_are_reported(self) -> None:
        """Exit codes, deaths by signal and output are the same."""
        assert check("sh", "-c", "exit 3").exit_code == 3
        assert check("sh", "-c", "kill -9 $$").exit_code == 137
        assert check("sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 5").exit_code == 5
        assert printed(check("echo", "text")) == b"text\n"

    def test_timeouts_and_grace_hold(self) -> None:
        """A check is killed at its timeout, an agent is asked first."""
        ended = check("sh", "-c", "sleep 3600; true", timeout=0.2)
        assert (ended.timed_out, ended.exit_code, ended.remaining) == (True, None, ())
        ended = agent_stopped_when_it_prints(*GRACEFUL)
        assert (ended.stopped, ended.exit_code, printed(ended)) == (True, None, b"hi\nbye\n")
        assert ended.duration_seconds < PATIENCE / 2

    def test_the_group_is_dead(self) -> None:
        """What was left in the group is ended and counted, as one at least."""
        ended = check("sh", "-c", "sleep 3600 2>&- >/dev/null & echo $!")
        assert (ended.exit_code, ended.killed_leftovers, ended.remaining) == (0, 1, ())
        assert not alive(int(printed(ended)))

    def test_a_held_pipe_is_said_to_be_held(self) -> None:
        """Whoever holds the pipe is named, or said to be without a name."""
        ended = check("sh", "-c", "sleep 3600 & true", timeout=1)
        assert (ended.timed_out, len(ended.held_by), ended.killed_leftovers) == (True, 1, 1)
        assert "sleep 3600" in ended.held_by[0] or "cannot be named" in ended.held_by[0]


def test_no_zombie_stays_of_a_killed_process() -> None:
    """A process that was killed at its timeout has been waited for when the report is made."""
    ended = check("sh", "-c", "echo $$; exec sleep 3600", timeout=0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(int(printed(ended)), 0)


def test_ending_is_quick() -> None:
    """A check that leaves nothing costs no waiting at its end."""
    begun = time.monotonic()
    for _ in range(10):
        check("true")
    assert time.monotonic() - begun < 2
