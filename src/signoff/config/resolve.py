"""Makes one typed configuration of the command line, the environment and signoff.toml.

A single value comes from the first of command line, environment, file and defaults that gives it; requirements of all
three add up. Nothing here starts anything, and nothing is read a second time: what is returned is what will be sealed.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import UnsetType

from signoff.config import environment as variables
from signoff.config.command_line import CommandLine
from signoff.config.given import Given, gather
from signoff.config.notes import notes_of
from signoff.config.paths import require_unicode, workspace_glob
from signoff.config.quantities import count, seconds
from signoff.config.requirements import join
from signoff.core.budget import DEFAULT_MAX_REPAIRS, Limits
from signoff.core.completion.contract import Contract, Mode
from signoff.errors import ConfigError

Source: TypeAlias = Literal["explicit_structured", "no_explicit_contract", "model_final_response"]


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was asked for, judged and joined."""

    root: str
    """The real path of the workspace."""
    contract: Contract
    """Mode off, and empty, when there is none."""
    requested_mode: Mode
    """What was asked for, also where nothing was declared that it could apply to."""
    source: Source
    """Whether a contract decides, or none could be made of what was asked for, or none was asked for."""
    contract_file: str | None
    """The real path of the file that was read, if any."""
    contract_file_sha256: str | None
    limits: Limits
    agent_command: tuple[str, ...]
    """Empty when neither the command line nor the file names one."""
    goal: str
    allow_no_change: bool
    strict_exit: bool
    stdin: bool
    notes: tuple[str, ...] = ()
    """Sentences for the user at the start."""


def resolve(
    line: CommandLine,
    *,
    environment: Mapping[str, str],
    cwd: str,
    default_repairs: int | None = DEFAULT_MAX_REPAIRS,
) -> Configuration:
    """Return the configuration; raise `ConfigError` for the first thing that cannot be used.

    `default_repairs` is the bound when nobody gives one; None leaves the repairs unbounded.
    """
    given = gather(line, environment=environment, cwd=cwd)
    mode = _mode(given)
    contract = _contract(given, mode, repairs=_repairs(given, default_repairs))
    file = given.file
    return Configuration(
        root=given.root,
        contract=contract,
        requested_mode=mode,
        source=_source(given, mode),
        contract_file=file.path if file is not None else None,
        contract_file_sha256=file.sha256 if file is not None else None,
        limits=_limits(given),
        agent_command=_agent_command(given),
        goal=_goal(given),
        allow_no_change=line.allow_no_change or given.contract.allow_no_change,
        strict_exit=line.strict_exit or given.agent.strict_exit,
        stdin=line.stdin or given.agent.stdin,
        notes=notes_of(given, mode=mode, contract=contract),
    )


def _mode(given: Given) -> Mode:
    """What the contract does: a typed check is meant to count, a named mode holds, and a declared check enforces."""
    if given.of_line.checks:
        return Mode.ENFORCE if given.asked in {None, Mode.OFF} else given.asked or Mode.ENFORCE
    if given.asked is not None:
        return given.asked
    return Mode.ENFORCE if given.of_file.checks else Mode.OFF


def _is_given(given: Given) -> bool:
    return any(source.given for source in given.sources)


def _source(given: Given, mode: Mode) -> Source:
    if mode is Mode.OFF:
        return "model_final_response"
    return "explicit_structured" if _is_given(given) else "no_explicit_contract"


def _repairs(given: Given, default: int | None) -> int | None:
    of_environment = variables.max_repairs(given.environment)
    if given.line.max_repairs is not None:
        return count(given.line.max_repairs, what="--max-repairs")
    if of_environment is not None:
        return of_environment
    of_file = given.contract.max_repairs
    return default if isinstance(of_file, UnsetType) else of_file


def _contract(given: Given, mode: Mode, *, repairs: int | None) -> Contract:
    requirements = join(given.sources)
    table = given.contract
    allowed = [(each, given.where("contract", "allow_change")) for each in table.allow_change]
    allowed += [(each, "--allow-change") for each in given.line.allow_change]
    ignored = [(each, given.where("contract", "ignore")) for each in table.ignore]
    contract = Contract(
        mode=mode,
        artifacts=requirements.artifacts,
        commands=requirements.commands,
        immutable=requirements.immutable,
        max_repairs=repairs,
        max_age_seconds=None if isinstance(table.max_age_seconds, UnsetType) else table.max_age_seconds,
        ignore=_patterns(ignored, root=given.root),
        allow_change=_patterns(allowed, root=given.root),
        parallel=table.parallel,
    )
    return contract if mode is not Mode.OFF and _is_given(given) else Contract(mode=Mode.OFF)


def _patterns(texts: list[tuple[str, str]], *, root: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(workspace_glob(_text(text, where), root=root) for text, where in texts))


def _limits(given: Given) -> Limits:
    line, agent = given.line, given.agent
    timeout = seconds(agent.timeout, what=given.where("agent", "timeout"))
    attempt: float | None = None
    if not isinstance(agent.attempt_timeout, UnsetType):
        attempt = seconds(agent.attempt_timeout, what=given.where("agent", "attempt_timeout"))
    if line.timeout is not None:
        timeout = seconds(line.timeout, what="--timeout")
    if line.attempt_timeout is not None:
        attempt = seconds(line.attempt_timeout, what="--attempt-timeout")
    no_progress = None if isinstance(given.contract.no_progress, UnsetType) else given.contract.no_progress
    if line.no_progress is not None:
        no_progress = count(line.no_progress, what="--no-progress", least=1)
    return Limits(
        timeout_seconds=float(timeout),
        attempt_timeout_seconds=None if attempt is None else float(attempt),
        no_progress=no_progress,
    )


def _agent_command(given: Given) -> tuple[str, ...]:
    if given.line.command:
        command, what = given.line.command, "the agent's command after --"
    elif isinstance(given.agent.command, UnsetType):
        return ()
    else:
        command, what = given.agent.command, given.where("agent", "command")
    _text(command[0], what)
    for word in command:
        _plain(word, what)
    return command


def _goal(given: Given) -> str:
    if given.line.goal is not None:
        return _plain(given.line.goal, "the goal")
    goal = given.agent.goal
    return "" if isinstance(goal, UnsetType) else _plain(goal, given.where("agent", "goal"))


def _plain(text: str, what: str) -> str:
    if "\0" in text:
        raise ConfigError(f"{what} holds a NUL character; nothing was started; remove it")
    return require_unicode(text, what=what)


def _text(text: str, what: str) -> str:
    if not text.strip():
        raise ConfigError(f"{what} is blank; nothing was started; write what it should be, or leave it out")
    return _plain(text, what)
