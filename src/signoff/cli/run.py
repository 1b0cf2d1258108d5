"""`signoff run`: runs an agent until the host has verified its work, a bound is reached, or a person is needed."""

import os
import sys
from pathlib import Path

import click

from signoff.cli.group import Command
from signoff.cli.hosting import host
from signoff.cli.options import command_line, contract_options, here, place_options
from signoff.config.resolve import resolve
from signoff.core.goal.events import Kind
from signoff.errors import ConfigError

_COMMAND = "signoff.command"
_MAX_GOAL = 16 * 1024 * 1024
_NO_AGENT = (
    "no agent is named; nothing was started; name one of three ways: a command after `--` (signoff run … -- my-agent "
    '{prompt}), `command = ["my-agent", "{prompt}"]` under [agent] in signoff.toml, or --model PROVIDER:NAME for the '
    "built-in agent, which this version does not have yet"
)


class RunCommand(Command):
    """Keeps everything after the first `--` as the agent's command, untouched."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split the agent's command off before the options are read."""
        if "--" in args:
            place = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[place + 1 :])
            args = args[:place]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if _COMMAND not in ctx.meta and "extra argument" in error.message:
                hint = "put `--` before the agent's command, and quote a goal of several words"
                raise click.UsageError(f"{error.message}; {hint}", ctx) from error
            raise


def run(ctx: click.Context, /, **values: object) -> int:
    """Run the agent and return the exit code."""
    command = ctx.meta.get(_COMMAND, ())
    if values.get("model"):
        raise ConfigError("--model: this version has no built-in agent; nothing was started; name a command after `--`")
    goal = _goal(values)
    line = command_line({**values, "goal": goal}, command=command)
    configuration = resolve(line, environment=os.environ, cwd=here())
    if not configuration.agent_command:
        raise ConfigError(_NO_AGENT)
    return host(configuration, Kind.RUN, receipt=_text(values, "receipt"), as_json=bool(values["as_json"]))


def _text(values: dict[str, object], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _goal(values: dict[str, object]) -> str | None:
    given = [name for name in ("goal", "goal_option", "goal_file") if values.get(name) is not None]
    if len(given) > 1:
        raise ConfigError("the goal is given twice; nothing was started; give GOAL, --goal or --goal-file, one of them")
    path = _text(values, "goal_file")
    if path is None:
        return _text(values, "goal") if values.get("goal") is not None else _text(values, "goal_option")
    try:
        data = sys.stdin.buffer.read(_MAX_GOAL + 1) if path == "-" else _read(path)
    except OSError as error:
        raise ConfigError(f"--goal-file {path}: {error.strerror}; nothing was started; give a readable file") from error
    if len(data) > _MAX_GOAL or b"\0" in data:
        raise ConfigError(f"--goal-file {path}: more than 16 MiB, or not text; nothing was started; give a text file")
    return data.decode("utf-8", "surrogateescape")


def _read(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_MAX_GOAL + 1)


command = RunCommand(
    "run",
    callback=click.pass_context(run),
    help="Run an agent until the host has verified its work. {goal}, {feedback} and {prompt} (both) are replaced in "
    "the agent's arguments.",
    options_metavar="[OPTIONS]",
    params=[
        click.Argument(["goal"], required=False, metavar="[GOAL] -- CMD …"),
        *contract_options(),
        click.Option(["--max-repairs"], metavar="N", help="Bound of all repairs together (default: 5)."),
        click.Option(["--timeout"], metavar="TIME", help="Bound of the whole run, as 90s, 10m, 2h (default: 24h)."),
        click.Option(["--attempt-timeout"], metavar="TIME", help="Bound of one attempt of the agent."),
        click.Option(["--no-progress"], metavar="N", help="End after N repairs that changed nothing."),
        click.Option(["--allow-no-change"], is_flag=True, help="Accept work that was done before."),
        click.Option(["--allow-change"], multiple=True, metavar="PATH", help="A control file that may be changed."),
        click.Option(["--strict-exit"], is_flag=True, help="Let a non-zero exit of the agent count."),
        click.Option(["--stdin"], is_flag=True, help="Give the agent this standard input."),
        click.Option(["--goal", "goal_option"], metavar="TEXT", help="The goal, when it begins with a dash."),
        click.Option(["--goal-file"], metavar="FILE", help="The goal from a file; - reads standard input."),
        click.Option(["--model"], hidden=True),
        *place_options(),
    ],
    rare=("no_progress", "allow_change", "strict_exit", "stdin", "goal_option", "goal_file", "config", "receipt"),
    example='signoff run --verify "pytest -q" "Make the tests pass" -- my-agent {prompt}',
)
