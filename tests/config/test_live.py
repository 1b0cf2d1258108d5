"""Which runs are live: told by locks that end with their process, and remembered by those that were live meanwhile."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signoff.config.live import RunLock, live_in
from signoff.errors import ConfigError, PolicyError

HOLD = """
import sys
from signoff.config.live import RunLock
lock = RunLock(sys.argv[1], run_id=sys.argv[2], workspace=sys.argv[3])
print("live", flush=True)
sys.stdin.read()
lock.close()
"""
W = "/srv/space"


@contextmanager
def another(folder: Path, run_id: str, workspace: str = W) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process with a live run, ended when its input is."""
    command = [sys.executable, "-c", HOLD, str(folder), run_id, workspace]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"live\n"
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=20)


def lock(folder: Path, run_id: str, workspace: str = W) -> RunLock:
    """Make a run live in this process."""
    return RunLock(str(folder), run_id=run_id, workspace=workspace)


def test_a_run_of_another_process_is_live_until_it_ends(tmp_path: Path) -> None:
    """It is seen while the process holds its lock; when it lets go, its file goes too."""
    with another(tmp_path, "other"):
        assert live_in(str(tmp_path), workspace=W) == ("other",)
    assert live_in(str(tmp_path), workspace=W) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_dead_process_is_not_live(tmp_path: Path) -> None:
    """A process that is killed holds nothing, whatever file it leaves; the next run clears it away."""
    with another(tmp_path, "other") as process:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=20)
        assert live_in(str(tmp_path), workspace=W) == ()
        assert [path.name for path in tmp_path.iterdir()] == ["other.json"]
    lock(tmp_path, "next").close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", ["lives", "ends", "dies"])
def test_a_run_that_was_live_meanwhile_counts(end: str, tmp_path: Path) -> None:
    """A run that was live at the mark, or came after it, is shared with: also when it has ended or died since."""
    with another(tmp_path, "before") as process, lock(tmp_path, "mine") as mine:
        assert mine.shared_with() == ("before",)
        if end == "dies":
            process.kill()
            process.wait(timeout=20)
        elif end == "ends":
            process.communicate(timeout=20)
        with another(tmp_path, "after"):
            pass
        assert mine.shared_with() == ("after", "before")
        assert mine.shared_with() == ("after", "before")


def test_a_run_that_ended_before_the_mark_does_not_count(tmp_path: Path) -> None:
    """What ended before the baseline was looked at changed nothing after it."""
    with lock(tmp_path, "mine") as mine:
        with another(tmp_path, "ended"), another(tmp_path, "died") as process:
            process.kill()
            process.wait(timeout=20)
            assert mine.shared_with() == ("died", "ended")
        with another(tmp_path, "lives"):
            mine.mark()
            assert mine.shared_with() == ("lives",)


def test_both_of_two_runs_know_of_each_other(tmp_path: Path) -> None:
    """The longer one still knows of the shorter one, and neither of itself."""
    with lock(tmp_path, "long") as long:
        with lock(tmp_path, "short") as short:
            assert short.shared_with() == ("long",)
        assert long.shared_with() == ("short",)
        assert live_in(str(tmp_path), workspace=W) == ("long",)


@pytest.mark.parametrize(
    ("place", "shared"),
    [(W, True), ("/srv", True), ("/", True), (f"{W}/inner", True), ("/srv/spacecraft", False), ("/other", False)],
)
def test_workspaces_are_shared_when_one_holds_the_other(place: str, shared: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """The same folder, one around it and one in it are shared; one beside it is not."""
    with lock(tmp_path, "mine") as mine, lock(tmp_path, "other", place):
        assert mine.shared_with() == (("other",) if shared else ())
        assert ("other" in live_in(str(tmp_path), workspace=W)) is shared


def test_a_run_that_the_agent_starts_is_its_own_work(tmp_path: Path) -> None:
    """A run within a run, at any depth, takes nothing away from the outer; to the inner one the outer is another."""
    with lock(tmp_path, "outer") as outer, lock(tmp_path, "other") as other:
        middle = RunLock(str(tmp_path), run_id="middle", workspace=W, within="outer")
        inner = RunLock(str(tmp_path), run_id="inner", workspace=W, within="middle")
        assert outer.shared_with() == ("other",)
        assert middle.shared_with() == ("other", "outer")
        assert inner.shared_with() == ("middle", "other", "outer")
        assert other.shared_with() == ("inner", "middle", "outer")
        inner.close()
        middle.close()
        assert outer.shared_with() == ("other",)


def test_a_run_within_what_is_no_run_is_a_run_of_its_own(tmp_path: Path) -> None:
    """A text that is no id, or the id of a run that is gone, hides nothing from anybody else."""
    with lock(tmp_path, "mine") as mine:
        for number, text in enumerate(("", "../mine", "gone", "\udcff")):
            RunLock(str(tmp_path), run_id=f"other-{number}", workspace=W, within=text).close()
        assert mine.shared_with() == ("other-0", "other-1", "other-2", "other-3")


def test_a_file_that_nobody_holds_is_kept_while_a_run_may_need_it(tmp_path: Path) -> None:
    """The file of an ended run goes when the last run that was live with it has ended, and not before."""
    first, second = lock(tmp_path, "first"), lock(tmp_path, "second")
    lock(tmp_path, "third").close()
    first.close()
    assert {path.name for path in tmp_path.iterdir()} == {"first.json", "second.json", "third.json"}
    assert second.shared_with() == ("first", "third")
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_letting_go_twice_is_letting_go(tmp_path: Path) -> None:
    """A second close does nothing to anybody."""
    mine = lock(tmp_path, "mine")
    mine.close()
    with lock(tmp_path, "other"):
        mine.close()
        assert live_in(str(tmp_path), workspace=W) == ("other",)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "no JSON", "no workspace", "not UTF-8"])
def test_a_planted_file_gives_nothing(kind: str, tmp_path: Path) -> None:
    """Whatever is put beside the locks, nothing hangs or fails, and at most a change counts for nobody."""
    with lock(tmp_path, "mine") as mine:
        place = tmp_path / "planted.json"
        match kind:
            case "link":
                place.symlink_to("mine.json")
            case "pipe":
                os.mkfifo(place)
            case "folder":
                place.mkdir()
            case "no JSON":
                place.write_bytes(b"[" * 100_000)
            case "no workspace":
                place.write_bytes(b"{}")
            case _:
                place.write_bytes(b"\xff")
        assert mine.shared_with() == ("planted",)
        assert "mine" in live_in(str(tmp_path), workspace=W)


def test_a_lost_folder_is_not_an_error_for_a_live_run(tmp_path: Path) -> None:
    """A run whose folder is deleted goes on, with what it knew."""
    folder = tmp_path / "live"
    folder.mkdir()
    with lock(folder, "mine") as mine, lock(folder, "other"):
        assert mine.shared_with() == ("other",)
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        assert mine.shared_with() == ("other",)


def test_a_place_that_cannot_hold_locks_is_refused(tmp_path: Path) -> None:
    """A folder that is none, and an id that is none, are errors."""
    with pytest.raises(ConfigError, match="cannot be used"):
        lock(tmp_path / "missing", "mine")
    with pytest.raises(PolicyError):
        lock(tmp_path, "../mine")


def test_a_child_does_not_keep_a_run_alive(tmp_path: Path) -> None:
    """A process that the run started does not inherit the lock."""
    with lock(tmp_path, "mine"):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert live_in(str(tmp_path), workspace=W) == ()
    finally:
        child.communicate(b"\n", timeout=20)
