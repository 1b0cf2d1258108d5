"""`signoff runs`: the runs of this project, the latest first."""

import os
import sys
from collections.abc import Sequence

import click
import msgspec

from signoff.cli.group import Command
from signoff.cli.store import reading
from signoff.config.state_folder import live_runs
from signoff.core.codec import decode_event
from signoff.core.goal.events import RunFinished, RunStarted
from signoff.errors import JournalCorrupt, UnknownFormat
from signoff.ports import RunEnds
from signoff.records.text import one_line


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the list."""

    run_id: str
    status: str
    """A status of the product, or `running`, `interrupted` (no verdict), `unreadable`."""
    reason: str | None = None
    kind: str = ""
    attempts: int = 0
    started_at: str = ""
    duration_seconds: float | None = None
    goal: str = ""
    fault: str = ""
    """Why a run is unreadable."""


def runs(*, cwd: str | None, limit: int, as_json: bool) -> None:
    """Print the list."""
    ends = reading(cwd, lambda store: store.runs()) or ()
    live = frozenset(live_runs(os.path.realpath(cwd or "."), environment=os.environ)) if ends else frozenset()
    rows = [_row(each, live) for each in ends[:limit]]
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode({"runs": rows, "total": len(ends)}) + b"\n")
        return
    if not rows:
        click.echo("no runs in this project yet; `signoff run` makes one")
        return
    click.echo("\n".join(_table(rows)))
    if len(ends) > limit:
        click.echo(f"({len(ends) - limit} earlier ones; --limit shows more)")


def _row(ends: RunEnds, live: frozenset[str]) -> RunRow:
    run_id = ends.first.run_id
    try:
        first, last = decode_event(ends.first.body), decode_event(ends.last.body)
    except (JournalCorrupt, UnknownFormat) as error:
        return RunRow(run_id=run_id, status="unreadable", fault=str(error))
    if not isinstance(first, RunStarted):
        return RunRow(run_id=run_id, status="unreadable", fault="its first record is not the start of a run")
    verdict = last.verdict if isinstance(last, RunFinished) else None
    return RunRow(
        run_id=run_id,
        status=verdict.status.value if verdict is not None else "running" if run_id in live else "interrupted",
        reason=verdict.reason if verdict is not None else None,
        kind=first.kind.value,
        attempts=verdict.usage.attempts if verdict is not None else 0,
        started_at=first.at.wall,
        duration_seconds=max(0.0, last.at.elapsed - first.at.elapsed) if verdict is not None else None,
        goal=one_line(first.goal, limit=200),
    )


def _table(rows: Sequence[RunRow]) -> list[str]:
    cells = [("run", "status", "reason", "attempts", "took", "goal")]
    cells += [
        (
            row.run_id,
            row.status,
            row.reason or "",
            str(row.attempts) if row.kind == "run" else "check",
            f"{row.duration_seconds:.1f} s" if row.duration_seconds is not None else "",
            one_line(row.goal or row.fault, limit=50),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


command = Command(
    "runs",
    callback=runs,
    help="List the runs of this project, the latest first.",
    params=[
        click.Option(["--cwd"], metavar="DIR", help="The project's folder (default: this one)."),
        click.Option(
            ["--limit"], type=click.IntRange(min=1), default=20, metavar="N", show_default=True, help="How many."
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ],
    example="signoff runs --limit 5",
)
