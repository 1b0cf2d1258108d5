"""Where records cannot be kept, nothing starts, or the loss is said: never a false *completed*, never silence."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.confined import with_small_disk, with_small_files, without_override
from tests.cli.door import Done, agent, finished, run_signoff, start_signoff

WORKS = ("echo 1 >started", "echo hello >out.txt")
"""An agent that does the work on its second attempt."""

RUN = ("run", "--json", "--verify", "test -s out.txt", "--artifact", "out.txt", "--max-repairs", "1")


def assert_clear_end(done: Done, work: Path) -> None:
    """Either it was refused before the agent began, or its verdict is true and says what is not recorded."""
    assert "Traceback" not in done.err, done.err
    if done.code == 2:
        assert (done.out, (work / "started").exists()) == ("", False)
        return
    result = done.json
    assert (done.code == 0) is (result["status"] == "completed")
    assert done.code != 0 or (work / "out.txt").read_text() == "hello\n"
    assert result["store_lost"] is any(warning.startswith("store_lost: ") for warning in result["warnings"])


@pytest.mark.parametrize("size", [1_000, 20_000, 33_000, 45_000, 60_000])
@pytest.mark.parametrize("works", [True, False])
def test_a_disk_that_becomes_full_gives_no_false_verdict(size: int, work: Path, *, works: bool) -> None:
    """Wherever the writing ends, what did not hold is not completed, and lost records are named."""
    script = WORKS if works else WORKS[:1]
    done = finished(start_signoff(*RUN, *agent(work, *script), cwd=work, program=with_small_files(size)))
    assert_clear_end(done, work)
    assert done.code != 0 or (works and done.json["store_lost"])


@pytest.mark.parametrize("size", [16, 64, 80, 128, 160])
def test_a_small_disk_gives_no_false_verdict(size: int, work: Path) -> None:
    """A state folder on a disk of some KiB: the store, the agent's texts and the receipt run out of space in turn."""
    disk = work.parent / "disk"
    disk.mkdir()
    probe = [*with_small_disk(4096, str(disk))[:-1], "true"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("this account cannot mount a disk")
    program, env = with_small_disk(size * 1024, str(disk)), {"SIGNOFF_STATE_DIR": str(disk / "state")}
    done = finished(start_signoff(*RUN, *agent(work, *WORKS), cwd=work, env=env, program=program))
    assert_clear_end(done, work)
    assert done.code != 2 or size < 80


@pytest.fixture
def read_only(work: Path) -> Path:
    """A folder beside the workspace that its owner may not write."""
    folder = work.parent / "read-only"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    return folder


def refused(*args: str, work: Path, env: dict[str, str]) -> str:
    """Run the program bound by modes; it must be refused before anything starts. Return its message."""
    done = finished(start_signoff(*args, cwd=work, env=env, program=without_override()))
    assert (done.code, done.out, "Traceback" in done.err) == (2, "", False), done.err
    assert list(work.iterdir()) == []
    return done.err


@pytest.mark.scenario("CL-022")
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_home_that_cannot_be_written_is_said(command: str, work: Path, read_only: Path) -> None:
    """Without a folder that the user named there is no other place: exit 2 with the mend, and nothing starts."""
    rest = agent(work, "touch started") if command == "run" else ()
    env = {"SIGNOFF_STATE_DIR": "", "HOME": str(read_only)}
    message = refused(command, "--verify", "true", *rest, work=work, env=env)
    assert (str(read_only) in message, "SIGNOFF_STATE_DIR" in message) == (True, True), message
    assert list(read_only.iterdir()) == []


@pytest.mark.scenario("CL-022")
def test_a_folder_that_the_user_named_is_used_instead(work: Path, read_only: Path) -> None:
    """With SIGNOFF_STATE_DIR the same account works, and its home is left alone."""
    args = ("run", "--artifact", "out.txt", *agent(work, "echo 1 >out.txt"))
    program = without_override()
    done = finished(start_signoff(*args, cwd=work, env={"HOME": str(read_only)}, program=program))
    assert (done.code, list(read_only.iterdir())) == (0, []), done.err
    assert len(list((work.parent / "state").rglob("receipt.json"))) == 1


@pytest.mark.scenario("CL-022")
@pytest.mark.parametrize("kind", ["unwritable", "relative", "a file", "open to others", "a link"])
def test_a_named_folder_that_cannot_be_used_has_no_replacement(kind: str, work: Path, read_only: Path) -> None:
    """The folder that the user named is used or refused: never is the home taken instead."""
    place = work.parent / "place"
    named = {"unwritable": str(read_only / "state"), "relative": "state"}.get(kind, str(place))
    if kind == "a file":
        place.touch()
    elif kind == "open to others":
        place.mkdir()
        place.chmod(0o777)
    elif kind == "a link":
        place.symlink_to(work.parent / "agent", target_is_directory=True)
    args = ("run", "--verify", "true", *agent(work, "touch started"))
    message = refused(*args, work=work, env={"SIGNOFF_STATE_DIR": named})
    assert (named in message, "nothing was started" in message) == (True, True), message
    assert list((work.parent / "home").iterdir()) == []


def test_records_that_became_read_only_stop_the_next_run(work: Path) -> None:
    """A project's folder of records that may not be written ends a run with 2 before its agent starts."""
    assert run_signoff("check", "--verify", "true", cwd=work).code == 0
    (folder,) = (work.parent / "state" / "projects").iterdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    message = refused("run", "--verify", "true", *agent(work, "touch started"), work=work, env={})
    assert (str(folder) in message, "SIGNOFF_STATE_DIR" in message) == (True, True), message


def test_a_store_in_the_workspace_is_noted(work: Path) -> None:
    """A state folder that the agent can write is told at the start, and what is in it is no change of the agent's."""
    env = {"SIGNOFF_STATE_DIR": str(work / "state")}
    args = ("run", "--json", "--verify", "true", "--max-repairs", "0", *agent(work, "true"))
    done = run_signoff(*args, cwd=work, env=env)
    assert (done.code, done.json["reason"]) == (1, "nothing_changed"), done.out
    assert "lies in the workspace" in done.err
