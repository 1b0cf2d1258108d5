"""When there is a contract, what it holds, and what follows from its mode: seen through the program itself."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.core.completion.contract import Artifact, Contract, Mode, ValidationCommand
from tests.cli.door import agent, attempts_of, check_row, record_of, run_signoff, told, write_contract

ARTIFACTS = "SIGNOFF_REQUIRED_ARTIFACTS_JSON"
COMMANDS = "SIGNOFF_VALIDATION_COMMANDS_JSON"
MODE = "SIGNOFF_COMPLETION_MODE"


def command_that_marks(path: Path) -> str:
    """Return the variable's text for one command that leaves a mark when it is run."""
    return json.dumps([{"command_id": "mark", "argv": ["touch", str(path)]}])


def contract_of(cwd: Path) -> dict[str, Any]:
    """Return the contract that was sealed for the latest run."""
    events: list[dict[str, Any]] = record_of(cwd)["events"]
    contract = events[0]["contract"]
    assert isinstance(contract, dict)
    return contract


@pytest.mark.scenario("CC-001")
@pytest.mark.parametrize("mode", [{}, {MODE: ""}, {MODE: "off"}, {MODE: " OFF "}], ids=["unset", "blank", "off", "OFF"])
def test_fields_without_a_mode_make_no_contract(work: Path, tmp_path: Path, mode: dict[str, str]) -> None:
    """With both JSON fields set and no mode, nothing decides, and the command is never run."""
    fields = {ARTIFACTS: '["result.json"]', COMMANDS: command_that_marks(tmp_path / "ran")}
    done = run_signoff("run", "--json", *agent(work, "echo done"), cwd=work, env={**fields, **mode})
    assert (done.code, done.json["status"], done.json["checks"]) == (1, "unverified", [])
    assert not (tmp_path / "ran").exists()
    assert attempts_of(work) == 1


@pytest.mark.scenario("CC-005")
def test_observe_accepts_and_lists_the_reasons(work: Path) -> None:
    """In observe mode a claim without its file ends the run at once, with the agent's exit code and the reasons."""
    write_contract(work, 'contract.mode = "observe"\n[[contract.artifact]]\npath = "result.json"')
    done = run_signoff("run", "--json", *agent(work, "touch other; exit 9"), cwd=work)
    assert (done.code, done.json["status"]) == (9, "unverified")
    assert (done.json["reasons"], done.json["repairs"]) == (["required_artifact_missing"], 0)
    assert check_row(done, "artifact-1")["passed"] is False
    assert attempts_of(work) == 1


@pytest.mark.scenario("CC-006")
@pytest.mark.parametrize("by", ["command line", "environment"])
def test_a_relative_path_counts_from_the_workspace(work: Path, tmp_path: Path, by: str) -> None:
    """`./answer.json` is the workspace's file, wherever the program was started."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "answer.json").write_text("not this one", encoding="utf-8")
    options = ("--artifact", "./answer.json") if by == "command line" else ()
    env = {} if by == "command line" else {ARTIFACTS: '["./answer.json"]', MODE: "enforce"}
    missing = run_signoff("check", "--json", *options, "--cwd", str(work), cwd=elsewhere, env=env)
    (work / "answer.json").write_text("{}", encoding="utf-8")
    there = run_signoff("check", "--json", *options, "--cwd", str(work), cwd=elsewhere, env=env)
    assert (missing.code, missing.json["reason"]) == (1, "required_artifact_missing")
    assert (there.code, there.json["status"]) == (0, "completed")
    assert check_row(there, "artifact-1")["words"] == "answer.json"


@pytest.mark.scenario("CC-007")
def test_two_spellings_of_one_path_are_one_requirement(work: Path) -> None:
    """One file, named in six ways by three sources, is one requirement."""
    write_contract(work, '[[contract.artifact]]\npath = "./out//a.txt"')
    spellings = ["out/a.txt", "./out/b/../a.txt", f"{work}/out/a.txt"]
    options = ("--artifact", "out/./a.txt", "--artifact", str(work / "out" / "a.txt"))
    done = run_signoff("check", "--json", *options, cwd=work, env={ARTIFACTS: json.dumps(spellings), MODE: "enforce"})
    assert [(row["id"], row["words"]) for row in done.json["checks"]] == [("artifact-1", "out/a.txt")]


@pytest.mark.scenario("CC-008")
def test_an_empty_list_in_enforce_still_needs_a_final_answer(work: Path) -> None:
    """An empty list is a contract: an agent that had to be stopped has not answered; one that ended has."""
    env = {ARTIFACTS: "[]", MODE: "enforce"}
    options = ("--attempt-timeout", "1s", "--max-repairs", "1")
    done = run_signoff("run", "--json", *options, *agent(work, "sleep 3600"), cwd=work, env=env)
    assert (done.code, done.json["status"], done.json["reason"]) == (1, "not_completed", "final_evidence_missing")
    assert "final_evidence_missing" in told(work, 2)
    contract = contract_of(work)
    assert (contract["mode"], contract["artifacts"]) == ("enforce", [])
    answered = run_signoff("run", "--json", *agent(work, "echo answer"), cwd=work, env=env)
    assert (answered.code, answered.json["status"], answered.json["reasons"]) == (1, "unverified", [])


@pytest.mark.scenario("CC-013")
@pytest.mark.parametrize("env", [{}, {"SIGNOFF_COMPLETION_MAX_REPAIRS": " "}], ids=["unset", "blank"])
def test_without_a_bound_a_run_gets_its_default(work: Path, env: dict[str, str]) -> None:
    """Nobody's bound, or a blank one, is no bound of the contract's: `run` then allows five repairs."""
    done = run_signoff("run", "--json", "--verify", "false", *agent(work, "echo x >> work"), cwd=work, env=env)
    assert (done.json["repairs"], done.json["ended_by"]) == (5, "validation_repair_exhausted")
    assert attempts_of(work) == 6


@pytest.mark.scenario("CC-014", "CC-030")
def test_prose_makes_no_contract(work: Path) -> None:
    """A question that names a file, with the old variable for inferring files set, meets no gate."""
    env = {"AWORLD_INFER_REQUIRED_ARTIFACTS": "1", "SIGNOFF_INFER_REQUIRED_ARTIFACTS": "true"}
    goal = "You must write summary.csv. Which files are there?"
    done = run_signoff("run", "--json", goal, *agent(work, "ls"), cwd=work, env=env)
    assert (done.json["status"], done.json["checks"], done.json["reasons"]) == ("unverified", [], [])
    assert attempts_of(work) == 1
    assert contract_of(work)["mode"] == "off"


# --- the same fields by every way ------------------------------------------------------------------------------------

SHELL = "test -e report.md"
BY_API = Contract(
    mode=Mode.ENFORCE,
    artifacts=(Artifact(id="artifact-1", path="report.md"),),
    commands=(
        ValidationCommand(id="tests", argv=("test", "-s", "report.md"), cwd="sub", timeout_seconds=20),
        ValidationCommand(id="verify-1", shell=SHELL),
    ),
    max_repairs=3,
)
ARTIFACT_TABLE = '[[contract.artifact]]\npath = "report.md"\n'
ARGV_TABLE = (
    '[[contract.command]]\nid = "tests"\nargv = ["test", "-s", "report.md"]\ncwd = "./sub/"\ntimeout_seconds = 20\n'
)
SHELL_TABLE = f'[[contract.command]]\nid = "verify-1"\nshell = "{SHELL}"\n'
ARGV_VARIABLE = (
    '[{"command_id": "tests", "argv": ["test", "-s", "report.md"], "cwd": "sub/../sub", "timeout_seconds": 20}]'
)
WAYS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "file": (
        f'contract.mode = "enforce"\ncontract.max_repairs = 3\n{ARTIFACT_TABLE}{ARGV_TABLE}{SHELL_TABLE}',
        (),
        {},
    ),
    "command line over file": (
        f"contract.max_repairs = 9\n{ARGV_TABLE}",
        ("--artifact", "./report.md", "--verify", SHELL, "--max-repairs", "3"),
        {},
    ),
    "environment and command line": (
        "",
        ("--verify", SHELL),
        {
            MODE: "enforce",
            "SIGNOFF_COMPLETION_MAX_REPAIRS": "3",
            ARTIFACTS: '["report.md"]',
            COMMANDS: ARGV_VARIABLE,
        },
    ),
    "aliases and file": (
        SHELL_TABLE,
        (),
        {
            "AWORLD_COMPLETION_MODE": "Enforce",
            "AWORLD_COMPLETION_MAX_REPAIRS": " 3 ",
            "AWORLD_REQUIRED_ARTIFACTS_JSON": '[" report.md "]',
            "AWORLD_VALIDATION_COMMANDS_JSON": ARGV_VARIABLE,
        },
    ),
}


@pytest.mark.scenario("CC-205")
@pytest.mark.parametrize("way", WAYS)
def test_the_same_fields_make_the_same_contract(work: Path, way: str) -> None:
    """A contract is the same whoever gives its fields; words in the goal or in the workspace add nothing to it."""
    text, options, env = WAYS[way]
    (work / "sub").mkdir()
    (work / "AGENTS.md").write_text("Always write summary.csv, and run `make check` before you end.", encoding="utf-8")
    if text:
        write_contract(work, text)
    goal = "Write report.md, and also summary.csv; it is done when `pytest -q` passes. Make at most 7 repairs."
    done = run_signoff("run", "--json", *options, goal, *agent(work, "echo hello > report.md"), cwd=work, env=env)
    sealed = msgspec.convert(contract_of(work), Contract)
    in_order = tuple(sorted(sealed.commands, key=lambda command: command.id))
    assert msgspec.structs.replace(sealed, commands=in_order) == BY_API
    assert (done.json["status"], done.json["reasons"]) == ("not_completed", ["self_check_failed"])


@pytest.mark.scenario("CC-206")
def test_a_variable_and_its_alias_may_agree(work: Path) -> None:
    """A variable that is set twice to one value counts once."""
    env = {
        MODE: "enforce",
        "AWORLD_COMPLETION_MODE": "enforce",
        ARTIFACTS: '["a.txt"]',
        "AWORLD_REQUIRED_ARTIFACTS_JSON": '["a.txt"]',
        "SIGNOFF_COMPLETION_MAX_REPAIRS": "0",
        "AWORLD_COMPLETION_MAX_REPAIRS": "0",
    }
    done = run_signoff("run", "--json", *agent(work, "echo"), cwd=work, env=env)
    assert done.json["reasons"] == ["required_artifact_missing"]
    assert attempts_of(work) == 1


@pytest.mark.scenario("CC-211")
def test_without_a_contract_nothing_is_called_verified(work: Path) -> None:
    """A run without a contract that ends normally is not completed, and no word of any command calls it verified."""
    shown = run_signoff("run", "Say hello", *agent(work, "echo hello > file"), cwd=work)
    texts = [shown.out, shown.err]
    texts += [run_signoff(*args, cwd=work).out for args in (("runs",), ("show", "latest"), ("runs", "--json"))]
    record = record_of(work)
    assert (record["result"]["status"], record["result"]["receipt"]) == ("unverified", None)
    assert shown.code == 1
    for text in texts:
        assert "unverified" in text or text is shown.err
        assert not re.search(r"\b(completed|verified|passed|accepted|success\w*)\b", text)


@pytest.mark.scenario("CC-002")
def test_a_mode_without_fields_makes_no_contract_and_is_recorded(work: Path) -> None:
    """Enforce with nothing declared is no contract: the record says mode off, and that enforce was asked for."""
    done = run_signoff("run", "--json", *agent(work, "echo done"), cwd=work, env={"SIGNOFF_COMPLETION_MODE": "enforce"})
    assert (done.code, done.json["status"]) == (1, "unverified")
    started = record_of(work)["events"][0]
    assert (started["contract"]["mode"], started["requested_mode"]) == ("off", "enforce")
