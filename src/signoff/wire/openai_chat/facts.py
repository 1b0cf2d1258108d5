"""What is known of a response beside its turn: how it finished, usage, identity, and every other field."""

from typing import Final

from signoff.core.model.ending import Finish
from signoff.core.model.response import TokenUsage
from signoff.wire.json_text import JSON, dump, text_of
from signoff.wire.openai_chat.merging import Merged
from signoff.wire.openai_chat.words import LOST, WHOLE, finish_of, usage_of

_READ: Final = frozenset({"id", "model", "choices", "usage", "obfuscation", "error"})
_READ_OF_CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "error"})
_LONGEST_REASON: Final = 100


class Facts:
    """Gathers them, from one body or from many chunks."""

    def __init__(self, oddities: set[str]) -> None:
        self.finish: Finish | None = None
        self.raw_reason: str | None = None
        self.response_id = ""
        self.model = ""
        self.chunks = 0
        self.saw_choice = False
        self._usage: dict[str, JSON] | None = None
        self._others: dict[str, JSON] = {}
        self._of_choice = Merged()
        self._behind = False  # content came after the reason
        self._oddities = oddities

    @property
    def usage(self) -> TokenUsage | None:
        """The usage that came last, or None."""
        return None if self._usage is None else usage_of(self._usage)

    def top(self, value: dict[str, JSON]) -> None:
        """The top level of a body or a chunk. The first id and model stay: relays change them midway."""
        self.chunks += 1
        for key, field in value.items():
            if key not in _READ and field is not None:
                self._others[key] = field
        identity = value.get("id")
        if identity != self.response_id and isinstance(identity, str) and identity:
            if self.response_id:
                self._oddities.add("id_changed")
            self.response_id = self.response_id or text_of(identity)
        self.model = self.model or text_of(value.get("model"))
        usage = value.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        elif usage is not None:
            self._oddities.add("unread_usage")

    def is_first(self, choice: dict[str, JSON]) -> bool:
        """Whether this is choice 0, the only one that is read."""
        index = choice.get("index")
        if index is None:
            self._oddities.add("choice_without_index")
        elif type(index) is not int or index != 0:
            self._oddities.add("more_choices" if type(index) is int else "unread_choice")
            return False
        self.saw_choice = True
        return True

    def content(self) -> None:
        """Content came; after a reason it is one more thing that may have been cut."""
        if self.finish is not None:
            self._oddities.add("after_finish")
            self._behind = True

    def reason(self, *, at_end: bool = True) -> tuple[Finish, str] | tuple[None, None]:
        """The reason as far as it holds; none is left of one that calls whole what was lost or may have been cut."""
        lost = not LOST.isdisjoint(self._oddities) or (self._behind and not at_end)
        if self.finish is None or self.raw_reason is None or (lost and self.finish in WHOLE):
            return None, None
        return self.finish, self.raw_reason

    def choice(self, choice: dict[str, JSON]) -> bool:
        """The reason, and what else stands in choice 0; says whether a reason came."""
        reason = choice.get("finish_reason")
        if reason is not None:
            self._finished(reason)
        for key, value in choice.items():
            if key not in _READ_OF_CHOICE and value is not None:
                self._of_choice.add(key, value)
        return reason is not None and reason != ""

    def envelope(self) -> str:
        """JSON text of every other field; those of the choice under `choices`, as they stood."""
        fields = dict(self._others)
        if of_choice := self._of_choice.value():
            fields["choices"] = [of_choice]
        return dump(fields)

    def _finished(self, reason: JSON) -> None:
        """Note a reason. A second one never makes whole what the first called cut."""
        if reason == "":
            self._oddities.add("empty_reason")
            return
        if not isinstance(reason, str):
            self._oddities.add("unread_reason")
            reason = dump(reason)
        self._behind = False
        raw = text_of(reason)[:_LONGEST_REASON]
        if self.finish is not None:
            self._oddities.add("finish_repeated" if raw == self.raw_reason else "finish_changed")
            if self.finish not in WHOLE:
                return
        self.finish, self.raw_reason = finish_of(raw), raw
