"""The exact text of what stands in a body: what is evidence is never written anew from what was read of it."""

from signoff.wire.slices import elements_of, members_of


class ExactChoices:
    """The choices of one body, cut apart only when one is asked for, and then once for all of them."""

    __slots__ = ("_body", "_choices")

    def __init__(self, body: str) -> None:
        self._body = body
        self._choices: list[str] | None = None

    def at(self, place: int) -> str:
        """The choice at a place; empty when it cannot be cut out."""
        if self._choices is None:
            self._choices = elements_of(members_of(self._body).get("choices", ""))
        return _at(self._choices, place)


class ExactChoice:
    """The `message` or `delta` of one choice of a body, cut out only when it is asked for, and then once."""

    __slots__ = ("_choices", "_entries", "_message", "_name", "_place")

    def __init__(self, choices: ExactChoices, place: int, *, name: str) -> None:
        self._choices = choices
        self._place = place
        self._name = name
        self._message: str | None = None
        self._entries: list[str] | None = None

    def message(self) -> str:
        """The message, or the delta; empty when it cannot be cut out."""
        if self._message is None:
            self._message = members_of(self._choices.at(self._place)).get(self._name, "")
        return self._message

    def arguments(self, entry: int) -> str:
        """The arguments of the entry of `tool_calls` at a place; empty when they cannot be cut out."""
        if self._entries is None:
            self._entries = elements_of(members_of(self.message()).get("tool_calls", ""))
        members = members_of(_at(self._entries, entry))
        function = members_of(members.get("function") or members.get("custom", ""))
        return function.get("arguments") or function.get("input", "")

    def old_arguments(self) -> str:
        """The arguments of `function_call`; empty when they cannot be cut out."""
        return members_of(members_of(self.message()).get("function_call", "")).get("arguments", "")


def messages_in(body: str) -> list[str]:
    """The text of each message of a request."""
    return elements_of(members_of(body).get("messages", ""))


def _at(texts: list[str], place: int) -> str:
    return texts[place] if place < len(texts) else ""
