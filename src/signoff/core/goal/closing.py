"""From the state of a goal run to its verdict: status, reasons, and a row for every requirement.

Reading only: nothing here changes a state or decides what is done next.
"""

from collections.abc import Iterator

from signoff.core.completion.assess import check_passes
from signoff.core.completion.contract import Artifact, Contract, Fresh, ImmutableInput, Mode, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, FileFacts, basis
from signoff.core.completion.reasons import CONSEQUENCES, by_gravity
from signoff.core.goal.events import Kind, RunStarted
from signoff.core.goal.state import GoalState
from signoff.core.goal.verdict import CheckRow, NoteOnEvidence, Verdict
from signoff.core.values import EndedBy, Reason, Status
from signoff.errors import ProtocolViolation


def started(state: GoalState) -> RunStarted:
    """Return the first event of a run that has begun."""
    if state.run is None:
        message = f"the goal run has not started (phase {state.phase}); nothing was changed; begin with RunStarted"
        raise ProtocolViolation(message)
    return state.run


def judged_status(state: GoalState) -> Status:
    """Return the status of a run whose last claim was judged: what the gravest standing failure leads to."""
    contract = started(state).contract
    if contract.mode is not Mode.ENFORCE:
        return Status.UNVERIFIED
    reasons = by_gravity({failure.reason for failure in state.failures})
    if reasons:
        return CONSEQUENCES[reasons[0]].status
    return Status.COMPLETED if contract.decides else Status.UNVERIFIED


def verdict_of(state: GoalState, status: Status, *, ended_by: EndedBy | None = None) -> Verdict:
    """Return the verdict that closes this state with `status`."""
    run = started(state)
    picture = state.after_checks
    reasons = by_gravity({failure.reason for failure in state.failures})
    return Verdict(
        status=status,
        reason=reasons[0] if reasons else None,
        reasons=reasons,
        ended_by=ended_by,
        failures=state.failures,
        checks=tuple(_rows(state, run.contract)),
        evidence=tuple(_notes(state, run.contract)) if status is Status.COMPLETED else (),
        assurance=run.assurance,
        basis=basis(run.contract.digest(), picture) if picture is not None else None,
        usage=state.usage,
        agent_exit_code=state.agent.exit_code if state.agent is not None else None,
        claimed_done=state.agent is not None and state.agent.exit_code == 0,
    )


def everything_held_before(state: GoalState) -> bool:
    """Whether there is something to decide by, and all of it held before the agent started."""
    contract = started(state).contract
    ids = [*(item.id for item in contract.commands), *(item.id for item in contract.artifacts)]
    return contract.decides and set(state.held_before).issuperset(ids)


def something_written(state: GoalState) -> bool:
    """Whether the agent changed the workspace, or wrote a declared artifact, and no other run may have done it."""
    # The later picture: what a check has put back as it was is no change any more.
    picture = state.after_checks or state.after_agent
    if picture is None or picture.shared_with:
        return False
    return picture.change_count > 0 or _artifact_written(state)


def _artifact_written(state: GoalState) -> bool:
    """Whether an artifact has other bytes than before, or was written anew where that is what the contract asks."""
    picture = state.after_agent  # what a check writes is not the agent's
    if picture is None:
        return False
    anew = {item.id for item in started(state).contract.artifacts if item.fresh is Fresh.WRITTEN}
    return any(
        file.changed or (file.written and item.requirement_id in anew)
        for item in picture.artifacts
        for file in item.files
    )


def _notes(state: GoalState, contract: Contract) -> Iterator[NoteOnEvidence]:
    if any(command.report is None for command in contract.commands):
        yield "exit_status_only"
    if started(state).kind is Kind.RUN and everything_held_before(state) and not _artifact_written(state):
        yield "unrelated_change"


def _rows(state: GoalState, contract: Contract) -> Iterator[CheckRow]:
    before = {item.command_id: item for item in state.before}
    taken = {item.command_id: item for item in state.checks}
    last = {item.command_id: item for item in state.last_checks}
    for command in contract.commands:
        now = taken.get(command.id)
        shown = now or last.get(command.id) or before.get(command.id)
        judged = state.after_checks is not None and now is not None
        yield _command_row(state, command, before=before.get(command.id), shown=shown, judged=judged)
    for artifact in contract.artifacts:
        yield _artifact_row(state, artifact)
    for source in contract.immutable:
        yield _input_row(state, source)


def _failure_of(state: GoalState, subject: str) -> tuple[Reason | None, str]:
    found = [failure for failure in state.failures if failure.subject == subject]
    if not found:
        return None, ""
    gravest = by_gravity({failure.reason for failure in found})[0]
    return gravest, " ".join(failure.detail for failure in found)


def _command_row(
    state: GoalState,
    command: ValidationCommand,
    *,
    before: CheckEvidence | None,
    shown: CheckEvidence | None,
    judged: bool,
) -> CheckRow:
    reason, detail = _failure_of(state, command.id)
    output = shown.output if shown is not None else None
    report = shown.report if shown is not None else None
    return CheckRow(
        id=command.id,
        kind="command",
        words=command.words,
        before="not_taken" if before is None else "passed" if check_passes(command, before) else "failed",
        passed=reason is None if judged else None,
        reason=reason,
        detail=detail,
        exit_code=shown.exit_code if shown is not None else None,
        tests=len(report.passed) if report is not None else None,
        duration_seconds=shown.duration_seconds if shown is not None else None,
        output_tail=(output.tail or output.head) if output is not None else "",
        output_sha256=output.sha256 if output is not None else None,
    )


def _artifact_row(state: GoalState, artifact: Artifact) -> CheckRow:
    reason, detail = _failure_of(state, artifact.id)
    files = _files(state, artifact)
    return CheckRow(
        id=artifact.id,
        kind="artifact",
        words=artifact.path,
        before="not_taken" if state.attempt == 0 else "passed" if artifact.id in state.held_before else "failed",
        passed=reason is None if state.after_checks is not None else None,
        reason=reason,
        detail=detail,
        sha256=files[0].sha256 if len(files) == 1 else None,
    )


def _files(state: GoalState, artifact: Artifact) -> tuple[FileFacts, ...]:
    found = state.after_checks.artifacts if state.after_checks is not None else ()
    return next((item.files for item in found if item.requirement_id == artifact.id), ())


def _input_row(state: GoalState, source: ImmutableInput) -> CheckRow:
    reason, detail = _failure_of(state, source.id)
    # A check by itself has nothing from before to compare with.
    compared = state.after_checks is not None and started(state).kind is Kind.RUN
    return CheckRow(
        id=source.id,
        kind="immutable",
        words=source.glob,
        passed=reason is None if compared else None,
        reason=reason,
        detail=detail,
    )
