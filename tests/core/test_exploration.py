"""Every state that a small world can lead a goal run to is visited, and the invariants are asked at every step.

What is walked is in `worlds.py`, how in `walk.py`, and the second opinion on completion in `oracle.py`. `--deep` walks
larger worlds; the terminal's summary says how many states and transitions there were.
"""

from collections import deque
from collections.abc import Callable
from functools import cache

import msgspec
import pytest

from docs.make_state_diagram import PAGE, page
from signoff.core.completion.contract import Mode
from signoff.core.completion.reasons import CONSEQUENCES
from signoff.core.goal.advance import TABLE, advance
from signoff.core.goal.decisions import Decision, Finish, RunAgent, RunCheck, TakePicture, WriteReceipt
from signoff.core.goal.events import (
    AgentEnded,
    CancelRequested,
    CheckSettled,
    Event,
    Kind,
    PictureTaken,
    RunFinished,
    VerifierFailed,
)
from signoff.core.goal.state import GoalState, Phase
from signoff.core.values import EndedBy, Status
from signoff.errors import ProtocolViolation
from tests.core.oracle import objections
from tests.core.walk import CLOSING, Move, Node, Steps, Walk, World, leads_of, taken
from tests.core.worlds import small_worlds, worlds

pytestmark = pytest.mark.slow

ANSWERED_BY: dict[Phase, type[Decision]] = {
    Phase.CHECKING_BEFORE: RunCheck,
    Phase.PICTURING_BASELINE: TakePicture,
    Phase.RUNNING: RunAgent,
    Phase.PICTURING: TakePicture,
    Phase.CHECKING: RunCheck,
    Phase.CONFIRMING: TakePicture,
    Phase.RECORDING: WriteReceipt,
    Phase.FINISHING: Finish,
}
"""What each phase waits for."""

OUT_OF_REACH = {(Phase.RECORDING, PictureTaken), (Phase.RECORDING, AgentEnded)}
"""Rows that no run uses: a receipt is written only after what was awaited has come, but for parallel checks."""

AS_THEY_ARE = {world.name: world for world in worlds()}
DEEP = {world.name: world for world in worlds(deep=True)}


@cache
def small_leads() -> Steps:
    """Where each row of the table leads in the small worlds."""
    return leads_of(small_worlds())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give every world to the tests that ask for one."""
    if "world" in metafunc.fixturenames:
        chosen = DEEP if metafunc.config.getoption("deep", default=False) else AS_THEY_ARE
        metafunc.parametrize("world", list(chosen.values()), ids=list(chosen))


def test_the_invariants_hold_everywhere(world: World, record_property: Callable[[str, object], None]) -> None:
    """In every state that can be reached: no false completion, no stuck or endless run, no refused event that acts."""
    walk = Walk(world)
    for count, move in enumerate(walk.moves()):
        for invariant in INVARIANTS:
            invariant(world, move)
        if count % 5 == 0:
            replayed(move)
    every_path_ends(walk)
    drawn = small_leads()
    assert {step for step, phases in walk.leads.items() if not phases <= drawn[step]} == set()
    record_property("exploration", (world.name, walk.states, walk.transitions))
    assert walk.states >= world.least


# --- the invariants --------------------------------------------------------------------------------------------------


def completed_only_on_evidence(world: World, move: Move) -> None:
    """Completed is said upon a confirming picture alone, and exactly when the second opinion has no objection."""
    before, after = move.source.state, move.target.state
    if before.phase in CLOSING or after.phase not in CLOSING:
        return
    assert after.verdict is not None
    completed = after.verdict.status is Status.COMPLETED
    if isinstance(move.event, PictureTaken) and before.phase is Phase.CONFIRMING:
        against = objections(world.start, move.target.seen, move.event.at)
        assert completed == (not against), (against, after.verdict)
        return
    assert not completed, move.event


def a_claim_without_objection_is_accepted(world: World, move: Move) -> None:
    """A repair, or another round of checks, is asked for only when there is something against completion."""
    if move.source.state.phase is Phase.CONFIRMING and move.target.state.phase not in CLOSING:
        assert objections(world.start, move.target.seen if move.target.seen.looks else move.source.seen, move.event.at)


def spending_is_bounded(world: World, move: Move) -> None:
    """Nothing that was spent is ever given back, and attempts and repairs stay within the contract's bound."""
    before, after = move.source.state.usage, move.target.state.usage
    for field in after.__struct_fields__:
        assert getattr(after, field) >= getattr(before, field)
    bound = world.start.contract.max_repairs
    assert bound is not None
    assert after.repairs <= bound
    assert after.attempts in (after.repairs, after.repairs + 1)
    assert move.target.state.attempt == after.attempts


def every_phase_waits_for_an_answer(world: World, move: Move) -> None:
    """What a phase waits for was asked for exactly once: one answer, or one of each check that runs in parallel."""
    state, asked = move.target.state, move.target.asked
    assert len({_named(each) for each in asked}) == len(asked)
    if state.phase is Phase.FINISHED:
        assert move.given == ()
        return
    waited = [each for each in asked if isinstance(each, ANSWERED_BY[state.phase])]
    if state.phase in (Phase.CHECKING, Phase.CHECKING_BEFORE):
        due = state.pending if world.start.contract.parallel else state.pending[:1]
        assert tuple(each.command_id for each in waited if isinstance(each, RunCheck)) == due
    else:
        assert len(waited) == 1


def a_cancelled_run_says_so(world: World, move: Move) -> None:
    """A run that was asked to end ends as cancelled, and one that could not look as blocked, or as out of time."""
    if move.source.state.phase is Phase.FINISHING:
        assert move.target.state.verdict == move.source.state.verdict
    elif isinstance(move.event, CancelRequested):
        assert move.target.state.verdict is not None
        assert move.target.state.verdict.status is Status.CANCELLED
    elif isinstance(move.event, VerifierFailed) and move.source.state.phase not in CLOSING:
        seconds, begun = world.start.limits.timeout_seconds, world.moments[0].elapsed
        over = seconds is not None and move.event.at.elapsed - begun >= seconds
        assert move.target.state.verdict is not None
        blind = Status.BLOCKED if world.start.contract.mode is Mode.ENFORCE else Status.UNVERIFIED
        assert move.target.state.verdict.status is (Status.BUDGET_EXHAUSTED if over else blind)


def the_verdict_fits_its_reasons(world: World, move: Move) -> None:
    """Status, reasons and bound of a verdict agree with each other and with the table of consequences."""
    verdict = move.target.state.verdict
    if verdict is None or move.source.state.verdict is not None:
        return
    assert verdict.reasons == tuple(dict.fromkeys(verdict.reasons))
    assert set(verdict.reasons) == {failure.reason for failure in verdict.failures}
    assert verdict.reason == (verdict.reasons[0] if verdict.reasons else None)
    assert (verdict.ended_by is EndedBy.TIMEOUT) == (verdict.status is Status.BUDGET_EXHAUSTED)
    if verdict.status is Status.COMPLETED:
        assert verdict.reasons == ()
        # A check by itself has nothing from before to compare an input with.
        compared = [row for row in verdict.checks if row.kind != "immutable" or world.start.kind is Kind.RUN]
        assert all(row.passed for row in compared)
    if verdict.status in (Status.NOT_COMPLETED, Status.BLOCKED, Status.AGENT_FAILED):
        assert verdict.reason is not None
        assert CONSEQUENCES[verdict.reason].status is verdict.status
    if verdict.status is Status.AGENT_FAILED:
        assert move.source.state.attempt == 1
    assert [row.id for row in verdict.checks] == _ids_of_requirements(world)


def the_end_is_the_verdict(world: World, move: Move) -> None:
    """A verdict that was reached changes only by a cancellation, and the last record carries it."""
    del world
    before, after = move.source.state.verdict, move.target.state.verdict
    if before is not None and not isinstance(move.event, CancelRequested):
        assert after == before
    if isinstance(move.event, RunFinished):
        assert move.event.verdict == after
        assert move.target.state.phase is Phase.FINISHED


def late_answers_change_nothing(world: World, move: Move) -> None:
    """What arrives when the run is closing leaves everything but the time of the last event as it was."""
    del world
    late = isinstance(move.event, CheckSettled | PictureTaken | AgentEnded | VerifierFailed)
    if move.source.state.phase in CLOSING and late:
        assert msgspec.structs.replace(move.target.state, at=move.source.state.at) == move.source.state
        assert move.given == ()


def refused_events_change_nothing(world: World, move: Move) -> None:
    """Whatever was not asked for is refused where it does not merely come late, and the state stays as it was."""
    del world
    node = move.target
    if node.state.phase in CLOSING and node.state.phase is not Phase.FINISHED:
        return
    for event in _not_asked_for(move):
        with pytest.raises(ProtocolViolation):
            advance(node.state, event)


INVARIANTS = (
    completed_only_on_evidence,
    a_claim_without_objection_is_accepted,
    spending_is_bounded,
    every_phase_waits_for_an_answer,
    a_cancelled_run_says_so,
    the_verdict_fits_its_reasons,
    the_end_is_the_verdict,
    late_answers_change_nothing,
    refused_events_change_nothing,
)


def replayed(move: Move) -> None:
    """The same step made again comes to the same state and the same decisions, from a state that is as it was."""
    again = taken(move.source, move.event, move.answered)
    assert again == move


def every_path_ends(walk: Walk) -> None:
    """No step but an ignored one leads back, and where nothing can happen any more the run is finished."""
    children = [nodes - {here} for here, nodes in enumerate(walk.children)]
    parents = [0] * len(children)
    for nodes in children:
        for node in nodes:
            parents[node] += 1
    ready, seen = deque(node for node, count in enumerate(parents) if count == 0), 0
    while ready:
        node, seen = ready.popleft(), seen + 1
        for child in children[node]:
            parents[child] -= 1
            if parents[child] == 0:
                ready.append(child)
    assert seen == len(children), "some states lead back to themselves"
    assert {node for node, nodes in enumerate(walk.children) if not nodes} == walk.finished


# --- the walk itself -------------------------------------------------------------------------------------------------


def test_the_small_worlds_use_the_whole_table() -> None:
    """Every row of the table can be reached."""
    assert set(small_leads()) == set(TABLE) - OUT_OF_REACH


def test_the_page_of_the_machine_is_current() -> None:
    """The drawing in docs/goal-run.md is what the table says; `python -m docs.make_state_diagram` draws it anew."""
    assert PAGE.read_text(encoding="utf-8") == page(small_leads())


def test_the_key_of_a_state_misses_no_field() -> None:
    """A field that is added to the state has to be added to what tells two states apart."""
    known = {
        "run",
        "at",
        "phase",
        "pending",
        "before",
        "held_before",
        "attempt",
        "agent",
        "after_agent",
        "after_checks",
    }
    known |= {"checks", "again", "failures", "usage", "signature", "unchanged_repairs", "verdict"}
    shown_only = {"last_checks"}  # rows are made of it, and nothing is decided by it
    assert set(GoalState.__struct_fields__) == known | shown_only | {"receipt_path", "receipt_error"}


def _named(decision: Decision) -> tuple[object, ...]:
    return (type(decision), decision.command_id) if isinstance(decision, RunCheck) else (type(decision),)


def _ids_of_requirements(world: World) -> list[str]:
    contract = world.start.contract
    ids = [item.id for item in contract.commands]
    ids += [item.id for item in contract.artifacts]
    return ids + [item.id for item in contract.immutable]


def _not_asked_for(move: Move) -> list[Event]:
    """Answers to what this step has answered, or was not asked: each of them has been sent once already."""
    node: Node = move.target
    if move.answered is None or isinstance(move.event, VerifierFailed):
        return []
    again = {_named(each) for each in node.asked}
    return [] if _named(move.answered) in again else [move.event]
