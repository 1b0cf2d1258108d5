"""Pieces of a JSON text, exactly as they came: unknown fields, digits and spaces included.

What is to be sent back to a provider is cut out of what it sent, never written anew. Only a text with half of a
surrogate pair in it, which is no Unicode, is written anew.
"""

import msgspec

from signoff.wire.json_text import dump, list_of, load, object_of

_read_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def fields_of(text: str) -> dict[str, str]:
    """The JSON text of each field of an object; empty for what is no object."""
    try:
        return {name: bytes(raw).decode() for name, raw in _read_fields(text).items()}
    except (ValueError, RecursionError):
        return {name: dump(value) for name, value in object_of(load(text)).items()}


def elements_of(text: str) -> list[str]:
    """The JSON text of each element of an array; empty for what is no array."""
    try:
        return [bytes(raw).decode() for raw in _read_elements(text)]
    except (ValueError, RecursionError):
        return [dump(value) for value in list_of(load(text))]


def object_text(fields: dict[str, str]) -> str:
    """The JSON text of an object, given those of its fields."""
    return "{" + ",".join(f"{dump(name)}:{text}" for name, text in fields.items()) + "}"
