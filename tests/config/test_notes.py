"""What a user is told at the start, because a valid configuration may not do what was expected."""

from pathlib import Path

import pytest

from signoff.config import CommandLine
from tests.config.resolving import NOTHING, resolved


def test_an_ordinary_configuration_has_no_notes(tmp_path: Path) -> None:
    """Nothing is said where nothing is odd."""
    env = {"SIGNOFF_RUN_ID": "r", "SIGNOFF_STATE_DIR": "/s", "SIGNOFFICE": "x", "PATH": "/bin"}
    line = CommandLine(verify=('pytest --junitxml="$SIGNOFF_REPORT_FILE"',), report="junit")
    assert resolved(tmp_path, line, toml="", env=env).notes == ()


@pytest.mark.parametrize(
    ("line", "env", "toml", "said"),
    [
        (CommandLine(verify=("x",)), {"SIGNOFF_COMPLETION_MODE": "off"}, None, "mode off is configured, but --verify"),
        (NOTHING, {"AWORLD_COMPLETION_MODE": "enforce"}, None, "mode enforce is asked for, but nothing is declared"),
        (NOTHING, {"AWORLD_REQUIRED_ARTIFACTS_JSON": "[]"}, None, "AWORLD_REQUIRED_ARTIFACTS_JSON is not used"),
        (NOTHING, {"SIGNOFF_VALIDATION_COMMANDS_JSON": "x"}, None, "SIGNOFF_VALIDATION_COMMANDS_JSON is not used"),
        (CommandLine(immutable=("t/",)), {}, None, "--immutable is not used"),
        (
            CommandLine(verify=("pytest",), report="junit"),
            {},
            None,
            "check verify-1 is to write a report, and its comm",
        ),
        (NOTHING, {}, "[[contract.command]]\nargv = ['pytest']\nreport = 'junit'", "{report} in argv"),
        (NOTHING, {"SIGNOFF_DATABASE_URL": "postgresql://x"}, None, "SIGNOFF_DATABASE_URL is not used in this version"),
        (NOTHING, {"SIGNOFF_COMPLETION_MOD": "off"}, None, "did you mean SIGNOFF_COMPLETION_MODE?"),
        (NOTHING, {"SIGNOFF_STATEDIR": "/s"}, None, "did you mean SIGNOFF_STATE_DIR?"),
    ],
)
def test_what_may_surprise_is_said(
    line: CommandLine, env: dict[str, str], toml: str | None, said: str, tmp_path: Path
) -> None:
    """One sentence each, and no other."""
    (note,) = resolved(tmp_path, line, toml=toml, env=env).notes
    assert said in note
    assert note.isprintable()


def test_a_file_above_is_not_used_in_silence(tmp_path: Path) -> None:
    """A contract file above the workspace is named and not used, unless it is asked for or there is a nearer one."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "signoff.toml").write_text("[[contract.command]]\nargv = ['x']", encoding="utf-8")
    got = resolved(inner)
    assert (got.contract_file, got.contract.commands) == (None, ())
    (note,) = got.notes
    assert note.startswith(f"{tmp_path.resolve()}/signoff.toml is not used, since it is above the workspace; ")
    assert note.endswith("stand there, or name it with --config")
    assert resolved(inner, CommandLine(config="../../signoff.toml")).notes == ()
    assert resolved(inner, toml="").notes == ()
