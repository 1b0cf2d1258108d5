"""Questions that the goal run's machine asks of its state: reading only, no step and no transition."""

from signoff.core.canonical import digest
from signoff.core.completion.assess import Assessment, Failure, assess, check_passes
from signoff.core.completion.contract import FINAL_RESPONSE, Mode
from signoff.core.completion.evidence import Evidence, Picture
from signoff.core.goal.closing import something_written, started
from signoff.core.goal.decisions import RunCheck
from signoff.core.goal.events import Kind, Stage
from signoff.core.goal.state import GoalState
from signoff.core.values import Moment, Reason
from signoff.errors import ProtocolViolation

NO_TURN_EXITS = (126, 127)


def passed_too_early(state: GoalState) -> list[Failure]:
    """Return a failure for every check that had to fail before the agent starts, and passed."""
    taken = {evidence.command_id: evidence for evidence in state.before}
    return [
        Failure(
            reason=Reason.CHECK_ALREADY_PASSED,
            subject=command.id,
            detail="The check must fail before the agent starts, but it passed.",
        )
        for command in started(state).contract.commands
        if started(state).contract.mode is Mode.ENFORCE
        and command.before == "failed"
        and check_passes(command, taken.get(command.id))
    ]


def had_no_turn(state: GoalState, picture: Picture) -> bool:
    """Whether the agent ended with an error before it did anything: its exit says so, or its haste and silence."""
    agent = state.agent
    if agent is None or agent.timed_out or picture.change_count > 0 or agent.exit_code in (None, 0):
        return False
    quick = agent.duration_seconds <= started(state).limits.startup_seconds and agent.output_size == 0
    return quick or agent.exit_code in NO_TURN_EXITS


def check_decision(state: GoalState, command_id: str, *, stage: Stage) -> RunCheck | None:
    """Return the decision to take one check within what is left of the run's time; None when none is left."""
    command = next(item for item in started(state).contract.commands if item.id == command_id)
    left = seconds_left(state)
    if left is not None and left <= 0:
        return None
    bound = left is not None and left < command.timeout_seconds
    seconds = left if bound and left is not None else float(command.timeout_seconds)
    return RunCheck(command_id=command_id, stage=stage, timeout_seconds=seconds, deadline_bound=bound)


def cut_by_deadline(state: GoalState) -> bool:
    """Whether the run's deadline, not its own timeout, ended a check."""
    return any(evidence.cut_by_deadline for evidence in (*state.before, *state.checks))


def judge(state: GoalState) -> Assessment:
    """Judge the claim that the two pictures and the checks between them speak of."""
    run = started(state)
    agent, first, second = state.agent, state.after_agent, state.after_checks
    if first is None or second is None:
        message = f"phase {state.phase} has no pictures to judge; the state is unchanged; fold a whole journal"
        raise ProtocolViolation(message)
    by_itself = agent is not None and not agent.timed_out and agent.exit_code is not None
    asked = run.kind is Kind.RUN and run.contract.decides and not run.allow_no_change
    evidence = Evidence(
        first=first,
        picture=second,
        checks=state.checks,
        before=state.before,
        final=(FINAL_RESPONSE,) if by_itself else (),
        idle=asked and not something_written(state),
        counted_exit=agent.exit_code if run.strict_exit and agent is not None and by_itself else None,
    )
    freshness = run.kind is Kind.RUN
    return assess(run.contract, evidence, now=now_of(state), repairs=state.usage.repairs, freshness=freshness)


def signature_of(state: GoalState) -> str:
    """Return a digest that stays the same while the failures and the workspace do."""
    failures = sorted([failure.reason.value, failure.subject] for failure in state.failures)
    picture = state.after_agent
    return digest({"failures": failures, "workspace": picture.digest if picture is not None else None})


def now_of(state: GoalState) -> Moment:
    """Return the moment of the last event."""
    return state.at or started(state).at


def seconds_left(state: GoalState) -> float | None:
    """Return what is left of the run's time in seconds, at or below 0 when none is; None without a bound."""
    run = started(state)
    if run.limits.timeout_seconds is None:
        return None
    return run.limits.timeout_seconds - (now_of(state).elapsed - run.at.elapsed)
