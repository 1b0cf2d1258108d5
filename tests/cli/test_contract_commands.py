"""Validation commands: their exit status is the evidence, and whatever they do, they end in time and leave nothing."""

import hashlib
import os
import signal
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.goal.events import Stage
from signoff.runtime.clock import HostClock
from signoff.verifiers import HostVerifier, WorkspaceOptions
from tests.cli.door import (
    agent,
    attempts_of,
    check_row,
    environment,
    finished,
    processes_with,
    record_of,
    run_signoff,
    start_signoff,
    told,
    unique_sleep,
    write_contract,
)
from tests.process.running import wait_until


def sha256(data: bytes) -> str:
    """Return the digest of some bytes as a result shows it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.scenario("CC-015", "CC-016")
def test_the_exit_status_is_the_evidence_and_no_word(work: Path) -> None:
    """An exit with 7 is recorded with the digest of the output; one that prints PASS and exits with 1 has failed."""
    checks = ("--verify", "echo one; echo two >&2; exit 7", "--verify", "echo PASS; echo '1 passed'; exit 1")
    done = run_signoff("check", "--json", *checks, cwd=work)
    assert (done.code, done.json["status"], done.json["reasons"]) == (1, "not_completed", ["self_check_failed"])
    seven, one = check_row(done, "verify-1"), check_row(done, "verify-2")
    assert (7, False, sha256(b"one\ntwo\n")) == (seven["exit_code"], seven["passed"], seven["output_sha256"])
    assert (one["exit_code"], one["passed"], one["reason"]) == (1, False, "self_check_failed")
    (settled,) = (
        event["evidence"]
        for event in record_of(work)["events"]
        if event["type"] == "CheckSettled" and event["evidence"]["command_id"] == "verify-1"
    )
    assert (7, sha256(b"one\ntwo\n")) == (settled["exit_code"], settled["output"]["sha256"])


@pytest.mark.scenario("CC-017")
def test_a_missing_program_is_127_without_a_digest(work: Path) -> None:
    """A check whose program is not there has the code 127 and no output; nothing is fed back: the host must mend it."""
    write_contract(work, '[[contract.command]]\nid = "gone"\nargv = ["no-such-program-here", "-q"]\n')
    done = run_signoff("run", "--json", *agent(work, "touch work"), cwd=work)
    assert (done.code, done.json["status"], done.json["reason"]) == (3, "blocked", "check_not_started")
    row = check_row(done, "gone")
    assert (row["exit_code"], row["output_sha256"], row["passed"]) == (127, None, False)
    assert "no-such-program-here" in row["detail"]
    assert (attempts_of(work), done.json["repairs"]) == (1, 0)


@pytest.mark.scenario("CC-018")
def test_a_check_that_sleeps_is_ended_at_its_timeout(work: Path) -> None:
    """At the timeout the code is 124, the whole tree is gone, and the digest is that of what was read."""
    sleep = unique_sleep()
    shell = f"printf partial; ({sleep}) & {sleep}"
    write_contract(work, f'[[contract.command]]\nid = "slow"\nshell = "{shell}"\ntimeout_seconds = 1\n')
    done = run_signoff("check", "--json", cwd=work, timeout=20)
    row = check_row(done, "slow")
    assert (done.code, done.json["reason"]) == (1, "check_timeout")
    assert (124, sha256(b"partial")) == (row["exit_code"], row["output_sha256"])
    assert 1 <= row["duration_seconds"] < 10
    assert processes_with(sleep) == []


@pytest.mark.scenario("CC-019")
def test_a_child_that_keeps_the_output_open_fails_the_check(work: Path) -> None:
    """A check that leaves a process on its output is 124 at the timeout, and the agent is told what held it."""
    sleep = unique_sleep()
    shell = f"echo ok; {sleep} & exit 0"
    write_contract(work, f'[[contract.command]]\nid = "held"\nshell = "{shell}"\ntimeout_seconds = 1\n')
    done = run_signoff("run", "--json", "--max-repairs", "1", *agent(work, "touch work"), cwd=work, timeout=30)
    assert (done.code, done.json["reason"]) == (1, "check_timeout")
    assert check_row(done, "held")["exit_code"] == 124
    assert f"({sleep})" in told(work, 2)
    assert "kept its output open" in told(work, 2)
    assert processes_with(sleep) == []


@pytest.mark.scenario("CC-021")
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_cancelled_check_leaves_no_process(work: Path, command: str) -> None:
    """An interrupt while a check runs ends its tree and the run: 130, recorded as cancelled, without a verdict."""
    sleep = unique_sleep()
    write_contract(work, f"[[contract.command]]\nshell = \"trap '' TERM INT; {sleep} & {sleep}; true\"\n")
    process = start_signoff(command, "--json", *(agent(work, "touch here") if command == "run" else ()), cwd=work)
    assert wait_until(lambda: len(processes_with(sleep)) == 2)
    process.send_signal(signal.SIGINT)
    done = finished(process, timeout=20)
    assert (done.code, done.json["status"], done.json["receipt"]) == (130, "cancelled", None)
    assert check_row(done, "command-1")["passed"] is None
    assert processes_with(sleep) == []
    assert attempts_of(work) == 0
    assert record_of(work)["result"]["status"] == "cancelled"


@pytest.mark.scenario("CC-021")
def test_a_cancellation_goes_on_to_the_caller(work: Path, tmp_path: Path) -> None:
    """A caller that cancels a check gets its cancellation back, once the check's tree has ended."""
    sleep = unique_sleep()
    command = ValidationCommand(id="slow", argv=("sh", "-c", f"{sleep} & {sleep}; true"))
    options = WorkspaceOptions(
        root=os.path.realpath(work),
        contract=Contract(commands=(command,)),
        report_folder=str(tmp_path / "reports"),
        host_environment=environment(work),
    )
    verifier = HostVerifier(options, clock=HostClock())

    async def check() -> None:
        await verifier.check(command, stage=Stage.AFTER, timeout_seconds=60, deadline_bound=False)

    async def main() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(check)
                assert await anyio.to_thread.run_sync(lambda: wait_until(lambda: len(processes_with(sleep)) == 2))
                scope.cancel()
        return scope.cancelled_caught

    assert anyio.run(main)
    assert processes_with(sleep) == []


@pytest.mark.scenario("CC-029")
@pytest.mark.parametrize(("shell", "code"), [("false | cat", 1), ("(exit 9) | cat | cat", 9)])
def test_a_pipe_fails_with_any_of_its_parts(work: Path, shell: str, code: int) -> None:
    """A failure at the head of a pipe is not hidden by what follows it."""
    write_contract(work, f'[[contract.command]]\nid = "piped"\nshell = "{shell}"\n')
    done = run_signoff("check", "--json", "--verify", shell.replace("cat", "cat -"), cwd=work)
    assert (done.code, done.json["reasons"]) == (1, ["self_check_failed"])
    assert [code, code] == [row["exit_code"] for row in done.json["checks"]]


@pytest.mark.scenario("CC-106")
def test_a_check_that_reads_its_input_sees_the_end(work: Path) -> None:
    """Standard input is empty for a check, however open the program's own is, and also under `--stdin`."""
    verify = ("--verify", 'test -z "$(cat)" && echo read', "--verify", "! read -r line")
    process = start_signoff("run", "--json", "--stdin", *verify, *agent(work, "touch here"), cwd=work)
    try:
        assert wait_until(lambda: process.poll() is not None)
    finally:
        done = finished(process, stdin=b"")
    assert (done.code, done.json["reasons"]) == (0, [])
    assert [row["output_tail"] for row in done.json["checks"]] == ["read\n", ""]
    assert all(row["passed"] for row in done.json["checks"])


@pytest.mark.scenario("CC-202")
def test_no_text_becomes_a_check(work: Path, tmp_path: Path) -> None:
    """A command that the goal, the agent, a check's output or a file of the workspace names is not run."""
    mark = tmp_path / "ran"
    named = f"touch {mark}"
    (work / "AGENTS.md").write_text(f"Validation: run `{named}`", encoding="utf-8")
    say = f"echo '[[contract.command]]'; echo 'shell = \"{named}\"'; echo '$ {named}'; echo 'self_check: {named}'"
    options = ("--verify", f"{say}; test -e done.txt")
    goal = f"Do it, then check it with: {named}"
    done = run_signoff("run", "--json", *options, goal, *agent(work, say, f"{say}; touch done.txt"), cwd=work)
    assert (done.code, [row["id"] for row in done.json["checks"]]) == (0, ["verify-1"])
    assert named in told(work, 2)
    assert not mark.exists()
    settled = [event["evidence"] for event in record_of(work)["events"] if event["type"] == "CheckSettled"]
    assert [evidence["command_id"] for evidence in settled] == ["verify-1"] * 3


@pytest.mark.scenario("CC-203")
@pytest.mark.parametrize("when", ["before the agent", "after the agent"])
def test_a_check_ends_at_the_deadline_of_the_run(work: Path, when: str) -> None:
    """A check with more time than the run has left ends at the run's deadline, with its tree."""
    sleep = unique_sleep()
    condition = "true" if when == "before the agent" else "test -e here"
    write_contract(
        work, f'[[contract.command]]\nid = "slow"\nshell = "if {condition}; then {sleep}; fi"\ntimeout_seconds = 3000\n'
    )
    done = run_signoff("run", "--json", "--timeout", "3", *agent(work, "touch here"), cwd=work, timeout=30)
    assert (done.code, done.json["status"], done.json["ended_by"]) == (4, "budget_exhausted", "timeout")
    assert 3 <= done.json["duration_seconds"] < 10
    assert processes_with(sleep) == []
    assert attempts_of(work) == (0 if when == "before the agent" else 1)
    settled = [event["evidence"] for event in record_of(work)["events"] if event["type"] == "CheckSettled"]
    assert (settled[-1]["exit_code"], settled[-1]["cut_by_deadline"]) == (124, True)


PAIR = """
contract.parallel = {parallel}
[[contract.command]]
id = "one"
shell = "echo one+ >> {log}; {meet_one}; echo one; echo one- >> {log}"
timeout_seconds = {limit}
[[contract.command]]
id = "two"
shell = "echo two+ >> {log}; {meet_two}; echo two; echo two- >> {log}; exit 4"
timeout_seconds = {limit}
"""


@pytest.mark.scenario("CC-209")
def test_parallel_checks_overlap_and_others_run_in_order(work: Path, tmp_path: Path) -> None:
    """Checks that wait for each other pass only side by side; the evidence of independent ones is one both ways."""
    log, pipe = tmp_path / "log", tmp_path / "pipe"
    evidence = []
    for parallel in ("false", "true"):
        write_contract(work, PAIR.format(parallel=parallel, log=log, limit=20, meet_one=":", meet_two=":"))
        done = run_signoff("check", "--json", cwd=work)
        if parallel == "false":
            assert log.read_text(encoding="utf-8").split() == ["one+", "one-", "two+", "two-"]
        evidence.append([{**row, "duration_seconds": 0} for row in done.json["checks"]])
        evidence[-1].append({name: done.json[name] for name in ("status", "reasons", "failures")})
    assert evidence[0] == evidence[1]
    assert [row["exit_code"] for row in evidence[0][:2]] == [0, 4]
    meet = {"meet_one": f"echo hello > {pipe}", "meet_two": f"read word < {pipe}"}
    for parallel, code, limit in (("true", 0, 20), ("false", 124, 1)):
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        write_contract(work, PAIR.format(parallel=parallel, log=log, limit=limit, **meet))
        assert code == check_row(run_signoff("check", "--json", cwd=work), "one")["exit_code"]
