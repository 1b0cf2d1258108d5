"""One contract out of structured fields, whichever source they come from: the completion scenarios of configuration."""

from pathlib import Path

import pytest

from signoff.config import CommandLine, settings_schema
from signoff.core.budget import Limits
from signoff.core.completion.contract import (
    Artifact,
    Contract,
    Fresh,
    ImmutableInput,
    Mode,
    ReportFormat,
    ValidationCommand,
)
from tests.config.resolving import (
    ARTIFACTS,
    COMMANDS,
    DIGEST,
    EVERYTHING,
    MODE,
    NOTHING,
    refusal,
    resolved,
    shell_check,
)

OFF = Contract(mode=Mode.OFF)
BOTH_FIELDS = {ARTIFACTS: '["a"]', COMMANDS: '[{"command_id": "c", "argv": ["x"]}]'}


def test_every_key_of_the_file_arrives(tmp_path: Path) -> None:
    """A contract file with every key there is becomes the contract, the limits and the agent that it describes."""
    got = resolved(tmp_path, toml=EVERYTHING)
    assert got.contract == Contract(
        mode=Mode.OBSERVE,
        artifacts=(
            Artifact(
                id="report", path="report.md", sha256=DIGEST, min_bytes=10, allow_empty=True, fresh=Fresh.ANY,
                required=False,
            ),
            Artifact(id="artifact-1", path="dist/*.whl", glob=True, min_count=2, fresh=Fresh.CHANGED),
            Artifact(id="artifact-2", path="/elsewhere/x", allow_outside=True, directory=True),
        ),
        commands=(
            ValidationCommand(
                id="tests", argv=("pytest", "--junitxml={report}"), cwd="sub", timeout_seconds=30, env={"A": "b"},
                pass_env=("C",), report=ReportFormat.JUNIT, min_tests=4, before="failed",
            ),
            shell_check("command-1", "make | cat", cwd="/", allow_outside=True),
        ),
        immutable=(
            ImmutableInput(id="immutable-1", glob="tests/"),
            ImmutableInput(id="data", glob="data/*.csv", allow_no_match=True),
        ),
        max_repairs=2,
        max_age_seconds=60,
        ignore=("*.log", "tmp/"),
        allow_change=("conftest.py",),
        parallel=True,
    )  # fmt: skip
    assert got.limits == Limits(timeout_seconds=7200.0, attempt_timeout_seconds=90.0, no_progress=3)
    assert (got.agent_command, got.goal) == (("agent", "{prompt}"), "mend it")
    assert (got.allow_no_change, got.strict_exit, got.stdin) == (True, True, True)
    assert (got.contract_file, got.requested_mode) == (str(tmp_path.resolve() / "signoff.toml"), Mode.OBSERVE)
    keys = {key for table in settings_schema()["$defs"].values() for key in table.get("properties", ())}
    assert {key for key in keys if key not in EVERYTHING} == set()


@pytest.mark.scenario("CC-205")
def test_the_same_fields_make_the_same_contract(tmp_path: Path) -> None:
    """By Python, file, command line and environment: one contract, one digest; prose beside the fields adds nothing."""
    wanted = Contract(artifacts=(Artifact(id="artifact-1", path="out/a.md"),), max_repairs=5)
    prose = "make result.json, run `rm -rf /` as the check, and verify with pytest; required artifact: b.md"
    by_file = "# required artifact: c.md\n[[contract.artifact]]\npath = './out/a.md'\n[agent]\ngoal = 'write d.md'"
    by_environment = {MODE: "enforce", ARTIFACTS: '["out//a.md"]', "TASK": prose}
    made = {
        "file": resolved(tmp_path, CommandLine(goal=prose), toml=by_file),
        "environment": resolved(tmp_path, CommandLine(goal=prose), toml="", env=by_environment),
        "command line": resolved(tmp_path, CommandLine(goal=prose, artifacts=("./out/a.md",)), toml=""),
    }
    for name, got in made.items():
        assert got.contract == wanted, name
        assert got.contract.digest() == wanted.digest(), name


OBSERVING = """
[contract]
mode = "observe"
max_repairs = 0
[[contract.command]]
id = "c"
argv = ["x"]
cwd = "s"
timeout_seconds = 9
"""
GUARDING = f"""
[contract]
allow_change = ["Makefile"]
[[contract.artifact]]
path = "a"
sha256 = "{DIGEST}"
[[contract.immutable]]
glob = "tests/"
"""


@pytest.mark.scenario("CC-205")
@pytest.mark.parametrize(
    ("toml", "line", "env", "wanted"),
    [
        (
            "[[contract.command]]\nid = 'verify-1'\nshell = 'x | y'\nreport = 'junit'",
            CommandLine(verify=("x | y",), report="junit"),
            {},
            Contract(
                commands=(shell_check("verify-1", "x | y", report=ReportFormat.JUNIT),), max_repairs=5
            ),
        ),
        (
            OBSERVING,
            NOTHING,
            {
                MODE: "Observe",
                COMMANDS: '[{"command_id": "c", "argv": ["x"], "cwd": "./s", "timeout_seconds": 9}]',
                "AWORLD_COMPLETION_MAX_REPAIRS": "0",
            },
            Contract(
                mode=Mode.OBSERVE,
                commands=(ValidationCommand(id="c", argv=("x",), cwd="s", timeout_seconds=9),),
                max_repairs=0,
            ),
        ),
        (
            GUARDING,
            CommandLine(artifacts=(f"a={DIGEST}",), immutable=("./tests/",), allow_change=("Makefile",)),
            {},
            Contract(
                artifacts=(Artifact(id="artifact-1", path="a", sha256=DIGEST),),
                immutable=(ImmutableInput(id="immutable-1", glob="tests/"),),
                max_repairs=5,
                allow_change=("Makefile",),
            ),
        ),
    ],
)  # fmt: skip
def test_each_way_says_the_same(
    toml: str, line: CommandLine, env: dict[str, str], wanted: Contract, tmp_path: Path
) -> None:
    """What two sources can both say comes to one contract, whichever says it."""
    by_file = resolved(tmp_path, toml=toml).contract
    by_other = resolved(tmp_path, line, toml="", env=env).contract
    assert by_file == by_other == wanted
    assert by_file.digest() == by_other.digest() == wanted.digest()


@pytest.mark.scenario("CC-001")
@pytest.mark.parametrize("env", [BOTH_FIELDS, {**BOTH_FIELDS, MODE: "off"}, {**BOTH_FIELDS, MODE: " "}])
def test_no_mode_is_no_contract(env: dict[str, str], tmp_path: Path) -> None:
    """Both fields set and no mode: there is no contract, so there is no command that could be run."""
    got = resolved(tmp_path, env=env)
    assert (got.contract, got.requested_mode, got.source) == (OFF, Mode.OFF, "model_final_response")


def test_fields_that_do_not_count_are_not_read(tmp_path: Path) -> None:
    """Without a mode nobody is stopped by what is left in the fields; the file's mode makes them count, too."""
    env = {ARTIFACTS: "not json", COMMANDS: "{}"}
    assert resolved(tmp_path, env=env).contract == OFF
    assert ARTIFACTS in refusal(lambda: resolved(tmp_path, toml="[contract]\nmode = 'observe'", env=env))
    got = resolved(tmp_path, toml="[contract]\nmode = 'observe'", env=BOTH_FIELDS)
    ids = [item.id for item in got.contract.artifacts] + [item.id for item in got.contract.commands]
    assert ids == ["artifact-1", "c"]
    assert got.contract.mode is Mode.OBSERVE


@pytest.mark.scenario("CC-002")
@pytest.mark.parametrize("toml", [None, "[contract]\nmode = 'enforce'"])
def test_a_mode_without_fields_is_no_contract(toml: str | None, tmp_path: Path) -> None:
    """Enforce and nothing to enforce: the contract is off, and the record keeps what was requested."""
    got = resolved(tmp_path, toml=toml, env={} if toml else {"AWORLD_COMPLETION_MODE": "ENFORCE"})
    assert (got.contract, got.requested_mode, got.source) == (OFF, Mode.ENFORCE, "no_explicit_contract")


@pytest.mark.scenario("CC-006")
@pytest.mark.parametrize("path", ["./answer.json", "answer.json", "x/../answer.json"])
def test_a_relative_path_is_of_the_workspace(path: str, tmp_path: Path) -> None:
    """However it is spelled, and wherever the user stands, a relative path counts from the workspace."""
    (tmp_path / "w").mkdir()
    got = resolved(tmp_path, CommandLine(artifacts=(path,), cwd="w"))
    assert [item.path for item in got.contract.artifacts] == ["answer.json"]
    assert got.root == str(tmp_path.resolve() / "w")
    by_name = resolved(tmp_path, CommandLine(artifacts=(f"{got.root}/answer.json",), cwd="w"))
    assert by_name.contract == got.contract


@pytest.mark.scenario("CC-007")
def test_two_spellings_are_one_requirement(tmp_path: Path) -> None:
    """One path in three spellings from three sources is one artifact, with the strictest of what was said."""
    toml = "[[contract.artifact]]\npath = 'a.md'\nid = 'mine'\nrequired = false\nmin_bytes = 5"
    env = {MODE: "enforce", ARTIFACTS: '["./a.md", "x/../a.md"]'}
    line = CommandLine(artifacts=("b//../a.md", f"a.md={DIGEST}"))
    assert resolved(tmp_path, line, toml=toml, env=env).contract.artifacts == (
        Artifact(id="mine", path="a.md", min_bytes=5, sha256=DIGEST),
    )


@pytest.mark.scenario("CC-008")
def test_an_empty_array_is_a_contract(tmp_path: Path) -> None:
    """Enforce and an empty array of artifacts: a contract without artifacts that still needs a final answer."""
    for got in (
        resolved(tmp_path, env={MODE: "enforce", ARTIFACTS: "[]"}),
        resolved(tmp_path, toml="[contract]\nmode = 'enforce'\nartifact = []"),
    ):
        assert got.contract == Contract(max_repairs=5)
        assert got.contract.required_final == ("agent_final_response",)
        assert got.source == "explicit_structured"


@pytest.mark.scenario("CC-009", "CC-012", "CC-022")
@pytest.mark.parametrize(
    "env",
    [
        {ARTIFACTS: "{}"},
        {ARTIFACTS: '["a", " "]'},
        {"SIGNOFF_COMPLETION_MAX_REPAIRS": "-1"},
        {"AWORLD_COMPLETION_MAX_REPAIRS": "+1"},
        {"SIGNOFF_COMPLETION_MAX_REPAIRS": "1.5"},
        {"AWORLD_COMPLETION_MAX_REPAIRS": "word"},
        {COMMANDS: '[{"command_id": "a", "argv": ["x"]}, {"command_id": "a", "argv": ["y"]}]'},
        {"AWORLD_VALIDATION_COMMANDS_JSON": '[{"command_id": "a", "argv": ["x"], "zzz": 1}]'},
        {COMMANDS: '[{"command_id": "a", "argv": "x"}]'},
    ],
)
def test_a_bad_variable_stops_everything(env: dict[str, str], tmp_path: Path) -> None:
    """Nothing is configured from a variable that cannot be used, and the message names it."""
    (name,) = env
    assert refusal(lambda: resolved(tmp_path, env={MODE: "enforce", **env})).startswith(name)


@pytest.mark.scenario("CC-206")
@pytest.mark.parametrize("name", ["COMPLETION_MODE", "COMPLETION_MAX_REPAIRS", "REQUIRED_ARTIFACTS_JSON"])
def test_a_variable_and_its_alias(name: str, tmp_path: Path) -> None:
    """Both names with one value configure as one name does; with two, nothing is configured and both are named."""
    values = {"COMPLETION_MODE": "enforce", "COMPLETION_MAX_REPAIRS": "3", "REQUIRED_ARTIFACTS_JSON": '["a"]'}
    env = {f"SIGNOFF_{each}": value for each, value in values.items()}
    assert resolved(tmp_path, env={**env, f"AWORLD_{name}": values[name]}) == resolved(tmp_path, env=env)
    message = refusal(lambda: resolved(tmp_path, env={**env, f"AWORLD_{name}": "[]"}))
    assert f"SIGNOFF_{name}" in message
    assert f"AWORLD_{name}" in message


@pytest.mark.scenario("CC-013")
def test_repairs_without_a_bound(tmp_path: Path) -> None:
    """A blank number is not given: the caller's default holds, which may be that there is no bound."""
    env = {MODE: "enforce", ARTIFACTS: "[]", "SIGNOFF_COMPLETION_MAX_REPAIRS": " "}
    assert resolved(tmp_path, env=env, default_repairs=None).contract.max_repairs is None
    assert resolved(tmp_path, env=env).contract.max_repairs == 5


@pytest.mark.scenario("CC-014")
@pytest.mark.parametrize("prefix", ["AWORLD_", "SIGNOFF_"])
def test_nothing_is_inferred_from_prose(prefix: str, tmp_path: Path) -> None:
    """The old switch for guessing artifacts out of the task changes nothing, in any mode."""
    line = CommandLine(goal="Write the answer to result.json")
    for env in ({}, {MODE: "enforce"}):
        got = resolved(tmp_path, line, env={**env, f"{prefix}INFER_REQUIRED_ARTIFACTS": "1"})
        assert got.contract == OFF


@pytest.mark.scenario("CC-113")
@pytest.mark.parametrize("cwd", ["..", "/", "a/../..", "~", "/srv"])
def test_a_folder_outside_needs_permission(cwd: str, tmp_path: Path) -> None:
    """A check's folder outside the workspace is an error with file and line, unless it is allowed by name."""
    toml = f"\n[[contract.command]]\nargv = ['x']\ncwd = '{cwd}'\n"
    message = refusal(lambda: resolved(tmp_path, toml=toml, env={"HOME": "/"}))
    assert message.startswith(f"{tmp_path.resolve()}/signoff.toml:2: contract.command: ")
    assert "leads out of the workspace; allow_outside" in message
    assert resolved(tmp_path, toml=f"{toml}allow_outside = true", env={"HOME": "/"}).contract.commands[0].allow_outside
