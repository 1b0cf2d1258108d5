"""Fields of a stream that only the provider knows, kept so that the turn can be sent back whole.

Texts are put together, lists grow, objects are merged field by field, and of anything else the last value stays: what
the official clients do, but in linear time, since the values are only collected until they are asked for.
"""

from typing import Final

from signoff.wire.json_text import JSON, join

_IDENTITIES: Final = frozenset({"id", "type", "index", "format", "name"})
_DEEPEST: Final = 20


class Merged:
    """Values of some fields, in the order in which they came."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, list[JSON]] | None = None

    def add(self, key: str, value: JSON) -> None:
        """Note one more value of a field."""
        if self._values is None:
            self._values = {}
        self._values.setdefault(key, []).append(value)

    def value(self) -> dict[str, JSON]:
        """What the fields come to."""
        return {key: _merge(key, values, depth=0) for key, values in (self._values or {}).items()}


def _merge(key: str, values: list[JSON], *, depth: int) -> JSON:
    last = values[-1]
    if len(values) == 1 or key in _IDENTITIES or depth > _DEEPEST:
        return last
    if all(isinstance(value, str) for value in values):
        # a signature that is sent again is no second half of itself
        repeated = depth > 0 and key not in {"data", "transcript"} and all(value == last for value in values)
        return last if repeated else join(value for value in values if isinstance(value, str))
    if all(isinstance(value, list) for value in values):
        return [item for value in values if isinstance(value, list) for item in value]
    if not all(isinstance(value, dict) for value in values):
        return last
    fields: dict[str, list[JSON]] = {}
    for value in values:
        for name, field in value.items() if isinstance(value, dict) else ():
            if field is not None:
                fields.setdefault(name, []).append(field)
    return {name: _merge(name, fields[name], depth=depth + 1) for name in fields}
