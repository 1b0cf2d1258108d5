"""The strict reading of one call's arguments. Nothing is repaired by guessing.

A text is read once by the strict parser and written as its canonical bytes, which are frozen, fingerprinted and
dispatched. What is wrong with one that is refused is asked in `diagnosis`. Of the tool's schema only what every host
needs is looked at here, the required members and simple types of the first level; the whole is the tools' own matter.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, assert_never

import msgspec

from signoff.core.canonical import JSON, canonical, parse
from signoff.core.model.diagnosis import Fault, FaultCode, FaultLevel, diagnose, shown
from signoff.core.model.parts import CallKind, CallPart
from signoff.core.model.request import Tool, required_of, schema_of
from signoff.errors import CanonicalError

__all__ = ["Arguments", "Fault", "FaultCode", "FaultLevel", "are_whole", "read"]


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of one call."""

    data: bytes
    """Their canonical JSON, an object; of a custom call, its text in UTF-8."""
    fault: Fault | None = None
    """What the tool's schema says against them; such a call is answered and not run."""


def are_whole(call: CallPart) -> bool:
    """Whether the arguments of a call are all there: one JSON object and nothing else, or nothing at all.

    Custom calls carry free text, so that only their close says it.
    """
    if not call.closed:
        return False
    if call.kind is CallKind.CUSTOM or _is_nothing(call.arguments):
        return True
    try:
        return isinstance(parse(call.arguments), dict)
    except CanonicalError:
        return False


def read(call: CallPart, tool: Tool | None) -> Arguments | Fault:
    """Read the arguments of a call strictly; `tool` is None where no such tool was offered.

    A fault of the text is returned in place of arguments; a fault against the schema comes with them.
    """
    if not call.closed:
        return Fault(code=FaultCode.TRUNCATED)
    if call.kind is CallKind.CUSTOM:
        return _free_text(call.arguments)
    if _is_nothing(call.arguments):
        missing = next(iter(required_of(tool)), None)
        nothing = Arguments(data=b"{}")
        return nothing if missing is None else Fault(code=FaultCode.MISSING_REQUIRED, field=shown(missing))
    try:
        value = parse(call.arguments)
    except CanonicalError:
        return diagnose(call.arguments)
    if not isinstance(value, dict):
        return Fault(code=FaultCode.DOUBLE_ENCODED if _holds_an_object(value) else FaultCode.WRONG_TYPE)
    try:
        data = canonical(value)
    except CanonicalError:  # a text within the bound may have a canonical form beyond it
        return Fault(code=FaultCode.NOT_CANONICAL)
    return Arguments(data=data, fault=None if tool is None else _against_schema(value, tool))


def _is_nothing(text: str) -> bool:
    """Whether a provider says by this text that there are no arguments."""
    stripped = text.strip()
    return not stripped or stripped == "null"


def _free_text(text: str) -> Arguments | Fault:
    try:
        return Arguments(data=text.encode())
    except UnicodeEncodeError:
        return Fault(code=FaultCode.NOT_CANONICAL)


def _holds_an_object(value: JSON) -> bool:
    """Whether a value is a string that is the JSON text of an object, maybe more than once wrapped."""
    try:
        while isinstance(value, str):
            value = parse(value)
    except CanonicalError:
        return False
    return isinstance(value, dict)


# ── Against the schema ───────────────────────────────────────────────────────────────────────────────────────────────

_CONTAINERS: Final = frozenset({"array", "object"})
_TYPES: Final = _CONTAINERS | {"string", "number", "integer", "boolean", "null"}


def _against_schema(value: Mapping[str, JSON], tool: Tool) -> Fault | None:
    for name in required_of(tool):
        if name not in value:
            return Fault(code=FaultCode.MISSING_REQUIRED, level=FaultLevel.SCHEMA, field=shown(name))
    for name, types in _types_of(tool.parameters).items():
        if name in value and not _fits(value[name], types):
            code = FaultCode.DOUBLE_ENCODED if _is_encoded(value[name], types) else FaultCode.WRONG_TYPE
            return Fault(code=code, level=FaultLevel.SCHEMA, field=shown(name))
    return None


@lru_cache(maxsize=1024)
def _types_of(parameters: str) -> Mapping[str, frozenset[str]]:
    """The members of a schema whose type is declared in plain words, each with its types."""
    properties = schema_of(parameters).get("properties")
    found: dict[str, frozenset[str]] = {}
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        declared = schema.get("type") if isinstance(schema, dict) else None
        words = declared if isinstance(declared, list) else [declared]
        types = frozenset(word for word in words if isinstance(word, str) and word in _TYPES)
        if words and len(types) == len(words):
            found[name] = types | {"null"} if schema.get("nullable") is True else types
    return MappingProxyType(found)


def _fits(value: JSON, types: frozenset[str]) -> bool:
    """Whether a value is of one of these JSON Schema types; 1.0 is an integer there."""
    match value:
        case None:
            return "null" in types
        case bool():
            return "boolean" in types
        case int():
            return not types.isdisjoint(("integer", "number"))
        case float():
            return "number" in types or ("integer" in types and value.is_integer())
        case str():
            return "string" in types
        case list():
            return "array" in types
        case dict():
            return "object" in types
        case _:
            assert_never(value)


def _is_encoded(value: JSON, types: frozenset[str]) -> bool:
    """Whether a string is the JSON text of an array or object where the tool wants one."""
    try:
        return isinstance(value, str) and _fits(parse(value), types & _CONTAINERS)
    except CanonicalError:
        return False
