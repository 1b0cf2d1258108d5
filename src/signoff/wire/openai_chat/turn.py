"""One turn of the assistant, from the deltas of a stream or from a whole message."""

from collections.abc import Callable
from functools import partial
from typing import Final

from signoff.core.model.deltas import Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.core.model.ending import Finish
from signoff.core.model.parts import Part, ReasoningPart, RefusalPart, TextPart
from signoff.wire.json_text import JSON, TextPieces, dump, list_of, object_of
from signoff.wire.openai_chat.calls import Call, Calls
from signoff.wire.openai_chat.exact import ExactChoice
from signoff.wire.openai_chat.merging import Merged
from signoff.wire.openai_chat.words import WHOLE

REASONING: Final = ("reasoning_content", "reasoning")
_ORDER: Final = (*REASONING, "content", "refusal")
_SHOWN_AS: Final[dict[str, Callable[[str], Delta]]] = {
    "content": TextDelta,
    "refusal": RefusalDelta,
    "reasoning_content": ReasoningDelta,
    "reasoning": ReasoningDelta,
}


class Turn:
    """Gathers what a turn is made of, in the order in which its kinds first came."""

    def __init__(self, oddities: set[str]) -> None:
        self._texts: dict[str, TextPieces] = {}
        self._calls = Calls(oddities)
        self._order: list[str] = []  # names of texts, and "calls" once
        self._role = ""
        self._second_reasoning = ""
        self._listed: list[JSON] = []  # content that came as a list of parts
        self._extra = Merged()
        self._oddities = oddities
        self._empty = True

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a message was seen at all."""
        return self._empty

    @property
    def calls(self) -> int:
        """How many calls have begun."""
        return len(self._calls.all)

    def take(self, delta: dict[str, JSON], exact: ExactChoice, *, whole: bool) -> list[Delta]:
        """Take in one delta, or a whole message; return what it adds."""
        shown: list[Delta] = []
        self._empty = self._empty and not delta
        items = sorted(delta.items(), key=_place_of) if whole else delta.items()
        for key, value in items:
            if value is None:
                continue
            if key in _SHOWN_AS:
                shown.extend(self._text(key, value))
            elif key == "tool_calls":
                shown.extend(self._entries(value, exact, whole=whole))
            elif key == "function_call":
                self._note("calls")
                if value and not isinstance(value, dict):
                    self._oddities.add("unread_call")
                shown.extend(self._calls.take_old_form(object_of(value), exact.old_arguments))
            elif key == "role":
                self._role = self._role or (value if isinstance(value, str) else "")
            else:
                self._extra.add(key, value)
        return shown

    def parts(self, finish: Finish | None, *, reasoned: int | None = None) -> tuple[Part, ...]:
        """The parts of the turn, given how it finished, which closes all calls, or the first `reasoned`."""
        parts: list[Part] = []
        for name in self._order:
            if name == "calls":
                parts.extend(part for _, part in self._calls.parts(all_closed=finish in WHOLE, before=reasoned))
            elif text := self._texts[name].text:
                parts.extend(self._part(name, text, parts))
        return tuple(parts)

    def native(self) -> str:
        """The turn as the message that the provider would have sent whole."""
        message: dict[str, JSON] = {"role": self._role or "assistant"}
        content = self._texts.get("content")
        message["content"] = self._listed or (None if content is None else content.text)
        for name in ("refusal", *REASONING):
            if name in self._texts:
                message[name] = self._texts[name].text
        if entries := [call.native() for call in self._calls.all if call is not self._calls.old_form]:
            message["tool_calls"] = list(entries)
        if self._calls.old_form is not None:
            message["function_call"] = _old_form(self._calls.old_form)
        message.update(self._extra.value())
        return dump(message)

    def _note(self, name: str) -> None:
        if name not in self._order:
            self._order.append(name)

    def _text(self, key: str, value: JSON) -> list[Delta]:
        """More of a text; content may also be a list of parts."""
        if isinstance(value, list) and key == "content":
            return self._content_parts(value)
        if not isinstance(value, str):
            self._oddities.add("unread_" + key)
            self._extra.add(key, value)
            return []
        pieces = self._texts.get(key)
        if pieces is None:
            pieces = self._begin_text(key)
        if not value:
            return []
        self._note(key)
        shown = pieces.add(value)
        return [_SHOWN_AS[key](shown)] if shown and key != self._second_reasoning else []

    def _begin_text(self, key: str) -> TextPieces:
        """Begin a text; of reasoning under two names only the first is shown, and both are kept."""
        if key in REASONING and any(name in self._texts for name in REASONING):
            self._oddities.add("reasoning_twice")
            self._second_reasoning = key
        self._texts[key] = TextPieces()
        return self._texts[key]

    def _content_parts(self, items: list[JSON]) -> list[Delta]:
        """Content as a list: its texts and refusals are read, all of it is kept."""
        self._oddities.add("content_parts")
        self._listed.extend(items)
        shown: list[Delta] = []
        for item in items:
            fields = object_of(item)
            if not isinstance(item, dict) or (item.get("type") == "text" and not isinstance(item.get("text"), str)):
                self._oddities.add("unread_content")
            for key, name in (("text", "content"), ("refusal", "refusal")):
                if isinstance(fields.get(key), str):
                    shown.extend(self._text(name, fields[key]))
        return shown

    def _entries(self, value: JSON, exact: ExactChoice, *, whole: bool) -> list[Delta]:
        shown: list[Delta] = []
        if value and not isinstance(value, list):
            self._oddities.add("unread_call")
        for place, entry in enumerate(list_of(value)):
            if isinstance(entry, dict):
                self._note("calls")
                shown.extend(self._calls.take(entry, partial(exact.arguments, place), whole=whole))
            else:
                self._oddities.add("unread_call")
        return shown

    def _part(self, name: str, text: str, so_far: list[Part]) -> list[Part]:
        """A text as a part; reasoning that came under two names alike is one part."""
        if name == "content":
            cited = [item for item in list_of(self._extra.value().get("annotations")) if isinstance(item, dict)]
            return [TextPart(text=text, citations=dump(list(cited)) if cited else "")]
        if name == "refusal":
            return [RefusalPart(text=text)]
        reasoning = ReasoningPart(text=text)
        return [] if reasoning in so_far else [reasoning]


def _place_of(item: tuple[str, JSON]) -> int:
    """A whole message says no order: reasoning comes first, then texts, then calls."""
    return _ORDER.index(item[0]) if item[0] in _ORDER else len(_ORDER)


def _old_form(call: Call) -> dict[str, JSON]:
    return {"name": call.name, "arguments": call.arguments.text, **call.function_extra.value()}
