"""Reading back what happened: what is not there, is unclear, or was changed is said, and never guessed."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from tests.cli.door import agent, processes_with, run_signoff, start_signoff, unique_sleep
from tests.process.running import wait_until

READERS = [("runs",), ("show", "latest")]


def runs_made(work: Path, count: int = 1) -> list[str]:
    """Make some runs of one attempt, and return their ids, the latest first."""
    for _ in range(count):
        run_signoff("check", "--verify", "true", cwd=work)
    return [row["run_id"] for row in run_signoff("runs", "--json", cwd=work).json["runs"]]


def store_of(work: Path) -> Path:
    """Return the one store in the state folder."""
    (path,) = (work.parent / "state").rglob("runs.sqlite3")
    return path


def changed(work: Path, statement: str, *values: str) -> None:
    """Change the store as somebody else would."""
    connection = sqlite3.connect(store_of(work))
    connection.execute(statement, values)
    connection.commit()
    connection.close()


@pytest.mark.scenario("CL-019")
def test_an_unknown_run_is_named(work: Path) -> None:
    """An id that no run has ends with 2, also where there is no store yet."""
    before = run_signoff("show", "latest", cwd=work)
    assert (before.code, before.out, "there is no run 'latest'" in before.err) == (2, "", True), before.err
    runs_made(work)
    for name in ("nope", "", "../x"):
        done = run_signoff("show", "--json", name, cwd=work)
        assert (done.code, done.out, f"there is no run {name!r}" in done.err) == (2, "", True), done.err


@pytest.mark.scenario("CL-019")
def test_without_a_store_there_are_no_runs(work: Path) -> None:
    """A project without runs has an empty list, and asking makes no folder."""
    assert run_signoff("runs", "--json", cwd=work).json == {"runs": [], "total": 0}
    assert "no runs in this project yet" in run_signoff("runs", cwd=work).out
    assert not (work.parent / "state").exists()


@pytest.mark.scenario("CL-019")
def test_an_ambiguous_prefix_names_the_runs_that_it_fits(work: Path) -> None:
    """The beginning of one id is enough; one that fits several is refused with their names."""
    ids = runs_made(work, 2)
    done = run_signoff("show", "2", cwd=work)
    assert (done.code, [each for each in ids if each not in done.err]) == (2, []), done.err
    assert (done.out, "fits 2 runs" in done.err) == ("", True)
    for each in ids:
        assert run_signoff("show", each[:-1], "--json", cwd=work).json["run_id"] == each


def test_a_killed_run_is_interrupted_and_claims_nothing(work: Path) -> None:
    """A run is `running` while it lives; killed, it is `interrupted`, with its events and without a verdict."""
    sleep = unique_sleep()
    process = start_signoff("run", "--verify", "false", *agent(work, f"exec {sleep}"), cwd=work)
    try:
        assert wait_until(lambda: bool(processes_with(sleep)))
        assert run_signoff("runs", "--json", cwd=work).json["runs"][0]["status"] == "running"
        assert run_signoff("show", "latest", "--json", cwd=work).json["state"] == "running"
    finally:
        process.kill()
        process.communicate()
        for pid in processes_with(sleep):
            os.kill(pid, signal.SIGKILL)
    assert run_signoff("runs", "--json", cwd=work).json["runs"][0]["status"] == "interrupted"
    shown = run_signoff("show", "latest", "--json", cwd=work).json
    assert (shown["state"], shown["result"], shown["events"][-1]["type"]) == ("interrupted", None, "PictureTaken")
    assert "without a verdict" in run_signoff("show", "latest", cwd=work).out


@pytest.mark.scenario("CL-019")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET body = CAST(replace(body, 'completed', 'cancelled') AS BLOB) WHERE kind = 'RunFinished'",
        "UPDATE event SET body = x'ff00' WHERE seq = 2",
        "UPDATE event SET chain = 'sha256:0' WHERE seq = 2",
        "DELETE FROM event WHERE seq = 2",
    ],
)
def test_a_changed_record_is_not_shown(statement: str, work: Path) -> None:
    """A record that does not fit its chain ends `show` with 2 and names the run and the record."""
    runs_made(work)
    changed(work, statement)
    done = run_signoff("show", "latest", cwd=work)
    assert (done.code, done.out, "does not fit the chain" in done.err) == (2, "", True), done.err
    listed = run_signoff("runs", cwd=work)
    assert (listed.code, "Traceback" in listed.err) in {(0, False), (2, False)}


@pytest.mark.scenario("CL-019")
def test_one_unreadable_run_hides_no_other(work: Path) -> None:
    """A run whose last record was changed is listed as unreadable, beside those that are sound."""
    changed_id, sound = runs_made(work, 2)
    changed(work, "UPDATE event SET body = x'7b7d' WHERE run_id = ? AND kind = 'RunFinished'", changed_id)
    rows = run_signoff("runs", "--json", cwd=work).json["runs"]
    assert {row["run_id"]: row["status"] for row in rows} == {changed_id: "unreadable", sound: "completed"}
    assert run_signoff("show", sound, cwd=work).code == 0


@pytest.mark.scenario("CL-019")
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_store_is_named(reader: tuple[str, ...], work: Path) -> None:
    """A file that is no store any more ends with 2, is named with the mend, and is left as it is."""
    runs_made(work)
    path = store_of(work)
    path.write_bytes(b"not a database, but long enough to be looked at as one" * 100)
    done = run_signoff(*reader, cwd=work)
    assert (done.code, done.out, str(path) in done.err, "SIGNOFF_STATE_DIR" in done.err) == (2, "", True, True)
    assert path.read_bytes().startswith(b"not a database")


@pytest.mark.scenario("CL-019")
@pytest.mark.parametrize("reader", [*READERS, ("run", "--verify", "true", "--", "touch", "started")])
def test_a_store_of_a_newer_version_is_left_alone(reader: tuple[str, ...], work: Path) -> None:
    """It ends with 2 before anything starts, and the message says that a newer version wrote it."""
    runs_made(work)
    changed(work, "PRAGMA user_version = 99")
    done = run_signoff(*reader, cwd=work)
    assert (done.code, done.out, "newer version" in done.err) == (2, "", True), done.err
    assert not (work / "started").exists()
    connection = sqlite3.connect(store_of(work))
    assert connection.execute("PRAGMA user_version").fetchone() == (99,)
    connection.close()


@pytest.mark.scenario("CL-019")
def test_a_receipt_that_cannot_be_read_is_named(work: Path) -> None:
    """`receipt verify` ends with 2 for what is not there, no file, no receipt, or a receipt that was changed."""
    run_signoff("run", "--artifact", "a", "--receipt", "good.json", *agent(work, "echo 1 >a"), cwd=work)
    good = (work / "good.json").read_bytes()
    assert run_signoff("receipt", "verify", "good.json", cwd=work).code == 0
    (work / "text").write_text("hello")
    (work / "empty").touch()
    (work / "other.json").write_text('{"payload": "e30=", "payloadType": "x", "signatures": []}')
    (work / "cut.json").write_bytes(good[:-20])
    for name in ("none", ".", "text", "empty", "other.json", "cut.json"):
        done = run_signoff("receipt", "verify", name, cwd=work)
        assert (name, done.code, done.out, "Traceback" in done.err) == (name, 2, "", False), done.err


@pytest.mark.scenario("CL-019")
def test_a_receipt_that_does_not_fit_says_where(work: Path) -> None:
    """One changed byte of an artifact, and a missing artifact, end with 1 and are named."""
    run_signoff("run", "--artifact", "a", "--receipt", "good.json", *agent(work, "echo 1 >a"), cwd=work)
    (work / "a").write_text("2\n")
    changed_byte = run_signoff("receipt", "verify", "good.json", cwd=work)
    (work / "a").unlink()
    missing = run_signoff("receipt", "verify", "good.json", "--json", cwd=work)
    assert (changed_byte.code, "'a' has other bytes" in changed_byte.out) == (1, True), changed_byte.out
    assert (missing.code, missing.json["holds"], missing.json["differences"]) == (1, False, ["'a' is not there"])
