"""What the screenplays of the goal run share: a contract of a check and an artifact, and decisions by short names."""

import msgspec

from signoff.core.completion.contract import Artifact, Contract, ValidationCommand
from signoff.core.goal.advance import advance
from signoff.core.goal.decisions import Decision, Finish, RunAgent, RunCheck, TakePicture, WriteReceipt
from signoff.core.goal.events import Event, Role, Stage
from signoff.core.goal.state import GoalState
from signoff.core.values import EndedBy, Reason, Status
from signoff.testing import ANY, Screenplay, a_file, a_picture, an_artifact, like, no_file

TESTS = ValidationCommand(id="tests", argv=("pytest",))
CONTRACT = Contract(commands=(TESTS,), artifacts=(Artifact(id="report", path="report.txt"),), max_repairs=1)

EMPTY = a_picture(artifacts=(an_artifact("report", no_file("report.txt")),))
DONE = a_picture("done", changed=1, artifacts=(an_artifact("report", a_file("report.txt")),))
REDONE = a_picture("redone", changed=1, artifacts=(an_artifact("report", a_file("report.txt", "other")),))

replace = msgspec.structs.replace

BASELINE = TakePicture(role=Role.BASELINE, timeout_seconds=ANY)
LOOK = TakePicture(role=Role.AFTER_AGENT, timeout_seconds=ANY)
LOOK_AGAIN = TakePicture(role=Role.AFTER_CHECKS, timeout_seconds=ANY)
RECEIPT = WriteReceipt(statement=ANY)


def goal_run() -> Screenplay[GoalState, Event, Decision]:
    """A screenplay of one goal run from its beginning."""
    return Screenplay(advance, GoalState())


def attempt(number: int, *reasons: Reason) -> RunAgent:
    """The decision to run the agent, with the reasons that are fed back to it."""
    failures = tuple(like(reason=reason) for reason in reasons)
    return RunAgent(attempt=number, failures=failures, checks=ANY, timeout_seconds=ANY)


def check(command_id: str = "tests", stage: Stage = Stage.AFTER) -> RunCheck:
    """The decision to take a check, with its own time limit."""
    return RunCheck(command_id=command_id, stage=stage, timeout_seconds=300.0)


def finish(status: Status, *reasons: Reason, ended_by: EndedBy | None = None) -> Finish:
    """The decision to end with a status, the gravest reason first."""
    return Finish(verdict=like(status=status, reasons=reasons, ended_by=ended_by))
