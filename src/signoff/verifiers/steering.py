"""Takes from a file the part that steers a check, so that adding a dependency to it raises no alarm.

Pure: bytes in, a digest out. What cannot be parsed is taken whole: a runner may read it in another way than we do.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
import orjson

from signoff.config.toml_lines import TooDeep, lines_of
from signoff.verifiers.runners import MEMBERS, SECTIONS, TABLES, Part

MOST_PARSED: Final = 1024 * 1024
"""Bytes above which a file is not parsed but taken whole."""

_CARGO_KEYS: Final = {
    "package": ("autobenches", "autobins", "autoexamples", "autolib", "autotests", "build"),
    "lib": ("doctest", "harness", "path", "test"),
    "bin": ("harness", "test"),
    "example": ("harness", "test"),
    "workspace": ("default-members", "exclude"),
}
"""Keys that say what is a test, by their table of Cargo.toml; `bench`, `patch`, `profile`, `test` count as a whole."""

_REPLACE = re.compile(r"replace\b(?!\s*=>)")


def steering_digest(part: Part, data: bytes) -> bytes | None:
    """Return the SHA-256 of what steers in a file's bytes, or None when nothing in it does."""
    if part is Part.WHOLE:
        return hashlib.sha256(data).digest()
    try:
        steers = steering_part(part, data)
        text = msgspec.json.encode(steers, order="sorted")
    except (ValueError, TypeError, RecursionError, TooDeep, msgspec.MsgspecError):
        return hashlib.sha256(data).digest()
    return hashlib.sha256(text).digest() if steers else None


def steering_part(part: Part, data: bytes) -> object:
    """Return what steers in a file's bytes, empty when nothing does; raise one of several for what cannot be parsed."""
    if len(data) > MOST_PARSED:
        raise ValueError("too long to be parsed")
    return _READERS[part](data)


def _toml(data: bytes) -> dict[str, Any]:
    """Parse TOML, unless its keys are so deep that the parser would take minutes."""
    text = data.decode()
    lines_of(text.replace("\r\n", "\n"))
    return tomllib.loads(text)


def _pyproject(data: bytes, paths: Iterable[tuple[str, ...]]) -> Mapping[str, Any]:
    document = _toml(data)
    found = {}
    for path in paths:
        value: Any = document
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[".".join(path)] = value
    return found


def _cargo_toml(data: bytes) -> Mapping[str, Any]:
    document = _toml(data)
    found: dict[str, Any] = {
        name: document[name] for name in ("bench", "patch", "profile", "replace", "test") if name in document
    }
    for table, keys in _CARGO_KEYS.items():
        given = document.get(table)
        rows = given if isinstance(given, list) else [given]
        kept = [
            {"name": row.get("name"), **steers}
            for row in rows
            if isinstance(row, dict) and (steers := {key: row[key] for key in keys if key in row})
        ]
        if kept:
            found[table] = kept
    return found


def _setup_cfg(data: bytes, sections: tuple[str, ...]) -> list[str]:
    """The lines of the sections, by the loosest of the rules by which programs find sections and lines."""
    lines = []
    inside = False
    for raw in data.decode("utf-8-sig").splitlines():
        line = raw.strip()
        if line.startswith("["):
            inside = line[1:].lstrip().startswith(sections)
        if inside and line and line[0] not in "#;":
            lines.append(raw.rstrip())
    return lines


def _package_json(data: bytes, members: Iterable[str]) -> Mapping[str, Any]:
    document = orjson.loads(data)
    if not isinstance(document, dict):
        raise TypeError("package.json holds no object")
    return {name: document[name] for name in members if name in document}


def _go_replace(data: bytes) -> list[str]:
    """The `replace` lines, alone or in a block."""
    lines = []
    inside = False
    for raw in data.decode().splitlines():
        line = " ".join(raw.partition("//")[0].split())
        if inside:
            inside = line != ")"
            if inside and line:
                lines.append(line)
        elif _REPLACE.match(line):
            rest = line.removeprefix("replace").strip()
            inside = rest == "("
            if not inside:
                lines.append(rest)
    return lines


_READERS: Final[Mapping[Part, Callable[[bytes], object]]] = {
    **{part: partial(_pyproject, paths=paths) for part, paths in TABLES.items()},
    **{part: partial(_setup_cfg, sections=sections) for part, sections in SECTIONS.items()},
    **{part: partial(_package_json, members=members) for part, members in MEMBERS.items()},
    Part.GO_REPLACE: _go_replace,
    Part.CARGO_TOML: _cargo_toml,
}
