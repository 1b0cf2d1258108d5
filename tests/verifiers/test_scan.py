"""Looking at a whole workspace: what is read at every look, what is remembered, and which paths are the host's own."""

import os
import time
from pathlib import Path

import pytest

from signoff.core.completion.contract import Artifact, Contract, ImmutableInput
from signoff.verifiers.files import Work
from signoff.verifiers.scan import SETTLED_NS, Scan, Scanner, own_paths
from tests.verifiers.looking import Bench, the_input, touched
from tests.verifiers.looking import contract as contract_of


def scanner(root: Path, *, immutable: str = "fixed/") -> Scanner:
    """Return a scanner with one immutable input and one glob."""
    contract = Contract(
        immutable=(ImmutableInput(id="fixed", glob=immutable),),
        artifacts=(Artifact(id="texts", path="*.txt", glob=True),),
        ignore=("ignored/",),
    )
    return Scanner(str(root), contract, own=())


def look(it: Scanner) -> Scan:
    """Look once."""
    return it.scan(Work())


def lay(root: Path, *names: str) -> None:
    """Write files that hold their own name."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def test_a_file_has_every_part_it_plays(tmp_path: Path) -> None:
    """Ignored files count for nothing but what else they are; a match of a glob may be ignored or immutable."""
    lay(tmp_path, "a.txt", "b.py", "ignored/c.txt", "ignored/d.py", "fixed/e.txt", "__pycache__/f.txt")
    found = look(scanner(tmp_path))
    assert set(found.counted) == {"a.txt", "b.py", "fixed/e.txt"}
    assert set(found.inputs["fixed"]) == {"fixed/e.txt"}
    assert sorted(found.matches["texts"]) == ["a.txt", "fixed/e.txt", "ignored/c.txt"]


def test_ignored_files_under_an_immutable_glob_are_watched(tmp_path: Path) -> None:
    """`ignore` says what is no work; it takes nothing out of what must not change."""
    lay(tmp_path, "ignored/fixed/a")
    assert set(look(scanner(tmp_path)).inputs["fixed"]) == {"ignored/fixed/a"}


def aged(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock that files are compared with be ahead."""
    now = time.time_ns
    monkeypatch.setattr("signoff.verifiers.scan.time.time_ns", lambda: now() + int(seconds * 1e9))


class Opened:
    """Counts the files that are opened for reading."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        real = os.open

        def spy(path: str, flags: int, *, dir_fd: int | None = None) -> int:
            if not flags & os.O_DIRECTORY:
                self.names.append(path)
            return real(path, flags, dir_fd=dir_fd)

        monkeypatch.setattr("signoff.verifiers.files.os.open", spy)

    def again(self) -> list[str]:
        """Return what was opened since the last call."""
        names, self.names = sorted(self.names), []
        return names


def test_a_settled_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that had not changed for two seconds when it was read is left unread; what must not change never is."""
    lay(tmp_path, "a", "fixed/b")
    opened, it = Opened(monkeypatch), scanner(tmp_path)
    aged(monkeypatch, 10)
    first = look(it)
    assert opened.again() == ["a", "b"]
    assert look(it) == first
    assert opened.again() == ["b"]


def test_a_file_that_just_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within two seconds a second change may carry the same time, so such a file is not remembered."""
    lay(tmp_path, "a")
    opened, it = Opened(monkeypatch), scanner(tmp_path)
    look(it)
    look(it)
    assert opened.again() == ["a", "a"]
    assert SETTLED_NS == 2_000_000_000


@pytest.mark.parametrize("act", ["rewrite", "replace", "executable"])
def test_a_remembered_file_that_changes_is_seen(act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size and time of writing put back hide nothing: the change time and the number of the file are compared too."""
    lay(tmp_path, "a", "b")
    for name in ("a", "b"):
        os.utime(tmp_path / name, ns=(0, 0))
    it = scanner(tmp_path)
    aged(monkeypatch, 10)
    before = look(it)
    if act == "rewrite":
        (tmp_path / "a").write_text("b")
    elif act == "replace":
        (tmp_path / "b").rename(tmp_path / "a")
    else:
        (tmp_path / "a").chmod(0o755)
    if act != "executable":
        os.utime(tmp_path / "a", ns=(0, 0))
    assert look(it).counted["a"] != before.counted["a"]


def test_a_deleted_file_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered does not grow with what once was there."""
    lay(tmp_path, "a")
    it = scanner(tmp_path)
    aged(monkeypatch, 10)
    look(it)
    (tmp_path / "a").unlink()
    assert (look(it).counted, it._remembered) == ({}, {})
    lay(tmp_path, "a")
    assert set(look(it).counted) == {"a"}


def test_the_hosts_own_paths_are_told_relative_to_the_workspace(tmp_path: Path) -> None:
    """Absolute or relative, by a link or not, there already or not; what lies outside is nothing to leave out."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("root")
    (root / "log").symlink_to("sub/real.log")
    given = [str(root / "state"), "receipt.json", "./sub/../x", str(tmp_path / "alias" / "y"), "log", "/etc", str(root)]
    expected = {"state", "receipt.json", "x", "y", "log", "sub/real.log"}
    assert own_paths(given, os.path.realpath(root)) == expected


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_link_under_an_immutable_input_counts_by_the_bytes_behind_it(where: str, tmp_path: Path) -> None:
    """Editing, deleting or replacing the file that it leads to changes the input, also outside of the workspace."""
    b = Bench(tmp_path / "root", contract_of(immutable=("tests/",)))
    b.write({"tests/test_a.py": "1", "lib/data": "1"})
    target = b.root / "lib" / "data" if where == "inside" else tmp_path / "data"
    target.write_text("1")
    (b.root / "tests" / "data").symlink_to(target)
    b.baseline()
    assert touched(the_input(b.after_agent())) == {}
    target.write_text("2")
    assert touched(the_input(b.after_agent())) == {"tests/data": "changed"}
    target.unlink()
    assert touched(the_input(b.after_agent())) == {"tests/data": "changed"}
    target.mkdir()
    assert touched(the_input(b.after_agent())) == {"tests/data": "changed"}
