"""The exact writer of RFC 8785 (JCS): any JSON value to its one text, and the place and reason where there is none.

`canonical` uses it for what orjson does not write as the RFC asks, and for saying what is wrong with a value. It knows
every rule and hurries for none. It does not recurse, so the depth of a value is bounded by MAX_DEPTH and not by the
stack that happens to be left; and it runs no code of the value, hence `type(x) is str` and never `type(x) in {...}`,
which would hash the type by its metaclass.

What must never be put here: shortcuts (they belong to `canonical`, where they are compared with this), conversion of
other types, parsing.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from signoff.errors import CanonicalError

MAX_DEPTH: Final = 200
"""How many arrays and objects may lie inside each other; orjson itself stops at 254."""

MAX_DIGITS: Final = 640
"""The longest integer. Python converts this many digits whatever limit its process has set, and none may set less."""

SHOWN_NAME: Final = 40
"""How many characters of a key, number or type name are shown in a message."""

_SHOWN_PATH: Final = 160
_TOO_LARGE: Final = 10**MAX_DIGITS

Container: TypeAlias = "dict[Any, Any] | list[Any] | tuple[Any, ...]"


class Fault(NamedTuple):
    """Stands where a parser refused something, so that the walk, which knows the place, can say so."""

    what: str
    remedy: str


class _Spot(NamedTuple):
    """A value and its place in the whole."""

    value: Any
    parent: "_Spot | None" = None
    step: str | int = ""


def write(value: object, max_bytes: int) -> bytes:
    """The canonical bytes of any value that has them; whatever has none is refused by its place."""
    room = max_bytes
    pieces: list[bytes] = []
    spot = _Spot(value)
    opened: list[Iterator[bytes | _Spot]] = [iter((spot,))]
    while opened:
        item = next(opened[-1], None)
        if item is None:
            opened.pop()
        elif isinstance(item, bytes):
            pieces.append(item)
        elif (parts := _parts(spot := item)) is not None:
            if len(opened) > MAX_DEPTH:
                raise _refusal(spot, f"it lies deeper than {MAX_DEPTH} levels, or inside itself", "Flatten the value.")
            opened.append(parts)
            room -= _punctuation(spot.value)
        else:
            pieces.append(_scalar(spot))
            room -= len(pieces[-1])
        if room < 0:
            raise _refusal(spot, f"the whole is longer than {max_bytes} bytes", "Use a smaller value.")
    return b"".join(pieces)


def type_name(value: object) -> str:
    """The name of a type as Python stored it: `type(value).__name__` would ask the metaclass, which may be hostile."""
    name = type.__dict__["__name__"].__get__(type(value))
    return str.__getitem__(name, slice(SHOWN_NAME))


def quoted(text: str) -> str:
    """The beginning of a text as an ASCII JSON string, so that it can be shown anywhere."""
    return json.dumps(text if len(text) <= SHOWN_NAME else text[:SHOWN_NAME] + "...")


# ── Containers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _parts(spot: _Spot) -> Iterator[bytes | _Spot] | None:
    """A container as its punctuation, keys and values, one after the other; None for a scalar."""
    if type(spot.value) is dict:
        return _members(spot)
    if type(spot.value) is list or type(spot.value) is tuple:
        return _elements(spot)
    return None


def _punctuation(container: Container) -> int:
    """The bytes of brackets, commas and colons, paid for at once, so that a vast container is refused unread."""
    size = len(container)
    return 2 + max(size - 1, 0) + (size if type(container) is dict else 0)


def _members(spot: _Spot) -> Iterator[bytes | _Spot]:
    yield b"{"
    for position, (key, member) in enumerate(_sorted_items(spot)):
        if position:
            yield b","
        yield _Spot(key, spot, key)
        yield b":"
        yield _Spot(member, spot, key)
    yield b"}"


def _elements(spot: _Spot) -> Iterator[bytes | _Spot]:
    yield b"["
    for index, member in enumerate(spot.value):
        if index:
            yield b","
        yield _Spot(member, spot, index)
    yield b"]"


def _sorted_items(spot: _Spot) -> list[tuple[str, Any]]:
    """The members in the order of their keys' UTF-16 code units; a look-up by key could run a foreign __eq__."""
    for key in spot.value:
        if type(key) is not str:
            raise _refusal(spot, f"a key is of type {type_name(key)}", "Use str keys.")
    return sorted(spot.value.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))


# ── Scalars ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scalar(spot: _Spot) -> bytes:
    value = spot.value
    if value is None:
        return b"null"
    if type(value) is bool:
        return b"true" if value else b"false"
    if type(value) is str:
        return _string(spot, value)
    if type(value) is int:
        return _integer(spot, value)
    if type(value) is float:
        return _float(spot, value)
    if type(value) is Fault:
        raise _refusal(spot, value.what, value.remedy)
    kinds = "None, bool, int, float, str, list, tuple, or dict with str keys"
    raise _refusal(spot, f"a value of type {type_name(value)} is not JSON", f"Use {kinds}; no subclass of them.")


def _string(spot: _Spot, text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:
        what = f"the text {quoted(text)} holds half of a surrogate pair"
        raise _refusal(spot, what, "Use whole characters.") from None


def _integer(spot: _Spot, number: int) -> bytes:
    if not -_TOO_LARGE < number < _TOO_LARGE:
        raise _refusal(spot, f"the integer has more than {MAX_DIGITS} digits", "Use a string.")
    return str(number).encode()


def _float(spot: _Spot, number: float) -> bytes:
    """A float as ECMAScript's Number::toString writes it; repr has the same shortest digits in another form."""
    if not math.isfinite(number):
        raise _refusal(spot, f"{number} is not a JSON number", "Use null or a string.")
    sign = "-" if number < 0 else ""
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(power or 0)
    digits = digits.rstrip("0") or "0"
    return (sign + _placed(digits, point)).encode() if number else b"0"


def _placed(digits: str, point: int) -> str:
    """The digits of 0.digits times ten to the power of `point`, in the form that ECMA-262 chooses for that power."""
    if not -6 < point <= 21:  # noqa: PLR2004 - ECMA-262's own bounds
        fraction = "." + digits[1:] if digits[1:] else ""
        return f"{digits[0]}{fraction}e{point - 1:+d}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    if point >= len(digits):
        return digits.ljust(point, "0")
    return f"{digits[:point]}.{digits[point:]}"


# ── What is said about a refusal ─────────────────────────────────────────────────────────────────────────────────────


def _refusal(spot: _Spot, what: str, remedy: str) -> CanonicalError:
    return CanonicalError(f"The value was refused at {_path(spot)}: {what}. {remedy}")


def _path(spot: _Spot) -> str:
    """The place as $.a[3].b, with keys that are no names in quotes, and its middle left out when it is long."""
    steps = []
    while spot.parent is not None:
        step = spot.step
        if isinstance(step, int):
            steps.append(f"[{step}]")
        elif step.isascii() and step.isidentifier() and len(step) <= SHOWN_NAME:
            steps.append(f".{step}")
        else:
            steps.append(f"[{quoted(step)}]")
        spot = spot.parent
    path = "$" + "".join(reversed(steps))
    half = _SHOWN_PATH // 2
    return path if len(path) <= _SHOWN_PATH else f"{path[:half]}...{path[-half:]}"
