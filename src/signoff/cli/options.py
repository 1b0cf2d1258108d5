"""The options that `run` and `check` share, and the words of the command line as one typed value."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from signoff.config.command_line import CommandLine
from signoff.errors import ConfigError


def contract_options() -> list[click.Parameter]:
    """Return the options that describe what must hold."""
    return [
        click.Option(["--verify"], multiple=True, metavar="CMD", help="A check: bash with pipefail. Repeatable."),
        click.Option(["--artifact"], multiple=True, metavar="PATH[=sha256:…]", help="A file that must be there."),
        click.Option(["--immutable"], multiple=True, metavar="GLOB", help="Files that must stay as they are."),
        click.Option(["--report"], metavar="junit", help="Let --verify commands prove their tests in a report."),
    ]


def place_options() -> list[click.Parameter]:
    """Return the options that say where things are and how they are shown."""
    return [
        click.Option(["--config"], metavar="FILE", help="Configuration (default: signoff.toml in the folder)."),
        click.Option(["--cwd"], metavar="DIR", help="The workspace (default: this folder)."),
        click.Option(["--receipt"], metavar="PATH", help="Where the receipt goes (default: the run's folder)."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the result as one JSON object."),
    ]


def here() -> str:
    """Return the folder that the user stands in."""
    try:
        return str(Path.cwd())
    except OSError as error:
        raise ConfigError(
            f"the current folder cannot be used: {error.strerror}; nothing was started; change to one that exists"
        ) from error


def command_line(values: Mapping[str, object], *, command: Sequence[str] = ()) -> CommandLine:
    """Return what was typed, as the configuration reads it."""
    known = {field: values[field] for field in CommandLine.__struct_fields__ if values.get(field) is not None}
    plural = {"verify", "artifact", "immutable", "allow_change"}
    renamed = {"artifact": "artifacts"}
    known |= {
        renamed.get(name, name): tuple(values[name])  # type: ignore[arg-type]
        for name in plural
        if isinstance(values.get(name), (tuple, list))
    }
    return CommandLine(**{**known, "command": tuple(command)})  # type: ignore[arg-type]
