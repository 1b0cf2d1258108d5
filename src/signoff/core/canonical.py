"""One text for one JSON value: strict parsing in, RFC 8785 bytes out, and a digest of those bytes.

Whatever is compared, journaled, fingerprinted or signed passes through here, so that "the same value" means "the same
bytes" to signoff and to any program that implements RFC 8785 (JCS). Two things differ from the RFC, on purpose:

* An integer keeps every digit, up to MAX_DIGITS. The RFC would round it to a double, and two calls that differ only in
  the last digit of an id would be taken for one call.
* A float is written as the RFC says, so 1.0 and 1 are one value, and so are -0.0 and 0. Since the digits of a large
  float name an integer too (1e20), a float and an integer may share a text; two integers never do.

How a value is written: a walk over exact types finds out whether orjson writes it as the RFC asks, which is so for
nearly every value. Keys beyond ASCII, integral, tiny or huge floats, and integers beyond 64 bits go to the exact writer
in `jcs`, and so does whatever is to be refused, for it can name the place. Both ways accept the same values and write
the same bytes, recurse nowhere, and run no code of the value: no iterator, property, __eq__ or __hash__.

What must never be put here: conversion of other types (the caller decides what a date means), repair of broken text,
clocks, files, and any fact about tools or runs.
"""

import hashlib
import json
import math
import re
from itertools import accumulate
from sys import maxsize
from typing import Any, Final, TypeAlias

import orjson

from signoff.core import jcs
from signoff.core.jcs import MAX_DEPTH, MAX_DIGITS, Container, Fault, quoted, type_name
from signoff.errors import CanonicalError

__all__ = ["JSON", "MAX_BYTES", "MAX_DEPTH", "MAX_DIGITS", "canonical", "depth_of", "digest", "digest_bytes", "parse"]

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

MAX_BYTES: Final = 8 * 1024 * 1024
"""The longest text read or written, in bytes of UTF-8, unless the caller sets another bound."""

_NOT_BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^\[\]{}"]++', re.DOTALL)
_STEP: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_ABSENT: Final = object()
_SORTED: Final = orjson.OPT_SORT_KEYS
_SMALLEST, _LARGEST = 1e-5, 1e15  # between these, every writer gives a fraction the form of ECMAScript


def parse(text: str | bytes, *, max_bytes: int = MAX_BYTES) -> JSON:
    """The value of one strict JSON text; what other parsers would guess about, drop or round away is refused.

    Refused are duplicate keys, NaN and Infinity, numbers beyond a double, integers beyond MAX_DIGITS, lone surrogates,
    bytes that are not UTF-8, a byte order mark, text after the value, nesting beyond MAX_DEPTH, and texts over
    max_bytes of UTF-8. A fraction that is too small for a double becomes 0, as everywhere.
    """
    source = _source(text, max_bytes)
    if depth_of(source) > MAX_DEPTH:
        raise _bad_text(f"it is nested deeper than {MAX_DEPTH} levels", "Flatten it.")
    reader = _Reader()
    try:
        value: JSON = reader.decoder.decode(source)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _bad_text(f"it is not JSON at {place}: {error.msg}", "Send one JSON value and nothing else.") from None
    except RecursionError:
        raise _bad_text("too little stack is left to read it", "Call this from fewer nested calls.") from None
    if reader.faults or "\\u" in source:
        jcs.write(value, maxsize)
    return value


def canonical(value: object, *, max_bytes: int = MAX_BYTES) -> bytes:
    """The one text of a JSON value, as UTF-8.

    A value is None, or exactly a bool, int, float, str, list, tuple (written as an array) or dict with str keys.
    Subclasses and other mappings are refused: to read them would run their code, and that code may answer differently
    the second time. The value must not be changed meanwhile.
    """
    if type(value) is dict or type(value) is list or type(value) is tuple:
        try:
            data = orjson.dumps(value, option=_SORTED) if _is_plain(value, max_bytes) else None
        except TypeError:
            data = None
        if data is not None and len(data) <= max_bytes and (data.isascii() or _has_ascii_keys(value)):
            return data
    return jcs.write(value, max_bytes)


def digest(value: object, *, max_bytes: int = MAX_BYTES) -> str:
    """The SHA-256 of a value's canonical bytes, as "sha256:" and 64 hexadecimal digits."""
    return digest_bytes(canonical(value, max_bytes=max_bytes))


def digest_bytes(data: bytes) -> str:
    """The SHA-256 of bytes, as "sha256:" and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bad_text(what: str, remedy: str) -> CanonicalError:
    return CanonicalError(f"The text was refused: {what}. {remedy}")


def _source(text: object, max_bytes: int) -> str:
    """The text as str, known to be UTF-8 within the bound."""
    if type(text) is not str and type(text) is not bytes:
        raise _bad_text(f"it is of type {type_name(text)}", "Pass str or bytes.")
    too_long = len(text) > max_bytes
    try:
        source = "" if too_long else text if isinstance(text, str) else text.decode()
        too_long = too_long or len(source.encode()) > max_bytes
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise _bad_text(f"it is not Unicode at position {error.start}", "Encode it as UTF-8.") from None
    if too_long:
        raise _bad_text(f"it is longer than {max_bytes} bytes", "Send less, or raise the bound.")
    if source.startswith("\ufeff"):
        raise _bad_text("it begins with a byte order mark", "Send UTF-8 without one.")
    return source


def depth_of(source: str) -> int:
    """The depth that a parser of this text would reach, or 0 where it cannot matter.

    It is known before any parser runs, since a parser in C that recurses may end the process when a host has raised
    Python's recursion limit. Strings are cut out whole, the unfinished last one too, so the time is linear.
    """
    if source.count("[") + source.count("{") <= MAX_DEPTH:
        return 0
    brackets = _NOT_BRACKETS.sub("", source)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


class _Reader:
    """Hooks of the standard parser that leave a fault where it would guess."""

    def __init__(self) -> None:
        self.faults = 0
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_int=self._int, parse_float=self._float, parse_constant=self._constant
        )

    def _fault(self, what: str, remedy: str) -> Fault:
        self.faults += 1
        return Fault(what, remedy)

    def _object(self, pairs: list[tuple[str, JSON]]) -> dict[str, JSON] | Fault:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        twice = next(key for key, _ in pairs if members.pop(key, _ABSENT) is _ABSENT)
        return self._fault(f"the key {quoted(twice)} appears more than once", "Send each key once.")

    def _int(self, digits: str) -> int | Fault:
        if len(digits.removeprefix("-")) > MAX_DIGITS:
            return self._fault(f"the integer has more than {MAX_DIGITS} digits", "Send it as a string.")
        return int(digits)

    def _float(self, digits: str) -> float | Fault:
        number = float(digits)
        if not math.isfinite(number):
            return self._fault(f"the number {digits[: jcs.SHOWN_NAME]} is beyond a double", "Send it as a string.")
        return number

    def _constant(self, name: str) -> Fault:
        return self._fault(f"{name} is not JSON", "Send null or a string.")


# ── The fast way: what orjson writes as RFC 8785 asks ────────────────────────────────────────────────────────────────


def _is_plain(whole: Container, room: int) -> bool:
    """Whether orjson may see this value: exact types, plain numbers, within the depth, and not clearly over the bound.

    A key that is no str raises TypeError, here or in orjson. The sizes counted are at most those written, so a value
    whose parts are shared or circular ends here before it fills the memory. It is one long function because it runs for
    every tool call, and a call for each container would cost a fifth of its time.
    """
    todo: list[Container] = [whole]
    levels, seen, level_ends = 0, 0, 1
    for container in todo:  # grows while it is read: level by level
        values: Any = container
        if type(container) is dict:
            values = container.values()
            room -= len("".join(container))
        room -= len(container)
        for value in values:
            kind = type(value)
            if kind is str:
                room -= len(value)
            elif kind is int or kind is bool or value is None:
                continue
            elif kind is dict or kind is list or kind is tuple:
                todo.append(value)
            elif kind is not float or value.is_integer() or not _SMALLEST <= abs(value) < _LARGEST:
                return False
        seen += 1
        if seen == level_ends:
            levels, level_ends = levels + 1, len(todo)
        if room < 0 or levels > MAX_DEPTH:
            return False
    return True


def _has_ascii_keys(value: object) -> bool:
    """Whether code points, by which orjson sorts, and UTF-16 code units give these keys the same order for sure."""
    todo = [value]
    for item in todo:  # grows while it is read
        if type(item) is dict:
            if not "".join(item).isascii():
                return False
            todo.extend(item.values())
        elif type(item) is list or type(item) is tuple:
            todo.extend(item)
    return True
