"""The output of a response while it streams: items by `output_index`, in whatever order their events come.

Items may overlap, close in any order, leave gaps, and come from servers that use one index twice; an index is a key
here, never a length. Nothing here knows how a response ends.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.parts import CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.wire.json_text import JSON, count_of, text_of
from signoff.wire.openai_responses.items import CALLS, Item, content_of, parts_of
from signoff.wire.openai_responses.slots import TEXT_FIELDS, Slot, identity_of
from signoff.wire.slices import members_of

_Event: TypeAlias = dict[str, JSON]


class _Text(NamedTuple):
    """A kind of text that streams: the items it may stand in, the type of its part, its index, how it is shown."""

    items: tuple[str, ...]
    kind: str
    place: str
    shows: Callable[[str], Delta]


_TEXTS: Final = {
    "response.output_text": _Text(("message",), "output_text", "content_index", TextDelta),
    "response.refusal": _Text(("message",), "refusal", "content_index", RefusalDelta),
    "response.reasoning_text": _Text(("reasoning", "message"), "reasoning_text", "content_index", ReasoningDelta),
    "response.reasoning_summary_text": _Text(("reasoning",), "summary_text", "summary_index", ReasoningDelta),
}
_ARGUMENTS: Final = {
    "response.function_call_arguments": "function_call",
    "response.custom_tool_call_input": "custom_tool_call",
}
_PARTS: Final = {
    "response.content_part": (("message", "reasoning"), "content_index"),
    "response.reasoning_summary_part": (("reasoning",), "summary_index"),
}
_ANNOTATION: Final = "response.output_text.annotation.added"
_SILENT: Final = (
    "keepalive",
    "response.apply_patch_call",
    "response.audio.",
    "response.code_interpreter_call",
    "response.compaction.",
    "response.file_search_call.",
    "response.image_generation_call.",
    "response.mcp_",
    "response.shell_call_",
    "response.steer.",
    "response.tool_search_call",
    "response.web_search_call.",
)
"""How the events begin whose content the finished item repeats, or which have none."""


class StreamedOutput:
    """Items in progress. What deviates is noted in the set of oddities that it is made with."""

    def __init__(self, oddities: set[str]) -> None:
        self._oddities = oddities
        self._slots: list[Slot] = []
        self._at: dict[int, Slot] = {}  # the latest item of each index
        self._named: dict[tuple[int, str], Slot] = {}  # items that share an index are told apart by their ids
        self._index_of: dict[str, int] = {}
        self._calls = 0

    def __bool__(self) -> bool:
        return bool(self._slots)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items in the order of their indexes, each as it was finally given or as it stands."""
        return tuple(slot.whole for slot in sorted(self._slots, key=lambda slot: slot.index))

    def take(self, event_type: str, event: _Event, *, text: str) -> tuple[Delta, ...]:
        """Take in one event that is not about the response as a whole; `text` is its JSON text."""
        stem, _, last = event_type.rpartition(".")
        if last in {"delta", "done"} and stem in _TEXTS:
            return self._text(_TEXTS[stem], event, is_done=last == "done")
        if last in {"delta", "done"} and stem in _ARGUMENTS:
            return self._arguments(_ARGUMENTS[stem], event, is_done=last == "done")
        if event_type == "response.output_item.added":
            return self._added(event)
        if event_type == "response.output_item.done":
            return self._done(event, text)
        if last in {"added", "done"} and stem in _PARTS:
            self._part(*_PARTS[stem], event, is_done=last == "done")
        elif event_type == _ANNOTATION:
            piece = self._slot(event, ("message",)).piece("output_text", event.get("content_index"))
            piece.annotate(event.get("annotation"))
        elif not event_type.startswith(_SILENT):
            self._oddities.add("unknown_event")
        return ()

    def show(self, parts: tuple[Part, ...]) -> tuple[Delta, ...]:
        """Tell parts of which nothing was streamed."""
        return tuple(delta for part in parts for delta in self._shown(part))

    # ── Items ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _added(self, event: _Event) -> tuple[Delta, ...]:
        item = event.get("item")
        if not isinstance(item, dict):
            self._oddities.add("empty_item")
            return ()
        index = self._index(event, text_of(item.get("id")))
        before = self._at.get(index)
        if before is not None and before.implied and before.kind == text_of(item.get("type")):
            before.begin(item)
            return ()
        if before is not None and before.done is None and before.identity == identity_of(item):
            self._oddities.add("item_added_twice")
            return ()
        return self._started(self._open(index, item))

    def _done(self, event: _Event, text: str) -> tuple[Delta, ...]:
        item = event.get("item")
        if not isinstance(item, dict):
            self._oddities.add("empty_item")
            return ()
        slot = self._slot_of_done(event, item)
        if slot.identity != identity_of(item) and not slot.implied:
            self._oddities.add("item_identity_changed")
        slot.done = Item(item, members_of(text)["item"])
        parts = parts_of([slot.done], set())
        if slot.has_pieces and content_of(parts_of([slot.streamed], set())) != content_of(parts):
            self._oddities.add("item_done_differs")
        if slot.shown:
            return ()
        slot.shown = True
        shown = self.show(parts) if slot.call_place is None else _arguments_of(parts, slot.call_place)
        return tuple(shown)

    def _slot_of_done(self, event: _Event, item: _Event) -> Slot:
        """The item that this is the end of; a new one if there is none, or only others."""
        item_id = text_of(item.get("id"))
        index = self._index(event, item_id)
        slot = self._named.get((index, item_id)) or self._at.get(index)
        if slot is None:
            self._oddities.add("event_out_of_order")
        elif slot.kind == text_of(item.get("type")) and (slot.done is None or slot.identity == identity_of(item)):
            return slot
        return self._open(index, item)

    def _open(self, index: int, item: _Event, *, implied: bool = False) -> Slot:
        if index in self._at:
            self._oddities.add("output_index_reused")
        slot = Slot(index, item, implied=implied)
        self._slots.append(slot)
        self._at[index] = slot
        item_id = text_of(item.get("id"))
        if item_id:
            self._named.setdefault((index, item_id), slot)
            self._index_of[item_id] = index
        return slot

    def _slot(self, event: _Event, kinds: tuple[str, ...]) -> Slot:
        """The item that an event belongs to; one of the first kind is begun if there is none of these kinds."""
        item_id = text_of(event.get("item_id"))
        index = self._index(event, item_id)
        slot = self._named.get((index, item_id)) or self._at.get(index)
        if slot is not None and slot.kind in kinds:
            if slot.done is not None:
                self._oddities.add("event_after_done")
            return slot
        self._oddities.add("event_out_of_order")
        return self._open(index, {"type": kinds[0], **({"id": item_id} if item_id else {})}, implied=True)

    def _index(self, event: _Event, item_id: str) -> int:
        """The place of an event's item; where it names none, that of its id, or of the latest item."""
        index = count_of(event.get("output_index"))
        if index is not None:
            return index
        self._oddities.add("output_index_missing")
        return self._index_of.get(item_id, self._slots[-1].index if self._slots else 0)

    # ── Their pieces ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _text(self, known: _Text, event: _Event, *, is_done: bool) -> tuple[Delta, ...]:
        text = event.get(TEXT_FIELDS.get(known.kind, "text") if is_done else "delta")
        slot = self._slot(event, known.items)
        if not slot.has_piece(known.kind, event.get(known.place)):
            self._oddities.add("event_out_of_order")
        piece = slot.piece(known.kind, event.get(known.place))
        if not isinstance(text, str):
            self._oddities.add("delta_not_string")
            return ()
        if not is_done:
            shown = piece.add(text)
        else:
            shown = "" if piece else text_of(text)
            if not piece.settle(text_of(text)):
                self._oddities.add("text_done_differs")
        slot.shown = slot.shown or bool(shown)
        return (known.shows(shown),) if shown else ()

    def _part(self, kinds: tuple[str, ...], index: str, event: _Event, *, is_done: bool) -> None:
        part = event.get("part")
        if not isinstance(part, dict):
            self._oddities.add("empty_part")
            return
        kind = text_of(part.get("type"))
        slot = self._slot(event, kinds[::-1] if kind == "reasoning_text" else kinds)
        if not is_done:
            slot.begin_piece(kind, event.get(index), part=part)
        elif not slot.piece(kind, event.get(index)).replace(part):
            self._oddities.add("text_done_differs")

    def _arguments(self, kind: str, event: _Event, *, is_done: bool) -> tuple[Delta, ...]:
        text = event.get(CALLS[kind] if is_done else "delta")
        slot = self._slot(event, (kind,))
        started = self._started(slot)
        if not isinstance(text, str):
            self._oddities.add("delta_not_string")
            return started
        if not is_done:
            shown = slot.add_arguments(text)
        else:
            shown = "" if slot.has_pieces else text_of(text)
            if not slot.settle_arguments(text_of(text)):
                self._oddities.add("text_done_differs")
        slot.shown = slot.shown or bool(shown)
        return (*started, CallDelta(slot.call_place or 0, shown)) if shown else started

    # ── Telling ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _started(self, slot: Slot) -> tuple[Delta, ...]:
        """Tell that a call began, once."""
        if slot.kind not in CALLS or slot.call_place is not None:
            return ()
        slot.call_place = self._calls
        self._calls += 1
        return (CallStarted(slot.call_place, text_of(slot.item.get("call_id")), text_of(slot.item.get("name"))),)

    def _shown(self, part: Part) -> Iterator[Delta]:
        match part:
            case TextPart(text=text) if text:
                yield TextDelta(text)
            case ReasoningPart(text=text) if text:
                yield ReasoningDelta(text)
            case RefusalPart(text=text) if text:
                yield RefusalDelta(text)
            case CallPart():
                yield CallStarted(self._calls, part.call_id, part.name)
                yield from _arguments_of((part,), self._calls)
                self._calls += 1
            case TextPart() | ReasoningPart() | RefusalPart() | OpaquePart():
                pass


def _arguments_of(parts: tuple[Part, ...], place: int) -> tuple[Delta, ...]:
    return tuple(CallDelta(place, part.arguments) for part in parts if isinstance(part, CallPart) and part.arguments)
