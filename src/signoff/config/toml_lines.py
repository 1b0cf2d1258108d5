"""Finds the line of every key of a TOML text, because the parser forgets it and a message needs it.

The text may be anything, since this runs before the parser: the scan ends on every text, in time that grows with its
length alone, and refuses keys and values so deep that the parser would take minutes or fall over. Whether a text is
TOML is not judged here, and no value is read.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""A key by its path: names of tables and keys, and numbers (from 0) in arrays."""

MAX_DEPTH = 32
"""Parts of one key, and brackets within each other; the settings need four."""

_TOKEN = re.compile(
    r'''(?P<long>"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|\'\'\'(?:[^']|'(?!''))*+(?:'{3,5})?)'''
    r"""|(?P<string>"(?:[^"\\\n]|\\[^\n])*+"?|'[^'\n]*+'?)"""
    r"|(?P<comment>\#[^\n]*+)|(?P<newline>\n)|(?P<space>[ \t]++)|(?P<bare>[A-Za-z0-9_+:-]++)|(?P<sign>.)",
    re.DOTALL,
)
_BLANKS = frozenset({"space", "comment", "newline"})


class TooDeep(Exception):
    """A key or value is nested deeper than any setting; `line` says where."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def line_of(lines: Mapping[Place, int], place: Place) -> int:
    """Return the line of a key, or of the innermost table around it whose line is known."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def lines_of(text: str) -> dict[Place, int]:
    """Return the line, from 1, of every table and key of a text that uses newlines only; raise `TooDeep`."""
    return _Scan(text).run()


class _Scan:
    """One pass over a text: the token under the eye, the line it is on, and what was found so far."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.finditer(text)
        self._line = 1
        self._kind = ""
        self._text = ""
        self._found: dict[Place, int] = {}
        self._counts: dict[Place, int] = {}
        self._next()

    def run(self) -> dict[Place, int]:
        """Read statement by statement."""
        table: Place = ()
        while self._kind:
            self._skip(_BLANKS)
            if self._text == "[":
                table = self._header()
            else:
                self._member(table, 0)
            while self._kind not in {"", "newline"}:
                self._next()
        return self._found

    def _next(self) -> None:
        self._line += self._text.count("\n")
        token = next(self._tokens, None)
        self._kind, self._text = (token.lastgroup or "", token[0]) if token else ("", "")

    def _skip(self, kinds: frozenset[str] = frozenset({"space"})) -> None:
        while self._kind in kinds:
            self._next()

    def _header(self) -> Place:
        line = self._line
        self._next()
        array = self._text == "["
        if array:
            self._next()
        place: Place = ()
        parts = self._key()
        for number, part in enumerate(parts):
            place = (*place, part)
            if array and number == len(parts) - 1:
                self._counts[place] = self._counts.get(place, -1) + 1
            self._found.setdefault(place, line)
            if place in self._counts:
                place = (*place, self._counts[place])
                self._found.setdefault(place, line)
        return place

    def _member(self, table: Place, depth: int) -> None:
        """Read one key and its value."""
        line = self._line
        place = table
        for part in self._key():
            place = (*place, part)
            self._found.setdefault(place, line)
        self._skip()
        if self._text == "=":
            self._next()
            self._value(place, depth)

    def _key(self) -> list[str]:
        parts: list[str] = []
        self._skip()
        while self._kind in {"bare", "string"}:
            parts.append(_name(self._text))
            self._require_shallow(len(parts))
            self._next()
            self._skip()
            if self._text != ".":
                break
            self._next()
            self._skip()
        return parts

    def _value(self, place: Place, depth: int) -> None:
        self._skip()
        self._require_shallow(depth)
        match self._text:
            case "[":
                self._array(place, depth + 1)
            case "{":
                self._inline(place, depth + 1)
            case _:
                while self._kind not in {"", "newline", "comment"} and self._text not in {",", "]", "}"}:
                    self._next()

    def _array(self, place: Place, depth: int) -> None:
        self._next()
        known = line_of(self._found, place)
        number = 0
        self._skip(_BLANKS)
        while self._kind and self._text != "]":
            if self._text == ",":
                number += 1
                self._next()
            elif self._text == "}":
                self._next()
            else:
                if self._line != known or self._text in {"[", "{"}:
                    self._found.setdefault((*place, number), self._line)
                self._value((*place, number), depth)
            self._skip(_BLANKS)
        self._next()

    def _inline(self, place: Place, depth: int) -> None:
        self._next()
        self._skip(_BLANKS)
        while self._kind and self._text != "}":
            if self._kind in {"bare", "string"}:
                self._member(place, depth)
            else:
                self._next()
            self._skip(_BLANKS)
        self._next()

    def _require_shallow(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise TooDeep(self._line)


def _name(token: str) -> str:
    """The name that a bare or quoted key stands for."""
    if "\\" not in token:
        return token.strip(token[0]) if token[0] in "\"'" else token
    try:
        return str(tomllib.loads(f"x = {token}")["x"])
    except (ValueError, RecursionError):
        return token
