"""The goal run as scripts: what happens to it (>>), and what it must then decide (<<)."""

from signoff.core.completion.contract import Contract, Mode
from signoff.core.completion.evidence import Change
from signoff.core.goal.events import Kind, Role, Stage
from signoff.core.goal.state import Phase
from signoff.core.values import EndedBy, Reason, Status
from signoff.testing import Scene, a_check, a_picture, digest_of
from tests.screenplays.scenes import (
    BASELINE,
    CONTRACT,
    DONE,
    EMPTY,
    LOOK,
    LOOK_AGAIN,
    RECEIPT,
    REDONE,
    TESTS,
    attempt,
    check,
    finish,
    goal_run,
    replace,
)

FAILED = a_check("tests", 1)


def test_completed_at_the_first_claim() -> None:
    """Checks and a picture before, the agent, pictures around the checks, a receipt, and the end."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)
        play >> scene.finished(play.state)
    assert play.state.phase is Phase.FINISHED
    assert play.state.receipt_path == "/state/receipt.json"


def test_completed_after_a_repair() -> None:
    """A rejected claim is fed back, and the second attempt is judged on its own evidence."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, EMPTY) << check()
        play >> scene.settled(FAILED) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, EMPTY)
        play << attempt(2, Reason.SELF_CHECK_FAILED, Reason.REQUIRED_ARTIFACT_MISSING)
        play >> scene.ended(2) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)
        play >> scene.finished(play.state)
    assert (play.state.usage.attempts, play.state.usage.repairs) == (2, 1)


def test_repairs_are_exhausted() -> None:
    """The bound counts all repairs of the run; then it ends as not completed, with its receipt."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled(FAILED) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << attempt(2, Reason.SELF_CHECK_FAILED)
        play >> scene.ended(2) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled(FAILED) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << RECEIPT
        play >> scene.receipt_failed("no space left")
        play << finish(Status.NOT_COMPLETED, Reason.SELF_CHECK_FAILED, ended_by=EndedBy.REPAIRS_EXHAUSTED)
        play >> scene.finished(play.state)
    assert play.state.receipt_error == "no space left"


def test_stale_evidence_is_taken_again() -> None:
    """A check that rewrites an artifact makes its own evidence stale; taken once more, it stands."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, REDONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, REDONE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)


def test_evidence_that_is_always_stale_is_fed_back() -> None:
    """The checks are taken again only once; evidence that is stale even then is the agent's to mend."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, REDONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << attempt(2, Reason.EVIDENCE_STALE)


def test_nothing_changed() -> None:
    """Where all was well before, an agent that only says that it is done has done nothing."""
    scene = Scene()
    contract = Contract(commands=(TESTS,), max_repairs=0)
    with goal_run() as play:
        play >> scene.started(contract) << check(stage=Stage.BEFORE)
        play >> scene.settled("tests", stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS) << RECEIPT
        play >> scene.receipt_written()
        play << finish(Status.NOT_COMPLETED, Reason.NOTHING_CHANGED, ended_by=EndedBy.REPAIRS_EXHAUSTED)


def test_what_a_check_writes_is_not_the_work_of_the_agent() -> None:
    """An agent that did nothing is told so, although a check made the artifact and would find it a second time."""
    scene = Scene()
    made = replace(DONE, change_count=0)
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, EMPTY) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, made) << attempt(2, Reason.EVIDENCE_STALE, Reason.NOTHING_CHANGED)


def test_nothing_need_change_where_that_is_allowed() -> None:
    """With leave to change nothing, the same run is completed, and each check says that it passed before."""
    scene = Scene()
    contract = Contract(commands=(TESTS,), max_repairs=0)
    with goal_run() as play:
        play >> scene.started(contract, allow_no_change=True) << check(stage=Stage.BEFORE)
        play >> scene.settled("tests", stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)
    assert play.state.verdict is not None
    assert play.state.verdict.checks[0].before == "passed"


def test_observing_decides_nothing() -> None:
    """A contract that observes takes the checks, lists what failed, asks for no repair and states nothing."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(replace(CONTRACT, mode=Mode.OBSERVE)) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled(FAILED) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << finish(Status.UNVERIFIED, Reason.SELF_CHECK_FAILED)
        play >> scene.finished(play.state)


def test_off_takes_no_checks() -> None:
    """A contract that is off runs the agent and claims nothing."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(replace(CONTRACT, mode=Mode.OFF)) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT) << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS) << finish(Status.UNVERIFIED)


def test_a_check_of_the_contract_alone() -> None:
    """Without an agent there are two pictures around the checks, and nothing need be new."""
    scene = Scene()
    with goal_run() as play:
        play >> scene.started(CONTRACT, kind=Kind.CHECK) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, DONE) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, DONE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)
    assert play.state.usage.attempts == 0


def test_a_changed_control_file_blocks() -> None:
    """What steers the checks was changed: the agent is not asked to mend that, a person is."""
    scene = Scene()
    steered = replace(DONE, control=(Change(path="conftest.py", what="new"),), control_digest=digest_of("other"))
    with goal_run() as play:
        play >> scene.started(CONTRACT) << check(stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, steered) << check()
        play >> scene.settled("tests") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, steered) << RECEIPT
        play >> scene.receipt_written() << finish(Status.BLOCKED, Reason.CONTROL_CHANGED)


def test_a_check_that_passes_too_early_blocks() -> None:
    """A check that must fail before the agent starts, and passes, says so before the agent starts."""
    scene = Scene()
    contract = replace(CONTRACT, commands=(replace(TESTS, before="failed"),))
    with goal_run() as play:
        play >> scene.started(contract) << check(stage=Stage.BEFORE)
        play >> scene.settled("tests", stage=Stage.BEFORE) << RECEIPT
        play >> scene.receipt_written() << finish(Status.BLOCKED, Reason.CHECK_ALREADY_PASSED)
    assert play.state.usage.attempts == 0


def test_observing_takes_note_of_a_check_that_passes_too_early() -> None:
    """In observe mode nothing is decided, so the agent runs also where a check had to fail before."""
    scene = Scene()
    contract = replace(CONTRACT, mode=Mode.OBSERVE, commands=(replace(TESTS, before="failed"),))
    with goal_run() as play:
        play >> scene.started(contract) << check(stage=Stage.BEFORE)
        play >> scene.settled("tests", stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE, EMPTY) << attempt(1)


def test_checks_in_parallel() -> None:
    """Parallel checks are asked for together, settle in any order, and are judged when all have."""
    scene = Scene()
    contract = Contract(commands=(TESTS, replace(TESTS, id="lint")), max_repairs=0, parallel=True)
    with goal_run() as play:
        play >> scene.started(contract) << check(stage=Stage.BEFORE) << check("lint", Stage.BEFORE)
        play >> scene.settled("lint", stage=Stage.BEFORE)
        play >> scene.settled(FAILED, stage=Stage.BEFORE) << BASELINE
        play >> scene.pictured(Role.BASELINE) << attempt(1)
        play >> scene.ended(1) << LOOK
        play >> scene.pictured(Role.AFTER_AGENT, a_picture(changed=1)) << check() << check("lint")
        play >> scene.settled("tests")
        play >> scene.settled("lint") << LOOK_AGAIN
        play >> scene.pictured(Role.AFTER_CHECKS, a_picture(changed=1)) << RECEIPT
        play >> scene.receipt_written() << finish(Status.COMPLETED)
