"""Paths as text: one spelling for one path, relative to the workspace where it lies in it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config.paths import shown, workspace_glob, workspace_path, workspace_root
from signoff.core.completion.contract import leads_outside
from tests.config.resolving import any_speed, refusal


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("a//b/./c/../d/", "a/b/d"),
        (".", "."),
        ("../x", "../x"),
        ("a/../../x", "../x"),
        ("/w/a", "a"),
        ("//w//a/", "a"),
        ("/w/x/../a", "a"),
        ("/w", "."),
        ("/www/a", "/www/a"),
        ("/x/../y", "/y"),
        ("~", "/home/u"),
        ("~/a", "/home/u/a"),
        ("~other/a", "~other/a"),
        ("~other/..", "~other/.."),
        ("./~a", "./~a"),
        ("/w/~a", "./~a"),
        ("a b\nc", "a b\nc"),
        ("é", "é"),
        ("", ""),
        (" ", " "),
        ("a\0b", "a\0b"),
    ],
)
def test_a_path_has_one_spelling(text: str, path: str) -> None:
    """Dots, doubled slashes, the workspace's own name and the home are taken out of a path."""
    assert workspace_path(text, root="/w", home="/home/u") == path


def test_a_home_in_the_workspace_is_in_it() -> None:
    """A tilde leads into the workspace where the home lies in it, and stays as it is when there is no home."""
    assert workspace_path("~/a", root="/w", home="/w/home") == "home/a"
    assert workspace_path("~/..", root="/w", home="") == "~/.."
    assert workspace_path("/a", root="/", home="") == "a"


def test_the_workspace_by_another_name_is_the_workspace(tmp_path: Path) -> None:
    """An absolute path through a link to the workspace lies in the workspace; one through a link out of it does not."""
    root = tmp_path / "real"
    (root / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (root / "out").symlink_to(tmp_path)
    assert workspace_path(str(tmp_path / "link" / "inner" / "a"), root=str(root), home="") == "inner/a"
    assert workspace_path(str(tmp_path / "other"), root=str(root), home="") == str(tmp_path / "other")


@any_speed
@given(st.text(st.sampled_from("./~aw")))
def test_the_spelling_is_stable(text: str) -> None:
    """A path that was written the one way stays as it is, and leads outside exactly if it did before."""
    once = workspace_path(text, root="/nowhere/w", home="")
    assert workspace_path(once, root="/nowhere/w", home="") == once
    if text.strip():
        assert leads_outside(once) == leads_outside(text)


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("tests/", "tests/"),
        ("./tests/", "tests/"),
        (".//a", "a"),
        ("/w/tests/", "/tests/"),
        ("/w/a/b.*", "a/b.*"),
        ("/a/b", "a/b"),
        ("/a", "/a"),
        ("/a/", "/a/"),
        ("**/x", "**/x"),
        ("!x", "!x"),
        ("/w", "/w"),
        ("/w/", "/w/"),
        (".env", ".env"),
    ],
)
def test_a_pattern_keeps_its_meaning(text: str, glob: str) -> None:
    """What names only the workspace goes; a slash that anchors stays where nothing else does."""
    assert workspace_glob(text, root="/w") == glob


def test_the_workspace_is_a_real_folder(tmp_path: Path) -> None:
    """The workspace is where the user stands or what was named from there, by its real path."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    assert workspace_root(None, cwd=str(tmp_path)) == str(tmp_path.resolve())
    assert workspace_root("link/b", cwd=str(tmp_path)) == str(tmp_path.resolve() / "a" / "b")
    assert workspace_root(str(tmp_path), cwd="/") == str(tmp_path.resolve())


@pytest.mark.parametrize("given", ["missing", "file", "", " ", "file/x", "a\0b", "n" * 5000, "loop"])
def test_another_workspace_is_refused(given: str, tmp_path: Path) -> None:
    """What is no folder is an error that names the option and what was typed."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    message = refusal(lambda: workspace_root(given, cwd=str(tmp_path)))
    assert message.startswith("--cwd ")
    assert "nothing was started" in message


def test_a_folder_that_is_gone_is_refused(tmp_path: Path) -> None:
    """A user who stands in a folder that was deleted is told so."""
    assert "the current folder is no folder to work in" in refusal(
        lambda: workspace_root(None, cwd=str(tmp_path / "gone"))
    )


def test_a_name_that_no_record_can_hold_is_refused(tmp_path: Path) -> None:
    """A workspace whose name is not UTF-8 is refused, since nothing about it could be written down."""
    folder = tmp_path / "\udcff"
    folder.mkdir()
    assert "not valid Unicode" in refusal(lambda: workspace_root(str(folder), cwd="/"))


def test_a_path_is_shown_as_it_is_or_escaped() -> None:
    """A path that prints is shown; one that does not is escaped."""
    assert shown("/a b/é") == "/a b/é"
    assert shown("/a\x1b[31m") == '"/a\\u001b[31m"'
