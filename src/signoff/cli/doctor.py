"""`signoff doctor`: what is wrong with this set-up, and how to mend it. Runs no command of the project."""

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from typing import Literal

import click
import msgspec

from signoff.cli.group import Command
from signoff.cli.options import here
from signoff.config.command_line import CommandLine
from signoff.config.resolve import Configuration, resolve
from signoff.config.state_folder import project_folder
from signoff.core.completion.contract import Mode, ValidationCommand
from signoff.errors import SignoffError
from signoff.records.text import one_line
from signoff.verifiers import program_of

_OLDEST, _NEWEST_TESTED = (3, 11), (3, 13)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warning", "fault"]
    detail: str
    mend: str = ""


def doctor(*, cwd: str | None, config: str | None, as_json: bool) -> int:
    """Look, report, and return 1 when there is a fault."""
    items = tuple(_items(cwd, config))
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode({"items": items, "assurance": "observed"}) + b"\n")
    else:
        for item in items:
            click.echo(f"{item.state:8} {one_line(item.name)}: {one_line(item.detail, limit=1000)}")
            if item.mend:
                click.echo(f"         mend: {one_line(item.mend, limit=1000)}")
        click.echo(
            "assurance: observed (an outer process, the same account, checks in place); this version has no higher"
        )
    return 1 if any(item.state == "fault" for item in items) else 0


def _items(cwd: str | None, config: str | None) -> Iterator[Item]:
    yield _python()
    yield _platform()
    yield _bash()
    yield Item(name="sqlite", state="ok", detail=sqlite3.sqlite_version)
    try:
        configuration = resolve(CommandLine(cwd=cwd, config=config), environment=os.environ, cwd=here())
    except SignoffError as error:
        yield Item(name="configuration", state="fault", detail=str(error), mend="correct it and run doctor again")
        return
    yield _state(configuration)
    yield _configuration(configuration)
    yield from (_program(configuration, command) for command in configuration.contract.commands)
    yield _agent(configuration)


def _python() -> Item:
    version = sys.version_info[:2]
    words = f"{sys.version_info.major}.{sys.version_info.minor} at {sys.executable}"
    if version > _NEWEST_TESTED:
        return Item(name="python", state="warning", detail=f"{words} is newer than what is tested (3.13)")
    return Item(name="python", state="ok" if version >= _OLDEST else "fault", detail=words)


def _platform() -> Item:
    system = platform.system()
    if system == "Linux":
        return Item(name="platform", state="ok", detail="linux")
    detail = f"{system}: processes that hold a check's output cannot be named here"
    return Item(name="platform", state="warning", detail=detail)


def _bash() -> Item:
    path = shutil.which("bash")
    if path is None:
        mend = "install bash, or write checks as argv in signoff.toml"
        return Item(name="bash", state="fault", detail="not found; --verify and shell checks need it", mend=mend)
    return Item(name="bash", state="ok", detail=path)


def _state(configuration: Configuration) -> Item:
    try:
        project = project_folder(configuration.root, environment=os.environ)
    except SignoffError as error:
        mend = "make the folder yours and private, or set SIGNOFF_STATE_DIR to one that is"
        return Item(name="state folder", state="fault", detail=str(error), mend=mend)
    if project.notes:
        return Item(name="state folder", state="warning", detail=f"{project.path}: {'; '.join(project.notes)}")
    return Item(name="state folder", state="ok", detail=project.path)


def _configuration(configuration: Configuration) -> Item:
    contract = configuration.contract
    if contract.mode is Mode.OFF or not contract.decides:
        where = configuration.contract_file or "no signoff.toml here"
        mend = "run `signoff init`, or give --verify or --artifact"
        return Item(name="contract", state="warning", detail=f"{where}: no check to decide by", mend=mend)
    detail = f"{len(contract.commands)} checks, {len(contract.artifacts)} artifacts, mode {contract.mode}"
    return Item(name="contract", state="ok", detail=detail)


def _program(configuration: Configuration, command: ValidationCommand) -> Item:
    name = f"check {command.id}"
    program = program_of(configuration.root, command, host=os.environ)
    if program.found is None:
        return Item(name=name, state="fault", detail=f"{program.word} is not found", mend=program.mend)
    words = f"bash -o pipefail -c {command.shell!r}" if command.shell else f"{program.word} is {program.found}"
    return Item(name=name, state="ok", detail=words)


def _agent(configuration: Configuration) -> Item:
    if not configuration.agent_command:
        return Item(name="agent", state="ok", detail="none configured; name it after `--`")
    word = configuration.agent_command[0]
    place = os.path.join(configuration.root, word) if "/" in word else word  # noqa: PTH118
    found = shutil.which(place)
    if found is None:
        return Item(name="agent", state="fault", detail=f"{word} is not found", mend="install it, or correct [agent]")
    return Item(name="agent", state="ok", detail=found)


command = Command(
    "doctor",
    callback=doctor,
    help="Say what is wrong with this set-up and how to mend it.",
    params=[
        click.Option(["--cwd"], metavar="DIR", help="The project's folder (default: this one)."),
        click.Option(["--config"], metavar="FILE", help="Configuration (default: signoff.toml in the folder)."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ],
    example="signoff doctor",
)
