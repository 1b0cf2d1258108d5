"""The published result of `run` and `check`: one JSON object, and the exit code that agrees with it."""

from collections.abc import Mapping

import msgspec

from signoff.core.budget import Usage
from signoff.core.completion.assess import Failure
from signoff.core.completion.contract import Mode
from signoff.core.goal.closing import started
from signoff.core.goal.events import Kind
from signoff.core.goal.state import GoalState
from signoff.core.goal.verdict import CheckRow, NoteOnEvidence, Verdict
from signoff.core.values import Assurance, EndedBy, Reason, Status
from signoff.errors import ProtocolViolation

EXIT_CODES: Mapping[Status, int] = {
    Status.COMPLETED: 0,
    Status.NOT_COMPLETED: 1,
    Status.UNVERIFIED: 1,
    Status.BLOCKED: 3,
    Status.BUDGET_EXHAUSTED: 4,
    Status.AGENT_FAILED: 5,
    Status.CANCELLED: 130,
}
HOW_TO_ADD_A_CHECK = (
    "there is no check to decide by; add one: --verify 'COMMAND', --artifact PATH, or `signoff init` for a signoff.toml"
)
HOW_TO_ACCEPT_NO_CHANGE = "if no change of the workspace was asked for, --allow-no-change accepts that"
CheckResult = CheckRow


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """How the agent's last attempt ended; none of it is evidence."""

    exit_code: int | None
    claimed_done: bool


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run or check."""

    run_id: str
    kind: Kind
    status: Status
    reason: Reason | None
    reasons: tuple[Reason, ...]
    ended_by: EndedBy | None
    assurance: Assurance
    evidence: tuple[NoteOnEvidence, ...]
    attempts: int
    repairs: int
    checks: tuple[CheckResult, ...]
    failures: tuple[Failure, ...]
    agent: AgentResult | None
    """None for a check."""
    basis: str | None
    receipt: str | None
    store_lost: bool
    """Whether records of this run are missing from the store."""
    warnings: tuple[str, ...]
    hint: str
    usage: Usage
    started_at: str
    duration_seconds: float


def result_of(state: GoalState, *, warnings: tuple[str, ...] = (), store_lost: str = "") -> RunResult:
    """Return the published result of a state that has a verdict."""
    run, verdict = started(state), state.verdict
    if verdict is None or state.at is None:
        raise ProtocolViolation(f"run {run.run_id} has no verdict yet; nothing was shown; wait for its end")
    return RunResult(
        run_id=run.run_id,
        kind=run.kind,
        status=verdict.status,
        reason=verdict.reason,
        reasons=verdict.reasons,
        ended_by=verdict.ended_by,
        assurance=verdict.assurance,
        evidence=verdict.evidence,
        attempts=verdict.usage.attempts,
        repairs=verdict.usage.repairs,
        checks=verdict.checks,
        failures=verdict.failures,
        agent=None
        if run.kind is Kind.CHECK
        else AgentResult(exit_code=verdict.agent_exit_code, claimed_done=verdict.claimed_done),
        basis=verdict.basis,
        receipt=state.receipt_path,
        store_lost=bool(store_lost),
        warnings=(*warnings, *_warnings(state, verdict, store_lost)),
        hint=_hint(state, verdict),
        usage=verdict.usage,
        started_at=run.at.wall,
        duration_seconds=max(0.0, state.at.elapsed - run.at.elapsed),
    )


def exit_code(state: GoalState) -> int:
    """Return the exit code that agrees with the status; in observe mode, the agent's own."""
    run, verdict = started(state), state.verdict
    if verdict is None:
        return 1
    if (
        verdict.status is Status.UNVERIFIED
        and run.contract.mode is Mode.OBSERVE
        and verdict.agent_exit_code is not None
    ):
        return verdict.agent_exit_code
    return EXIT_CODES[verdict.status]


def _hint(state: GoalState, verdict: Verdict) -> str:
    if verdict.status is Status.UNVERIFIED and not started(state).contract.decides:
        return HOW_TO_ADD_A_CHECK
    return HOW_TO_ACCEPT_NO_CHANGE if verdict.reason is Reason.NOTHING_CHANGED else ""


def _not_searched(state: GoalState) -> list[str]:
    """Say which failed checks missed a folder of the workspace on their PATH: a common surprise."""
    found = []
    for evidence in state.checks or state.before:
        dropped = [each for each in evidence.left_out if each.startswith("PATH entry")]
        if evidence.exit_code and dropped:
            found.append(
                f"check {evidence.command_id} did not search {'; '.join(dropped)}: name a program there by its path, "
                "such as .venv/bin/python -m pytest"
            )
    return found


def _warnings(state: GoalState, verdict: Verdict, store_lost: str) -> list[str]:
    found = []
    code = verdict.agent_exit_code
    if verdict.status is Status.COMPLETED and code not in (None, 0):
        found.append(f"the agent exited with {code}, but every check passed; --strict-exit makes that a failure")
    if state.agent is not None and state.agent.error:
        found.append(f"the agent: {state.agent.error}")
    if state.after_agent is not None and state.after_agent.shared_with:
        others = ", ".join(state.after_agent.shared_with)
        found.append(
            f"other runs were live in this workspace ({others}); changes made meanwhile count for none of them"
        )
    found += _not_searched(state)
    if state.receipt_error:
        found.append(f"no receipt: {state.receipt_error}")
    if store_lost:
        found.append(f"store_lost: the last records of this run are not in the store: {store_lost}")
    return found


def result_schema() -> dict[str, object]:
    """Return the JSON Schema of the published result."""
    return msgspec.json.schema(RunResult)
