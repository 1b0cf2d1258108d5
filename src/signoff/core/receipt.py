"""The statement of a verdict: an in-toto Statement, v1, that a reader can check without signoff's store.

Only the statement belongs here; its envelope, its signature and its place on disk are made outside the core.
"""

from collections.abc import Mapping

import msgspec

from signoff.core.budget import Limits, Usage
from signoff.core.canonical import canonical, digest_bytes, parse
from signoff.core.completion.evidence import FileKind, Picture, artifact_rows, basis_of, input_rows
from signoff.core.goal.closing import started
from signoff.core.goal.events import Kind
from signoff.core.goal.state import GoalState
from signoff.core.goal.verdict import CheckRow, Verdict
from signoff.core.journal import MAX_BODY
from signoff.core.values import Assurance, EndedBy, Reason, Status
from signoff.errors import ProtocolViolation, ReceiptError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:signoff:verdict:v1"
TREE = "signoffTree"
"""Name of the digest algorithm for a directory: see `verifiers/artifacts.py`."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the verdict is about."""

    name: str
    """Path relative to the workspace's root."""
    digest: Mapping[str, str]


class VerdictPart(msgspec.Struct, frozen=True, kw_only=True):
    """How the run ended."""

    status: Status
    reason: Reason | None
    reasons: tuple[Reason, ...]
    ended_by: EndedBy | None
    evidence: tuple[str, ...]
    assurance: Assurance


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """Which run it was."""

    id: str
    kind: str
    goal_sha256: str
    started_at: str
    finished_at: str
    signoff_version: str


class BasisPart(msgspec.Struct, frozen=True, kw_only=True):
    """What the verdict stands on, so that the digest of it can be computed again."""

    digest: str
    contract: str
    artifacts: tuple[tuple[str | None, ...], ...]
    inputs: tuple[tuple[str | None, ...], ...]
    control: str


class PolicyPart(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds that were in force."""

    limits: Limits
    max_repairs: int | None
    strict_exit: bool
    allow_no_change: bool


class Predicate(msgspec.Struct, frozen=True, kw_only=True):
    """What is stated about the subjects."""

    verdict: VerdictPart
    run: RunPart
    basis: BasisPart | None
    """None when the run ended before the workspace was judged."""
    checks: tuple[CheckRow, ...]
    policy: PolicyPart
    usage: Usage
    agent_exit_code: int | None
    claimed_done: bool


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An in-toto Statement, v1."""

    type: str = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: str = msgspec.field(name="predicateType")
    predicate: Predicate


_DECODER = msgspec.json.Decoder(Statement)


def statement(state: GoalState) -> bytes:
    """Return the canonical bytes of the statement for a state that has reached its verdict."""
    run, verdict = started(state), state.verdict
    if verdict is None or state.at is None:
        message = f"phase {state.phase} has no verdict to state; nothing was made; fold a whole journal"
        raise ProtocolViolation(message)
    picture = state.after_checks
    limits, contract = run.limits, run.contract
    value = Statement(
        type=STATEMENT_TYPE,
        subject=tuple(_subjects(picture)),
        predicate_type=PREDICATE_TYPE,
        predicate=Predicate(
            verdict=_verdict_part(verdict),
            run=RunPart(
                id=run.run_id,
                kind=run.kind.value,
                goal_sha256=digest_bytes(run.goal.encode("utf-8", "surrogateescape")),
                started_at=run.at.wall,
                finished_at=state.at.wall,
                signoff_version=run.signoff_version,
            ),
            basis=_basis_part(contract.digest(), picture),
            checks=tuple(msgspec.structs.replace(row, output_tail="") for row in verdict.checks),
            policy=PolicyPart(
                limits=limits,
                max_repairs=contract.max_repairs,
                strict_exit=run.strict_exit,
                allow_no_change=run.allow_no_change,
            ),
            usage=verdict.usage,
            agent_exit_code=verdict.agent_exit_code,
            claimed_done=verdict.claimed_done,
        ),
    )
    return canonical(msgspec.to_builtins(value), max_bytes=MAX_BODY)


def read_statement(body: bytes) -> Statement:
    """Return the statement in `body`; raise `ReceiptError` when it is none, or is inconsistent in itself."""
    try:
        parse(body, max_bytes=MAX_BODY)  # a key that is there twice means two things
        value = _DECODER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"the receipt's payload is not a statement of a verdict: {error}; nothing was verified"
        raise ReceiptError(message) from error
    if value.type != STATEMENT_TYPE or value.predicate_type != PREDICATE_TYPE:
        message = (
            f"the receipt states {value.predicate_type[:80]!r}, which this version cannot read; nothing was verified; "
            f"give a receipt of type {PREDICATE_TYPE}"
        )
        raise ReceiptError(message)
    return value


def inconsistencies(value: Statement) -> tuple[str, ...]:
    """Return what in a statement contradicts the rest of it: the basis, the subjects, the checks of a completed run."""
    found = []
    part, verdict = value.predicate.basis, value.predicate.verdict
    if part is not None:
        rows, inputs = [list(row) for row in part.artifacts], [list(row) for row in part.inputs]
        if basis_of(part.contract, artifacts=rows, inputs=inputs, control=part.control) != part.digest:
            found.append("the digest of the basis does not fit its parts")
        stated = {subject.name: next(iter(subject.digest.values()), "") for subject in value.subject}
        stands_on = {str(row[1]): str(row[2]).removeprefix("sha256:") for row in rows if len(row) > 2 and row[2]}  # noqa: PLR2004
        if stated != stands_on:
            found.append("the subjects are not the artifacts that the basis names")
    if verdict.status is Status.COMPLETED:
        if part is None or verdict.reasons or verdict.reason is not None or not value.predicate.checks:
            found.append("it says completed and gives reasons against it, or no basis or check for it")
        found += [
            f"it says completed although {row.kind} {row.id} did not pass"
            for row in value.predicate.checks
            if row.passed is not True and not (row.kind == "immutable" and value.predicate.run.kind == Kind.CHECK)
        ]
    return tuple(found)


def _subjects(picture: Picture | None) -> list[Subject]:
    found: dict[str, Subject] = {}
    for item in picture.artifacts if picture is not None else ():
        for file in item.files:
            if file.sha256 is not None:
                name = TREE if file.kind is FileKind.DIRECTORY else "sha256"
                found[file.path] = Subject(name=file.path, digest={name: file.sha256.removeprefix("sha256:")})
    return [found[path] for path in sorted(found)]


def _verdict_part(verdict: Verdict) -> VerdictPart:
    return VerdictPart(
        status=verdict.status,
        reason=verdict.reason,
        reasons=verdict.reasons,
        ended_by=verdict.ended_by,
        evidence=verdict.evidence,
        assurance=verdict.assurance,
    )


def _basis_part(contract: str, picture: Picture | None) -> BasisPart | None:
    if picture is None:
        return None
    rows, inputs = artifact_rows(picture), input_rows(picture)
    return BasisPart(
        digest=basis_of(contract, artifacts=rows, inputs=inputs, control=picture.control_digest),
        contract=contract,
        artifacts=tuple(tuple(row) for row in rows),
        inputs=tuple(tuple(row) for row in inputs),
        control=picture.control_digest,
    )
