"""What can be refused before anything starts: patterns that are none, and patterns that guard nothing."""

import os
from pathlib import Path

import pytest

from signoff.core.completion.contract import Artifact, Contract, ImmutableInput
from signoff.errors import ConfigError
from signoff.verifiers import require_matches, unmatched


def contract(*globs: str, allow_no_match: bool = False) -> Contract:
    """Return a contract of immutable inputs."""
    return Contract(
        immutable=tuple(
            ImmutableInput(id=f"i{n}", glob=glob, allow_no_match=allow_no_match) for n, glob in enumerate(globs)
        )
    )


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Return a workspace with some files."""
    for name in ("tests/test_a.py", "data/in.json", ".git/config", "tests/__pycache__/x.pyc"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").symlink_to("tests")
    return str(tmp_path)


def test_patterns_that_match_are_accepted(root: str) -> None:
    """A folder, a file and a pattern that match something are fine, and so is a contract without any."""
    require_matches(root, contract("tests/", "data/in.json", "**/*.json"))
    require_matches(root, Contract())


@pytest.mark.parametrize("glob", ["tets/", "empty/", ".git/", "__pycache__/", "linked", "linked/", "!tests/", "#x"])
def test_a_pattern_that_guards_nothing_is_refused(glob: str, root: str) -> None:
    """A misspelt or empty folder, one that never counts, and one that is only a link are named with the mend."""
    with pytest.raises(ConfigError, match=r"immutable input i1 .*nothing was started; correct the pattern") as raised:
        require_matches(root, contract("tests/", glob))
    assert repr(glob) in str(raised.value)
    assert [item.id for item in unmatched(root, contract("tests/", glob))] == ["i1"]


def test_no_match_may_be_allowed(root: str) -> None:
    """With the author's word for it a pattern may guard what is still to come."""
    require_matches(root, contract("tets/", allow_no_match=True))


@pytest.mark.parametrize(
    "bad",
    [
        Contract(ignore=("!",)),
        Contract(allow_change=("\\",)),
        Contract(artifacts=(Artifact(id="a", path="!", glob=True),)),
        contract("!"),
    ],
)
def test_what_is_no_pattern_is_refused(bad: Contract, root: str) -> None:
    """Wherever a pattern stands, one that cannot be read is refused."""
    with pytest.raises(ConfigError, match="nothing was started"):
        require_matches(root, bad)


def test_a_missing_workspace_holds_nothing(tmp_path: Path) -> None:
    """A folder that does not exist matches no pattern."""
    with pytest.raises(ConfigError, match="no file of"):
        require_matches(str(tmp_path / "gone"), contract("tests/"))


@pytest.mark.parametrize(
    ("link", "target", "globs"),
    [
        ("tests/cases", "../lib", ["tests/"]),
        ("tests/cases", "../../outside", ["tests/"]),
        ("tests/cases", "../.git", ["tests/"]),
        ("tests/cases", "../lib", ["tests/**/*.py"]),
        ("tests/cases", "..", ["tests/"]),
        ("tests/fifo", "../fifo", ["tests/"]),
        ("tests/null", "/dev/null", ["tests/"]),
    ],
)
def test_a_link_to_files_that_nothing_watches_is_refused(link: str, target: str, globs: list[str], root: str) -> None:
    """A folder or device behind a link under an immutable input could be changed without being noticed."""
    top = Path(root)
    for folder in (top / "lib", top.parent / "outside"):
        folder.mkdir(exist_ok=True)
        (folder / "a.py").touch()
    os.mkfifo(top / "fifo")
    (top / link).symlink_to(target)
    with pytest.raises(ConfigError, match=rf"the link {link} is under the immutable input i0 .*nothing was started"):
        require_matches(root, contract(*globs))


def test_a_link_to_what_is_watched_is_accepted(root: str) -> None:
    """A link to a file, to nothing, to a folder that is immutable too, or under no pattern, is fine."""
    top = Path(root)
    (top / "lib").mkdir()
    (top / "lib" / "a.py").touch()
    (top / "tests" / "link.py").symlink_to("../lib/a.py")
    (top / "tests" / "gone.py").symlink_to("../gone")
    (top / "tests" / "lib").symlink_to("../lib")
    (top / "other").symlink_to("lib")
    require_matches(root, contract("tests/", "lib/"))
    require_matches(root, contract("**/*.py"))
    require_matches(root, contract("data/"))
