"""The calls of one turn, put together from fragments that servers key and repeat in their own ways.

A fragment belongs to the call that its index names. Ollama gives every parallel call index 0, so an id that is new,
with a name, begins another call on a used index. Nothing is allocated by an index: it is a key and nothing else.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from signoff.core.model.deltas import CallDelta, CallStarted, Delta
from signoff.core.model.parts import CallKind, CallPart
from signoff.wire.json_text import JSON, TextPieces, dump, object_of, text_of
from signoff.wire.openai_chat.merging import Merged

_HEAD: Final = frozenset({"index", "id", "type", "function", "custom"})
_BODY: Final = frozenset({"name", "arguments", "input"})

Exact: TypeAlias = Callable[[], str]
"""Gives the exact text of arguments that are no string; empty when it cannot be cut out."""


class Call:
    """One call in progress."""

    __slots__ = (
        "arguments",
        "call_id",
        "closed",
        "extra",
        "function_extra",
        "kind",
        "name",
        "position",
        "torn",
        "type",
    )

    def __init__(self, position: int) -> None:
        self.position = position
        self.call_id = ""
        self.name = ""
        self.type = ""
        self.kind = CallKind.FUNCTION
        self.arguments = TextPieces()
        self.closed = False
        self.torn = False  # its fragments speak of two calls
        self.extra = Merged()
        self.function_extra = Merged()

    def part(self, *, closed: bool) -> CallPart:
        """The call as a part; one that holds half a character, or pieces of two calls, is never whole."""
        return CallPart(
            call_id=self.call_id,
            name=self.name,
            arguments=self.arguments.text,
            kind=self.kind,
            closed=closed and not self.torn and self.arguments.is_exact,
        )

    def native(self) -> dict[str, JSON]:
        """The call as an entry of `tool_calls`, with every field that came."""
        custom = self.kind is CallKind.CUSTOM
        body: dict[str, JSON] = {"name": self.name, "input" if custom else "arguments": self.arguments.text}
        body.update(self.function_extra.value())
        entry: dict[str, JSON] = {"id": self.call_id} if self.call_id else {}
        entry["type"] = self.type or "function"
        entry["custom" if custom else "function"] = body
        entry.update(self.extra.value())
        return entry


class Calls:
    """The calls of one turn, in the order in which they began."""

    def __init__(self, oddities: set[str]) -> None:
        self.all: list[Call] = []
        self.old_form: Call | None = None
        self._by_key: dict[JSON, Call] = {}
        self._last: Call | None = None
        self._oddities = oddities

    def take(self, entry: dict[str, JSON], exact: Exact, *, whole: bool) -> list[Delta]:
        """Take in one entry of `tool_calls`; `whole` entries need no index."""
        body = entry.get("custom") if "custom" in entry and "function" not in entry else entry.get("function")
        fields = object_of(body)
        if body and not isinstance(body, dict):
            self._oddities.add("unread_call")
        call_id = text_of(entry.get("id")) or text_of(fields.get("id"))
        name = text_of(fields.get("name"))
        call = self._find(entry.get("index"), call_id, name, whole=whole)
        shown: list[Delta] = []
        if call is None:
            call = self._begin(entry.get("index"), call_id, name)
            shown.append(CallStarted(call.position, call_id, name))
        elif call_id or name:
            self._repeat(call, call_id, name)
        self._head(call, entry, fields)
        piece = fields.get("input" if call.kind is CallKind.CUSTOM else "arguments")
        return shown + self._more(call, piece, exact)

    def take_old_form(self, value: dict[str, JSON], exact: Exact) -> list[Delta]:
        """Take in a `function_call`, which there is one of at most and which has no id."""
        shown: list[Delta] = []
        name = text_of(value.get("name"))
        if self.old_form is None:
            self.old_form = self._begin("function_call", "", name)
            shown.append(CallStarted(self.old_form.position, "", name))
        elif name:
            self._repeat(self.old_form, "", name)
        for key, field in value.items():
            if key not in _BODY and field is not None:
                self.old_form.function_extra.add(key, field)
        return shown + self._more(self.old_form, value.get("arguments"), exact)

    def parts(self, *, all_closed: bool, before: int | None) -> list[tuple[Call, CallPart]]:
        """Each call with its part. Without a reason that closes all, the one written to last stays open.

        With `before`, a call at that place or behind it began after the reason and is open, whatever followed it.
        """
        early = self.all[:before]
        parts = [(call, call.part(closed=all_closed or call.closed)) for call in early]
        return parts + [(call, call.part(closed=False)) for call in self.all[len(early) :]]

    def _find(self, index: JSON, call_id: str, name: str, *, whole: bool) -> Call | None:
        """The call that a fragment goes on with; None when it begins one."""
        if whole:
            return None
        if type(index) is not int:
            self._oddities.add("call_without_index")
            known = self._by_key.get(call_id) if call_id else None
            return known or (None if call_id or name else self._last)
        call = self._by_key.get(index)
        if call is None:
            return None
        if name and call_id and call.call_id and call_id != call.call_id:
            self._oddities.add("index_reused")
            return None
        return call

    def _begin(self, index: JSON, call_id: str, name: str) -> Call:
        call = Call(len(self.all))
        call.call_id, call.name = call_id, name
        self.all.append(call)
        if type(index) is int:
            self._by_key[index] = call
        elif call_id:
            self._by_key[call_id] = call
        return call

    def _repeat(self, call: Call, call_id: str, name: str) -> None:
        """A later fragment that names its call again: the first id and name stay; others tear it."""
        if call_id and call.call_id:
            call.torn = call.torn or call_id != call.call_id
            self._oddities.add("call_head_repeated" if call_id == call.call_id else "call_id_changed")
        call.call_id = call.call_id or call_id
        if name and call.name:
            self._oddities.add("call_head_repeated")
            if name != call.name:
                call.torn = True
                self._oddities.add("call_name_changed")
        call.name = call.name or name

    def _head(self, call: Call, entry: dict[str, JSON], fields: dict[str, JSON]) -> None:
        """What stands beside the arguments: the type, and fields that only the provider knows."""
        if not call.type:
            call.type = text_of(entry.get("type"))
            custom = call.type == "custom" or ("custom" in entry and "function" not in entry)
            call.kind = CallKind.CUSTOM if custom else CallKind.FUNCTION
        if len(entry) > len(_HEAD & entry.keys()):
            for key, value in entry.items():
                if key not in _HEAD and value is not None:
                    call.extra.add(key, value)
        for key, value in fields.items():
            if key not in _BODY and key != "id" and value is not None:
                call.function_extra.add(key, value)

    def _more(self, call: Call, piece: JSON, exact: Exact) -> list[Delta]:
        """More of the arguments, which closes every other call; more of a closed call opens it again."""
        if self._last is not call:
            if call.closed:
                self._oddities.add("call_reopened")
            if self._last is not None:
                self._last.closed = True
            call.closed = False
            self._last = call
        if piece is None or piece == "":
            return []
        if not isinstance(piece, str):
            self._oddities.add("arguments_not_text")
            piece = exact() or dump(piece)
        shown = call.arguments.add(piece)
        return [CallDelta(call.position, shown)] if shown else []
