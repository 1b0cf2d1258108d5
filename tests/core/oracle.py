"""A second opinion on completion, for the tests: folded from the events alone, and told in other words.

Nothing here may call `assess`, `closing` or `advance`, or read a `GoalState`: an opinion copied from the core is none.
"""

from collections.abc import Iterator

import msgspec

from signoff.core.completion.contract import Artifact, Contract, Fresh, Mode, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, FileFacts, FileKind, Picture
from signoff.core.goal.events import (
    AgentEnded,
    AgentOutcome,
    CheckSettled,
    Event,
    Kind,
    PictureTaken,
    Role,
    RunStarted,
    Stage,
)
from signoff.core.values import Moment, epoch_microseconds


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen before the agent first acted, and since it last acted."""

    before: tuple[CheckEvidence, ...] = ()
    agent: AgentOutcome | None = None
    looks: tuple[Picture, ...] = ()
    """Pictures since the agent's last act; the first shows its work, the last is judged."""
    taken: tuple[CheckEvidence, ...] = ()
    """Checks since the last picture."""
    judged: tuple[CheckEvidence, ...] = ()
    """Checks between the last two pictures."""

    def hears(self, event: Event) -> "Witness":
        """The witness after one more event that the machine did not ignore."""
        replace = msgspec.structs.replace
        match event:
            case CheckSettled(stage=Stage.BEFORE):
                return replace(self, before=(*self.before, event.evidence))
            case CheckSettled():
                return replace(self, taken=(*self.taken, event.evidence))
            case PictureTaken(role=Role.BASELINE):
                return self
            case PictureTaken(role=Role.AFTER_AGENT):
                return replace(self, looks=(event.picture,), taken=(), judged=())
            case PictureTaken():
                return replace(self, looks=(*self.looks, event.picture), taken=(), judged=self.taken)
            case AgentEnded():
                return replace(self, agent=event.outcome, looks=(), taken=(), judged=())
            case _:
                return self


def objections(run: RunStarted, seen: Witness, now: Moment) -> list[str]:
    """Every reason for which this run must not be called completed; empty when it must be."""
    if run.contract.mode is not Mode.ENFORCE:
        return ["the contract does not decide"]
    if not run.contract.commands and not any(artifact.required for artifact in run.contract.artifacts):
        return ["nothing is asked for"]
    if len(seen.looks) < 2:
        return ["the workspace was not looked at before and after the checks"]
    found = [*_about_the_agent(run, seen), *_about_the_workspace(run.contract, seen)]
    for command in run.contract.commands:
        results = [each for each in seen.judged if each.command_id == command.id]
        earlier = [each for each in seen.before if each.command_id == command.id]
        if not results or not _passed(command, results[-1], earlier[-1] if earlier else None):
            found.append(f"check {command.id} did not pass")
    found += [
        f"artifact {artifact.id} is not right"
        for artifact in run.contract.artifacts
        if not _is_right(artifact, seen.looks[-1], fresh=run.kind is Kind.RUN)
    ]
    if run.contract.max_age_seconds is not None:
        found += _about_age(run.contract.max_age_seconds * 1_000_000, seen, epoch_microseconds(now.wall))
    return found


def _about_the_agent(run: RunStarted, seen: Witness) -> Iterator[str]:
    if run.kind is Kind.CHECK:
        return
    agent, work = seen.agent, seen.looks[0]
    if agent is None or not agent.started:
        yield "no agent was run"
        return
    if agent.timed_out and run.contract.required_final:
        yield "the agent did not end by itself"
    if run.strict_exit and agent.exit_code:
        yield "the agent's exit counts"
    quick = agent.duration_seconds <= run.limits.startup_seconds and not agent.output_size
    if work.change_count == 0 and agent.exit_code and not agent.timed_out and (quick or agent.exit_code in (126, 127)):
        yield "the agent had no turn"
    if not run.allow_no_change and not _own_work(run.contract, seen.looks):
        yield "the agent wrote nothing that is surely its own and still there"


def _own_work(contract: Contract, looks: tuple[Picture, ...]) -> bool:
    """Whether the agent's own work is seen before every round of checks and is still there: no check made it."""
    if any(look.shared_with for look in looks):
        return False
    anew = {artifact.id for artifact in contract.artifacts if artifact.fresh is Fresh.WRITTEN}
    made = []
    for look in looks[:-1]:
        files = [(item.requirement_id, file) for item in look.artifacts for file in item.files]
        made.append(any(file.changed or (file.written and name in anew) for name, file in files))
    return all(look.change_count for look in looks) or all(made)


def _about_the_workspace(contract: Contract, seen: Witness) -> Iterator[str]:
    first, last = seen.looks[-2:]
    if last.contract_changed:
        yield "the contract was changed"
    if last.control:
        yield "what steers the checks was changed"
    if _stands_on(first) != _stands_on(last):
        yield "what the checks stand on moved while they ran"
    for source in contract.immutable:
        looked = [item for item in last.inputs if item.input_id == source.id]
        if not looked or looked[-1].expected != looked[-1].observed:
            yield f"input {source.id} was changed"


def _stands_on(picture: Picture) -> tuple[object, ...]:
    files = [(item.requirement_id, file.path, file.sha256) for item in picture.artifacts for file in item.files]
    inputs = [(item.input_id, item.observed) for item in picture.inputs]
    return sorted(files, key=str), sorted(inputs), picture.control_digest


def _passed(command: ValidationCommand, found: CheckEvidence, earlier: CheckEvidence | None) -> bool:
    if found.output is None or found.exit_code != 0 or found.timed_out or found.held_by or found.cut_by_deadline:
        return False
    if command.report is None:
        return True
    report, past = found.report, earlier.report if earlier is not None else None
    if report is None or report.failed or len(report.passed) < command.min_tests:
        return False
    return past is None or {*past.passed, *past.failed} <= {*report.passed, *report.failed}


def _is_right(artifact: Artifact, picture: Picture, *, fresh: bool) -> bool:
    files = [file for item in picture.artifacts if item.requirement_id == artifact.id for file in item.files]
    there = [file for file in files if file.kind is not FileKind.MISSING]
    if len(there) < artifact.min_count:
        return not artifact.required
    if any(item.overflow for item in picture.artifacts if item.requirement_id == artifact.id):
        return False
    return all(_file_is_right(artifact, file, fresh=fresh) for file in there)


def _file_is_right(artifact: Artifact, file: FileFacts, *, fresh: bool) -> bool:
    wanted = FileKind.DIRECTORY if artifact.directory else FileKind.FILE
    whole = file.kind is wanted and file.sha256 is not None and not file.unstable and not file.placeholder
    filled = (artifact.allow_empty or not file.blank) and file.size >= artifact.min_bytes
    new = {Fresh.ANY: True, Fresh.WRITTEN: file.written is not False, Fresh.CHANGED: file.changed is not False}
    return whole and filled and artifact.sha256 in (None, file.sha256) and (not fresh or new[artifact.fresh])


def _about_age(most: int, seen: Witness, now: int) -> Iterator[str]:
    picture = seen.looks[-1]
    times = [item.observed_at for item in picture.artifacts]
    times += [item.observed_at for item in picture.inputs]
    times += [item.observed_at for item in seen.judged]
    if not all(0 <= now - epoch_microseconds(each) <= most for each in times):
        yield "some evidence is too old, or from the future"
