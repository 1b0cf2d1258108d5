"""Judges evidence against a contract. Pure: it runs nothing, opens nothing, and takes nobody's word.

Each function below judges one kind of requirement and returns the failures it finds. The words of a failure are the
host's own: text printed by a command or an agent never enters them, so it can become neither instruction nor verdict.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from signoff.core.completion.contract import RUN, Artifact, Contract, Fresh, ImmutableInput, Mode, ValidationCommand
from signoff.core.completion.evidence import (
    BROKEN_PIPE_EXIT,
    NOT_STARTED_EXIT,
    TIMEOUT_EXIT,
    ArtifactEvidence,
    Change,
    CheckEvidence,
    Evidence,
    FileFacts,
    FileKind,
    ImmutableInputEvidence,
    Picture,
)
from signoff.core.completion.reasons import AGAIN, by_gravity
from signoff.core.values import Moment, Reason, epoch_microseconds

_NAMED = 5
_MOST_FILES = 20


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement that does not hold, in the host's words."""

    reason: Reason
    subject: str
    """Id of the artifact, check or input; `run` for what concerns the run as a whole."""
    detail: str
    """What is wrong, in one plain sentence."""


class Outcome(StrEnum):
    """What an assessment comes to."""

    SATISFIED = "satisfied"
    REPAIR_REQUIRED = "repair_required"
    FAILED = "failed"


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of a claim."""

    outcome: Outcome
    failures: tuple[Failure, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The codes of the failures, the gravest first."""
        return by_gravity({failure.reason for failure in self.failures})


def assess(contract: Contract, evidence: Evidence, *, now: Moment, repairs: int, freshness: bool = True) -> Assessment:
    """Judge evidence: satisfied, or failed, or worth a repair while the contract's bound allows one.

    With `freshness` false (the contract checked by itself, without an agent) nothing need have been written or said.
    """
    failures = tuple(_failures(contract, evidence, now=now, freshness=freshness))
    if evidence.idle and {failure.reason for failure in failures} <= AGAIN:
        # Beside a failed check it would be no news; beside stale evidence it must be said before a check can hide it.
        detail = _idle_detail(evidence.picture)
        failures = (*failures, Failure(reason=Reason.NOTHING_CHANGED, subject=RUN, detail=detail))
    if contract.mode is Mode.OFF:
        return Assessment(outcome=Outcome.SATISFIED)
    if not failures or contract.mode is Mode.OBSERVE:
        return Assessment(outcome=Outcome.SATISFIED, failures=failures)
    bound = contract.max_repairs
    outcome = Outcome.REPAIR_REQUIRED if bound is None or repairs < bound else Outcome.FAILED
    return Assessment(outcome=outcome, failures=failures)


def check_passes(command: ValidationCommand, evidence: CheckEvidence | None) -> bool:
    """Whether a check, taken alone, holds."""
    return not any(_command_failures(command, evidence, None))


def artifacts_held(contract: Contract, picture: Picture) -> tuple[str, ...]:
    """Return the ids of the artifacts that are right, however old they are."""
    found = {item.requirement_id: item for item in picture.artifacts}
    return tuple(
        item.id for item in contract.artifacts if not any(_artifact_failures(item, found.get(item.id), fresh=False))
    )


def _failures(contract: Contract, evidence: Evidence, *, now: Moment, freshness: bool) -> Iterator[Failure]:
    picture = evidence.picture
    if picture.contract_changed:
        detail = (
            "The contract's file is not the one that was sealed before the agent started; a person has to look at it, "
            "and put it back or run again."
        )
        yield Failure(reason=Reason.CONTRACT_CHANGED, subject=RUN, detail=detail)
    if picture.control:
        detail = (
            f"Files that steer the checks were changed: {_named(picture.control)}; a person has to look at them, and "
            "revert them or run again with --allow-change PATH."
        )
        yield Failure(reason=Reason.CONTROL_CHANGED, subject=RUN, detail=detail)
    inputs = {item.input_id: item for item in picture.inputs}
    for source in contract.immutable:
        yield from _input_failures(source, inputs.get(source.id))
    checks = {item.command_id: item for item in evidence.checks}
    before = {item.command_id: item for item in evidence.before}
    for command in contract.commands:
        yield from _command_failures(command, checks.get(command.id), before.get(command.id))
    artifacts = {item.requirement_id: item for item in picture.artifacts}
    for artifact in contract.artifacts:
        yield from _artifact_failures(artifact, artifacts.get(artifact.id), fresh=freshness)
    missing = [code for code in contract.required_final if code not in evidence.final] if freshness else []
    if missing:
        detail = "The agent did not end its turn by itself, so it has not claimed to be done."
        yield Failure(reason=Reason.FINAL_EVIDENCE_MISSING, subject=RUN, detail=detail)
    if evidence.counted_exit:
        detail = f"The agent exited with {evidence.counted_exit}, and a non-zero exit is asked to count."
        yield Failure(reason=Reason.AGENT_EXIT, subject=RUN, detail=detail)
    yield from _basis_failures(evidence)
    yield from _age_failures(contract, evidence, now)


def _idle_detail(picture: Picture) -> str:
    if picture.shared_with:
        others = ", ".join(picture.shared_with)
        return f"Other runs were live in the workspace ({others}), so no change can be said to be this agent's."
    return "Nothing in the workspace has changed since the agent started."


def _basis_failures(evidence: Evidence) -> Iterator[Failure]:
    """Nothing that a verdict stands on may change while the checks run: not by a check, not by anything left over."""
    before, after = _parts(evidence.first), _parts(evidence.picture)
    moved = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if moved:
        detail = f"What the verdict stands on changed while the checks ran: {_listed(moved)}."
        yield Failure(reason=Reason.EVIDENCE_STALE, subject=RUN, detail=detail)


def _parts(picture: Picture) -> dict[str, str | None]:
    parts: dict[str, str | None] = {"control files": picture.control_digest}
    parts.update((f"input {item.input_id}", item.observed) for item in picture.inputs)
    parts.update((f"file {file.path}", file.sha256) for item in picture.artifacts for file in item.files)
    return parts


def _input_failures(source: ImmutableInput, found: ImmutableInputEvidence | None) -> Iterator[Failure]:
    if found is None:
        detail = f"Nobody looked at the files under {source.glob!r}."
        yield Failure(reason=Reason.IMMUTABLE_INPUT_EVIDENCE_MISSING, subject=source.id, detail=detail)
    elif found.expected != found.observed:
        detail = f"Files under {source.glob!r} must stay as they were, but: {_named(found.changes)}."
        yield Failure(reason=Reason.IMMUTABLE_INPUT_CHANGED, subject=source.id, detail=detail)


def _command_failures(
    command: ValidationCommand, found: CheckEvidence | None, before: CheckEvidence | None
) -> Iterator[Failure]:
    if found is None:
        yield Failure(reason=Reason.SELF_CHECK_MISSING, subject=command.id, detail="The check was not taken.")
        return
    reason, detail = _exit_judgement(found, piped=bool(command.shell))
    if reason is not None:
        yield Failure(reason=reason, subject=command.id, detail=detail)
    elif command.report is not None:
        yield from _report_failures(command, found, before)


def _exit_judgement(found: CheckEvidence, *, piped: bool) -> tuple[Reason | None, str]:
    if not found.started:
        return Reason.CHECK_NOT_STARTED, f"The check could not be started: {found.error or 'no reason known'}."
    if found.held_by:
        holders = ", ".join(found.held_by[:_NAMED])
        return Reason.CHECK_TIMEOUT, f"The check ended, but a process it left kept its output open: {holders}."
    if found.timed_out or found.exit_code == TIMEOUT_EXIT:
        until = "the end of the run's time" if found.cut_by_deadline else "its time limit"
        return Reason.CHECK_TIMEOUT, f"The check did not end within {until} ({found.duration_seconds:.0f} s)."
    if found.exit_code == NOT_STARTED_EXIT:
        return Reason.CHECK_NOT_STARTED, "The check exited with 127: a program it names was not found."
    if piped and found.exit_code == BROKEN_PIPE_EXIT:
        detail = "A command in a pipe was cut off by the one behind it (141), which proves neither pass nor fail."
        return Reason.UNCLEAN_EVIDENCE, detail
    if found.exit_code != 0:
        return Reason.SELF_CHECK_FAILED, f"The check exited with {found.exit_code}."
    return None, ""


def _report_failures(
    command: ValidationCommand, found: CheckEvidence, before: CheckEvidence | None
) -> Iterator[Failure]:
    report = found.report
    if report is None:
        detail = f"The check exited with 0 but left no usable test report: {found.report_fault or 'none was written'}."
        yield Failure(reason=Reason.REPORT_MISSING, subject=command.id, detail=detail)
        return
    if report.failed:
        detail = f"The check exited with 0, but its report holds {len(report.failed)} failed tests."
        yield Failure(reason=Reason.SELF_CHECK_FAILED, subject=command.id, detail=detail)
    earlier = before.report if before is not None else None
    known = frozenset((*earlier.passed, *earlier.failed)) if earlier is not None else frozenset()
    here = frozenset((*report.passed, *report.failed))
    skipped = frozenset(report.skipped)
    gone = sorted(known - here - skipped)
    if gone:
        detail = f"{len(gone)} tests that were there before are gone: {_listed(gone)}."
        yield Failure(reason=Reason.TESTS_MISSING, subject=command.id, detail=detail)
    elif len(report.passed) < command.min_tests:
        detail = f"The report holds {len(report.passed)} passed tests; at least {command.min_tests} are asked for."
        yield Failure(reason=Reason.TESTS_MISSING, subject=command.id, detail=detail)
    newly = sorted((known - here) & skipped)
    if newly:
        detail = f"{len(newly)} tests that ran before are now skipped: {_listed(newly)}."
        yield Failure(reason=Reason.TESTS_SKIPPED, subject=command.id, detail=detail)


def _artifact_failures(artifact: Artifact, found: ArtifactEvidence | None, *, fresh: bool) -> Iterator[Failure]:
    there = [file for file in found.files if file.kind is not FileKind.MISSING] if found is not None else []
    if not there or len(there) < artifact.min_count:
        if artifact.required:
            count = f"; {len(there)} of {artifact.min_count} match" if artifact.glob else ""
            detail = f"{artifact.path} is not there{count}."
            yield Failure(reason=Reason.REQUIRED_ARTIFACT_MISSING, subject=artifact.id, detail=detail)
        return
    if found is not None and found.overflow:
        detail = f"{artifact.path} matches more files than can be looked at; make the pattern narrower."
        yield Failure(reason=Reason.ARTIFACT_UNSTABLE, subject=artifact.id, detail=detail)
    judged = [
        (file.path, fault)
        for file in there
        if (fault := _file_judgement(artifact, file) or (_age_judgement(artifact, file) if fresh else None))
    ]
    for path, (reason, what) in judged[:_MOST_FILES]:
        yield Failure(reason=reason, subject=artifact.id, detail=f"{path} {what}.")
    if len(judged) > _MOST_FILES:
        reason, detail = judged[_MOST_FILES][1][0], f"{len(judged) - _MOST_FILES} more files of it do not hold."
        yield Failure(reason=reason, subject=artifact.id, detail=detail)


def _file_judgement(artifact: Artifact, file: FileFacts) -> tuple[Reason, str] | None:
    wanted = FileKind.DIRECTORY if artifact.directory else FileKind.FILE
    if file.kind is FileKind.OUTSIDE:
        return Reason.ARTIFACT_OUTSIDE_WORKSPACE, "leads out of the workspace"
    if file.kind is not wanted:
        return Reason.ARTIFACT_NOT_A_FILE, f"is not a {'directory' if artifact.directory else 'regular file'}"
    if file.unstable or file.sha256 is None:
        return Reason.ARTIFACT_UNSTABLE, "changed while it was read"
    if file.blank and not artifact.allow_empty:
        return Reason.ARTIFACT_EMPTY, "holds nothing" if artifact.directory else "is empty or only white space"
    if file.size < artifact.min_bytes:
        return Reason.ARTIFACT_TOO_SMALL, f"has {file.size} bytes; at least {artifact.min_bytes} are asked for"
    if artifact.sha256 is not None and file.sha256 != artifact.sha256:
        return Reason.ARTIFACT_HASH_MISMATCH, f"has the digest {file.sha256}, not the expected {artifact.sha256}"
    if file.placeholder:
        return Reason.ARTIFACT_PLACEHOLDER, "holds only a placeholder"
    return None


def _age_judgement(artifact: Artifact, file: FileFacts) -> tuple[Reason, str] | None:
    if artifact.fresh is Fresh.WRITTEN and file.written is False:
        return Reason.ARTIFACT_STALE, "was there before the agent started and has not been written since"
    if artifact.fresh is Fresh.CHANGED and file.changed is False:
        return Reason.ARTIFACT_STALE, "has the same bytes as before the agent started"
    return None


def _age_failures(contract: Contract, evidence: Evidence, now: Moment) -> Iterator[Failure]:
    if contract.max_age_seconds is None:
        return
    moment = epoch_microseconds(now.wall)
    for subject, observed_at in _observations(evidence):
        age = moment - epoch_microseconds(observed_at)
        if age > contract.max_age_seconds * 1_000_000:
            detail = f"The evidence is {age // 1_000_000} s old; at most {contract.max_age_seconds} s are allowed."
            yield Failure(reason=Reason.EVIDENCE_STALE, subject=subject, detail=detail)
        elif age < 0:
            detail = "The evidence carries a time that is still to come."
            yield Failure(reason=Reason.EVIDENCE_FROM_FUTURE, subject=subject, detail=detail)


def _observations(evidence: Evidence) -> Iterable[tuple[str, str]]:
    last: dict[str, str] = {}
    last.update((item.requirement_id, item.observed_at) for item in evidence.picture.artifacts)
    last.update((item.input_id, item.observed_at) for item in evidence.picture.inputs)
    last.update((item.command_id, item.observed_at) for item in evidence.checks)
    return last.items()


def _named(changes: tuple[Change, ...]) -> str:
    listed = ", ".join(f"'{change.path}' ({change.what})" for change in changes[:_NAMED])
    more = len(changes) - _NAMED
    return f"{listed} and {more} more" if more > 0 else listed or "some file"


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(f"'{name[:200]}'" for name in names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
