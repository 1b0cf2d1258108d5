"""Walking a folder: every file is found once, whatever its name or kind; caches and version control are not."""

import os
import socket
import sys
from pathlib import Path

import pytest

from signoff.verifiers.left_out import CACHE_FILES, CACHE_FOLDERS, CACHES, VERSION_CONTROL
from signoff.verifiers.walk import walk
from tests.verifiers.looking import remove_deep


def found(root: Path | str, *, own: tuple[str, ...] = ()) -> list[str]:
    """Return the sorted paths that a walk yields."""
    return sorted(path for path, _, _ in walk(str(root), own=own))


def test_every_file_is_found_by_its_path(tmp_path: Path) -> None:
    """Files at every depth come with their path relative to the root, hidden ones and odd names too."""
    names = ["a", "b/c", "b/d/e", ".hidden/f", "with space/g h", "ümlaut/文件", "new\nline/x\ny"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "empty folder").mkdir()
    assert found(tmp_path) == sorted(names)


@pytest.mark.parametrize("folder", CACHE_FOLDERS)
def test_a_cache_folder_is_left_out(folder: str, tmp_path: Path) -> None:
    """Nothing below a cache's folder is found, at any depth; a file of that name is."""
    for place in (tmp_path / folder, tmp_path / "deep" / folder):
        place.mkdir(parents=True)
        (place / "x").touch()
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / Path(folder).name).touch()
    assert found(tmp_path) == [f"file/{Path(folder).name}"]


@pytest.mark.parametrize("name", VERSION_CONTROL)
def test_version_control_is_left_out(name: str, tmp_path: Path) -> None:
    """Neither a folder of version control nor a file of its name is found, at any depth."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "config").touch()
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / name).touch()
    (tmp_path / f"{name}ignore").touch()
    assert found(tmp_path) == [f"{name}ignore"]


def test_cache_files_are_left_out_and_their_neighbours_not(tmp_path: Path) -> None:
    """A cache's file is left out; `cache` below anything but its own parent, and compiled modules, are found."""
    for name in CACHE_FILES:
        (tmp_path / name.replace("*", "host.1.x")).touch()
    for name in ("coverage.xml", "helper.pyc", "cache/x", "src/.cache/y"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert found(tmp_path) == ["cache/x", "coverage.xml", "helper.pyc", "src/.cache/y"]


def test_the_published_list_is_complete() -> None:
    """Every cache that is left out stands in the published list."""
    assert {entry.rstrip("/") for entry in CACHES} == {*CACHE_FOLDERS, *CACHE_FILES}


def test_links_are_found_and_not_followed(tmp_path: Path) -> None:
    """A link to a folder, to itself, to nothing or out of the root is one path."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").touch()
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "round").symlink_to("round")
    (root / "dangling").symlink_to("nothing")
    assert found(root) == ["dangling", "out", "round", "up"]


def test_special_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO and a socket are paths like others."""
    monkeypatch.chdir(tmp_path)  # the name of a socket is bound in length
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert found(tmp_path) == ["fifo", "socket"]


def test_the_hosts_own_paths_are_left_out(tmp_path: Path) -> None:
    """A file or folder of the host's is left out with all below it; its neighbours are not."""
    for name in ("state/db", "receipt.json", "state2/x", "sub/receipt.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert found(tmp_path, own=("state", "receipt.json")) == ["state2/x", "sub/receipt.json"]


def test_a_missing_root_is_empty(tmp_path: Path) -> None:
    """A workspace that was deleted, or replaced by a file or a link, holds no file."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").touch()
    (tmp_path / "link").symlink_to("folder")
    assert [found(tmp_path / name) for name in ("gone", "file", "link")] == [[], [], []]


def test_depth_needs_no_recursion(tmp_path: Path) -> None:
    """A file below more folders than the interpreter has stack for is found."""
    make_deep(tmp_path, "d", levels=400)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        deepest = found(tmp_path)
    finally:
        sys.setrecursionlimit(limit)
    assert deepest == ["d/" * 400 + "x"]
    remove_deep(tmp_path, "d")


def test_what_is_out_of_reach_is_named(tmp_path: Path) -> None:
    """Folders nested beyond the system's longest path are walked as far as they can be reached, and named there."""
    name = "d" * 200
    make_deep(tmp_path, name, levels=40)
    (last,) = found(tmp_path)
    assert last == "/".join([name] * (last.count("/") + 1))
    assert 3 < last.count("/") < 39
    remove_deep(tmp_path, name)


def make_deep(folder: Path, name: str, *, levels: int) -> None:
    """Make a chain of folders of one name, with a file at its end."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
