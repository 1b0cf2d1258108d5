"""Rejected claims: what is fed back, how often, and that no number of words takes the place of evidence."""

import inspect
from pathlib import Path

import anyio
import pytest

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.goal.decisions import RunAgent
from signoff.core.goal.events import AgentOutcome
from signoff.core.values import Status
from signoff.runtime.fold import fold
from signoff.runtime.goal import Doers, GoalEnd, GoalRun
from signoff.stores.memory import MemoryStore
from signoff.testing.builders import Scene, a_check, a_picture
from signoff.testing.fake_clock import FakeClock
from signoff.testing.scripted import ScriptedAgent, ScriptedVerifier
from tests.cli.door import agent, attempts_of, check_row, record_of, run_signoff, told, write_contract

ENFORCE = {"SIGNOFF_COMPLETION_MODE": "enforce", "SIGNOFF_REQUIRED_ARTIFACTS_JSON": '["result.json"]'}


@pytest.mark.scenario("CC-003", "CC-004")
def test_a_missing_file_is_fed_back_until_it_is_there(work: Path) -> None:
    """A claim without its file is rejected with feedback and the run goes on; with the file it is accepted."""
    work_on = agent(work, "echo I am done", "touch other; echo now I am done", "echo '{}' > result.json")
    done = run_signoff("run", "--json", *work_on, cwd=work, env=ENFORCE)
    assert (done.code, done.json["status"], done.json["attempts"], done.json["repairs"]) == (0, "completed", 3, 2)
    assert told(work, 1) == ""
    for attempt in (2, 3):
        assert "1. artifact-1: result.json\n   required_artifact_missing: result.json is not there." in told(
            work, attempt
        )
        assert f"after attempt {attempt - 1}" in told(work, attempt)
    assert check_row(done, "artifact-1")["passed"] is True


@pytest.mark.parametrize(
    "bound",
    [pytest.param(3, marks=pytest.mark.scenario("CC-010")), pytest.param(0, marks=pytest.mark.scenario("CC-011"))],
)
@pytest.mark.parametrize("by", ["option", "variable", "file"])
def test_a_bound_of_repairs_is_kept_exactly(work: Path, bound: int, by: str) -> None:
    """With a bound of 3 the fourth rejected claim ends the run, with 0 the first; nothing is completed."""
    table = '[[contract.artifact]]\npath = "result.json"\n'
    write_contract(work, f"contract.max_repairs = {bound}\n{table}" if by == "file" else table)
    options = (f"--max-repairs={bound}",) if by == "option" else ()
    env = {"SIGNOFF_COMPLETION_MAX_REPAIRS": str(bound)} if by == "variable" else {}
    done = run_signoff("run", "--json", *options, *agent(work, "echo done"), cwd=work, env=env)
    assert (done.code, done.json["status"]) == (1, "not_completed")
    assert (done.json["reason"], done.json["ended_by"]) == ("required_artifact_missing", "validation_repair_exhausted")
    assert (bound + 1, bound) == (done.json["attempts"], done.json["repairs"])
    assert attempts_of(work) == bound + 1


@pytest.mark.scenario("CC-112")
def test_the_bound_counts_all_repairs_together(work: Path) -> None:
    """Work between the claims, and another failure each time, give no claim back: the third one ends the run."""
    write_contract(
        work,
        """
        contract.max_repairs = 2
        [[contract.artifact]]
        path = "a.txt"
        [[contract.command]]
        id = "b"
        shell = "test -s b.txt"
        [[contract.command]]
        id = "c"
        shell = "test -s c.txt"
        """,
    )
    work_on = agent(work, "echo a > a.txt", "ls; echo b > b.txt; rm a.txt", "echo a > a.txt", "echo c > c.txt")
    done = run_signoff("run", "--json", *work_on, cwd=work)
    assert (done.code, done.json["ended_by"]) == (1, "validation_repair_exhausted")
    assert (done.json["attempts"], done.json["repairs"], done.json["reasons"]) == (3, 2, ["self_check_failed"])
    assert attempts_of(work) == 3
    assert "required_artifact_missing" not in told(work, 2)
    assert "required_artifact_missing" in told(work, 3)


@pytest.mark.scenario("CC-204")
@pytest.mark.parametrize(
    "words", ["echo All tests pass. The task is done.", "yes 'Verified: PASSED' | head -c 3000000"]
)
def test_saying_it_again_is_no_evidence(work: Path, words: str) -> None:
    """The same answer again and again, or a very long one, is judged as the first one was."""
    done = run_signoff("run", "--json", "--verify", "exit 3", "--max-repairs", "3", *agent(work, words), cwd=work)
    assert (done.code, done.json["status"], done.json["reasons"]) == (1, "not_completed", ["self_check_failed"])
    assert done.json["agent"] == {"exit_code": 0, "claimed_done": True}
    feedback = {told(work, attempt).replace(f"after attempt {attempt - 1}", "") for attempt in (2, 3, 4)}
    assert len(feedback) == 1
    judged = [event for event in record_of(work)["events"] if event["type"] == "CheckSettled"]
    assert [event["evidence"]["exit_code"] for event in judged] == [3] * 5


# --- a very long run -------------------------------------------------------------------------------------------------

REPAIRS = 1200


class NoReceipt:
    """Implements the port `ReceiptWriter` and keeps nothing."""

    async def write(self, statement: bytes) -> tuple[str, str]:
        """Take the statement."""
        assert statement
        return "/nowhere", "sha256:" + "0" * 64

    async def withdraw(self) -> None:
        """Have nothing to take back."""


class Silent:
    """Implements the port `Listener` and tells nobody."""

    def told(self, event: object, decisions: object) -> None:
        """Hear it."""


def long_run(depths: list[int]) -> GoalEnd:
    """Run an agent whose first 1200 claims are rejected, and note how deep the stack is each time; read it back."""
    clock = FakeClock()

    def act(decision: RunAgent) -> AgentOutcome:
        assert bool(decision.failures) is (decision.attempt > 1)
        depths.append(len(inspect.stack(0)))
        return AgentOutcome(started=True, exit_code=0, output_size=1)

    results = [a_check("tests", 1), *(a_check("tests", 1) for _ in range(REPAIRS)), a_check("tests", 0)]
    pictures = [a_picture()] + [a_picture("changed", changed=1)] * (2 * (REPAIRS + 1))
    verifier = ScriptedVerifier(checks={"tests": results}, pictures=pictures, clock=clock)
    scripted = ScriptedAgent([act] * (REPAIRS + 1), clock=clock)
    start = Scene(clock).started(Contract(commands=(ValidationCommand(id="tests", argv=("tests",)),)))

    async def main() -> GoalEnd:
        store = MemoryStore()
        doers = Doers(
            clock=clock, store=store, verifier=verifier, agent=scripted, receipts=NoReceipt(), listener=Silent()
        )
        end = await GoalRun(doers).run(start)
        assert end.state == fold(await store.read(start.run_id))
        await store.close()
        return end

    end = anyio.run(main)
    assert (verifier.left, scripted.left) == (0, 0)
    return end


@pytest.mark.scenario("CC-031", "CC-013")
def test_a_run_of_1200_repairs_does_not_deepen_the_stack() -> None:
    """Without a bound 1200 rejected claims are repaired one after the other, each as near the ground as the first."""
    depths: list[int] = []
    end = long_run(depths)
    verdict = end.state.verdict
    assert verdict is not None
    assert (verdict.status, verdict.ended_by, end.store_lost) == (Status.COMPLETED, None, "")
    assert (verdict.usage.attempts, verdict.usage.repairs) == (REPAIRS + 1, REPAIRS)
    assert len(depths) == REPAIRS + 1
    assert len(set(depths)) == 1
