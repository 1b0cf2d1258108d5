"""Why a text is not one call's arguments: asked only after the strict parser has refused it.

A small automaton, which neither recurses nor builds values, tells a text that was cut from one that is broken, and
several values from one. Its patterns are possessive and no place is read more than a few times, so the time is linear
whatever the text holds. The names of members are said, bounded and printable; their values never are.

What must never be put here: repair, a guess at what was meant, a tolerant parser whose values somebody could use.
"""

import json
import re
from enum import Enum, StrEnum, auto
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from signoff.core.canonical import MAX_BYTES, MAX_DEPTH


class FaultCode(StrEnum):
    """What is wrong with the arguments of a call."""

    TRUNCATED = "truncated"
    INVALID_JSON = "invalid_json"
    CONCATENATED = "concatenated"
    CONTROL_CHARACTER = "control_character"
    DOUBLE_ENCODED = "double_encoded"
    FENCED = "fenced"
    DUPLICATE_KEY = "duplicate_key"
    WRONG_TYPE = "wrong_type"
    MISSING_REQUIRED = "missing_required"
    NOT_CANONICAL = "not_canonical"
    UNKNOWN_TOOL = "unknown_tool"


class FaultLevel(StrEnum):
    """What the arguments fail: being one JSON object, or being what the tool declares."""

    TEXT = "text"
    """Not one JSON object, or nothing where something is required: there are no arguments."""
    SCHEMA = "schema"
    """One JSON object that the tool does not accept."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the arguments of one call. It holds names of members and no values."""

    code: FaultCode
    level: FaultLevel = FaultLevel.TEXT
    field: str = ""
    """The member that it is about, as `a.ok` or `items[0].id`; empty when it is about the whole."""
    values: int = 0
    """How many JSON values stand one after the other, where that is the fault; counted up to a thousand."""

    @property
    def sentence(self) -> str:
        """The fault in plain words, for a model or a person."""
        return _SAID[self.code].format(at=f" at {self.field}" if self.field else "")


_SAID: Final = {
    FaultCode.TRUNCATED: "The arguments end before their JSON does.",
    FaultCode.INVALID_JSON: "The arguments are not valid JSON.",
    FaultCode.CONCATENATED: "The arguments are several JSON values, one after the other; one object is needed.",
    FaultCode.CONTROL_CHARACTER: "A string in the arguments holds a raw control character; write it as an escape.",
    FaultCode.DOUBLE_ENCODED: "JSON was written into a string{at}; write it as JSON.",
    FaultCode.FENCED: "The arguments stand inside a code fence; write the JSON object alone.",
    FaultCode.DUPLICATE_KEY: "A key appears more than once{at}.",
    FaultCode.WRONG_TYPE: "The arguments have another type than the tool declares{at}.",
    FaultCode.MISSING_REQUIRED: "A required argument is missing{at}.",
    FaultCode.UNKNOWN_TOOL: "No such tool was offered.",
    FaultCode.NOT_CANONICAL: "The arguments are too long, too deep, or hold a number or text without an exact form.",
}
_MANY: Final = 1000
_SHOWN_NAME: Final = 40
_SHOWN_PATH: Final = 160


def diagnose(text: str) -> Fault:
    """Say why the strict parser refused this text."""
    if len(text.encode(errors="replace")) > MAX_BYTES:
        return Fault(code=FaultCode.NOT_CANONICAL)
    fenced = _inside_a_fence(text)
    if fenced is not None:
        body, closed = fenced
        return Fault(code=_of_fenced(body, closed=closed))
    read, count = _values(text)
    match read:
        case _Read.CUT:
            return Fault(code=FaultCode.TRUNCATED)
        case _Read.BROKEN:
            return Fault(code=FaultCode.INVALID_JSON)
        case _Read.DEEP:
            return Fault(code=FaultCode.NOT_CANONICAL)
        case _Read.WHOLE:
            return Fault(code=FaultCode.CONCATENATED, values=count) if count > 1 else _of_one_value(text)
        case _:
            assert_never(read)


def _of_one_value(text: str) -> Fault:
    """What is wrong with a text that is one JSON value, but for what its strings may hold."""
    if any(_CONTROL.search(found[0]) for found in _STRINGS.finditer(text)):
        return Fault(code=FaultCode.CONTROL_CHARACTER)
    try:
        path = _path_of_repeated(_DECODER.decode(text))
    except RecursionError:  # whoever called left no stack to read it
        path = None
    return Fault(code=FaultCode.DUPLICATE_KEY, field=shown(*path)) if path else Fault(code=FaultCode.NOT_CANONICAL)


# ── A fence of Markdown around the whole ─────────────────────────────────────────────────────────────────────────────

_FENCE: Final = re.compile(r"(`{3,}+|~{3,}+)[A-Za-z0-9_.+-]*+")


def _inside_a_fence(text: str) -> tuple[str, bool] | None:
    """What a fence holds and whether the fence is closed; None where the text does not begin with one."""
    stripped = text.strip()
    found = _FENCE.match(stripped)
    if found is None:
        return None
    mark = found[1]
    body = stripped[found.end() :]
    return body.rstrip(mark[0]), body.endswith(mark)


def _of_fenced(body: str, *, closed: bool) -> FaultCode:
    read, _ = _values(body)
    if read is _Read.WHOLE:
        return FaultCode.FENCED
    return FaultCode.TRUNCATED if read is _Read.CUT and not closed else FaultCode.INVALID_JSON


# ── The automaton ────────────────────────────────────────────────────────────────────────────────────────────────────


class _Read(Enum):
    """What the automaton found at a place."""

    WHOLE = auto()
    CUT = auto()
    """The text ends, and something could follow with which it would be whole."""
    BROKEN = auto()
    DEEP = auto()


class _State(NamedTuple):
    """What may follow: a pattern for it, and one for its beginning up to the end of the text."""

    whole: re.Pattern[str]
    begun: re.Pattern[str]


_SPACE: Final = r"[ \t\n\r]*+"
_IN_STRING: Final = r'"(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'  # control characters are looked for later
_STRING: Final = _IN_STRING + '"'
_NUMBER: Final = r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+(?![-+.0-9eE])"  # RFC 8259
_SCALAR: Final = rf"(?:{_STRING}|{_NUMBER}|true|false|null)"
_CUT_STRING: Final = rf"{_IN_STRING}(?:\\(?:u[0-9a-fA-F]{{0,3}}+)?+)?+"
_CUT_NUMBER: Final = r"-?(?:0|[1-9][0-9]*+)(?:(?:\.[0-9]++)?[eE][+-]?|\.)|-"
_CUT_SCALAR: Final = rf"(?:{_CUT_STRING}|{_CUT_NUMBER}|tru|tr|t|fals|fal|fa|f|nul|nu|n)"  # the longest first


def _state(whole: str, begun: str) -> _State:
    return _State(re.compile(_SPACE + whole), re.compile(rf"{_SPACE}(?:{begun})?+\Z"))


_VALUE: Final = _state(rf"(?:{_SCALAR}|[\[{{])", _CUT_SCALAR)
_FIRST_ITEM: Final = _state(rf"(?:{_SCALAR}|[\[{{\]])", _CUT_SCALAR)
_MEMBER: Final = _state(rf"{_STRING}{_SPACE}:", rf"{_STRING}{_SPACE}|{_CUT_STRING}")
_FIRST_MEMBER: Final = _state(rf"(?:{_STRING}{_SPACE}:|\}})", rf"{_STRING}{_SPACE}|{_CUT_STRING}")
_AFTER: Final = {"[": _state(r"[,\]]", ""), "{": _state(r"[,}]", "")}
# Flat items and members in one go: a long list of numbers or of small records would else be as many steps.
_COMMA: Final = rf"{_SPACE},{_SPACE}"
_NAMED: Final = rf"{_STRING}{_SPACE}:{_SPACE}"
_FLAT: Final = (
    rf"(?:{_SCALAR}|\[{_SPACE}(?:{_SCALAR}(?:{_COMMA}{_SCALAR})*+)?+{_SPACE}\]"
    rf"|\{{{_SPACE}(?:{_NAMED}{_SCALAR}(?:{_COMMA}{_NAMED}{_SCALAR})*+)?+{_SPACE}\}})"
)
_FLAT_ONES: Final = {"[": re.compile(rf"(?:{_COMMA}{_FLAT})*+"), "{": re.compile(rf"(?:{_COMMA}{_NAMED}{_FLAT})*+")}
_SPACES: Final = re.compile(_SPACE)
_STRINGS: Final = re.compile(_STRING)
_CONTROL: Final = re.compile(r"[\x00-\x1f]")


def _values(text: str) -> tuple[_Read, int]:
    """How a row of JSON values ends, and how many of them are whole."""
    at = count = 0
    while True:
        at = _end(_SPACES, text, at)
        if count > _MANY or (count and at == len(text)):
            return _Read.WHOLE, count
        read, at = _value(text, at)
        if read is not _Read.WHOLE:
            return read, count
        count += 1


def _value(text: str, at: int) -> tuple[_Read, int]:
    """Read one JSON value from a place on; where it is whole, say where it ends."""
    opened: list[str] = []
    state = _VALUE
    while found := state.whole.match(text, at):
        at = found.end()
        match text[at - 1]:
            case "[" | "{" as mark:
                opened.append(mark)
                if len(opened) > MAX_DEPTH:
                    return _Read.DEEP, at
                state = _FIRST_ITEM if mark == "[" else _FIRST_MEMBER
                continue
            case ":":
                state = _VALUE
                continue
            case ",":
                state = _VALUE if opened[-1] == "[" else _MEMBER
                continue
            case "]" | "}":
                opened.pop()
        if not opened:
            return _Read.WHOLE, at
        at = _end(_FLAT_ONES[opened[-1]], text, at)
        state = _AFTER[opened[-1]]
    return (_Read.CUT if state.begun.match(text, at) else _Read.BROKEN), at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern that always matches ends."""
    found = pattern.match(text, at)
    return found.end() if found else at


# ── A key that appears twice ─────────────────────────────────────────────────────────────────────────────────────────


class _Repeated(NamedTuple):
    """Stands where an object has a key more than once."""

    key: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    return _Repeated(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]


_BRANCHES: Final = (dict, list, _Repeated)
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str)


def _path_of_repeated(whole: object) -> tuple[str | int, ...] | None:
    """The steps to the first key that appears twice, in the order of the text; None when there is none."""
    todo: list[tuple[Any, Any, str | int]] = [(whole, None, "")]
    while todo:
        spot = todo.pop()
        value = spot[0]
        if isinstance(value, _Repeated):
            return (*_steps(spot), value.key)
        inside = enumerate(value) if isinstance(value, list) else value.items()
        todo.extend([(one, spot, step) for step, one in inside if isinstance(one, _BRANCHES)][::-1])
    return None


def _steps(spot: Any) -> tuple[str | int, ...]:  # noqa: ANN401 - a chain of (value, its parent's spot, step)
    steps = []
    while spot[1] is not None:
        steps.append(spot[2])
        spot = spot[1]
    return tuple(reversed(steps))


def shown(*steps: str | int) -> str:
    """A place as `a.items[0].ok`, printable and bounded."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_name(step)}" for step in steps).removeprefix(".")
    half = _SHOWN_PATH // 2
    return path if len(path) <= _SHOWN_PATH else f"{path[:half]}...{path[-half:]}"


def _name(key: str) -> str:
    """A key as it is when it is plain, else as a JSON string in ASCII; of a long one, its beginning."""
    short = key if len(key) <= _SHOWN_NAME else key[:_SHOWN_NAME] + "..."
    return short if short.isprintable() and short and not set(key) & set('.[]"') else json.dumps(short)
