"""Placeholders for what a test does not care about. They equal what they stand for, and nothing else belongs here."""

from typing import Any


class _Anything:
    """Equals every value."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "ANY"


class _Like:
    """Equals every value that has the given attributes, whatever else it has."""

    __slots__ = ("_wanted",)

    def __init__(self, wanted: dict[str, object]) -> None:
        self._wanted = wanted

    def __eq__(self, other: object) -> bool:
        missing = object()
        return all(wanted == getattr(other, name, missing) for name, wanted in self._wanted.items())

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"like({', '.join(f'{name}={wanted!r}' for name, wanted in self._wanted.items())})"


ANY: Any = _Anything()
"""Stands for any value."""


def like(**attributes: object) -> Any:  # noqa: ANN401 - a placeholder goes wherever a value goes
    """Return a placeholder that equals every value with these attributes."""
    return _Like(attributes)
