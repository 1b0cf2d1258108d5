"""The goal run's machine: every rule about what may happen next stands in this file and in `completion/reasons.py`.

Rules of this file. It is pure: a moment arrives in the event, a deadline goes out as a number of seconds. A step that
the table does not hold is a `ProtocolViolation`, and the state stays as it was. No function here looks at text.
Steps stand here; the questions that they ask of a state stand in `judging.py`.

Theory of operation. A run goes through these phases:

    new → checking_before → picturing_baseline → running → picturing → checking → confirming ─┬→ recording → finishing
                                     ↑                         ↑          ↑                   │              → finished
                                     │                         └──────────┴──── once again ───┤
                                     └───────────── running (a repair) ←──────────────────────┘

The checks are taken before the agent, then the baseline picture, so that what was true beforehand is known. After the
agent's process tree has ended: a picture (what did it change?), the checks, a second picture (what did they change?),
then the judgement. Evidence stands on a basis; when the two pictures differ in it, the evidence is stale and is taken
once again before the agent is asked. A rejected claim leads to a repair while the bounds allow one; every bound is
counted here and none is ever reset. `signoff check` enters at `picturing` and never runs an agent.

A late result (the run is closing while a check or a picture is still under way) is a row of its own and changes
nothing.
"""

from collections.abc import Callable
from typing import cast

import msgspec

from signoff.core.completion.assess import Failure, Outcome, artifacts_held, check_passes
from signoff.core.completion.contract import RUN, Mode
from signoff.core.completion.reasons import AGAIN, CONSEQUENCES
from signoff.core.goal.closing import judged_status, started, verdict_of
from signoff.core.goal.decisions import Finish, RunAgent, TakePicture, WriteReceipt
from signoff.core.goal.events import (
    AgentEnded,
    CancelRequested,
    CheckSettled,
    Event,
    Kind,
    PictureTaken,
    ReceiptFailed,
    ReceiptWritten,
    Role,
    RunFinished,
    RunStarted,
    Stage,
    VerifierFailed,
)
from signoff.core.goal.judging import (
    check_decision,
    cut_by_deadline,
    had_no_turn,
    judge,
    passed_too_early,
    seconds_left,
    signature_of,
)
from signoff.core.goal.state import GoalState, Phase, Transition
from signoff.core.receipt import statement
from signoff.core.values import EndedBy, Reason, Status
from signoff.errors import ProtocolViolation

PICTURE_SECONDS = 30.0
"""What a picture may take at least, also when the run's time is up."""
RECEIPTED = frozenset({Status.COMPLETED, Status.NOT_COMPLETED, Status.BLOCKED, Status.BUDGET_EXHAUSTED})
"""Statuses that the host stands behind with a statement; the others say that nothing was judged."""


def advance(state: GoalState, event: Event) -> Transition:
    """Return the next state and what the host is to do; raise `ProtocolViolation` for an event that cannot happen."""
    step = TABLE.get((state.phase, type(event)))
    if step is None:
        message = (
            f"{type(event).__name__} cannot happen in phase {state.phase}; the state is unchanged; "
            "send only events that complete a decision"
        )
        raise ProtocolViolation(message)
    return step(msgspec.structs.replace(state, at=event.at), event)


# --- before the agent ------------------------------------------------------------------------------------------------


def _start(state: GoalState, event: RunStarted) -> Transition:
    state = msgspec.structs.replace(state, run=event)
    if event.kind is Kind.CHECK:
        return _picture(state, Phase.PICTURING, Role.AFTER_AGENT)
    if event.contract.mode is Mode.OFF or not event.contract.commands:
        return _picture(state, Phase.PICTURING_BASELINE, Role.BASELINE)
    return _take_checks(state, Phase.CHECKING_BEFORE)


def _settle_before(state: GoalState, event: CheckSettled) -> Transition:
    state = _settled(state, event)
    state = msgspec.structs.replace(state, before=(*state.before, event.evidence))
    if state.pending or cut_by_deadline(state):
        return _next_check(state, Stage.BEFORE)
    failures = tuple(passed_too_early(state))
    if failures:
        return _close(msgspec.structs.replace(state, failures=failures), Status.BLOCKED)
    return _picture(state, Phase.PICTURING_BASELINE, Role.BASELINE)


def _take_baseline(state: GoalState, event: PictureTaken) -> Transition:
    _expect_role(state, event, Role.BASELINE)
    run = started(state)
    taken = {evidence.command_id: evidence for evidence in state.before}
    held = [command.id for command in run.contract.commands if check_passes(command, taken.get(command.id))]
    held += artifacts_held(run.contract, event.picture)
    return _run_agent(msgspec.structs.replace(state, held_before=tuple(held)))


# --- the agent -------------------------------------------------------------------------------------------------------


def _run_agent(state: GoalState) -> Transition:
    limits = started(state).limits
    left = seconds_left(state)
    if left is not None and left <= 0:
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    bounds = [bound for bound in (left, limits.attempt_timeout_seconds) if bound is not None]
    failures, checks = state.failures, state.checks
    state = msgspec.structs.replace(
        state,
        phase=Phase.RUNNING,
        attempt=state.attempt + 1,
        usage=msgspec.structs.replace(state.usage, attempts=state.usage.attempts + 1),
        agent=None,
        after_agent=None,
        after_checks=None,
        checks=(),
        last_checks=checks or state.last_checks,
        again=False,
    )
    seconds = min(bounds) if bounds else None
    decision = RunAgent(attempt=state.attempt, failures=failures, checks=checks, timeout_seconds=seconds)
    return Transition(state, (decision,))


def _end_agent(state: GoalState, event: AgentEnded) -> Transition:
    if event.attempt != state.attempt:
        message = (
            f"AgentEnded of attempt {event.attempt} cannot happen in attempt {state.attempt}; the state is unchanged; "
            "report an attempt once"
        )
        raise ProtocolViolation(message)
    spent = state.usage.agent_seconds + max(0.0, event.outcome.duration_seconds)
    state = msgspec.structs.replace(
        state, agent=event.outcome, usage=msgspec.structs.replace(state.usage, agent_seconds=spent)
    )
    left = seconds_left(state)
    if event.outcome.timed_out and left is not None and left <= 0:
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    if not event.outcome.started:
        detail = "The agent's command could not be started."
        return _without_turn(state, Failure(reason=Reason.AGENT_NOT_STARTED, subject=RUN, detail=detail))
    return _picture(state, Phase.PICTURING, Role.AFTER_AGENT)


def _without_turn(state: GoalState, failure: Failure) -> Transition:
    if state.attempt > 1:
        return _close(state, judged_status(state), EndedBy.REPAIR_UNAVAILABLE)
    return _close(msgspec.structs.replace(state, failures=(failure,)), Status.AGENT_FAILED)


# --- checks and judgement --------------------------------------------------------------------------------------------


def _take_picture(state: GoalState, event: PictureTaken) -> Transition:
    _expect_role(state, event, Role.AFTER_AGENT)
    state = msgspec.structs.replace(state, after_agent=event.picture)
    if had_no_turn(state, event.picture):
        detail = "The agent ended at once with an error, without output or change: it had no turn."
        return _without_turn(state, Failure(reason=Reason.AGENT_WITHOUT_TURN, subject=RUN, detail=detail))
    return _take_checks(state, Phase.CHECKING)


def _take_checks(state: GoalState, phase: Phase) -> Transition:
    contract = started(state).contract
    pending = tuple(command.id for command in contract.commands) if contract.mode is not Mode.OFF else ()
    if not pending:
        return _picture(state, Phase.CONFIRMING, Role.AFTER_CHECKS)
    state = msgspec.structs.replace(state, phase=phase, pending=pending)
    stage = Stage.BEFORE if phase is Phase.CHECKING_BEFORE else Stage.AFTER
    if not contract.parallel:
        return _next_check(state, stage)
    decisions = tuple(check_decision(state, command_id, stage=stage) for command_id in pending)
    if any(decision is None for decision in decisions):
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    return Transition(state, tuple(decision for decision in decisions if decision is not None))


def _next_check(state: GoalState, stage: Stage) -> Transition:
    if cut_by_deadline(state):
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    if started(state).contract.parallel:
        return Transition(state)
    decision = check_decision(state, state.pending[0], stage=stage)
    if decision is None:
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    return Transition(state, (decision,))


def _settle_check(state: GoalState, event: CheckSettled) -> Transition:
    state = _settled(state, event)
    state = msgspec.structs.replace(state, checks=(*state.checks, event.evidence))
    if state.pending:
        return _next_check(state, Stage.AFTER)
    if cut_by_deadline(state):
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    return _picture(state, Phase.CONFIRMING, Role.AFTER_CHECKS)


def _settled(state: GoalState, event: CheckSettled) -> GoalState:
    expected = Stage.BEFORE if state.phase is Phase.CHECKING_BEFORE else Stage.AFTER
    asked = state.pending if started(state).contract.parallel else state.pending[:1]
    if event.evidence.command_id not in asked or event.stage is not expected:
        message = (
            f"CheckSettled of {event.evidence.command_id!r} ({event.stage}) was not asked for in phase {state.phase}; "
            "the state is unchanged; settle each check once"
        )
        raise ProtocolViolation(message)
    pending = tuple(each for each in state.pending if each != event.evidence.command_id)
    spent = state.usage.check_seconds + max(0.0, event.evidence.duration_seconds)
    usage = msgspec.structs.replace(state.usage, check_seconds=spent)
    return msgspec.structs.replace(state, pending=pending, usage=usage)


def _confirm(state: GoalState, event: PictureTaken) -> Transition:
    _expect_role(state, event, Role.AFTER_CHECKS)
    state = msgspec.structs.replace(state, after_checks=event.picture)
    judged = judge(state)
    state = msgspec.structs.replace(state, failures=judged.failures)
    reasons = set(judged.reasons)
    if reasons and reasons <= AGAIN and not state.again:
        state = msgspec.structs.replace(state, again=True, after_agent=event.picture, after_checks=None, checks=())
        return _take_checks(state, Phase.CHECKING)
    if judged.outcome is Outcome.SATISFIED or started(state).kind is Kind.CHECK:
        return _close(state, judged_status(state))
    if not all(CONSEQUENCES[reason].repaired for reason in reasons):
        return _close(state, judged_status(state))
    if judged.outcome is Outcome.FAILED:
        return _close(state, judged_status(state), EndedBy.REPAIRS_EXHAUSTED)
    return _repair(state)


def _repair(state: GoalState) -> Transition:
    run = started(state)
    signature = signature_of(state)
    unchanged = state.unchanged_repairs + 1 if signature == state.signature else 0
    if run.limits.no_progress is not None and unchanged >= run.limits.no_progress:
        return _close(state, judged_status(state), EndedBy.NO_PROGRESS)
    usage = msgspec.structs.replace(state.usage, repairs=state.usage.repairs + 1)
    repaired = msgspec.structs.replace(state, usage=usage, signature=signature, unchanged_repairs=unchanged)
    step = _run_agent(repaired)
    if step.state.phase is Phase.RUNNING:
        return step
    return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)


# --- the end ---------------------------------------------------------------------------------------------------------


def _close(state: GoalState, status: Status, ended_by: EndedBy | None = None) -> Transition:
    verdict = verdict_of(state, status, ended_by=ended_by)
    state = msgspec.structs.replace(state, verdict=verdict, pending=())
    if status in RECEIPTED:
        decision = WriteReceipt(statement=statement(state))
        return Transition(msgspec.structs.replace(state, phase=Phase.RECORDING), (decision,))
    return _finish(state)


def _finish(state: GoalState) -> Transition:
    if state.verdict is None:
        message = f"phase {state.phase} has no verdict to finish with; the state is unchanged; fold a whole journal"
        raise ProtocolViolation(message)
    return Transition(msgspec.structs.replace(state, phase=Phase.FINISHING), (Finish(verdict=state.verdict),))


def _keep_receipt(state: GoalState, event: ReceiptWritten) -> Transition:
    return _finish(msgspec.structs.replace(state, receipt_path=event.path))


def _miss_receipt(state: GoalState, event: ReceiptFailed) -> Transition:
    return _finish(msgspec.structs.replace(state, receipt_error=event.error))


def _fail_verifier(state: GoalState, event: VerifierFailed) -> Transition:
    left = seconds_left(state)
    if left is not None and left <= 0:
        return _close(state, Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)
    detail = f"The host could not look ({event.what}: {event.error[:500]}), so nothing can be said about the work."
    failure = Failure(reason=Reason.CHECKER_ERROR, subject=RUN, detail=detail)
    status = Status.BLOCKED if started(state).contract.mode is Mode.ENFORCE else Status.UNVERIFIED
    return _close(msgspec.structs.replace(state, failures=(*state.failures, failure)), status)


def _cancel(state: GoalState, event: CancelRequested) -> Transition:
    del event
    return _finish(msgspec.structs.replace(state, verdict=verdict_of(state, Status.CANCELLED), pending=()))


def _end(state: GoalState, event: RunFinished) -> Transition:
    if event.verdict != state.verdict:
        message = (
            f"RunFinished carries the verdict {event.verdict.status}, which is not the one that was reached; "
            "the state is unchanged; finish with the verdict of the Finish decision"
        )
        raise ProtocolViolation(message)
    return Transition(msgspec.structs.replace(state, phase=Phase.FINISHED))


def _ignore(state: GoalState, event: Event) -> Transition:
    del event
    return Transition(state)


# --- small questions -------------------------------------------------------------------------------------------------


def _picture(state: GoalState, phase: Phase, role: Role) -> Transition:
    left = seconds_left(state)
    # Evidence that was gathered in time may still be judged, so a picture gets a little more than what is left.
    seconds = max(left, PICTURE_SECONDS) if left is not None else None
    decision = TakePicture(role=role, timeout_seconds=seconds)
    return Transition(msgspec.structs.replace(state, phase=phase, pending=()), (decision,))


def _expect_role(state: GoalState, event: PictureTaken, role: Role) -> None:
    if event.role is not role:
        message = (
            f"a picture {event.role} cannot be taken in phase {state.phase}; the state is unchanged; "
            f"complete the decision to take the picture {role}"
        )
        raise ProtocolViolation(message)


_LATE = (CheckSettled, PictureTaken, AgentEnded, VerifierFailed)


def _table() -> dict[tuple[Phase, type[Event]], Callable[[GoalState, Event], Transition]]:
    rows: dict[tuple[Phase, type[Event]], object] = {
        (Phase.NEW, RunStarted): _start,
        (Phase.CHECKING_BEFORE, CheckSettled): _settle_before,
        (Phase.PICTURING_BASELINE, PictureTaken): _take_baseline,
        (Phase.RUNNING, AgentEnded): _end_agent,
        (Phase.PICTURING, PictureTaken): _take_picture,
        (Phase.CHECKING, CheckSettled): _settle_check,
        (Phase.CONFIRMING, PictureTaken): _confirm,
        (Phase.RECORDING, ReceiptWritten): _keep_receipt,
        (Phase.RECORDING, ReceiptFailed): _miss_receipt,
        (Phase.FINISHING, RunFinished): _end,
        (Phase.FINISHING, CancelRequested): _ignore,
        (Phase.FINISHING, ReceiptWritten): _ignore,
        (Phase.FINISHING, ReceiptFailed): _ignore,
    }
    looking = (Phase.CHECKING_BEFORE, Phase.PICTURING_BASELINE, Phase.PICTURING, Phase.CHECKING, Phase.CONFIRMING)
    rows.update({(phase, VerifierFailed): _fail_verifier for phase in looking})
    rows.update({(phase, CancelRequested): _cancel for phase in (*looking, Phase.RUNNING, Phase.RECORDING)})
    rows.update({(phase, late): _ignore for phase in (Phase.RECORDING, Phase.FINISHING) for late in _LATE})
    return cast("dict[tuple[Phase, type[Event]], Callable[[GoalState, Event], Transition]]", rows)


TABLE = _table()
"""Every step that can happen. A pair that is missing is the error; the documentation's diagram is drawn from this."""
