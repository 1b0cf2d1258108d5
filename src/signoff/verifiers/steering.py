"""Takes from a file the part that steers a check, so that adding a dependency to it raises no alarm.

Pure: bytes in, a digest out. What cannot be parsed is taken whole: a runner may read it in another way than we do.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import orjson

from signoff.verifiers.runners import PACKAGE_JSON_MEMBERS, PYPROJECT_TABLES, SETUP_CFG_SECTIONS, Part

MOST_PARSED: Final = 1024 * 1024
"""Bytes above which a file is not parsed but taken whole."""

_REPLACE = re.compile(r"replace\b(?!\s*=>)")


def steering_digest(part: Part, data: bytes) -> bytes | None:
    """Return the SHA-256 of what steers in a file's bytes, or None when nothing in it does."""
    if part is Part.WHOLE or len(data) > MOST_PARSED:
        return hashlib.sha256(data).digest()
    try:
        steers = _READERS[part](data)
        text = msgspec.json.encode(steers, order="sorted")
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError):
        return hashlib.sha256(data).digest()
    return hashlib.sha256(text).digest() if steers else None


def _pyproject(data: bytes) -> Mapping[str, Any]:
    document = tomllib.loads(data.decode())
    found = {}
    for path in PYPROJECT_TABLES:
        value: Any = document
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[".".join(path)] = value
    return found


def _setup_cfg(data: bytes) -> list[str]:
    """The lines of the sections, by the loosest of the rules by which programs find sections and lines."""
    lines = []
    inside = False
    for raw in data.decode("utf-8-sig").splitlines():
        line = raw.strip()
        if line.startswith("["):
            inside = line[1:].lstrip().startswith(SETUP_CFG_SECTIONS)
        if inside and line and line[0] not in "#;":
            lines.append(raw.rstrip())
    return lines


def _package_json(data: bytes) -> Mapping[str, Any]:
    document = orjson.loads(data)
    if not isinstance(document, dict):
        raise TypeError("package.json holds no object")
    return {name: document[name] for name in PACKAGE_JSON_MEMBERS if name in document}


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
    Part.PYPROJECT: _pyproject,
    Part.SETUP_CFG: _setup_cfg,
    Part.PACKAGE_JSON: _package_json,
    Part.GO_REPLACE: _go_replace,
}
