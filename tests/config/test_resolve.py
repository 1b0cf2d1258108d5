"""One configuration out of three sources: what wins, and what cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config import CommandLine, resolve
from signoff.core.budget import Limits
from signoff.core.completion.contract import Mode
from signoff.errors import ConfigError
from tests.config.resolving import COMMANDS, DIGEST, EVERYTHING, MODE, NOTHING, any_speed, contents, refusal, resolved

A_CHECK = "[[contract.command]]\nargv = ['x']\n"


@pytest.mark.scenario("CC-118")
@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[contract]\nmoed = 'off'", "2: contract.moed: "),
        ("[contract]\nmode = 1", "2: contract.mode: "),
        ("[contract]\nmode = off", "2:8: this is not TOML"),
        ("[contract]\n\n[[contract.command]]\nid = 'a'", "3: contract.command: check a needs exactly one of argv"),
        ("[[contract.artifact]]\npath = 'a'\nsha256 = 'x'", "1: contract.artifact: sha256 of artifact artifact-1 'x'"),
        ("[[contract.immutable]]\nglob = ' '", "1: contract.immutable: glob of immutable input immutable-1 is ' '"),
        ("[contract]\nignore = ['']", "2: contract.ignore is blank"),
        ("[agent]\ntimeout = '0s'", '2: agent.timeout is "0s"'),
        ("[agent]\nattempt_timeout = '1w'", '2: agent.attempt_timeout is "1w"'),
        ("[agent]\ncommand = ['']", "2: agent.command is blank"),
        ("[agent]\ncommand = ['a', \"\\u0000\"]", "2: agent.command holds a NUL"),
        ('[agent]\ngoal = "\\u0000"', "2: agent.goal holds a NUL"),
    ],
)  # fmt: skip
def test_a_bad_file_stops_everything(toml: str, said: str, tmp_path: Path) -> None:
    """Nothing is configured from a file with a fault, and the message begins with file and line; nothing is written."""
    message = refusal(lambda: resolved(tmp_path, toml=toml))
    assert message.startswith(f"{tmp_path.resolve()}/signoff.toml:{said}")
    assert "nothing was started" in message
    assert list(contents(tmp_path)) == ["signoff.toml"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (CommandLine(verify=("",)), '--verify "": check verify-1 needs exactly one of argv'),
        (CommandLine(verify=("a\0b",)), '--verify "a\\u0000b": check verify-1 holds a NUL'),
        (CommandLine(verify=("\udcff",)), '--verify "\\udcff" is not valid Unicode'),
        (CommandLine(artifacts=("",)), '--artifact "": path of artifact'),
        (CommandLine(artifacts=("../x",)), "--artifact ../x: path '../x' leads out of the workspace"),
        (CommandLine(artifacts=("/x",)), "--artifact /x: path '/x' leads out of the workspace"),
        (CommandLine(artifacts=("a=sha256:abc",)), "--artifact a=sha256:abc: sha256 of artifact"),
        (CommandLine(artifacts=(f"a={DIGEST.upper()}",)), "--artifact "),
        (CommandLine(artifacts=(f"a={DIGEST}", f"./a=sha256:{'c' * 64}")), "--artifact "),
        (CommandLine(immutable=(" ",)), '--immutable " ": glob of immutable input'),
        (CommandLine(allow_change=("",)), "--allow-change is blank"),
        (CommandLine(verify=("x",), report="tap"), "--report tap is no known format"),
        (CommandLine(report="junit"), "--report asks the --verify commands"),
        (CommandLine(max_repairs="-1"), "--max-repairs is "),
        (CommandLine(max_repairs="+1"), "--max-repairs is "),
        (CommandLine(max_repairs=""), "--max-repairs is "),
        (CommandLine(no_progress="0"), "--no-progress is "),
        (CommandLine(timeout="soon"), "--timeout is "),
        (CommandLine(attempt_timeout="0"), "--attempt-timeout is "),
        (CommandLine(config="missing.toml"), "--config missing.toml does not exist"),
        (CommandLine(config="."), "{root} is no plain file"),
        (CommandLine(config=" "), "--config is blank"),
        (CommandLine(cwd="missing"), '--cwd "missing" is no folder'),
        (CommandLine(command=("",)), "the agent's command after -- is blank"),
        (CommandLine(command=("a", "\udcff")), "the agent's command after -- is not valid Unicode"),
        (CommandLine(goal="a\0"), "the goal holds a NUL"),
        (CommandLine(goal="\udcff"), "the goal is not valid Unicode"),
    ],
)
def test_a_bad_option_is_named(line: CommandLine, said: str, tmp_path: Path) -> None:
    """What was typed and cannot be used is named, with what to do; nothing is started."""
    message = refusal(lambda: resolved(tmp_path, line))
    assert message.startswith(said.replace("{root}", str(tmp_path)))
    assert "nothing was started" in message


@pytest.mark.parametrize(
    ("env", "toml", "line", "mode"),
    [
        ({}, None, NOTHING, Mode.OFF),
        ({}, A_CHECK, NOTHING, Mode.ENFORCE),
        ({}, "[[contract.immutable]]\nglob = 'a'", NOTHING, Mode.OFF),
        ({}, "[contract]\nmode = 'observe'\n" + A_CHECK, NOTHING, Mode.OBSERVE),
        ({}, "[contract]\nmode = 'off'\n" + A_CHECK, NOTHING, Mode.OFF),
        ({MODE: "observe"}, A_CHECK, NOTHING, Mode.OBSERVE),
        ({MODE: "enforce"}, "[contract]\nmode = 'off'\n" + A_CHECK, NOTHING, Mode.ENFORCE),
        ({MODE: "off"}, "[contract]\nmode = 'enforce'\n" + A_CHECK, NOTHING, Mode.OFF),
        ({}, None, CommandLine(verify=("x",)), Mode.ENFORCE),
        ({}, None, CommandLine(artifacts=("x",)), Mode.ENFORCE),
        ({}, None, CommandLine(immutable=("x",)), Mode.OFF),
        ({MODE: "off"}, None, CommandLine(verify=("x",)), Mode.ENFORCE),
        ({}, "[contract]\nmode = 'off'", CommandLine(artifacts=("x",)), Mode.ENFORCE),
        ({MODE: "observe"}, None, CommandLine(verify=("x",)), Mode.OBSERVE),
        ({}, "[contract]\nmode = 'observe'", CommandLine(verify=("x",)), Mode.OBSERVE),
    ],
)
def test_which_mode_holds(env: dict[str, str], toml: str | None, line: CommandLine, mode: Mode, tmp_path: Path) -> None:
    """A typed check enforces unless observe is named; else the environment's mode, the file's, or what is declared."""
    got = resolved(tmp_path, line, toml=toml, env=env)
    assert (got.requested_mode, got.contract.mode) == (mode, mode)


@pytest.mark.parametrize(
    ("line", "env", "toml", "number"),
    [
        ("1", "2", "3", 1),
        (None, "2", "3", 2),
        (None, None, "3", 3),
        (None, None, None, 5),
        ("0", "2", "3", 0),
        (None, "0", "3", 0),
    ],
)
def test_who_sets_the_number_of_repairs(
    line: str | None, env: str | None, toml: str | None, number: int, tmp_path: Path
) -> None:
    """Command line before environment before file before default; zero is a number."""
    got = resolved(
        tmp_path,
        CommandLine(verify=("x",), max_repairs=line),
        toml=f"[contract]\nmax_repairs = {toml}" if toml else None,
        env={"SIGNOFF_COMPLETION_MAX_REPAIRS": env} if env else {},
    )
    assert got.contract.max_repairs == number


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    """What was typed holds: goal, agent and times; a switch that either sets is on."""
    line = CommandLine(
        goal="",
        command=("b",),
        timeout="1m",
        attempt_timeout="2s",
        no_progress="1",
        allow_no_change=True,
        strict_exit=True,
    )
    toml = (
        "[contract]\nno_progress = 9\n[agent]\ncommand = ['a']\ngoal = 'g'\ntimeout = 5\nattempt_timeout = 6\n"
        "stdin = true"
    )
    got = resolved(tmp_path, line, toml=toml)
    assert got.limits == Limits(timeout_seconds=60.0, attempt_timeout_seconds=2.0, no_progress=1)
    assert (got.agent_command, got.goal) == (("b",), "")
    assert (got.allow_no_change, got.strict_exit, got.stdin) == (True, True, True)
    bare = resolved(tmp_path, toml="")
    assert (bare.limits, bare.agent_command, bare.goal) == (Limits(), (), "")
    assert (bare.allow_no_change, bare.strict_exit, bare.stdin) == (False, False, False)


def test_a_goal_arrives_unchanged(tmp_path: Path) -> None:
    """Dashes, quotes, newlines and a megabyte are a goal like any other."""
    for goal in ("--verify x", 'it\'s "quoted" `x` $y', "a\nb\r\n", "é" * 1024 * 512, ""):
        assert resolved(tmp_path, CommandLine(goal=goal)).goal == goal


def test_another_file_can_be_named(tmp_path: Path) -> None:
    """`--config` counts from where the user stands and is used instead of the workspace's file."""
    (tmp_path / "w").mkdir()
    (tmp_path / "other.toml").write_text(A_CHECK, encoding="utf-8")
    (tmp_path / "w" / "signoff.toml").write_text("broken", encoding="utf-8")
    got = resolved(tmp_path, CommandLine(cwd="w", config="other.toml"))
    assert got.contract_file == str(tmp_path.resolve() / "other.toml")
    assert got.contract_file_sha256 is not None
    assert [check.argv for check in got.contract.commands] == [("x",)]


def test_resolving_is_quiet(tmp_path: Path) -> None:
    """Nothing in the workspace is changed, and no named program is looked for."""
    before = contents(tmp_path)
    line = CommandLine(verify=("touch ran",), command=("touch", "ran"))
    resolved(
        tmp_path, line, env={MODE: "enforce", COMMANDS: json.dumps([{"command_id": "a", "argv": ["touch", "ran"]}])}
    )
    assert contents(tmp_path) == before


NAMES = ("COMPLETION_MODE", "COMPLETION_MAX_REPAIRS", "REQUIRED_ARTIFACTS_JSON", "VALIDATION_COMMANDS_JSON")
VARIABLES = st.sampled_from([prefix + name for prefix in ("SIGNOFF_", "AWORLD_") for name in NAMES])
VALUES = st.text() | st.sampled_from(
    ["enforce", "off", "3", '["a"]', '[{"command_id": "a", "argv": ["\\ud800"]}]', "[]"]
)
ANY_TEXT = st.text(st.characters(codec=None))
ANY_TEXTS = st.lists(ANY_TEXT, max_size=2).map(tuple)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "goal": ANY_TEXT,
        **dict.fromkeys(("verify", "artifacts", "immutable", "allow_change", "command"), ANY_TEXTS),
        **dict.fromkeys(("report", "max_repairs", "timeout", "attempt_timeout", "no_progress"), ANY_TEXT),
    },
)


@any_speed
@given(
    st.binary() | st.sampled_from([EVERYTHING.encode(), A_CHECK.encode()]),
    st.dictionaries(VARIABLES, VALUES),
    OPTIONS,
)
def test_anything_is_a_configuration_or_a_fault(
    tmp_path: Path, data: bytes, env: dict[str, str], options: dict[str, Any]
) -> None:
    """Whatever file, variables and options hold: a contract with a digest, or one `ConfigError` that can be printed."""
    (tmp_path / "signoff.toml").write_bytes(data)
    try:
        got = resolve(CommandLine(**options), environment=env, cwd=str(tmp_path))
    except ConfigError as error:
        str(error).encode()
        return
    assert got.contract.digest().startswith("sha256:")
    " ".join((got.goal, *got.agent_command, *got.notes)).encode()
