"""The verdict is told the same way everywhere: exit code, status, and the one line for people."""

from pathlib import Path

import msgspec
import pytest

from tests.cli.door import agent, check_row, run_signoff, write_contract

WRITES = "echo hello >out.txt"
NO_CHECK = "--verify 'COMMAND', --artifact PATH, or `signoff init`"


class Case(msgspec.Struct, frozen=True):
    """A run that ends in a way of its own."""

    status: str
    code: int
    line: str
    """How the one line for people begins."""
    args: tuple[str, ...]
    script: str = "true"
    contract: str = ""


CASES = {
    "completed": Case("completed", 0, "completed - ", ("--artifact", "out.txt"), WRITES),
    "not_completed": Case(
        "not_completed",
        1,
        "not_completed: self_check_failed, ended by validation_repair_exhausted - ",
        ("--verify", "false", "--max-repairs", "0"),
        WRITES,
    ),
    "unverified": Case("unverified", 1, "unverified - ", (), WRITES),
    "blocked": Case(
        "blocked", 3, "blocked: check_not_started - ", (), WRITES, '[[contract.command]]\nargv = ["./no-such-program"]'
    ),
    "budget_exhausted": Case(
        "budget_exhausted", 4, "budget_exhausted", ("--verify", "test -s out.txt", "--timeout", "1s"), "exec sleep 60"
    ),
    "agent_failed": Case("agent_failed", 5, "agent_failed: agent_without_turn", ("--verify", "false"), "exit 127"),
    "observe": Case(
        "unverified",
        7,
        "unverified",
        (),
        "echo I tried; exit 7",
        '[contract]\nmode = "observe"\n[[contract.command]]\nargv = ["true"]',
    ),
    "off": Case(
        "unverified", 1, "unverified - ", (), WRITES, '[contract]\nmode = "off"\n[[contract.command]]\nargv = ["true"]'
    ),
}
"""`cancelled` is tried where signals are."""


@pytest.mark.scenario("CL-003")
@pytest.mark.parametrize("name", CASES)
def test_exit_code_status_and_line_agree(name: str, work: Path) -> None:
    """One run: its exit code, its line, the status that its record holds, and the list of runs say the same."""
    case = CASES[name]
    if case.contract:
        write_contract(work, case.contract)
    done = run_signoff("run", *case.args, *agent(work, case.script), cwd=work)
    assert (done.code, done.out.splitlines()[0].startswith(case.line)) == (case.code, True), done.out + done.err
    shown = run_signoff("show", "latest", "--json", cwd=work).json
    assert (shown["state"], shown["result"]["status"]) == ("finished", case.status)
    assert run_signoff("runs", "--json", cwd=work).json["runs"][0]["status"] == case.status
    assert done.out.splitlines()[0] in run_signoff("show", "latest", cwd=work).out


@pytest.mark.scenario("CL-003")
def test_an_agent_that_is_not_there_failed(work: Path) -> None:
    """A program that does not exist is `agent_failed`, exit 5, and the line says which one."""
    done = run_signoff("run", "--verify", "false", "--", "./no-such-agent", cwd=work)
    assert (done.code, done.out.splitlines()[0].startswith("agent_failed: agent_not_started - ")) == (5, True)
    assert "./no-such-agent" in done.out


@pytest.mark.scenario("CL-003")
@pytest.mark.parametrize(
    ("verify", "status", "code"), [("true", "completed", 0), ("false", "not_completed", 1), ("exit 127", "blocked", 3)]
)
def test_a_check_agrees_too(verify: str, status: str, code: int, work: Path) -> None:
    """`check` has the same statuses and exit codes, in words and as JSON."""
    done = run_signoff("check", "--verify", verify, cwd=work)
    assert (done.code, done.out.split()[0].rstrip(":")) == (code, status)
    as_json = run_signoff("check", "--json", "--verify", verify, cwd=work)
    assert (as_json.code, as_json.json["status"], as_json.json["agent"]) == (code, status, None)


@pytest.mark.scenario("CL-004")
@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("contract", ["", "[contract]\nmax_repairs = 2\n"])
def test_nothing_to_decide_by_is_unverified(command: str, contract: str, work: Path) -> None:
    """Without a check nothing is claimed, the exit code is 1, and the reader is told how to add one."""
    if contract:
        write_contract(work, contract)
    rest = agent(work, WRITES) if command == "run" else ()
    done = run_signoff(command, *rest, cwd=work)
    assert (done.code, done.out.split()[0], NO_CHECK in done.out) == (1, "unverified", True), done.out
    as_json = run_signoff(command, "--json", *rest, cwd=work).json
    assert (as_json["status"], NO_CHECK in as_json["hint"], as_json["checks"]) == ("unverified", True, [])


@pytest.mark.scenario("CL-005")
def test_green_before_and_nothing_changed(work: Path) -> None:
    """Checks that held before prove nothing about an agent that did nothing."""
    done = run_signoff("run", "--json", "--verify", "true", "--max-repairs", "1", *agent(work, "true"), cwd=work)
    assert (done.code, done.json["status"], done.json["reason"]) == (1, "not_completed", "nothing_changed")
    assert (done.json["attempts"], check_row(done, "verify-1")["before"]) == (2, "passed")


@pytest.mark.scenario("CL-005")
def test_green_before_and_nothing_changed_can_be_accepted(work: Path) -> None:
    """`--allow-no-change` completes, and the row says that the check passed before."""
    done = run_signoff("run", "--json", "--verify", "true", "--allow-no-change", *agent(work, "true"), cwd=work)
    assert (done.code, done.json["status"], done.json["attempts"]) == (0, "completed", 1)
    assert check_row(done, "verify-1")["before"] == "passed"


@pytest.mark.scenario("CL-006")
def test_an_agents_exit_code_is_a_warning(work: Path) -> None:
    """An agent that exits with 3 after doing the work has completed it; the code is shown and warned of."""
    done = run_signoff("run", "--json", "--artifact", "out.txt", *agent(work, f"{WRITES}; exit 3"), cwd=work)
    assert (done.code, done.json["status"]) == (0, "completed")
    assert done.json["agent"] == {"exit_code": 3, "claimed_done": False}
    assert [warning for warning in done.json["warnings"] if "exited with 3" in warning and "--strict-exit" in warning]


@pytest.mark.scenario("CL-006")
def test_an_agents_exit_code_can_be_made_to_count(work: Path) -> None:
    """With `--strict-exit` the same run is not completed, for the agent's exit."""
    args = ("--strict-exit", "--artifact", "out.txt", "--max-repairs", "0")
    done = run_signoff("run", "--json", *args, *agent(work, f"{WRITES}; exit 3"), cwd=work)
    assert (done.code, done.json["status"], done.json["reason"]) == (1, "not_completed", "agent_exit")
