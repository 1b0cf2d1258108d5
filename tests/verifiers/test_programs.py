"""What a check will start: found as the check itself looks for it."""

import os
from pathlib import Path

import pytest

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.errors import ConfigError
from signoff.verifiers import missing_programs, program_of, require_bash


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a workspace with a program of its own in a folder that is on the host's PATH."""
    folder = tmp_path.resolve() / "w"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "tool").write_text("#!/bin/sh\n")
    (folder / "bin" / "tool").chmod(0o755)
    return folder


def host(root: Path) -> dict[str, str]:
    """Return the environment of a host whose PATH leads into the workspace."""
    return {"PATH": f"{root}/bin:{os.defpath}"}


@pytest.mark.parametrize("argv", [("sh",), ("bin/tool",), ("tool",), ("./no",), ("nope",)])
def test_a_program_is_found_where_the_check_looks(root: Path, argv: tuple[str, ...]) -> None:
    """A bare name is not looked for in the workspace; a path is, from the check's folder."""
    command = ValidationCommand(id="c", argv=argv)
    program = program_of(str(root), command, host=host(root))
    is_there = argv in [("sh",), ("bin/tool",)]

    assert (program.found is not None) is is_there
    assert any("inside the workspace" in entry for entry in program.not_searched)
    assert bool(missing_programs(str(root), Contract(commands=(command,)), host=host(root))) is not is_there


def test_a_note_says_what_was_not_searched_and_what_to_do(root: Path) -> None:
    """The folder of the workspace that PATH names is named, and so is the mend."""
    [note] = missing_programs(
        str(root), Contract(commands=(ValidationCommand(id="c", argv=("tool",)),)), host=host(root)
    )

    for part in ("check c cannot start now", ".venv/bin/tool", f"'{root}/bin'"):
        assert part in note


def test_a_shell_string_without_a_bash_is_refused(root: Path, tmp_path: Path) -> None:
    """With a bash all is well; without one nothing starts."""
    contract = Contract(commands=(ValidationCommand(id="c", shell="true | cat"),))  # noqa: S604 - a check's own string
    require_bash(str(root), contract, host=host(root))
    with pytest.raises(ConfigError, match="no bash is on the checks' PATH; nothing was started"):
        require_bash(str(root), contract, host={"PATH": str(tmp_path)})
