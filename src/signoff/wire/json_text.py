"""JSON of providers: read without raising, written back without loss.

Providers split a text anywhere, between the two halves of an emoji's escape too, so a half alone must not kill its
frame: it is kept until the pieces are joined. An integer keeps all its digits. Nothing here judges arguments of calls:
those are read strictly, by `signoff.core.canonical`, and by nothing else.
"""

import json
import re
from collections.abc import Iterable
from typing import Final, NoReturn

import msgspec
import orjson

from signoff.core.canonical import JSON, MAX_DEPTH, depth_of
from signoff.errors import PolicyError

__all__ = [
    "JSON",
    "TextPieces",
    "count_of",
    "dump",
    "is_exact",
    "join",
    "list_of",
    "load",
    "object_of",
    "text_of",
    "write",
]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HALF_AT_END: Final = re.compile("[\ud800-\udbff]\\Z")
_EMPTY: Final[dict[str, JSON]] = {}
_read = msgspec.json.Decoder().decode


def load(text: str | bytes) -> JSON:
    """The value of a JSON text; None for `null` and for what is not JSON, is nested too deep, or has NaN or Infinity.

    Halves of surrogate pairs may stand in its strings; `join` deals with them.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError:
            return None
    if depth_of(text) > MAX_DEPTH:
        return None
    try:
        value: JSON = _read(text)
    except msgspec.DecodeError:
        return _load_with_halves(text)
    except (ValueError, RecursionError):
        return None
    return value


def dump(value: JSON) -> str:
    """The JSON text of a value that `load` gave, compact, keys in their order."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # integers beyond 64 bits and halves of surrogate pairs
        return json.dumps(value, separators=(",", ":"))


def write(value: object) -> bytes:
    """The bytes of a body that signoff builds, from values and `orjson.Fragment`s. Raises `PolicyError`."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise PolicyError(f"a body cannot be written as JSON ({error}); nothing was sent; change that value") from None


def join(pieces: Iterable[str]) -> str:
    """The text of all pieces; halves of pairs that meet are one character again, and what stays single is U+FFFD."""
    text = "".join(pieces)
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_exact(text: str) -> bool:
    """Whether `join` leaves a text as it is in meaning: no half of a character stays alone in it."""
    if text.isascii() or not _SURROGATE.search(text):
        return True
    try:
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return False
    return True


class TextPieces:
    """A text that arrives in pieces: kept as they are, joined once, shown without half characters."""

    __slots__ = ("_half", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, piece: str) -> str:
        """Keep a piece; return what of it can be shown now: half a character at its end waits for the other half."""
        self._pieces.append(piece)
        if not self._half and piece.isascii():
            return piece
        shown = self._half + piece
        half = _HALF_AT_END.search(shown)
        self._half = half[0] if half else ""
        return join((shown[:-1],)) if half else join((shown,))

    @property
    def is_exact(self) -> bool:
        """Whether no half of a character stays alone, so that `text` says exactly what came."""
        return is_exact("".join(self._pieces))

    @property
    def text(self) -> str:
        """The whole text so far."""
        return join(self._pieces)


def object_of(value: JSON) -> dict[str, JSON]:
    """The value if it is an object, else an empty one, which callers only read."""
    return value if isinstance(value, dict) else _EMPTY


def list_of(value: JSON) -> list[JSON]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: JSON) -> str:
    """The value if it is a string, with no half characters in it, else an empty one."""
    return join((value,)) if isinstance(value, str) else ""


def count_of(value: JSON) -> int | None:
    """The value if it is an integer of at least 0 that fits into 63 bits, else None."""
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _load_with_halves(source: str) -> JSON:
    """Read a text that the fast parser refuses, in case it does so for half of a surrogate pair only."""
    if "\\u" not in source:
        return None
    try:
        value: JSON = _DECODER.decode(source)
    except (ValueError, RecursionError):
        return None
    return value


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        _refuse(digits)
    return number


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)
