"""One function call, whole at once or in parts that follow each other."""

from signoff.core.model.parts import CallPart
from signoff.wire.gemini.exact import Source, Unreadable
from signoff.wire.gemini.partial import assembled
from signoff.wire.json_text import JSON, text_of
from signoff.wire.slices import array_text


class Call:
    """What was received of one call."""

    __slots__ = ("_args", "_closed", "_pieces", "_text", "call_id", "index", "name")

    def __init__(self, fields: dict[str, JSON], *, index: int) -> None:
        self.index = index
        self.call_id = word_in(fields, "id")
        self.name = word_in(fields, "name")
        self._args: list[str] = []
        self._pieces: list[str] = []
        self._text = ""
        self._closed = False

    def is_continued_by(self, fields: dict[str, JSON]) -> bool:
        """Whether a part goes on with this call, which is open: the name comes only once."""
        call_id = word_in(fields, "id")
        return not word_in(fields, "name") or (call_id != "" and call_id == self.call_id)

    def take(self, fields: dict[str, JSON], source: Source) -> bool:
        """Take in one part; return whether it was the last."""
        if "args" in fields:
            self._args.append(source.at("args"))
        pieces = fields.get("partialArgs")
        if pieces is not None:
            if not isinstance(pieces, list):
                raise Unreadable
            self._pieces.extend(source.at("partialArgs", place) for place in range(len(pieces)))
        more = fields.get("willContinue")
        if not (more is None or isinstance(more, bool)):
            raise Unreadable
        if not more:
            self._close()
        return not more

    @property
    def closed(self) -> bool:
        """Whether the provider said that the call is whole, and its arguments say without doubt what they are."""
        return self._closed

    @property
    def arguments(self) -> str:
        """The arguments; those that could not be put together are a list of the pieces, which is no object."""
        if self._closed:
            return self._text
        if not self._pieces and len(self._args) <= 1:
            return "".join(self._args)
        return array_text([*self._args, *self._pieces])

    @property
    def part(self) -> CallPart:
        """The call as a part of a response."""
        return CallPart(call_id=self.call_id, name=self.name, arguments=self.arguments, closed=self._closed)

    def _close(self) -> None:
        if len(self._args) + bool(self._pieces) > 1:
            return
        text = assembled(self._pieces) if self._pieces else "".join(self._args)
        if text is not None:
            self._text = text
            self._closed = True
            self._args.clear()
            self._pieces.clear()


def word_in(fields: dict[str, JSON], key: str) -> str:
    """A text that may be absent; raises `Unreadable` for anything else."""
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable
    return text_of(value)
