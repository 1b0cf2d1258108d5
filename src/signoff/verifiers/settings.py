"""Finds in a text the files that it tells a runner to read: by an option, or by an include. Text only."""

import re
from typing import Final

SETTINGS_OPTIONS: Final = (
    (r"g?make", "f", "file|makefile"),
    (r"just", "f", "justfile"),
    (r"nox", "f", "noxfile"),
    (r"pytest(?:-[\d.]+)?|py\.test|tox|coverage[\d.]*", "c", "config-file|rcfile"),
    (r"mypy|uvx?", "", "config-file"),
    (r"ruff|cargo", "", "config"),
    (r"flake8", "", "config|append-config"),
    (r"pylint", "", "rcfile"),
    (r"pyright|tsc", "p", "project"),
    (r"jest|vitest|mocha|ava|playwright|eslint|babel", "c", "config|config-file"),
    (r"go", "", "modfile"),
)
"""Programs, and the options (letters, words) by which they are told the file of their settings."""

_GAP = r"\s=,\"'"
_STOPS = r"\s'\"`();|&<>=,\[\]{}"
_SIMPLE = re.compile(r"[;|&\n]+")
_LONGEST_COMMAND = 10_000
_SETTINGS = tuple(
    (
        re.compile(rf"(?<![\w.-])(?:{words})(?![\w-])"),
        re.compile(rf"(?<![\w-])(?:--?(?:{long})[{_GAP}]+{f'|-[{short}][{_GAP}]*' if short else ''})([^{_STOPS}]+)"),
    )
    for words, short, long in SETTINGS_OPTIONS
)
_INCLUDED = re.compile(
    r"^[ ]*(?:-|s)?include[ \t]+([^#\n]+)|^(?:import|mod)\??[ \t]+(?:\w+[ \t]+)?['\"]([^'\"\n]+)['\"]", re.MULTILINE
)


def named_settings(text: str) -> frozenset[str]:
    """Return the names of files from which a text tells a runner to read its settings."""
    found: set[str] = set()
    for command in _SIMPLE.split(text.replace("\\\n", " ")):
        for program, option in _SETTINGS:
            place = program.search(command, 0, _LONGEST_COMMAND)
            if place is not None:
                found.update(option.findall(command, place.end(), _LONGEST_COMMAND))
    return frozenset(found)


def included_in(text: str) -> frozenset[str]:
    """Return the names of files that a makefile or justfile of this text includes."""
    text = text.replace("\\\n", " ")
    return frozenset(name for groups in _INCLUDED.findall(text) for part in groups for name in part.split())
