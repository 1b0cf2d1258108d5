"""Every phase meets every event: the table holds the step, or the event is refused and the state stays as it was."""

from collections.abc import Mapping

import msgspec
import pytest

from signoff.core.budget import Limits
from signoff.core.codec import encode
from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.goal.advance import TABLE, advance
from signoff.core.goal.events import CheckSettled, Event, PictureTaken, Role, Stage
from signoff.core.goal.state import GoalState, Phase
from signoff.core.values import Status
from signoff.errors import PolicyError, ProtocolViolation
from signoff.testing import Scene, a_check, a_picture

COMMANDS = tuple(ValidationCommand(id=name, argv=(name,)) for name in ("a", "b"))
CONTRACT = Contract(commands=COMMANDS, max_repairs=1)
SCENE = Scene()


def phases(contract: Contract = CONTRACT) -> Mapping[Phase, GoalState]:
    """A state in each phase, from one run that goes through them all."""
    script: tuple[Event, ...] = (
        SCENE.started(contract),
        SCENE.settled("a", stage=Stage.BEFORE),
        SCENE.settled(a_check("b", 1), stage=Stage.BEFORE),
        SCENE.pictured(Role.BASELINE),
        SCENE.ended(),
        SCENE.pictured(Role.AFTER_AGENT, a_picture(changed=1)),
        SCENE.settled("a"),
        SCENE.settled("b"),
        SCENE.pictured(Role.AFTER_CHECKS, a_picture(changed=1)),
        SCENE.receipt_written(),
    )
    found, state = {Phase.NEW: GoalState()}, GoalState()
    for event in script:
        state = advance(state, event).state
        found.setdefault(state.phase, state)
    found[Phase.FINISHED] = advance(state, SCENE.finished(state)).state
    return found


STATES = phases()
EVENTS: dict[str, Event] = {
    "RunStarted": SCENE.started(CONTRACT),
    "CheckSettled": SCENE.settled("a"),
    "PictureTaken": SCENE.pictured(Role.AFTER_AGENT),
    "AgentEnded": SCENE.ended(),
    "VerifierFailed": SCENE.verifier_failed(),
    "ReceiptWritten": SCENE.receipt_written(),
    "ReceiptFailed": SCENE.receipt_failed(),
    "CancelRequested": SCENE.cancelled(),
    "RunFinished": SCENE.finished(STATES[Phase.FINISHED]),
}
ROLES = {
    Phase.PICTURING_BASELINE: Role.BASELINE,
    Phase.PICTURING: Role.AFTER_AGENT,
    Phase.CONFIRMING: Role.AFTER_CHECKS,
}
STAGES = {Phase.CHECKING_BEFORE: Stage.BEFORE, Phase.CHECKING: Stage.AFTER}


def suited(phase: Phase, event: Event) -> Event:
    """The event as this phase would have it, where it has it at all."""
    if isinstance(event, PictureTaken) and phase in ROLES:
        return msgspec.structs.replace(event, role=ROLES[phase])
    if isinstance(event, CheckSettled) and phase in STAGES:
        return msgspec.structs.replace(event, stage=STAGES[phase])
    return event


def refused(state: GoalState, event: Event) -> str:
    """The message with which an event is refused; the state is the same afterwards, to the byte."""
    before = encode(state)
    with pytest.raises(ProtocolViolation) as caught:
        advance(state, event)
    assert encode(state) == before
    return str(caught.value)


def test_the_run_of_these_tests_goes_through_every_phase() -> None:
    """There is a state for every phase, and an event of every type."""
    verdict = STATES[Phase.FINISHED].verdict
    assert set(STATES) == set(Phase)
    assert verdict is not None
    assert verdict.status is Status.COMPLETED
    assert {type(event).__name__ for event in EVENTS.values()} == set(EVENTS)
    assert {event for _, event in TABLE} == {type(event) for event in EVENTS.values()}


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("phase", Phase)
def test_every_phase_meets_every_event(phase: Phase, name: str) -> None:
    """A pair of the table makes a step; any other is refused with both named, and changes nothing."""
    event = suited(phase, EVENTS[name])
    if (phase, type(event)) in TABLE:
        step = advance(STATES[phase], event)
        assert step.state.at == event.at
        assert advance(STATES[phase], event) == step
    else:
        message = refused(STATES[phase], event)
        assert name in message
        assert phase in message


@pytest.mark.parametrize(("phase", "role"), [(phase, role) for phase in ROLES for role in Role if role != ROLES[phase]])
def test_a_picture_of_another_role_is_refused(phase: Phase, role: Role) -> None:
    """A picture counts only for what it was taken for."""
    assert ROLES[phase] in refused(STATES[phase], SCENE.pictured(role))


@pytest.mark.parametrize(
    ("phase", "check", "stage"),
    [
        (Phase.CHECKING_BEFORE, "a", Stage.AFTER),
        (Phase.CHECKING, "a", Stage.BEFORE),
        (Phase.CHECKING_BEFORE, "unknown", Stage.BEFORE),
        (Phase.CHECKING, "unknown", Stage.AFTER),
        (Phase.CHECKING_BEFORE, "b", Stage.BEFORE),
        (Phase.CHECKING, "b", Stage.AFTER),
    ],
)
def test_a_check_that_was_not_asked_for_is_refused(phase: Phase, check: str, stage: Stage) -> None:
    """A check of another stage, of no known id, or whose turn has not come cannot be settled."""
    assert repr(check) in refused(STATES[phase], SCENE.settled(check, stage=stage))


@pytest.mark.parametrize("parallel", [False, True])
def test_a_check_is_settled_once(parallel: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The second result of one check is refused while others are still under way."""
    states = phases(msgspec.structs.replace(CONTRACT, parallel=parallel))
    state = advance(states[Phase.CHECKING], SCENE.settled("a")).state
    assert "once" in refused(state, SCENE.settled("a"))


def test_parallel_checks_settle_in_any_order() -> None:
    """Where checks run in parallel, the second may end first."""
    states = phases(msgspec.structs.replace(CONTRACT, parallel=True))
    step = advance(states[Phase.CHECKING], SCENE.settled("b"))
    assert step.decisions == ()
    assert step.state.pending == ("a",)


@pytest.mark.parametrize("attempt", [0, 2, -1])
def test_the_end_of_another_attempt_is_refused(attempt: int) -> None:
    """An attempt ends once, and only the one that is under way."""
    assert str(attempt) in refused(STATES[Phase.RUNNING], SCENE.ended(attempt))


def test_an_end_with_another_verdict_is_refused() -> None:
    """The last record cannot say anything else than the verdict that was reached."""
    event = SCENE.finished(STATES[Phase.FINISHING])
    other = msgspec.structs.replace(event, verdict=msgspec.structs.replace(event.verdict, claimed_done=False))
    assert "verdict" in refused(STATES[Phase.FINISHING], other)


@pytest.mark.parametrize("name", ["CheckSettled", "PictureTaken", "AgentEnded", "VerifierFailed"])
@pytest.mark.parametrize("phase", [Phase.RECORDING, Phase.FINISHING])
def test_a_late_answer_changes_nothing(phase: Phase, name: str) -> None:
    """What ends while the run is closing is taken note of, and neither verdict nor decisions come of it."""
    state = STATES[phase]
    step = advance(state, EVENTS[name])
    assert step.decisions == ()
    assert msgspec.structs.replace(step.state, at=state.at) == state


@pytest.mark.parametrize("name", ["ReceiptWritten", "ReceiptFailed", "CancelRequested"])
def test_the_receipt_is_settled_before_the_end(name: str) -> None:
    """When the end is being recorded, neither another receipt nor a request to end changes anything any more."""
    state = STATES[Phase.FINISHING]
    assert msgspec.structs.replace(advance(state, EVENTS[name]).state, at=state.at) == state


def test_a_run_that_nothing_would_end_is_refused() -> None:
    """Without a bound of repairs, of time and of repairs that change nothing, a run of an agent cannot be started."""
    free = Limits(timeout_seconds=None)
    with pytest.raises(PolicyError, match="may never end"):
        Scene().started(Contract(), free)
    assert Scene().started(Contract(max_repairs=3), free).limits == free
    assert Scene().started(Contract(), Limits(timeout_seconds=None, no_progress=2)).limits.no_progress == 2
