"""`signoff show RUN`: one run's timeline, read back from its journal."""

import os
import shlex
import sys
from collections.abc import Iterator

import click
import msgspec

from signoff.cli.group import Command
from signoff.cli.output import counted, summary
from signoff.cli.result import result_of
from signoff.cli.store import no_such_run, reading, records_of
from signoff.config.state_folder import live_runs
from signoff.core.goal.events import (
    AgentEnded,
    CancelRequested,
    CheckSettled,
    Event,
    PictureTaken,
    ReceiptFailed,
    ReceiptWritten,
    RunFinished,
    RunStarted,
    VerifierFailed,
)
from signoff.ports import Record
from signoff.records.text import one_line
from signoff.runtime.fold import events_of, fold

_MOST_CHANGES = 10
_INTERRUPTED = (
    "interrupted: the host ended without a verdict, and nothing is claimed about the work; what it had started may "
    "still be running"
)


def show(*, run: str, cwd: str | None, as_json: bool) -> None:
    """Print the run."""
    records = reading(cwd, lambda store: records_of(store, run))
    if not records:
        raise no_such_run(run)
    state = fold(records)
    run_id = records[0].run_id
    live = run_id in live_runs(os.path.realpath(cwd or "."), environment=os.environ)
    if as_json:
        sys.stdout.buffer.write(_json(records, live=live) + b"\n")
        return
    lines = [line for event in events_of(records) for line in _lines(event)]
    if state.verdict is not None and state.phase == "finished":
        lines += ["", summary(result_of(state)).rstrip("\n")]
    else:
        word = "still running" if live else _INTERRUPTED
        lines += ["", f"{run_id}: {word}"]
    click.echo("\n".join(lines))


def _json(records: tuple[Record, ...], *, live: bool) -> bytes:
    state = fold(records)
    finished = state.verdict is not None and state.phase == "finished"
    return msgspec.json.encode(
        {
            "run_id": records[0].run_id,
            "state": "finished" if finished else "running" if live else "interrupted",
            "result": result_of(state) if finished else None,
            "events": tuple(events_of(records)),
        }
    )


def _lines(event: Event) -> Iterator[str]:
    when = f"{event.at.wall[11:19]} +{event.at.elapsed:7.1f} s  "
    match event:
        case RunStarted():
            yield f"{when}{event.kind} {event.run_id} in {one_line(event.workspace)}"
            yield from _started(event)
        case CheckSettled(evidence=evidence):
            tests = f", {len(evidence.report.passed)} tests passed" if evidence.report is not None else ""
            late = ", out of time" if evidence.timed_out else ""
            error = f", {one_line(evidence.error)}" if evidence.error else ""
            code = f"exit {evidence.exit_code}{late}{tests}{error}"
            yield f"{when}check {evidence.command_id} ({event.stage} the agent): {code}"
        case PictureTaken(picture=picture):
            yield f"{when}picture {event.role}: {counted(picture.change_count, 'file')} changed"
            yield from (f"    {change.what:8} {one_line(change.path)}" for change in picture.changes[:_MOST_CHANGES])
        case AgentEnded(outcome=outcome):
            how = f"exit {outcome.exit_code}" if outcome.started else f"not started: {one_line(outcome.error)}"
            size = f"{outcome.output_size} bytes printed"
            yield f"{when}attempt {event.attempt}: agent ended, {'out of time' if outcome.timed_out else how}, {size}"
            tail = outcome.output_tail.rstrip("\n").split("\n")[-_MOST_CHANGES:]
            yield from (f"    agent | {one_line(line)}" for line in tail if line)
        case VerifierFailed():
            yield f"{when}the host could not look: {event.what}: {one_line(event.error)}"
        case ReceiptWritten():
            yield f"{when}receipt {event.path} ({event.sha256})"
        case ReceiptFailed():
            yield f"{when}no receipt: {one_line(event.error)}"
        case CancelRequested():
            yield f"{when}cancelled by {event.by}"
        case RunFinished():
            yield f"{when}{event.verdict.status}"


def _started(event: RunStarted) -> Iterator[str]:
    if event.goal:
        yield f"    goal: {one_line(event.goal)}"
    if event.command:
        yield f"    agent: {one_line(shlex.join(event.command))}"
    contract = event.contract
    yield f"    contract {contract.digest()}, mode {contract.mode} (asked for: {event.requested_mode})"
    yield from (f"    check {item.id}: {one_line(item.words)}" for item in contract.commands)
    yield from (f"    artifact {item.id}: {one_line(item.path)}" for item in contract.artifacts)
    yield from (f"    immutable {item.id}: {one_line(item.glob)}" for item in contract.immutable)


command = Command(
    "show",
    callback=show,
    help="Show what happened in RUN: an id, the beginning of one, or `latest` (the default).",
    params=[
        click.Argument(["run"], default="latest"),
        click.Option(["--cwd"], metavar="DIR", help="The project's folder (default: this one)."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object with every event."),
    ],
    example="signoff show latest",
)
