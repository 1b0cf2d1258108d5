"""Pieces of a JSON text, exactly as they came, and texts put together from such pieces.

A call's input, a signature and a field that nobody here knows are evidence: they are cut out of what was received and
never written anew, so that a repeated key or a long number stays visible. What must never be put here: a field's name.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from signoff.errors import PolicyError
from signoff.wire.json_text import JSON, dump, load

_read_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


def pasted(native: str, kind: type[dict[str, JSON]] | type[list[JSON]]) -> str:
    """A native text that is about to be pasted into a body: one JSON object or array, and nothing beside it.

    Raises `PolicyError` for any other: it comes from a record or a file, and could add fields or break the body.
    """
    if not isinstance(load(native), kind):
        form = "object" if kind is dict else "array"
        raise PolicyError(f"a native text is not one JSON {form}; nothing was sent; leave it out: the parts are used")
    return native


def members_of(text: str) -> dict[str, str]:
    """The text of each member of an object that `json_text.load` can read; none for anything else.

    Of a repeated key the last one counts, as everywhere.
    """
    if not text.lstrip().startswith("{"):
        return {}
    try:
        return {name: bytes(raw).decode() for name, raw in _read_members(text).items()}
    except (ValueError, RecursionError):
        values = list(_values(text))
        return {json.loads(name): value for name, value in zip(values[::2], values[1::2], strict=False)}


def elements_of(text: str) -> list[str]:
    """The text of each item of an array that `json_text.load` can read; none for anything else."""
    if not text.lstrip().startswith("["):
        return []
    try:
        return [bytes(raw).decode() for raw in _read_items(text)]
    except (ValueError, RecursionError):
        return list(_values(text))


def object_text(members: Mapping[str, str]) -> str:
    """The text of an object whose values are texts already."""
    return f"{{{','.join([f'{dump(name)}:{text}' for name, text in members.items()])}}}"


def array_text(items: Iterable[str]) -> str:
    """The text of an array whose items are texts already."""
    return f"[{','.join(items)}]"


def _values(text: str) -> Iterator[str]:
    """The texts of an array's items, or of an object's keys and values in turn.

    It reads what the fast splitter refuses: escaped halves of surrogate pairs. Its end is the first fault.
    """
    place = _after_space(text, _after_space(text, 0) + 1)
    while True:
        try:
            _, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield text[place:end]
        place = _after_space(text, _after_space(text, end) + 1)  # behind the comma, colon or bracket


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()
