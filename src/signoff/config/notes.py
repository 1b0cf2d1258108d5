"""Says at the start what a user may not expect of a configuration that is valid. Nothing here changes anything."""

import difflib
from collections.abc import Iterator
from pathlib import Path

from signoff.config import environment as variables
from signoff.config.given import FILE_NAME, Given
from signoff.config.paths import shown
from signoff.core.completion.contract import REPORT_VARIABLE, Contract, Mode, ValidationCommand
from signoff.core.jcs import quoted

_VARIABLES = frozenset(
    {
        "SIGNOFF_ATTEMPT",
        "SIGNOFF_COMPLETION_MAX_REPAIRS",
        "SIGNOFF_COMPLETION_MODE",
        "SIGNOFF_DATABASE_URL",
        "SIGNOFF_FEEDBACK_FILE",
        "SIGNOFF_GOAL_FILE",
        "SIGNOFF_PROMPT_FILE",
        "SIGNOFF_REPORT_FILE",
        "SIGNOFF_REQUIRED_ARTIFACTS_JSON",
        "SIGNOFF_REQUIRE_STREAM_FINISH_REASON",
        "SIGNOFF_RUN_ID",
        "SIGNOFF_STATE_DIR",
        "SIGNOFF_VALIDATION_COMMANDS_JSON",
    }
)
_NEAR = 0.85
_LONGEST_NAME = 60


def notes_of(given: Given, *, mode: Mode, contract: Contract) -> tuple[str, ...]:
    """Return the sentences, the weightiest first."""
    return (*_mode_notes(given, mode, contract), *_report_notes(contract), *_place_notes(given))


def _mode_notes(given: Given, mode: Mode, contract: Contract) -> Iterator[str]:
    if given.asked is Mode.OFF and mode is not Mode.OFF:
        yield "mode off is configured, but --verify or --artifact was typed: the mode is enforce, for all requirements"
    if mode is not Mode.OFF and contract.mode is Mode.OFF:
        yield f"mode {mode} is asked for, but nothing is declared to decide by; add --verify or --artifact"
    if given.asked is None:
        for name in (variables.ARTIFACTS, variables.COMMANDS):
            variable = variables.variable_of(given.environment, name)
            if variable is not None:
                yield f"{variable} is not used, since no completion mode is set; set SIGNOFF_COMPLETION_MODE=enforce"
    if mode is Mode.OFF and given.line.immutable:
        yield "--immutable is not used, since there is nothing to decide by; add --verify or --artifact"


def _report_notes(contract: Contract) -> Iterator[str]:
    for command in contract.commands:
        if command.report is not None and not _takes_report(command):
            how = "{report} in argv" if command.argv else f'"${REPORT_VARIABLE}" in it'
            yield f"check {command.id} is to write a report, and its command does not say where; put {how}"


def _takes_report(command: ValidationCommand) -> bool:
    if command.argv and any("{report}" in word for word in command.argv):
        return True
    return any(REPORT_VARIABLE in word for word in (*command.argv, command.shell))


def _place_notes(given: Given) -> Iterator[str]:
    if given.file is None:
        above = next((folder for folder in Path(given.root).parents if Path(folder, FILE_NAME).is_file()), None)
        if above is not None:
            place = shown(str(above / FILE_NAME))
            yield f"{place} is not used, since it is above the workspace; stand there, or name it with --config"
    if given.environment.get("SIGNOFF_DATABASE_URL"):
        yield "SIGNOFF_DATABASE_URL is not used in this version: records are kept in SQLite in the state folder"
    for name in given.environment:
        if name.startswith("SIGNOFF_") and name not in _VARIABLES and len(name) <= _LONGEST_NAME:
            near = difflib.get_close_matches(name, _VARIABLES, n=1, cutoff=_NEAR)
            if near:
                yield f"{quoted(name)} is no variable that signoff reads; did you mean {near[0]}?"
