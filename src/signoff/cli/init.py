"""`signoff init`: looks at the project, runs nothing, and writes a signoff.toml with the checks it found."""

import os
import sys
from pathlib import Path

import click

from signoff.cli.group import Command
from signoff.cli.output import report
from signoff.config.propose import propose
from signoff.errors import ConfigError
from signoff.records.text import one_line

FILE = "signoff.toml"


def init(*, cwd: str | None, dry_run: bool) -> None:
    """Write the proposal, or print it."""
    root = Path(os.path.realpath(cwd or "."))
    if not root.is_dir():
        raise ConfigError(f"--cwd {cwd} is not a folder; nothing was written; name the project's folder")
    proposal = propose(str(root))
    if dry_run:
        sys.stdout.write(proposal.text)
        return
    path = root / FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(proposal.text)
    except FileExistsError as error:
        raise ConfigError(
            f"{path} exists already; nothing was overwritten; edit it, or see a proposal with --dry-run"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; nothing was changed") from error
    for note in proposal.notes:
        report(f"note: {note}")
    if not proposal.checks:
        click.echo(f"wrote {path}: no check was found; add one where the file says")
        return
    click.echo(f"wrote {path} with {len(proposal.checks)} checks:")
    for check in proposal.checks:
        click.echo(f"  {one_line(check)}")
    click.echo("next: read it, then `signoff check` takes the checks once")


command = Command(
    "init",
    callback=init,
    help="Look at the project, run nothing, and write a signoff.toml with the checks found.",
    params=[
        click.Option(["--cwd"], metavar="DIR", help="The project's folder (default: this one)."),
        click.Option(["--dry-run"], is_flag=True, help="Print the proposal and write nothing."),
    ],
    example="signoff init --dry-run",
)
