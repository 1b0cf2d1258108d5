"""The shape of the command line: lazy commands, help on one screen, and the nearest name for a mistyped one."""

import difflib
import importlib
from collections.abc import Sequence

import click

from signoff.cli.main import COMMANDS


class Group(click.Group):
    """A group of commands which shows one example."""

    def __init__(self, *args: object, example: str = "", **rest: object) -> None:
        super().__init__(*args, **rest)  # type: ignore[arg-type]
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example as it is typed."""
        del ctx
        _write_example(formatter, self.example)


class LazyGroup(Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their first use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when there is none of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {name!r}; nothing was started; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


class Command(click.Command):
    """A command whose long options stay out of `--help`, and which shows one example."""

    def __init__(self, *args: object, example: str = "", rare: Sequence[str] = (), **rest: object) -> None:
        super().__init__(*args, **rest)  # type: ignore[arg-type]
        self.example = example
        self.rare = frozenset(rare)
        if rare:
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_help_all,
                    help="Show every option.",
                )
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; the rare ones only for `--help-all`."""
        every = ctx.meta.get("signoff.help_all", False)
        rows = [
            row
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (every or param.name not in self.rare)
            if (row := param.get_help_record(ctx)) is not None
        ]
        with formatter.section("Options"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example as it is typed."""
        del ctx
        _write_example(formatter, self.example)


def build_group() -> click.Group:
    """Return the whole command line."""
    return LazyGroup(
        "signoff",
        help="An agent says it is done; the host signs off.",
        example='signoff run --verify "pytest -q" "Make the tests pass" -- my-agent {prompt}',
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        params=[
            click.Option(
                ["-V", "--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Show the version.",
            )
        ],
    )


def _write_example(formatter: click.HelpFormatter, example: str) -> None:
    if example:
        formatter.write(f"\nExample:\n  {example}\n")


def _help_all(ctx: click.Context, param: click.Parameter, value: object) -> None:
    del param
    if value and not ctx.resilient_parsing:
        ctx.meta["signoff.help_all"] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _version(ctx: click.Context, param: click.Parameter, value: object) -> None:
    del param
    if value and not ctx.resilient_parsing:
        from signoff import __version__

        click.echo(f"signoff {__version__}")
        ctx.exit()
