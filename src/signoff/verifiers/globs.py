"""Patterns of the gitignore dialect, for paths relative to the workspace. Text only: no file is looked at."""

import re
import warnings
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from pathspec import GitIgnoreSpec, RegexPattern

from signoff.errors import ConfigError

MOST_STARS: Final = 8
MOST_STARS_BY_BRACKETS: Final = 3
MOST_DEPTHS: Final = 2
_STARS = re.compile(r"\*+")
_REPEATED = re.compile(r"(?:\[\^/\]\*){2,}")
_RETRIED = re.compile(r"\[\^/\]\*((?:\\.|\[\^/\](?!\*)|[^\\/\[\]()|$^*+?{}.])+)(?=\[\^/\]\*)", re.DOTALL)

Matcher: TypeAlias = Callable[[str], bool]
"""Says whether a path is meant. A folder means all below it, so only paths of files are asked about."""


def matcher(patterns: Iterable[str], *, what: str) -> Matcher:
    """Return what tells whether a path is meant by the patterns, of which a later one wins over an earlier one.

    Raises `ConfigError`, naming `what`, for a pattern that is none.
    """
    lines = [_line(pattern, what) for pattern in patterns]
    if not lines:
        return _nothing
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # what a bracket may mean to a later Python is no news here
            # One backend, whatever is installed beside it: the others treat names that are no UTF-8 in other ways.
            spec = GitIgnoreSpec.from_lines(lines, backend="simple")
        for pattern in spec.patterns:
            if pattern.regex is not None:
                pattern.regex = re.compile(_tame(pattern.regex.pattern))
    except (ValueError, re.error) as error:
        raise ConfigError(f"{what} holds no usable pattern: {error}; nothing was started; correct it.") from error
    if len(spec.patterns) == 1:
        return _one(spec.patterns[0])

    def matches(path: str) -> bool:
        return spec.match_file(_on_one_line(path))

    return matches


def _one(pattern: RegexPattern) -> Matcher:
    """Return what a single pattern means, without the cost of weighing several."""
    if not pattern.include or pattern.regex is None:
        return _nothing
    search = pattern.regex.search

    def matches(path: str) -> bool:
        return search(path.replace("\n", "\0") if "\n" in path else path) is not None

    return matches


def _nothing(_path: str) -> bool:
    return False


def _line(pattern: str, what: str) -> str:
    if "\0" in pattern:
        raise ConfigError(f"{what} holds a pattern with a NUL character; nothing was started; remove the character.")
    _require_few_stars(pattern, what)
    line = _on_one_line(pattern)
    return line[1:] if line.startswith("./") else line


def _require_few_stars(pattern: str, what: str) -> None:
    """Raise `ConfigError` for a pattern on which a regular expression could take for ever."""
    names = pattern.split("/")
    crowded = any(len(_STARS.findall(name)) > (MOST_STARS_BY_BRACKETS if "[" in name else MOST_STARS) for name in names)
    if crowded or sum(name == "**" for name in names[:-1]) > MOST_DEPTHS:
        raise ConfigError(
            f"{what} holds a pattern with more than {MOST_STARS} asterisks in one name ({MOST_STARS_BY_BRACKETS} by "
            f"brackets), or with **/ more than {MOST_DEPTHS} times; nothing was started; make it simpler."
        )


def _tame(regex: str) -> str:
    """The same regular expression without trying again what cannot help.

    Within one name, what stands between two asterisks may always be found where it comes first: taking it further on
    leaves less to the rest. Without this, a long name that the agent chose would take years.
    """
    return _RETRIED.sub(r"(?>[^/]*?\1)", _REPEATED.sub("[^/]*", regex))


def _on_one_line(text: str) -> str:
    """The text with NUL for every newline: in the patterns' regular expressions `.` and `$` treat newlines apart.

    A folder named with a newline would otherwise hide what is below it from `tests/`. No path and no pattern holds NUL.
    """
    return text.replace("\n", "\0") if "\n" in text else text
