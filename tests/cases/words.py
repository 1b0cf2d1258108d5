"""What the words of a case's `expect` mean, compared with what a player got. No case is known here.

`X_in`, `X_not` and `X_at_most` give sets and bounds of `X`, `never_X` what `X` must not be, `X_if_run` and
`X_if_repaired` what it is under a condition, `X_contains` and `X_must_not_contain` speak of a text. A value that has
several true names is got as a list under `X_words`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from signoff.core.canonical import canonical

_NEGATIVE: Final = {"never_", "_not", "_must_not_contain"}
REPAIRED: Final = {"run_repaired", "run_lenient"}
RUN: Final = {"run", "run_once", *REPAIRED}


def mismatches(expect: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """The expectations that are not met, as short sentences."""
    return [
        f"{word}: expected {expected!r}, got {got.get(_subject(word))!r}"
        for word, expected in expect.items()
        if _comparable(word, got) and not _met(word, expected, got)
    ]


def unknown(expect: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """The words of an expectation that nothing got answers."""
    return [word for word in expect if word != "note" and _applies(word, got) and not _comparable(word, got)]


_FORMS: Final[tuple[tuple[str, str], ...]] = (
    ("prefix", "never_"),
    ("prefix", "max_"),
    ("suffix", "_if_run"),
    ("suffix", "_if_repaired"),
    ("suffix", "_must_not_contain"),
    ("suffix", "_contains"),
    ("suffix", "_at_most"),
    ("suffix", "_in"),
    ("suffix", "_not"),
)


def _split(word: str) -> tuple[str, str]:
    """A word as its subject and its form."""
    for kind, form in _FORMS:
        if kind == "prefix" and word.startswith(form):
            return word.removeprefix(form), form
        if kind == "suffix" and word.endswith(form):
            return word.removesuffix(form), form
    return word, ""


def _subject(word: str) -> str:
    return _split(word)[0]


def _applies(word: str, got: Mapping[str, Any]) -> bool:
    """Whether a conditional expectation speaks of this result at all."""
    outcome, form = got.get("outcome"), _split(word)[1]
    if form == "_if_run":
        return outcome in RUN
    if form == "_if_repaired":
        return outcome in REPAIRED
    return not (word in {"reason", "field"} and outcome in RUN)


def _comparable(word: str, got: Mapping[str, Any]) -> bool:
    return word != "note" and _applies(word, got) and _subject(word) in got


def _met(word: str, expected: object, got: Mapping[str, Any]) -> bool:
    subject, form = _split(word)
    names = got.get(f"{subject}_words", [got[subject]])
    test = _TESTS.get(form, _equal)
    whole = all if form in _NEGATIVE else any
    return whole(test(name, expected) for name in names)


def _equal(value: object, expected: object) -> bool:
    """Equality of JSON values: 1 is not true, and every digit counts."""
    return canonical({"": value}) == canonical({"": expected})


def _texts(expected: object) -> list[str]:
    return [str(text) for text in (expected if isinstance(expected, list) else [expected])]


_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "never_": lambda value, expected: not _equal(value, expected),
    "max_": lambda value, expected: value <= expected,
    "_at_most": lambda value, expected: value <= expected,
    "_in": lambda value, expected: any(_equal(value, one) for one in expected),
    "_not": lambda value, expected: not _equal(value, expected),
    "_contains": lambda value, expected: all(text in value for text in _texts(expected)),
    "_must_not_contain": lambda value, expected: not any(text in value for text in _texts(expected)),
}
