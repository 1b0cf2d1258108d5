"""The form of the matrix: every end of a response, in every protocol, streamed and not, and what is expected of it.

The expectations say what the protocols mean, row by row; nothing in them was read from the code under test. A cell that
a protocol cannot fill says why, so that the table is total.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import orjson

from signoff.core.model.response import BodyEnd, End, FailureKind
from signoff.testing import Play

ROWS = (
    "finish",
    "calls",
    "calls under the reason for text",
    "calls promised and none given",
    "limit",
    "limit inside a call",
    "context full",
    "filter",
    "filtered prompt",
    "refusal",
    "pause",
    "continuation",
    "malformed call",
    "reasoning only",
    "empty",
    "body ends mid text",
    "body ends mid call",
    "body ends inside a frame",
    "cut mid text",
    "cut mid call",
    "cut inside a frame",
    "reset mid text",
    "reset before any byte",
    "stall",
    "finish without end marker",
    "cut behind the finish",
    "end marker without finish",
    "error event",
    "error under status 200",
    "failed status",
    "HTTP 429",
    "HTTP 500",
    "web page under status 200",
    "broken JSON under status 200",
    "nothing under status 200",
    "the other form",
    "empty choices",
    "unknown finish",
    "usage missing",
    "cap reached though labelled otherwise",
)
WEB_PAGE = b"<!doctype html><html><title>Bad gateway</title><p>Come back later.</html>"


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What the record of one response must say."""

    end: End
    raw_reason: str | None = None
    text: str = ""
    reasoning: str = ""
    refusal: str | None = None
    calls: int = 0
    usage: tuple[int | None, int | None] | None = None
    failure: FailureKind | None = None
    where: str | None = None
    retry_after: float | None = None
    body_end: BodyEnd = BodyEnd.CLEAN

    @property
    def complete(self) -> bool:
        """Only these two ends are complete."""
        return self.end in {End.NORMAL, End.TOOL_CALLS}


def change(expected: Expected, **facts: object) -> Expected:
    """An expectation with some facts replaced."""
    return msgspec.structs.replace(expected, **facts)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is played, and what must come of it."""

    play: Play
    expected: Expected
    cap: int | None = None
    """The request's `max_output_tokens`."""


class Absent(NamedTuple):
    """A cell that this protocol cannot fill."""

    reason: str


class Table:
    """The cells of one protocol: by row, and whether streamed."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, bool], Cell | Absent] = {}

    def streamed(self, row: str, play: Play | bytes, expected: Expected, *, cap: int | None = None) -> None:
        """Fill the streamed cell of a row."""
        self._fill(row, stream=True, cell=Cell(play=_play(play), expected=expected, cap=cap))

    def whole(self, row: str, play: Play | bytes, expected: Expected, *, cap: int | None = None) -> None:
        """Fill the cell of a row that is not streamed."""
        self._fill(row, stream=False, cell=Cell(play=_play(play), expected=expected, cap=cap))

    def both(self, row: str, *, stream: Play | bytes, whole: Play | bytes, expected: Expected) -> None:
        """Fill both cells of a row: the two forms say the same."""
        self.streamed(row, stream, expected)
        self.whole(row, whole, expected)

    def absent(self, row: str, reason: str) -> None:
        """Say why both cells of a row are empty."""
        self.absent_streamed(row, reason)
        self.absent_whole(row, reason)

    def absent_streamed(self, row: str, reason: str) -> None:
        """Say why the streamed cell of a row is empty."""
        self._fill(row, stream=True, cell=Absent(reason))

    def absent_whole(self, row: str, reason: str) -> None:
        """Say why the cell of a row that is not streamed is empty."""
        self._fill(row, stream=False, cell=Absent(reason))

    def _fill(self, row: str, *, stream: bool, cell: Cell | Absent) -> None:
        assert row in ROWS
        assert (row, stream) not in self.cells
        self.cells[row, stream] = cell


def _play(play: Play | bytes) -> Play:
    return Play(body=play) if isinstance(play, bytes) else play


def data(value: object) -> bytes:
    """A frame without a name."""
    return b"data: %b\n\n" % json(value)


def event(name: str, value: object) -> bytes:
    """A frame with a name."""
    return b"event: %b\n%b" % (name.encode(), data(value))


def json(value: object) -> bytes:
    """A value as JSON text."""
    return orjson.dumps(value)


def joined(*frames: bytes | Sequence[bytes]) -> bytes:
    """Frames and lists of frames, as one body."""
    return b"".join(one if isinstance(one, bytes) else b"".join(one) for one in frames)


Fields = dict[str, Any]
