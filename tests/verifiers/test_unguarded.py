"""The note about programs of the checks that the agent can edit."""

from pathlib import Path

import pytest

from signoff.core.completion.contract import Contract, ImmutableInput, ValidationCommand
from signoff.verifiers import unguarded_programs


def notes(root: Path, *words: str, script: str = "", immutable: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the notes for one check."""
    given = {"shell": script} if script else {"argv": words}
    command = ValidationCommand(id="c", **given)
    inputs = tuple(ImmutableInput(id=f"i{place}", glob=glob) for place, glob in enumerate(immutable))
    return unguarded_programs(str(root), Contract(commands=(command,), immutable=inputs))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a workspace with a script, an executable and a text."""
    folder = tmp_path.resolve() / "w"
    folder.mkdir()
    (folder / "check.py").write_text("print(1)\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "out.txt").write_text("result\n")
    return folder


@pytest.mark.parametrize("words", [("python3", "check.py"), ("./run",), ("bash", "./check.py")])
def test_a_program_in_the_workspace_is_named(root: Path, words: tuple[str, ...]) -> None:
    """A check that starts a file of the workspace gets a note that names it and the option that guards it."""
    [note] = notes(root, *words)

    assert "which the agent can edit" in note
    assert f"--immutable {words[-1].removeprefix('./')}" in note


def test_a_program_in_a_shell_string_is_named(root: Path) -> None:
    """The words of a shell string are looked at, too."""
    assert "check.py" in notes(root, script="cd . && python3 check.py | tail -n 1")[0]


@pytest.mark.parametrize(
    ("words", "immutable"),
    [
        (("python3", "check.py"), ("/check.py",)),
        (("test", "-s", "out.txt"), ()),
        (("python3", "nowhere.py"), ()),
        (("grep", "x" * 5000, "a\nb"), ()),
    ],
)
def test_what_is_guarded_or_no_program_is_not_named(
    root: Path, words: tuple[str, ...], immutable: tuple[str, ...]
) -> None:
    """An immutable program, a product, a missing file and a word that is no name give no note."""
    assert notes(root, *words, immutable=immutable) == ()
