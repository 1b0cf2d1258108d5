"""`signoff completion SHELL`: prints the script that makes the shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

from signoff.cli.group import Command, build_group


def completion(shell: str) -> None:
    """Print the completion script for SHELL; evaluate it in the shell's start-up file."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell!r}; nothing was printed; use bash, zsh or fish")
    click.echo(kind(build_group(), {}, "signoff", "_SIGNOFF_COMPLETE").source())


command = Command(
    "completion",
    callback=completion,
    help="Print the shell's completion script.",
    params=[click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"]))],
    example='eval "$(signoff completion bash)"',
)
