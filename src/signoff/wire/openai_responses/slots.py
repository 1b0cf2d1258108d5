"""One output item while it streams: its pieces are kept as they came and joined once.

Nothing here knows of other items or of how a response ends.
"""

from typing import Final

from signoff.wire.json_text import JSON, TextPieces, count_of, dump, list_of, object_of, text_of
from signoff.wire.openai_responses.items import CALLS, Item

TEXT_FIELDS: Final = {"refusal": "refusal"}
"""The field that holds the text of a part; `text` for every kind that is not named here."""


class Piece:
    """One content part or summary part in progress."""

    def __init__(self, kind: str, part: dict[str, JSON]) -> None:
        self._field = TEXT_FIELDS.get(kind, "text")
        self._part: dict[str, JSON] = {"type": kind, **part}
        self._text = TextPieces()
        self._annotations: list[JSON] = []
        given = part.get(self._field)
        if isinstance(given, str) and given:
            self._text.add(given)

    def __bool__(self) -> bool:
        return bool(self._text)

    def add(self, text: str) -> str:
        """Keep more of its text; return what can be shown of it."""
        return self._text.add(text)

    def annotate(self, annotation: JSON) -> None:
        """Keep one more annotation of its text."""
        self._annotations.append(annotation)

    def settle(self, text: str) -> bool:
        """Take the text that the provider finally gives for it; whether that is what was streamed, if anything was."""
        same = not self._text or self._text.text == text
        self._text = TextPieces()
        self._text.add(text)
        return same

    def replace(self, part: dict[str, JSON]) -> bool:
        """Take the whole part that the provider finally gives; whether its text is what was streamed."""
        self._part = part
        text = part.get(self._field)
        return self.settle(text_of(text)) if isinstance(text, str) else True

    @property
    def value(self) -> dict[str, JSON]:
        """The part as it stands."""
        part: dict[str, JSON] = dict(self._part)
        if self._text or self._field in part or self._part.get("type") == "output_text":
            part[self._field] = self._text.text
        if self._annotations and not part.get("annotations"):
            part["annotations"] = self._annotations
        return part


class Slot:
    """One item in progress."""

    def __init__(self, index: int, item: dict[str, JSON], *, implied: bool = False) -> None:
        self.index = index
        self.done: Item | None = None
        """The item as the provider finally gives it."""
        self.call_place: int | None = None
        """Its place among the calls of the response, once it was told as one."""
        self.shown = False
        """Whether any of its content was told as a delta."""
        self.arguments_closed = False
        self._pieces: dict[tuple[str, int], Piece] = {}
        self._arguments = TextPieces()
        self.begin(item)
        self.implied = implied
        """Whether only its pieces were seen so far, and not its beginning."""

    def begin(self, item: dict[str, JSON]) -> None:
        """Take the item as its beginning gives it, which may hold content already."""
        self.item, self.implied = item, False
        for name in ("summary", "content"):
            for index, part in enumerate(list_of(item.get(name))):
                kind = text_of(object_of(part).get("type"))
                self.begin_piece(kind, index, part=object_of(part))

    @property
    def kind(self) -> str:
        """The type of the item."""
        return text_of(self.item.get("type"))

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells it from another item in its place."""
        return identity_of(self.item)

    @property
    def has_pieces(self) -> bool:
        """Whether any of its content was streamed."""
        return bool(self._pieces) or bool(self._arguments)

    def piece(self, kind: str, index: JSON) -> Piece:
        """The part of this kind at this index; a new one if there is none."""
        place = (kind, count_of(index) or 0)
        if place not in self._pieces:
            self._pieces[place] = Piece(kind, {})
        return self._pieces[place]

    def has_piece(self, kind: str, index: JSON) -> bool:
        """Whether a part of this kind was begun at this index."""
        return (kind, count_of(index) or 0) in self._pieces

    def begin_piece(self, kind: str, index: JSON, *, part: dict[str, JSON]) -> None:
        """Begin a part, unless it is there already."""
        self._pieces.setdefault((kind, count_of(index) or 0), Piece(kind, part))

    def add_arguments(self, text: str) -> str:
        """Keep more of the arguments; return what can be shown of them."""
        return self._arguments.add(text)

    def settle_arguments(self, text: str) -> bool:
        """Take the arguments that the provider finally gives; whether they are those that were streamed, if any."""
        same = not self._arguments or self._arguments.text == text
        self._arguments = TextPieces()
        self._arguments.add(text)
        self.arguments_closed = True
        return same

    @property
    def streamed(self) -> Item:
        """The item as its pieces make it."""
        value: dict[str, JSON] = dict(self.item)
        field = CALLS.get(self.kind)
        if field is not None and self._arguments:
            value[field] = text_of(value.get(field)) + self._arguments.text
        if self.arguments_closed:
            value.pop("status", None)  # what its beginning said, which its end has overtaken
        if self._pieces:
            pieces = sorted(self._pieces.items(), key=lambda entry: entry[0][1])
            summary: list[JSON] = [piece.value for (kind, _), piece in pieces if kind == "summary_text"]
            content: list[JSON] = [piece.value for (kind, _), piece in pieces if kind != "summary_text"]
            value.update({name: parts for name, parts in (("summary", summary), ("content", content)) if parts})
        return Item(value, dump(value), closed=self.arguments_closed and self._arguments.is_exact)

    @property
    def whole(self) -> Item:
        """The item as the provider finally gave it, or as its pieces make it."""
        return self.done or self.streamed


def identity_of(item: dict[str, JSON]) -> tuple[str, str, str]:
    """What tells an item from another: its type, its own id, the id of its call."""
    return text_of(item.get("type")), text_of(item.get("id")), text_of(item.get("call_id"))
