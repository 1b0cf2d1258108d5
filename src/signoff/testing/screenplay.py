"""Tests of a machine as a script: what happens to it, and what it must then decide, in order.

    with Screenplay(advance, GoalState()) as play:
        play >> scene.started(contract)
        play << TakePicture(role=Role.BASELINE)
        play >> scene.pictured(Role.BASELINE)
        play << RunAgent(attempt=1, timeout_seconds=ANY)
    assert play.state.phase is Phase.RUNNING

Events are played as they are said, so that `play.state` and a clock can be used between the lines; the script is
compared when the block ends, so it cannot be written and then forgotten, and outside of a block no line is taken. Every
decision must be named, in order: an event that is followed by none says that the machine decides nothing.
Nothing about a particular machine may be put here.
"""

import difflib
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

import msgspec

from signoff.errors import ProtocolViolation

State = TypeVar("State")
Event = TypeVar("Event")
Decision = TypeVar("Decision")
State_co = TypeVar("State_co", covariant=True)
Decision_co = TypeVar("Decision_co", covariant=True)

_WIDTH = 110
_SHORT = 200


class Step(Protocol[State_co, Decision_co]):
    """What a machine returns: the next state, and what is to be done."""

    @property
    def state(self) -> State_co:
        """The state after the event."""
        ...

    @property
    def decisions(self) -> Sequence[Decision_co]:
        """What the host is to do, in order."""
        ...


class Refusal(Enum):
    """Stands in a script for the refusal of an event."""

    REFUSED = "refused"


A_REFUSAL = Refusal.REFUSED
"""In place of decisions: the event before it must be refused as a `ProtocolViolation`."""


class _Line(msgspec.Struct):
    """One event of a script, what must follow from it, and what did."""

    event: object
    found: Sequence[object]
    expected: list[object] = []


class Screenplay(Generic[State, Event, Decision]):
    """A script for one machine: `play >> event` says what happens, `play << decision` what must follow from it.

    A script that does not fit raises `AssertionError` at the end of its block, with both scripts compared.
    """

    def __init__(self, advance: Callable[[State, Event], Step[State, Decision]], state: State) -> None:
        self.state = state
        """The state that the script has led to so far."""
        self._advance = advance
        self._lines: list[_Line] = []
        self._open = False

    def __enter__(self) -> Self:
        if self._open or self._lines:
            raise AssertionError("This screenplay was begun before; write one for each test.")
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if error is not None and not isinstance(error, Exception):
            return
        if not self._lines and error is None:
            raise AssertionError(
                "This screenplay has no line, so it tests nothing; write at least one `play >> event`."
            )
        written, played = self._scripts()
        if written != played:
            # What went wrong within the block may well follow from what is told here.
            raise AssertionError(_comparison(written, played)) from error

    def __rshift__(self, event: Event) -> Self:
        """Say what happens next."""
        self._require_open()
        try:
            step = self._advance(self.state, event)
        except ProtocolViolation as error:
            self._lines.append(_Line(event, (_Refused(str(error)),)))
        else:
            self._lines.append(_Line(event, step.decisions))
            self.state = step.state
        return self

    def __lshift__(self, decision: Decision | Refusal) -> Self:
        """Say what the machine must decide upon the last event, after what was said of it already."""
        self._require_open()
        if not self._lines:
            raise AssertionError(f"{decision!r} follows no event; begin the screenplay with `play >> event`.")
        self._lines[-1].expected.append(decision)
        return self

    def _require_open(self) -> None:
        if not self._open:
            raise AssertionError("A line outside of the block is never compared; write it within `with … as play:`.")

    def _scripts(self) -> tuple[list[str], list[str]]:
        written: list[str] = []
        played: list[str] = []
        for line in self._lines:
            event = _cut(f">> {_flat(line.event)}")
            expected, found = _shown(line.expected, line.found)
            written += [event, *expected]
            played += [event, *found]
        return written, played


class _Refused:
    """The outcome of an event that the machine refused, with the reason."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __eq__(self, other: object) -> bool:
        return other is A_REFUSAL

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"REFUSED: {self._message}"


def _shown(expected: Sequence[object], found: Sequence[object]) -> tuple[list[str], list[str]]:
    """The lines of two lists of decisions; a pair that is equal is shown alike, whatever placeholders it holds."""
    left, right = [list(_block(each)) for each in expected], [list(_block(each)) for each in found]
    for place, (wanted, got) in enumerate(zip(expected, found, strict=False)):
        if wanted == got:
            right[place] = left[place]
        elif left[place] == right[place]:
            right[place] = [*right[place], "       (looks the same, but is not equal)"]
    return [line for block in left for line in block], [line for block in right for line in block]


def _comparison(written: list[str], played: list[str]) -> str:
    lines = difflib.ndiff(written, played)
    shown = "\n".join(line.rstrip() for line in lines if not line.startswith("?"))
    return f"The machine does not play this script (- as written, + as played):\n{shown}"


def _block(decision: object) -> Iterator[str]:
    """The lines that show one decision: one if it fits, else one for each field."""
    flat = _flat(decision)
    if len(flat) <= _WIDTH or not isinstance(decision, msgspec.Struct):
        yield f"    << {flat}"
        return
    yield f"    << {type(decision).__name__}("
    for name, value in _fields(decision):
        yield from _inner(name, value, indent=11)
    yield "       )"


def _inner(name: str, value: object, *, indent: int) -> Iterator[str]:
    flat = _flat(value)
    if len(flat) + len(name) + indent <= _WIDTH or not isinstance(value, msgspec.Struct):
        yield f"{' ' * indent}{name}={flat},"
        return
    yield f"{' ' * indent}{name}={type(value).__name__}("
    for inner_name, inner in _fields(value):
        yield from _inner(inner_name, inner, indent=indent + 4)
    yield f"{' ' * indent}),"


def _flat(value: object) -> str:
    """A value on one line, less what has its default."""
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}({', '.join(f'{name}={_flat(inner)}' for name, inner in _fields(value))})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_flat, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def _fields(value: msgspec.Struct) -> Iterator[tuple[str, object]]:
    for field in msgspec.structs.fields(value):
        inner: object = getattr(value, field.name)
        if field.default is msgspec.NODEFAULT or type(inner) is not type(field.default) or inner != field.default:
            yield field.name, inner


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
