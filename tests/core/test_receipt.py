"""The statement of a verdict: it says what was reached, can be read by a stranger, and does not contradict itself."""

import json

import msgspec
import pytest

from signoff.core.canonical import canonical, digest, digest_bytes
from signoff.core.completion.contract import Artifact, Contract, ImmutableInput, ValidationCommand
from signoff.core.completion.evidence import FileKind, Picture
from signoff.core.goal.advance import advance
from signoff.core.goal.events import Event, Role, Stage
from signoff.core.goal.state import GoalState
from signoff.core.receipt import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    TREE,
    Statement,
    inconsistencies,
    read_statement,
    statement,
)
from signoff.core.values import Reason, Status
from signoff.errors import ProtocolViolation, ReceiptError
from signoff.testing import Scene, a_check, a_file, a_picture, an_artifact, an_input, digest_of, no_file

replace = msgspec.structs.replace

CONTRACT = Contract(
    artifacts=(
        Artifact(id="out", path="b.txt"),
        Artifact(id="tree", path="a", directory=True),
        Artifact(id="more", path="*", required=False, glob=True),
    ),
    commands=(ValidationCommand(id="tests", argv=("pytest",)),),
    immutable=(ImmutableInput(id="src", glob="src/**"),),
    max_repairs=0,
)
FOLDER = a_file("a", "tree", kind=FileKind.DIRECTORY)
GOOD = a_picture(
    changed=1,
    artifacts=(an_artifact("out", a_file("b.txt")), an_artifact("tree", FOLDER), an_artifact("more", no_file("c"))),
    inputs=(an_input("src"),),
)


def told(*, exit_code: int = 0, last: Picture = GOOD) -> GoalState:
    """The state of a run that has reached its verdict."""
    scene = Scene()
    nothing = a_check("tests").output
    assert nothing is not None
    check = a_check("tests", exit_code, output=replace(nothing, tail="a secret that a check printed"))
    events: list[Event] = [scene.started(CONTRACT, goal="mend the tests")]
    scene.clock.advance(2.5)
    events += [
        scene.settled(a_check("tests", 1), stage=Stage.BEFORE),
        scene.pictured(Role.BASELINE),
        scene.ended(),
        scene.pictured(Role.AFTER_AGENT, last),
        scene.settled(check),
        scene.pictured(Role.AFTER_CHECKS, last),
    ]
    state = GoalState()
    for event in events:
        state = advance(state, event).state
    return state


COMPLETED = told()
VALUE = read_statement(statement(COMPLETED))


def changed(value: Statement = VALUE, **changes: object) -> Statement:
    """The statement with parts of its predicate replaced."""
    return replace(value, predicate=replace(value.predicate, **changes))


def test_a_statement_is_an_in_toto_statement() -> None:
    """Its type, subjects and predicate are where every reader of such statements looks."""
    value = json.loads(statement(COMPLETED))
    assert set(value) == {"_type", "subject", "predicateType", "predicate"}
    assert value["_type"] == STATEMENT_TYPE
    assert value["predicateType"] == PREDICATE_TYPE
    assert value["subject"] == [
        {"name": "a", "digest": {TREE: digest_of("tree").removeprefix("sha256:")}},
        {"name": "b.txt", "digest": {"sha256": digest_of("content").removeprefix("sha256:")}},
    ]
    assert statement(COMPLETED) == canonical(value)


def test_a_statement_says_what_was_reached() -> None:
    """Verdict, run, bounds and spending stand in the statement; the goal as a digest only."""
    predicate = VALUE.predicate
    assert predicate.verdict.status is Status.COMPLETED
    assert predicate.run.goal_sha256 == digest_bytes(b"mend the tests")
    assert predicate.run.started_at == "2030-01-01T00:00:00.000000Z"
    assert predicate.run.finished_at == "2030-01-01T00:00:02.500000Z"
    assert predicate.policy.max_repairs == 0
    assert predicate.usage.attempts == 1
    assert predicate.claimed_done
    assert [row.passed for row in predicate.checks] == [True] * 5
    assert b"mend the tests" not in statement(COMPLETED)


def test_a_statement_holds_no_output() -> None:
    """What a check printed is in a statement as a digest only."""
    state = told(exit_code=1)
    assert state.verdict is not None
    assert "secret" in state.verdict.checks[0].output_tail
    assert b"secret" not in statement(state)
    value = read_statement(statement(state))
    assert value.predicate.checks[0].output_sha256 == digest_of("")
    assert value.predicate.verdict.reasons == (Reason.SELF_CHECK_FAILED,)
    assert inconsistencies(value) == ()


def test_the_basis_can_be_computed_again() -> None:
    """A reader who has the parts of the basis comes to its digest, and to the verdict's."""
    part = VALUE.predicate.basis
    assert part is not None
    parts = {"contract": part.contract, "artifacts": part.artifacts, "inputs": part.inputs, "control": part.control}
    assert part.digest == digest(msgspec.to_builtins(parts))
    assert part.contract == CONTRACT.digest()
    assert COMPLETED.verdict is not None
    assert part.digest == COMPLETED.verdict.basis


def test_a_run_that_was_not_judged_has_no_basis() -> None:
    """Where the workspace was not looked at there is nothing to stand on, and no subject."""
    scene = Scene()
    contract = Contract(commands=(ValidationCommand(id="tests", argv=("pytest",), before="failed"),))
    state = advance(GoalState(), scene.started(contract)).state
    state = advance(state, scene.settled("tests", stage=Stage.BEFORE)).state
    value = read_statement(statement(state))
    assert value.predicate.basis is None
    assert value.subject == ()
    assert inconsistencies(value) == ()


def test_only_a_verdict_can_be_stated() -> None:
    """A run that has not come to its verdict has no statement."""
    state = advance(GoalState(), Scene().started(CONTRACT)).state
    for unfinished in (state, replace(COMPLETED, at=None)):
        with pytest.raises(ProtocolViolation, match="no verdict to state"):
            statement(unfinished)
    with pytest.raises(ProtocolViolation, match="has not started"):
        statement(GoalState())


NO_STATEMENTS = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b"\xff",
    statement(COMPLETED)[:-1],
    statement(COMPLETED).replace(b'"status":"completed"', b'"status":"splendid"'),
    statement(COMPLETED).replace(b'"_type"', b'"type"'),
    statement(COMPLETED).replace(b'{"_type"', b'{"extra":1,"_type"'),
    statement(COMPLETED).replace(b'"claimed_done":true', b'"claimed_done":1'),
    statement(COMPLETED).replace(b'{"agent_exit_code"', b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"agent_exit_code"'),
]


@pytest.mark.parametrize("body", NO_STATEMENTS)
def test_what_is_no_statement(body: bytes) -> None:
    """Whatever is no statement of a verdict is refused, and nothing else is raised."""
    with pytest.raises(ReceiptError, match="nothing was verified"):
        read_statement(body)


@pytest.mark.parametrize("field", [b"https://in-toto.io/Statement/v1", b"urn:signoff:verdict:v1"])
def test_a_statement_of_another_type_is_named(field: bytes) -> None:
    """A statement of a type or version that is not known is not read as if it were."""
    body = statement(COMPLETED)
    assert field in body
    with pytest.raises(ReceiptError, match="which this version cannot read"):
        read_statement(body.replace(field, field[:-1] + b"2"))


def test_a_true_statement_contradicts_nothing() -> None:
    """A statement as it was made fits itself."""
    assert inconsistencies(VALUE) == ()


def test_a_check_by_itself_compares_no_inputs() -> None:
    """Completed without an agent, a statement may leave open whether inputs were changed, and nothing else."""
    run = replace(VALUE.predicate.run, kind="check")
    *others, source = VALUE.predicate.checks
    assert source.kind == "immutable"
    assert inconsistencies(changed(run=run, checks=(*others, replace(source, passed=None)))) == ()
    assert inconsistencies(changed(run=run, checks=(replace(others[0], passed=None), source))) != ()


BASIS = VALUE.predicate.basis
assert BASIS is not None
ROWS = BASIS.artifacts
OTHER = digest_of("other")
CONTRADICTIONS = [
    (changed(basis=replace(BASIS, contract=OTHER)), "digest of the basis"),
    (changed(basis=replace(BASIS, control=OTHER)), "digest of the basis"),
    (changed(basis=replace(BASIS, inputs=())), "digest of the basis"),
    (changed(basis=replace(BASIS, artifacts=((*ROWS[0][:2], OTHER), *ROWS[1:]))), "digest of the basis"),
    (changed(basis=replace(BASIS, artifacts=(("short",),))), "digest of the basis"),
    (changed(basis=replace(BASIS, digest=OTHER)), "digest of the basis"),
    (replace(VALUE, subject=()), "subjects are not the artifacts"),
    (replace(VALUE, subject=VALUE.subject[:1]), "subjects are not the artifacts"),
    (replace(VALUE, subject=(replace(VALUE.subject[0], name="c"), VALUE.subject[1])), "subjects are not the artifacts"),
    (
        replace(VALUE, subject=(replace(VALUE.subject[0], digest={}), VALUE.subject[1])),
        "subjects are not the artifacts",
    ),
    (changed(basis=None), "gives reasons against it, or no basis"),
    (changed(verdict=replace(VALUE.predicate.verdict, reason=Reason.AGENT_EXIT)), "gives reasons against it"),
    (changed(verdict=replace(VALUE.predicate.verdict, reasons=(Reason.AGENT_EXIT,))), "gives reasons against it"),
    (changed(checks=(replace(VALUE.predicate.checks[0], passed=False),)), "although command tests did not pass"),
    (changed(checks=(replace(VALUE.predicate.checks[0], passed=None),)), "although command tests did not pass"),
    (changed(checks=(replace(VALUE.predicate.checks[-1], passed=None),)), "although immutable src did not pass"),
]


@pytest.mark.parametrize(("value", "words"), CONTRADICTIONS)
def test_a_contradiction_is_found(value: Statement, words: str) -> None:
    """A statement whose parts do not fit each other is told apart, and what does not fit is named."""
    assert any(words in each for each in inconsistencies(value))
