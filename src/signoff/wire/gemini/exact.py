"""The exact text of what stands inside a JSON text, and texts put together from such pieces.

Arguments and signatures are evidence: they are cut out of what was received and never written anew, so that a repeated
key or a long number stays visible. What must never be put here: anything that knows a field of the protocol.
"""

import re
from typing import Final, NamedTuple, TypeAlias

import msgspec

from signoff.wire.json_text import JSON, dump

Step: TypeAlias = str | int

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_arrays = msgspec.json.Decoder(list[msgspec.Raw]).decode
# An escape of half a surrogate pair, or any other escape: they are read one after the other, so none is misread.
_ESCAPE: Final = re.compile(r"\\(?:(u)(?=[dD][89a-fA-F])|.)", re.DOTALL)
_FIRST_MARK: Final = 0xF8FF


class Unreadable(Exception):
    """A frame or body is not what the protocol says; it never leaves this codec."""


class Source:
    """A JSON text that `json_text.load` could read, and the exact texts of what stands inside it."""

    __slots__ = ("_inside", "_mark", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._mark: str | None = None  # not known yet whether one is needed
        self._inside: dict[tuple[Step, ...], dict[Step, str]] = {}

    def at(self, *path: Step) -> str:
        """The text of one value: keys and places that lead to it. Of a repeated key, the last."""
        text = self._masked(path)
        return text.replace(self._mark, "\\u") if self._mark else text

    def _masked(self, path: tuple[Step, ...]) -> str:
        if not path:
            return self._text
        above = path[:-1]
        inside = self._inside.get(above)
        if inside is None:
            if self._mark is None:
                self._mask()
            inside = self._inside[above] = _split(self._masked(above))
        try:
            return inside[path[-1]]
        except KeyError:
            raise Unreadable from None

    def _mask(self) -> None:
        """Hide escaped halves of surrogate pairs, which the splitter refuses, behind a character not in the text."""
        self._mark = ""
        if "\\ud" in self._text or "\\uD" in self._text:
            mark = next(mark for mark in map(chr, range(_FIRST_MARK, 0, -1)) if mark not in self._text)
            self._text = _ESCAPE.sub(lambda found: mark if found[1] else found[0], self._text)
            self._mark = mark


class At(NamedTuple):
    """A place in a chunk."""

    source: Source
    path: tuple[Step, ...]

    def below(self, step: Step) -> "At":
        """The place of a member or an item of it."""
        return At(self.source, (*self.path, step))

    def text(self, otherwise: str) -> str:
        """Its exact text, or another where it cannot be cut out, as for a key with half a character in it."""
        try:
            return self.source.at(*self.path)
        except Unreadable:
            return otherwise

    def others(self, fields: dict[str, JSON], own: frozenset[str]) -> dict[str, str]:
        """The texts of the fields of the object here that are not among those with a place of their own."""
        if own.issuperset(fields):
            return {}
        return {key: self.below(key).text(dump(value)) for key, value in fields.items() if key not in own}


def _split(text: str) -> dict[Step, str]:
    """The texts of the members of an object or the items of an array."""
    try:
        if text.startswith("{"):
            return {key: bytes(raw).decode() for key, raw in _objects(text).items()}
        return {place: bytes(raw).decode() for place, raw in enumerate(_arrays(text))}
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise Unreadable from None
