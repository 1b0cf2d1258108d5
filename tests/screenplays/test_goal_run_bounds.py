"""The goal run when it is cut short: deadlines, a person, an agent without a turn, a host that cannot look."""

import pytest

from signoff.core.budget import Limits
from signoff.core.completion.contract import Contract
from signoff.core.goal.advance import PICTURE_SECONDS
from signoff.core.goal.decisions import RunAgent, RunCheck
from signoff.core.goal.events import Event, Role, Stage
from signoff.core.goal.state import Phase
from signoff.core.values import EndedBy, Reason, Status
from signoff.testing import A_REFUSAL, ANY, Scene, a_check, a_picture
from tests.screenplays.scenes import (
    BASELINE,
    LOOK,
    LOOK_AGAIN,
    RECEIPT,
    TESTS,
    attempt,
    check,
    finish,
    goal_run,
    replace,
)

CONTRACT = Contract(commands=(TESTS,), max_repairs=1)
BROKEN = a_check("tests", 1)
CUT = a_check("tests", 124, timed_out=True, cut_by_deadline=True)
CHANGED = a_picture("changed", changed=1)


def bound_check(seconds: float, stage: Stage = Stage.AFTER) -> RunCheck:
    """The decision to take the check within what is left of the run's time."""
    return RunCheck(command_id="tests", stage=stage, timeout_seconds=seconds, deadline_bound=True)


def test_the_deadline_ends_the_agent() -> None:
    """What is left of the run's time bounds the agent; when nothing is left, no check is begun."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=100)) << bound_check(100.0, Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        scene.clock.advance(30)
        play >> scene.pictured(Role.BASELINE) << RunAgent(attempt=1, timeout_seconds=70.0)
        scene.clock.advance(70)
        play >> scene.ended(1, exit_code=None, timed_out=True) << RECEIPT
        play >> scene.receipt_written() << finish(Status.BUDGET_EXHAUSTED, ended_by=EndedBy.TIMEOUT)


def test_the_deadline_ends_a_check() -> None:
    """A check that the run's deadline ended is no judgement: the budget is exhausted."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=100)) << bound_check(100.0, Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        scene.clock.advance(60)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << bound_check(40.0)
        scene.clock.advance(40)
        play >> scene.settled(CUT) << RECEIPT
        play >> scene.receipt_written() << finish(Status.BUDGET_EXHAUSTED, ended_by=EndedBy.TIMEOUT)


def test_the_deadline_ends_a_check_before_the_agent() -> None:
    """When the checks before use up the time, the agent is not started."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=100)) << bound_check(100.0, Stage.BEFORE)
        scene.clock.advance(100)
        play >> scene.settled(CUT, stage=Stage.BEFORE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.BUDGET_EXHAUSTED, ended_by=EndedBy.TIMEOUT)
    assert play.state.usage.attempts == 0


def test_the_deadline_comes_before_a_repair() -> None:
    """A claim that is rejected when the time is over leads to no repair, and the failures are shown."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=1000)) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        scene.clock.advance(1000)
        play >> scene.settled(BROKEN) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << RECEIPT
        play >> scene.receipt_written()
        play << finish(Status.BUDGET_EXHAUSTED, Reason.SELF_CHECK_FAILED, ended_by=EndedBy.TIMEOUT)
    assert play.state.usage.repairs == 0


def test_a_parallel_check_is_cut_and_the_other_comes_late() -> None:
    """What is still under way when the run closes is ignored when it comes."""
    scene = Scene()
    contract = Contract(commands=(TESTS, replace(TESTS, id="lint")), parallel=True)
    with goal_run() as play:
        play >> scene.started(contract, Limits(timeout_seconds=100))
        play << bound_check(100.0, Stage.BEFORE) << replace(bound_check(100.0, Stage.BEFORE), command_id="lint")
        scene.clock.advance(100)
        play >> scene.settled(CUT, stage=Stage.BEFORE) << RECEIPT
        play >> scene.settled("lint", stage=Stage.BEFORE)
        play >> scene.receipt_written() << finish(Status.BUDGET_EXHAUSTED, ended_by=EndedBy.TIMEOUT)
        play >> scene.settled("lint", stage=Stage.BEFORE)


def test_no_time_is_left_for_the_next_check() -> None:
    """A check that ends at the deadline by itself counts, and the next one is not begun."""
    scene = Scene()
    contract = Contract(commands=(TESTS, replace(TESTS, id="lint")))
    with goal_run() as play:
        play >> scene.started(contract, Limits(timeout_seconds=100)) << bound_check(100.0, Stage.BEFORE)
        scene.clock.advance(100)
        play >> scene.settled("tests", stage=Stage.BEFORE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.BUDGET_EXHAUSTED, ended_by=EndedBy.TIMEOUT)


def test_an_attempt_has_its_own_time() -> None:
    """The shorter of an attempt's time and the run's rest bounds the agent; a cut attempt has made no claim."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=1000, attempt_timeout_seconds=50))
        play << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << RunAgent(attempt=1, timeout_seconds=50.0)
        play >> scene.ended(1, exit_code=None, timed_out=True) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << attempt(2, Reason.FINAL_EVIDENCE_MISSING)


def test_a_run_without_a_deadline() -> None:
    """Where there is no bound of time, agent and checks are given none but their own."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=None)) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        scene.clock.advance(10**9)
        play >> scene.pictured(Role.BASELINE) << RunAgent(attempt=1)


def test_a_picture_has_what_is_left_and_a_little_more() -> None:
    """A picture is bound by the run's time too, but evidence that was gathered in time may still be judged."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=1000)) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << replace(BASELINE, timeout_seconds=1000.0)
        scene.clock.advance(400)
        play >> scene.pictured(Role.BASELINE) << RunAgent(attempt=1, timeout_seconds=600.0)
        scene.clock.advance(100)
        play >> scene.ended(1) << replace(LOOK, timeout_seconds=500.0)
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        scene.clock.advance(499)
        play >> scene.settled("tests") << replace(LOOK_AGAIN, timeout_seconds=PICTURE_SECONDS)
        scene.clock.advance(PICTURE_SECONDS)
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)


def test_a_picture_without_a_deadline() -> None:
    """Where the run has no bound of time, neither has a picture."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=None)) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << replace(BASELINE, timeout_seconds=None)


def test_the_deadline_ends_a_picture() -> None:
    """A host that cannot look because the time is over has not found a fault: the budget is exhausted."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, Limits(timeout_seconds=100)) << bound_check(100.0, Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        scene.clock.advance(100)
        play >> scene.verifier_failed("picture baseline") << RECEIPT
        play >> scene.receipt_written() << finish(Status.BUDGET_EXHAUSTED, ended_by=EndedBy.TIMEOUT)


def test_no_progress_ends_the_run() -> None:
    """Repairs after which the same fails in the same workspace are counted, and the bound ends them."""
    scene = Scene()
    contract = replace(CONTRACT, max_repairs=9)
    with goal_run() as play:
        play >> scene.started(contract, Limits(no_progress=2)) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        for number in (1, 2):
            play >> scene.ended(number) << LOOK
            play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
            play >> scene.settled(BROKEN) << LOOK_AGAIN
            play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << attempt(number + 1, Reason.SELF_CHECK_FAILED)
        play >> scene.ended(3) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        play >> scene.settled(BROKEN) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << RECEIPT
        play >> scene.receipt_written()
        play << finish(Status.NOT_COMPLETED, Reason.SELF_CHECK_FAILED, ended_by=EndedBy.NO_PROGRESS)
    assert play.state.usage.repairs == 2


def test_an_agent_that_cannot_be_started() -> None:
    """Without an agent there is nothing to judge and nothing to repair."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1, started=False, exit_code=None, error="no such file")
        play << finish(Status.AGENT_FAILED, Reason.AGENT_NOT_STARTED)
        play >> scene.finished(play.state)


@pytest.mark.parametrize("facts", [{"exit_code": 127}, {"exit_code": 126}, {"exit_code": 1, "output_size": 0}])
def test_an_agent_without_a_turn(facts: dict[str, object]) -> None:
    """An agent that ended at once with an error, silent or not found, has not worked: its start has failed."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1, **facts) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT) << finish(Status.AGENT_FAILED, Reason.AGENT_WITHOUT_TURN)


@pytest.mark.parametrize(
    "facts",
    [{"exit_code": 1, "output_size": 0, "duration_seconds": 5.1}, {"exit_code": 1}, {"exit_code": 0, "output_size": 0}],
)
def test_an_agent_with_a_turn(facts: dict[str, object]) -> None:
    """One that took its time, said something, or ended well has had its turn, and is judged."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1, **facts) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT) << check()


def test_a_repair_that_is_unavailable() -> None:
    """An agent that can no longer be started leaves the last judgement standing."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        play >> scene.settled(BROKEN) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << attempt(2, Reason.SELF_CHECK_FAILED)
        play >> scene.ended(2, started=False) << RECEIPT
        play >> scene.receipt_written()
        play << finish(Status.NOT_COMPLETED, Reason.SELF_CHECK_FAILED, ended_by=EndedBy.REPAIR_UNAVAILABLE)


# --- a person asks the run to end, in each phase ---------------------------------------------------------------------

SCENE = Scene()
WHOLE_RUN: tuple[Event, ...] = (
    SCENE.started(CONTRACT),
    SCENE.settled(BROKEN, stage=Stage.BEFORE),
    SCENE.pictured(Role.BASELINE),
    SCENE.ended(1),
    SCENE.pictured(Role.AFTER_AGENT, CHANGED),
    SCENE.settled("tests"),
    SCENE.pictured(Role.AFTER_CHECKS, CHANGED),
)
PHASES = (
    Phase.CHECKING_BEFORE,
    Phase.PICTURING_BASELINE,
    Phase.RUNNING,
    Phase.PICTURING,
    Phase.CHECKING,
    Phase.CONFIRMING,
    Phase.RECORDING,
)


@pytest.mark.parametrize("count", range(1, len(WHOLE_RUN) + 1), ids=PHASES)
def test_a_run_can_be_cancelled_in_every_phase(count: int) -> None:
    """Whatever is under way, the run ends as cancelled, without a receipt; a second request changes nothing."""
    with goal_run() as play:
        for event in WHOLE_RUN[:count]:
            play >> event << ANY
        play >> SCENE.cancelled()
        play << finish(Status.CANCELLED)
        play >> SCENE.cancelled()
        play >> SCENE.finished(play.state)
        play >> SCENE.cancelled() << A_REFUSAL
    assert play.state.receipt_path is None


def test_nothing_is_cancelled_before_it_began() -> None:
    """A run that has not begun cannot be asked to end."""
    with goal_run() as play:
        play >> SCENE.cancelled() << A_REFUSAL


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6])
def test_a_host_that_cannot_look_blocks(count: int) -> None:
    """When a check or a picture cannot be taken, nothing is claimed: a person is needed."""
    with goal_run() as play:
        for event in WHOLE_RUN[:count]:
            play >> event << ANY
        play >> SCENE.verifier_failed() << RECEIPT
        play >> SCENE.receipt_written() << finish(Status.BLOCKED, Reason.CHECKER_ERROR)


def test_what_was_seen_last_is_given_to_the_agent() -> None:
    """A repair is given the checks as last taken, for the ends of their output."""
    with goal_run() as play:
        for event in WHOLE_RUN[:5]:
            play >> event << ANY
        play >> SCENE.settled(BROKEN) << LOOK_AGAIN
        play >> SCENE.pictured(Role.AFTER_CHECKS, CHANGED)
        play << replace(attempt(2, Reason.SELF_CHECK_FAILED), checks=(BROKEN,))


def test_an_agent_whose_end_is_not_known_has_claimed_nothing() -> None:
    """An attempt without an exit code, although nobody cut it off, is no claim."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(replace(CONTRACT, max_repairs=0)) << check(stage=Stage.BEFORE)
        play >> scene.settled(BROKEN, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1, exit_code=None) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << RECEIPT
        (
            play
            >> scene.receipt_written()
            << finish(Status.NOT_COMPLETED, Reason.FINAL_EVIDENCE_MISSING, ended_by=EndedBy.REPAIRS_EXHAUSTED)
        )


def test_while_a_repair_runs_the_rows_speak_of_the_last_judgement() -> None:
    """A run that is cancelled in a repair shows the check as it was judged last, not as it was at first."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(a_check("tests", 5), stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, CHANGED) << check()
        play >> scene.settled(a_check("tests", 7)) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, CHANGED) << ANY
        play >> scene.cancelled() << ANY
    assert play.state.verdict is not None
    (row,) = play.state.verdict.checks
    assert (row.before, row.exit_code, row.detail) == ("failed", 7, "The check exited with 7.")
