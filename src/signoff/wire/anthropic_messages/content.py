"""The blocks of a streamed response, in the order in which they started.

They are keyed by their index, so that interleaved blocks, gaps and huge indexes cost nothing. A delta whose block never
started, or is of another kind, is kept as a block of its own and noted: nothing is lost, and no call comes of it.
"""

from collections.abc import Iterable

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, TextDelta
from signoff.core.model.parts import CallPart, Part
from signoff.wire.anthropic_messages.open_block import OpenBlock, stray
from signoff.wire.anthropic_messages.words import HOMES
from signoff.wire.json_text import JSON, count_of, object_of, text_of
from signoff.wire.slices import array_text, members_of


class Content:
    """The content of one response in progress; what deviates in it is put into the set that it is given."""

    def __init__(self, oddities: set[str]) -> None:
        self._blocks: list[OpenBlock] = []
        self._by_index: dict[int, OpenBlock] = {}
        self._strays: dict[tuple[int | None, str], OpenBlock] = {}
        self._calls = 0
        self._oddities = oddities

    @property
    def all_stopped(self) -> bool:
        """Whether every block was stopped."""
        return all(block.stopped for block in self._blocks)

    @property
    def lost(self) -> bool:
        """Whether a piece of a text could not be taken."""
        return any(block.lost for block in self._blocks)

    @property
    def parts(self) -> list[Part]:
        """The blocks as parts."""
        return [block.part() for block in self._blocks]

    @property
    def native(self) -> str:
        """The blocks as the provider's array; empty if one of them has no such form."""
        texts = [block.native() for block in self._blocks]
        known = [text for text in texts if text is not None]
        return array_text(filter(None, known)) if len(known) == len(texts) else ""

    def take_whole(self, blocks: Iterable[str]) -> tuple[Delta, ...]:
        """Take in blocks that came with the start of the message, where none should be."""
        deltas: list[Delta] = []
        for text in blocks:
            self._oddities.add("content_in_start")
            block = OpenBlock(members_of(text), self._oddities)
            deltas += self._open(block)
            block.stopped = True
        return tuple(deltas)

    def start(self, data: dict[str, JSON], text: str) -> tuple[Delta, ...]:
        """Take in a `content_block_start`, given also as text; return what it shows."""
        index = self._index_of(data)
        if index is None:
            index = len(self._by_index)
        if index in self._by_index:
            self._oddities.add("index_reused")
        elif index != len(self._by_index):
            self._oddities.add("index_gap")
        block = OpenBlock(members_of(members_of(text).get("content_block", "")), self._oddities)
        self._by_index[index] = block
        return self._open(block)

    def add(self, data: dict[str, JSON], text: str) -> tuple[Delta, ...]:
        """Take in a `content_block_delta`, given also as text; return what it shows."""
        delta = object_of(data.get("delta"))
        kind = text_of(delta.get("type"))
        index = self._index_of(data)
        block = self._at(index)
        if block is not None and block.kind == "tool_use" and not block.takes(kind):
            block.spoil()  # it may have been a piece of the input
        if kind not in HOMES:
            self._oddities.add("unknown_delta")
            return ()
        opened: tuple[Delta, ...] = ()
        if block is None or not block.takes(kind):
            self._oddities.add("delta_without_start" if block is None else "delta_of_other_kind")
            block = self._strays.get((index, kind))
        if block is None:
            block = self._strays[index, kind] = stray(kind, self._oddities)
            opened = self._open(block)
        return (*opened, *_shown(block, block.add(delta, kind, text=members_of(text).get("delta", ""))))

    def stop(self, data: dict[str, JSON]) -> None:
        """Take in a `content_block_stop`."""
        block = self._at(self._index_of(data))
        if block is None:
            self._oddities.add("stop_without_start")
        elif block.stopped:
            self._oddities.add("second_stop")
        else:
            block.stopped = True

    def _open(self, block: OpenBlock) -> tuple[Delta, ...]:
        """Give a block its place; return what its start shows."""
        self._blocks.append(block)
        call = block.part() if block.kind == "tool_use" else None
        if not isinstance(call, CallPart):
            return _shown(block, block.begin())
        block.call = self._calls
        self._calls += 1
        return (CallStarted(block.call, call.call_id, call.name),)

    def _at(self, index: int | None) -> OpenBlock | None:
        """The block of an index; without one, the last that started."""
        if index is not None:
            return self._by_index.get(index)
        return self._blocks[-1] if self._blocks else None

    def _index_of(self, data: dict[str, JSON]) -> int | None:
        """The index of a block; None, and noted, where there is no usable one."""
        index = count_of(data.get("index"))
        if index is None:
            self._oddities.add("index_missing")
        return index


def _shown(block: OpenBlock, text: str) -> tuple[Delta, ...]:
    """What a piece of a block shows; opaque blocks show nothing."""
    if not text:
        return ()
    match block.kind:
        case "text":
            return (TextDelta(text),)
        case "thinking":
            return (ReasoningDelta(text),)
        case "tool_use":
            return (CallDelta(block.call, text),)
        case _:
            return ()
