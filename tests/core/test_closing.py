"""From a state to its verdict: the rows of the requirements, the notes on the evidence, and who may ask."""

import msgspec
import pytest

from signoff.core.completion.assess import Failure
from signoff.core.completion.contract import Artifact, Contract, Fresh, ImmutableInput, ReportFormat, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, Picture, TestReport
from signoff.core.goal.advance import advance
from signoff.core.goal.closing import judged_status, something_written, started, verdict_of
from signoff.core.goal.events import Event, Kind, Role, Stage
from signoff.core.goal.judging import judge
from signoff.core.goal.state import GoalState, Phase
from signoff.core.goal.verdict import CheckRow, Verdict
from signoff.core.values import Reason, Status
from signoff.errors import ProtocolViolation
from signoff.testing import Scene, a_check, a_file, a_picture, an_artifact, an_input, digest_of

replace = msgspec.structs.replace

TESTS = ValidationCommand(id="tests", argv=("pytest", "-q"))
OUT = Artifact(id="out", path="out.txt")
SRC = ImmutableInput(id="src", glob="src/**")
CONTRACT = Contract(artifacts=(OUT,), commands=(TESTS,), immutable=(SRC,), max_repairs=0)
WRITTEN = a_picture(changed=1, artifacts=(an_artifact("out", a_file("out.txt")),), inputs=(an_input("src"),))
OLD = a_picture(artifacts=(an_artifact("out", a_file("out.txt", written=False)),), inputs=(an_input("src"),))
ELSEWHERE = replace(OLD, change_count=1)


def verdict(
    contract: Contract = CONTRACT,
    *,
    before: CheckEvidence | None = None,
    after: CheckEvidence | None = None,
    baseline: Picture = OLD,
    looks: tuple[Picture, Picture] = (WRITTEN, WRITTEN),
) -> Verdict:
    """The verdict on one attempt in which this was seen."""
    scene = Scene()
    events: list[Event] = [scene.started(contract)]
    events += [scene.settled(before or a_check("tests", 1), stage=Stage.BEFORE)] if contract.commands else []
    events += [scene.pictured(Role.BASELINE, baseline), scene.ended(), scene.pictured(Role.AFTER_AGENT, looks[0])]
    events += [scene.settled(after or a_check("tests"))] if contract.commands else []
    state = GoalState()
    for event in (*events, scene.pictured(Role.AFTER_CHECKS, looks[1])):
        state = advance(state, event).state
    assert state.verdict is not None
    return state.verdict


def rows(found: Verdict) -> dict[str, CheckRow]:
    """The rows of a verdict by their ids."""
    return {row.id: row for row in found.checks}


def test_every_requirement_has_its_row() -> None:
    """Commands, artifacts and inputs are listed in this order, each with what it is in a person's words."""
    found = verdict()
    assert found.status is Status.COMPLETED
    assert [(row.id, row.kind, row.words, row.before, row.passed) for row in found.checks] == [
        ("tests", "command", "pytest -q", "failed", True),
        ("out", "artifact", "out.txt", "passed", True),
        ("src", "immutable", "src/**", "not_taken", True),
    ]
    assert rows(found)["out"].sha256 == digest_of("content")


def test_a_row_says_why_it_failed() -> None:
    """A failed requirement carries its gravest reason and the words of all of its failures."""
    bare = replace(WRITTEN, artifacts=(), inputs=(an_input("src", now="other"),))
    found = verdict(after=a_check("tests", 7, duration_seconds=1.5), looks=(bare, bare))
    assert {row.id: row.reason for row in found.checks} == {
        "tests": Reason.SELF_CHECK_FAILED,
        "out": Reason.REQUIRED_ARTIFACT_MISSING,
        "src": Reason.IMMUTABLE_INPUT_CHANGED,
    }
    assert [row.passed for row in found.checks] == [False] * 3
    assert rows(found)["tests"].exit_code == 7
    assert rows(found)["tests"].duration_seconds == 1.5
    assert rows(found)["tests"].detail == "The check exited with 7."
    assert rows(found)["out"].sha256 is None
    assert found.reason is Reason.IMMUTABLE_INPUT_CHANGED


def test_several_failures_of_one_requirement_are_told_together() -> None:
    """The gravest reason stands for the row; the sentences of all its failures follow each other."""
    before = a_check("tests", report=TestReport(passed=("a", "b")))
    after = a_check("tests", report=TestReport(passed=("c",), failed=("a",)))
    contract = replace(CONTRACT, commands=(replace(TESTS, report=ReportFormat.JUNIT),))
    row = rows(verdict(contract, before=before, after=after))["tests"]
    assert row.reason is Reason.SELF_CHECK_FAILED
    assert "failed tests" in row.detail
    assert "'b'" in row.detail
    assert row.tests == 1


@pytest.mark.parametrize(
    ("tail", "head", "shown"), [("the end", "the start", "the end"), ("", "all", "all"), ("", "", "")]
)
def test_a_row_shows_the_end_of_the_output(tail: str, head: str, shown: str) -> None:
    """The end of a long output is shown, or all of a short one."""
    output = a_check("tests").output
    assert output is not None
    check = a_check("tests", 1, output=replace(output, tail=tail, head=head))
    assert rows(verdict(after=check))["tests"].output_tail == shown


def test_a_check_that_was_not_started_has_no_output() -> None:
    """Without a process there is no digest of an output, and the exit code is the one that says so."""
    row = rows(verdict(after=a_check("tests", 127, output=None, error="no such file")))["tests"]
    assert (row.exit_code, row.output_sha256, row.output_tail) == (127, None, "")


def test_a_run_that_was_stopped_early_has_open_rows() -> None:
    """What was not taken since the agent's last act has neither passed nor failed."""
    scene = Scene()
    state = advance(GoalState(), scene.started(CONTRACT)).state
    state = advance(state, scene.cancelled()).state
    assert state.verdict is not None
    assert [(row.passed, row.before, row.exit_code) for row in state.verdict.checks] == [(None, "not_taken", None)] * 3
    assert state.verdict.basis is None
    assert state.verdict.agent_exit_code is None
    assert not state.verdict.claimed_done


NOTES = [
    (CONTRACT, WRITTEN, a_check("tests"), ("exit_status_only",)),
    (CONTRACT, WRITTEN, a_check("tests", 1), ("exit_status_only",)),
    (
        replace(CONTRACT, artifacts=()),
        replace(ELSEWHERE, artifacts=()),
        a_check("tests"),
        ("exit_status_only", "unrelated_change"),
    ),
    (replace(CONTRACT, artifacts=()), replace(ELSEWHERE, artifacts=()), a_check("tests", 1), ("exit_status_only",)),
    (replace(CONTRACT, commands=()), WRITTEN, None, ()),
    (
        replace(CONTRACT, artifacts=(replace(OUT, fresh=Fresh.ANY),), commands=()),
        ELSEWHERE,
        None,
        ("unrelated_change",),
    ),
]


@pytest.mark.parametrize(("contract", "seen", "before", "notes"), NOTES)
def test_notes_on_the_evidence(
    contract: Contract, seen: Picture, before: CheckEvidence | None, notes: tuple[str, ...]
) -> None:
    """A completed verdict says that only exit codes speak for it, and that only unrelated files were changed."""
    found = verdict(contract, before=before, looks=(seen, seen))
    assert found.status is Status.COMPLETED
    assert found.evidence == notes


def test_a_report_is_more_than_an_exit_status() -> None:
    """Where every command has its report, no note says that only exit codes speak."""
    contract = replace(CONTRACT, commands=(replace(TESTS, report=ReportFormat.JUNIT),))
    found = verdict(contract, after=a_check("tests", report=TestReport(passed=("a",))))
    assert (found.status, found.evidence) == (Status.COMPLETED, ())


def test_what_is_not_completed_has_no_notes() -> None:
    """Notes on the strength of the evidence go with a completed verdict only."""
    assert verdict(after=a_check("tests", 1)).evidence == ()


WROTE = an_artifact("out", a_file("out.txt", changed=False))
WORK = [
    (CONTRACT, replace(OLD, artifacts=(WROTE,)), OLD, True),
    (CONTRACT, ELSEWHERE, ELSEWHERE, True),
    (CONTRACT, ELSEWHERE, OLD, False),
    (CONTRACT, OLD, OLD, False),
    (CONTRACT, OLD, replace(OLD, artifacts=(WROTE,)), False),
    (CONTRACT, WRITTEN, replace(WRITTEN, shared_with=("run-2",)), False),
    (replace(CONTRACT, artifacts=(replace(OUT, fresh=Fresh.ANY),)), replace(OLD, artifacts=(WROTE,)), OLD, False),
]


@pytest.mark.parametrize(("contract", "work", "last", "expected"), WORK)
def test_what_counts_as_the_work_of_the_agent(
    contract: Contract,
    work: Picture,
    last: Picture,
    expected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A change that is still there, or an artifact written anew before the checks, and by no other run."""
    run = Scene().started(contract)
    assert something_written(GoalState(run=run, after_agent=work, after_checks=last)) is expected


def test_without_a_picture_nothing_was_written() -> None:
    """Where nobody has looked, nothing is claimed to be the agent's."""
    state = GoalState(run=Scene().started(CONTRACT), held_before=("tests", "out"))
    assert not something_written(state)
    assert "unrelated_change" in verdict_of(state, Status.COMPLETED).evidence


def test_only_a_run_that_has_begun_can_be_asked() -> None:
    """Questions to a state without a beginning are refused."""
    for question in (started, judged_status, judge):
        with pytest.raises(ProtocolViolation, match="begin with RunStarted"):
            question(GoalState())
    with pytest.raises(ProtocolViolation, match="begin with RunStarted"):
        verdict_of(GoalState(), Status.CANCELLED)


def test_a_state_that_no_run_leads_to_is_refused() -> None:
    """A state made by hand that lacks its pictures or its verdict is not judged and not finished."""
    scene = Scene()
    run = scene.started(CONTRACT)
    with pytest.raises(ProtocolViolation, match="no pictures to judge"):
        judge(GoalState(run=run, phase=Phase.CONFIRMING))
    with pytest.raises(ProtocolViolation, match="no verdict to finish with"):
        advance(GoalState(run=run, phase=Phase.RECORDING), scene.receipt_written())


def test_an_input_is_compared_only_where_an_agent_ran() -> None:
    """A check by itself has nothing from before that an input could be compared with."""
    run = Scene().started(CONTRACT, kind=Kind.CHECK)
    state = GoalState(run=run, after_agent=OLD, after_checks=OLD, checks=(a_check("tests"),))
    assert {row.id: row.passed for row in verdict_of(state, Status.COMPLETED).checks} == {
        "tests": True,
        "out": True,
        "src": None,
    }


def test_a_failure_of_the_run_is_no_failure_of_a_requirement() -> None:
    """What fails for the run as a whole makes no row fail."""
    failure = Failure(reason=Reason.NOTHING_CHANGED, subject="run", detail="Nothing has changed.")
    state = GoalState(run=Scene().started(CONTRACT), after_checks=OLD, checks=(a_check("tests"),), failures=(failure,))
    found = verdict_of(state, Status.NOT_COMPLETED)
    assert found.reason is Reason.NOTHING_CHANGED
    assert [row.passed for row in found.checks] == [True] * 3
