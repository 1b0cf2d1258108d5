"""Which artifacts the agent wrote: told apart from what was there and from what the checks wrote."""

import os
from pathlib import Path

import pytest

from signoff.core.completion.contract import Artifact
from signoff.core.completion.evidence import FileFacts, FileKind, Picture
from tests.verifiers.looking import Bench, contract, the_artifact, the_file


def bench(root: Path, path: str = "out.txt", *, glob: bool = False, directory: bool = False) -> Bench:
    """Return a bench with one artifact."""
    return Bench(root, contract(Artifact(id="a", path=path, glob=glob, directory=directory)))


def told(picture: Picture) -> tuple[bool | None, bool | None]:
    """Return what is said about the only file: written, changed."""
    facts = the_file(picture)
    return facts.written, facts.changed


def test_a_file_that_the_agent_makes_is_written_and_changed(tmp_path: Path) -> None:
    """What was not there before is new in both senses, and stays so."""
    b = bench(tmp_path)
    assert the_file(b.baseline()).kind is FileKind.MISSING
    assert told(b.after_agent({"out.txt": "1"})) == (True, True)
    assert told(b.after_checks()) == (True, True)
    assert told(b.after_agent()) == (True, True)


def test_an_untouched_file_is_neither(tmp_path: Path) -> None:
    """What was there before and was left alone is old."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    b.baseline()
    assert told(b.after_agent({"other.txt": "1"})) == (False, False)
    assert told(b.after_checks()) == (False, False)


def test_the_same_bytes_written_again_are_written_and_not_changed(tmp_path: Path) -> None:
    """A rebuild that comes to the same bytes is told from doing nothing and from a change."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    os.utime(tmp_path / "out.txt", ns=(0, 0))
    b.baseline()
    assert told(b.after_agent({"out.txt": "1"})) == (True, False)


def test_other_bytes_are_changed_even_when_size_and_time_are_kept(tmp_path: Path) -> None:
    """An edit that hides behind the old size and time is found, since bytes are compared."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    os.utime(tmp_path / "out.txt", ns=(0, 0))
    b.baseline()
    b.write({"out.txt": "2"})
    os.utime(tmp_path / "out.txt", ns=(0, 0))
    assert told(b.after_agent()) == (True, True)


def test_a_check_does_not_make_an_artifact_fresh(tmp_path: Path) -> None:
    """What only a check wrote is not the agent's, neither then nor in the next attempt."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    b.baseline()
    b.after_agent()
    assert told(b.after_checks({"out.txt": "2"})) == (False, False)
    assert told(b.after_agent()) == (False, False)
    assert told(b.after_agent({"out.txt": "3"})) == (True, True)


def test_a_check_does_not_make_an_artifact_the_agents(tmp_path: Path) -> None:
    """A file that only a check made is there, and not written by the agent."""
    b = bench(tmp_path)
    b.baseline()
    b.after_agent()
    picture = b.after_checks({"out.txt": "1"})
    assert (the_file(picture).kind, told(picture)) == (FileKind.FILE, (False, False))
    assert told(b.after_agent()) == (False, False)


def test_a_file_that_the_agent_deleted_and_a_check_made_again_is_not_the_agents(tmp_path: Path) -> None:
    """The agent's earlier file is gone with its deletion."""
    b = bench(tmp_path)
    b.baseline()
    b.after_agent({"out.txt": "1"})
    b.after_checks()
    assert told(b.after_agent({"out.txt": None})) == (False, False)
    assert told(b.after_checks({"out.txt": "1"})) == (False, False)


def test_what_the_agent_wrote_stays_written_when_a_check_rewrites_it(tmp_path: Path) -> None:
    """The agent's writing counts; that the bytes are others by now shows in the digest."""
    b = bench(tmp_path)
    b.baseline()
    first = b.after_agent({"out.txt": "1"})
    second = b.after_checks({"out.txt": "2"})
    assert told(second) == (True, True)
    assert the_file(first).sha256 != the_file(second).sha256


def test_a_change_that_was_undone_is_written_and_not_changed(tmp_path: Path) -> None:
    """Back at the old bytes, the file was still written."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    b.baseline()
    b.after_agent({"out.txt": "2"})
    b.after_checks()
    assert told(b.after_agent({"out.txt": "1"})) == (True, False)


def test_a_change_that_a_check_undid_is_written_and_not_changed(tmp_path: Path) -> None:
    """When a check put the old bytes back, what is there is not what the agent made."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    b.baseline()
    assert told(b.after_agent({"out.txt": "2"})) == (True, True)
    assert told(b.after_checks({"out.txt": "1"})) == (True, False)


def test_without_a_baseline_nothing_is_said(tmp_path: Path) -> None:
    """A contract that is checked by itself asks for no freshness."""
    b = bench(tmp_path)
    b.write({"out.txt": "1"})
    assert told(b.after_agent()) == (None, None)
    assert told(b.after_checks()) == (None, None)


def test_each_match_of_a_glob_is_judged_apart(tmp_path: Path) -> None:
    """Old, rewritten and new matches are told apart."""
    b = bench(tmp_path, "out/*.txt", glob=True)
    b.write({"out/old.txt": "1", "out/again.txt": "1"})
    os.utime(tmp_path / "out" / "again.txt", ns=(0, 0))
    b.baseline()
    picture = b.after_agent({"out/again.txt": "1", "out/new.txt": "1"})
    files: dict[str, FileFacts] = {file.path: file for file in the_artifact(picture).files}
    assert {path: (file.written, file.changed) for path, file in files.items()} == {
        "out/again.txt": (True, False),
        "out/new.txt": (True, True),
        "out/old.txt": (False, False),
    }


def test_a_directory_is_written_when_any_file_in_it_is(tmp_path: Path) -> None:
    """A rewritten file writes its directory; other bytes, a new or a deleted file change it."""
    b = bench(tmp_path, "out", directory=True)
    b.write({"out/a": "1", "out/b": "1"})
    os.utime(tmp_path / "out" / "a", ns=(0, 0))
    b.baseline()
    assert told(b.after_agent()) == (False, False)
    assert told(b.after_agent({"out/a": "1"})) == (True, False)
    assert told(b.after_agent({"out/b": None})) == (True, True)


@pytest.mark.parametrize("link", ["link", "copy"])
def test_another_file_in_its_place_is_written(link: str, tmp_path: Path) -> None:
    """An artifact that now is a link to another file, or was moved into place, was written."""
    b = bench(tmp_path)
    b.write({"out.txt": "1", "other.txt": "1"})
    for name in ("out.txt", "other.txt"):
        os.utime(tmp_path / name, ns=(0, 0))
    b.baseline()
    (tmp_path / "out.txt").unlink()
    if link == "link":
        (tmp_path / "out.txt").symlink_to("other.txt")
    else:
        (tmp_path / "other.txt").rename(tmp_path / "out.txt")
    assert told(b.after_agent()) == (True, False)
