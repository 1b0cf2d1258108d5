"""Reads a contract file: a plain file of TOML, whose every fault is named by file, line and key.

The file may come from a hostile project, so it is opened without following a link or waiting for a pipe, read within
a bound, and neither its names nor its values can do more than be shown, escaped and cut. Nothing is looked up here
that the file names.
"""

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from signoff.config.paths import shown
from signoff.config.settings import LATER, TABLES, Settings
from signoff.config.toml_lines import Place, TooDeep, line_of, lines_of
from signoff.core.canonical import digest_bytes
from signoff.core.completion.contract import Fresh, Mode, ReportFormat
from signoff.core.jcs import quoted
from signoff.errors import ConfigError

MAX_FILE = 1024 * 1024
"""Bytes of the longest contract file that is read."""

Table: TypeAlias = dict[str, Any]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": tuple(Mode),
    "fresh": tuple(Fresh),
    "report": tuple(ReportFormat),
    "before": ("any", "failed"),
}
_WORDS = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number with a fraction",
    "int": "a whole number",
    "object": "a table",
    "str": "a string",
}
_REMEDIES: Mapping[tuple[str, ...], str] = {
    ("contract", "artifact"): "Write it as [[contract.artifact]], in double brackets.",
    ("contract", "command"): "Write it as [[contract.command]], in double brackets.",
    ("contract", "immutable"): "Write it as [[contract.immutable]], in double brackets.",
    ("contract", "command", "argv"): 'Write words, such as ["pytest", "-q"]; the key for a string is shell.',
    ("agent", "command"): 'Write words, such as ["my-agent", "{prompt}"].',
}
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_FAULT_PLACE = re.compile(r" - at `\$([A-Za-z0-9_.\[\]]*)`\Z")
_PLACE_PART = re.compile(r"\.([A-Za-z0-9_]+)|\[(\d+)\]|\[(\.\.\.)\]")
_TYPES = re.compile(r"Expected `([a-z| ]+)`(?:, got `(\w+)`| of length >= (\d+)| (>=|<=) (\d+))")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_LONGEST_NAME = 40


class ContractFile(msgspec.Struct, frozen=True, kw_only=True):
    """A contract file as it was read: what it says, and of which bytes."""

    settings: Settings
    path: str
    """The real path."""
    sha256: str
    lines: Mapping[Place, int]

    def where(self, place: Place) -> str:
        """Return file, line and key of a place, for a message."""
        return _where(shown(self.path), self.lines, place)


def read_contract_file(path: str) -> ContractFile | None:
    """Read the contract file at a path; None when there is nothing at all."""
    data = _bytes_of(path)
    if data is None:
        return None
    real = os.path.realpath(path)
    settings, lines = parse_settings(data, name=shown(real))
    return ContractFile(settings=settings, path=real, sha256=digest_bytes(data), lines=lines)


def parse_settings(data: bytes, *, name: str) -> tuple[Settings, Mapping[Place, int]]:
    """Return what the bytes of a contract file say, and the line of each key; `name` is the file's, for messages."""
    text = _text_of(data, name)
    try:
        lines = lines_of(text)
    except TooDeep as error:
        raise _fault(f"{name}:{error.line}: the key or value is nested too deep", "Flatten it.") from None
    document = _parsed(text, name)
    unknown = min(_unknown(document), key=lambda place: line_of(lines, place), default=None)
    if unknown is not None:
        raise _unknown_key(_where(name, lines, unknown), unknown)
    try:
        return msgspec.convert(document, Settings), lines
    except msgspec.ValidationError as error:
        place, problem, remedy = _explained(str(error), document)
        raise _fault(f"{_where(name, lines, place)}: {problem}", remedy) from None


def read_bounded(path: str, *, limit: int = MAX_FILE) -> bytes | None:
    """Return the bytes of a plain file that is no link and within a limit; None for anything else."""
    try:
        return _read(path, limit)
    except (OSError, ValueError):
        return None


# ── The file ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bytes_of(path: str) -> bytes | None:
    try:
        data = _read(path, MAX_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _fault(f"{shown(path)} cannot be read: {error.strerror}", "Make it readable.") from None
    except ValueError:
        raise _fault(f"{quoted(path)} is not a possible file name", "Name the contract file.") from None
    if data is None:
        problem = f"{shown(path)} is no plain file of at most {MAX_FILE} bytes (a link, a folder and a pipe are none)"
        raise _fault(problem, "Put the contract itself there.")
    return data


def _read(path: str, limit: int) -> bytes | None:
    """Read a plain file; None when it is something else, or longer than the limit."""
    # Opening a device may do something, so the name is looked at first; what was opened is what counts.
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return None
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


def _text_of(data: bytes, name: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise _fault(f"{name}:{line}:{column}: the byte there is not UTF-8", "Save the file as UTF-8.") from None
    if text.startswith("\ufeff"):
        raise _fault(f"{name}:1:1: the file begins with a byte order mark", "Save it as UTF-8 without one.")
    return text.replace("\r\n", "\n")


def _parsed(text: str, name: str) -> Table:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = _TOML_PLACE.search(message)
        last = text.rstrip("\n")
        line, column = last.count("\n") + 1, len(last) - last.rfind("\n")
        if found is not None and found[1]:
            line, column = int(found[1]), int(found[2])
        said = _TOML_PLACE.sub("", message)
        problem = f"{name}:{line}:{column}: this is not TOML: {_cut(said)} (line {line}, column {column})"
        raise _fault(problem, "Correct the line.") from None
    except (ValueError, RecursionError, OverflowError):
        raise _fault(f"{name} holds a value that no program could read", "Shorten its numbers.") from None


# ── Keys and types ───────────────────────────────────────────────────────────────────────────────────────────────────


def _unknown(document: Table) -> Iterator[Place]:
    """The place of every key that no table knows."""
    for names, shape in TABLES.items():
        known = frozenset(shape.__struct_fields__)
        for place, table in _tables(document, names, ()):
            yield from ((*place, key) for key in table if key not in known)


def _tables(value: object, names: tuple[str, ...], place: Place) -> Iterator[tuple[Place, Table]]:
    """Every table of a name, through arrays of tables; what has another type is left to the conversion."""
    if isinstance(value, list) and place:
        for number, item in enumerate(value):
            if isinstance(item, dict):
                yield from _tables(item, names, (*place, number))
    elif isinstance(value, dict) and not names:
        yield place, value
    elif isinstance(value, dict) and names[0] in value:
        yield from _tables(value[names[0]], names[1:], (*place, names[0]))


def _unknown_key(where: str, place: Place) -> ConfigError:
    names = _names(place)
    if names in LATER:
        return _fault(f"{where}: this key is not in this version of signoff", "Remove it, or use a later version.")
    known = TABLES[names[:-1]].__struct_fields__
    near = difflib.get_close_matches(names[-1][:_LONGEST_NAME], known, n=1, cutoff=0.5)
    remedy = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(known)}."
    return _fault(f"{where}: there is no such key", remedy)


def _explained(message: str, document: Table) -> tuple[Place, str, str]:
    """The place of a fault that the conversion found, what it is, and what to do."""
    found = _FAULT_PLACE.search(message)
    place = _located(found[1] if found else "", document)
    missing = _MISSING.match(message)
    if missing is not None:
        return place, f"the key {missing[1]!r} is missing", f"Add {missing[1]} = … to it."
    if message.startswith("Invalid enum value"):
        return _choice(place, document)
    types = _TYPES.match(message)
    if types is None:
        return place, "the value cannot be used", "Correct it."
    expected = " or ".join(_WORDS.get(name, name) for name in types[1].split(" | "))
    problem, bound = f"expected {expected}", types[3] or types[5]
    if types[2]:
        problem += f", got {_WORDS.get(types[2], f'a {types[2]}')}"
    elif types[3]:
        problem += f" with at least {bound} in it"
    else:
        problem += f" of at {'least' if types[4] == '>=' else 'most'} {bound}"
    return place, problem, _REMEDIES.get(_names(place), "Correct the value.")


def _choice(place: Place, document: Table) -> tuple[Place, str, str]:
    choices = _CHOICES.get(str(place[-1]), ()) if place else ()
    value = _value_at(document, place)
    near = difflib.get_close_matches(str(value)[:_LONGEST_NAME].lower(), choices, n=1)
    remedy = f"Did you mean {str(near[0])!r}?" if near else "Write one of them."
    return place, f"expected one of {', '.join(choices)}, got {quoted(str(value))}", remedy


def _located(path: str, document: Table) -> Place:
    """The place that a path such as `.contract.command[0].env[...]` means; `...` is the first value of a wrong type."""
    place: Place = ()
    for name, number, _ in _PLACE_PART.findall(path):
        if name or number:
            place = (*place, name or int(number))
            continue
        table = _value_at(document, place)
        members = table.items() if isinstance(table, dict) else ()
        place += tuple(key for key, value in members if not isinstance(value, str))[:1]
    return place


def _value_at(document: object, place: Place) -> object:
    value: Any = document
    for part in place:
        value = value[part]
    return value


# ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _where(name: str, lines: Mapping[Place, int], place: Place) -> str:
    key = ".".join(part if _is_plain(part) else quoted(part) for part in _names(place))
    return f"{name}:{line_of(lines, place)}: {key}" if key else f"{name}:{line_of(lines, place)}"


def _is_plain(part: str) -> bool:
    return part.isidentifier() and part.isascii() and len(part) <= _LONGEST_NAME


def _names(place: Place) -> tuple[str, ...]:
    return tuple(part for part in place if isinstance(part, str))


def _cut(text: str) -> str:
    return text if len(text) <= 2 * _LONGEST_NAME else f"{text[: 2 * _LONGEST_NAME]}…"


def _fault(problem: str, remedy: str) -> ConfigError:
    return ConfigError(f"{problem}; nothing was started. {remedy}")
