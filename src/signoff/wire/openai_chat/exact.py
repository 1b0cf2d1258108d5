"""The exact text of what stands in a body: what is evidence is never written anew from what was read of it."""

from signoff.wire.slices import elements_of, members_of


class ExactChoice:
    """The `message` or `delta` of one choice of a body, cut out only when it is asked for, and then once."""

    __slots__ = ("_body", "_entries", "_message", "_name", "_place")

    def __init__(self, body: str, place: int, *, name: str) -> None:
        self._body = body
        self._place = place
        self._name = name
        self._message: str | None = None
        self._entries: list[str] | None = None

    def message(self) -> str:
        """The message, or the delta; empty when it cannot be cut out."""
        if self._message is None:
            choice = _at(elements_of(members_of(self._body).get("choices", "")), self._place)
            self._message = members_of(choice).get(self._name, "")
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
