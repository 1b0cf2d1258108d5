"""One block of a streamed response: its start as it came, and what the deltas add to it."""

from typing import Final

from signoff.core.model.parts import Part
from signoff.wire.anthropic_messages.blocks import kind_of, part_of, text_in
from signoff.wire.anthropic_messages.words import HOMES, NEUTRAL_BLOCKS, PIECES
from signoff.wire.json_text import JSON, TextPieces, dump, join, load
from signoff.wire.slices import array_text, elements_of, members_of, object_text

_BEGUN: Final = {"text": "text", "thinking": "thinking"}


class OpenBlock:
    """A block in progress. Texts of any length are kept in pieces and joined once."""

    __slots__ = (
        "_broken",
        "_citations",
        "_input",
        "_members",
        "_oddities",
        "_pieces",
        "call",
        "kind",
        "lost",
        "stopped",
    )

    def __init__(self, members: dict[str, str], oddities: set[str], *, started: bool = True) -> None:
        self.kind = kind_of(members)
        self.call = 0  # its place among the calls, if it is one
        self.stopped = False
        self.lost = False  # whether a piece of its text could not be taken
        self._members = members
        self._oddities = oddities
        self._broken = not started
        self._pieces: dict[str, TextPieces] = {}
        self._input: list[str] = []
        self._citations: list[str] = []

    def begin(self) -> str:
        """What the start itself says, to be shown; most starts say nothing."""
        member = _BEGUN.get(self.kind, "")
        text = text_in(self._members, member)
        return self._add(member, text) if text else ""

    def takes(self, delta: str) -> bool:
        """Whether a delta of this type belongs here; a block of an unknown kind takes any."""
        return self.kind == HOMES.get(delta) or self.kind not in NEUTRAL_BLOCKS

    def add(self, delta: dict[str, JSON], kind: str, *, text: str) -> str:
        """Take in a delta, given also as text; return what of it can be shown."""
        if self.stopped:
            # a call that goes on is not whole until it is stopped again
            self._oddities.add("delta_after_stop")
            self.stopped = False
        if kind in PIECES:
            name, member = PIECES[kind]
            piece = delta.get(name)
            if isinstance(piece, str):
                return self._add(member, piece)
            self._oddities.add("delta_not_text")
            self.lost = self.lost or member == "text"
            self.spoil()
            return ""
        members = members_of(text)
        if kind == "citations_delta":
            self._citations.append(members.get("citation", "null"))
        else:  # a signature or a compaction: what comes replaces what was there
            self._members.update((name, value) for name, value in members.items() if name != "type")
        return ""

    def spoil(self) -> None:
        """Note that something of the block could not be taken: a call is not whole then, whatever follows."""
        self._broken = True

    def _add(self, member: str, piece: str) -> str:
        if member == "input":
            self._input.append(piece)
        return self._pieces.setdefault(member, TextPieces()).add(piece)

    def part(self) -> Part:
        """What the block is worth so far."""
        members = self._joined()
        # a server's call may be cut too: its text then stands as a string, so that the part is JSON all the same
        if self.kind != "tool_use" and "input" in members and not _is_json(members["input"]):
            members["input"] = dump(members["input"])
        return part_of(members, closed=self.stopped and not self._broken)

    def native(self) -> str | None:
        """The block in the provider's form, "" if it is better left out, None if it has no such form.

        Reasoning that broke off before its signature is refused by the provider; an input that is no JSON cannot stand
        where an object belongs.
        """
        members = self._joined()
        if self.kind == "thinking" and not self.stopped and not text_in(members, "signature"):
            return ""
        if self.kind == "tool_use":
            members["input"] = members["input"] or "{}"
        if "input" in members and not _is_json(members["input"]):
            return None
        return object_text(members)

    def _joined(self) -> dict[str, str]:
        """The members with all pieces in their places; a call that says nothing of its input has an empty one."""
        members = dict(self._members)
        for member, pieces in self._pieces.items():
            if member != "input":
                members[member] = dump(pieces.text)
        if self._citations:
            members["citations"] = array_text([*elements_of(members.get("citations", "")), *self._citations])
        said = self._input_text()
        if said or self.kind == "tool_use":
            members["input"] = said
        return members

    def _input_text(self) -> str:
        """The exact join of the pieces, or else the input that the start names, if it names any.

        A call with both says nothing for sure, and half a character that stays alone cannot be kept: neither is whole.
        """
        start = self._members.get("input", "")
        value = load(start)
        raw = "".join(self._input)
        if not raw:
            return "" if value is None or value == {} else start
        if value:
            self._oddities.add("input_twice")
            self._broken = True
        text = join((raw,))
        if text.count("\ufffd") != raw.count("\ufffd"):
            self._oddities.add("half_character")
            self._broken = True
        return text


def stray(delta: str, oddities: set[str]) -> OpenBlock:
    """A block for deltas of a type whose own block never started. A call is never whole that way."""
    return OpenBlock({"type": dump(HOMES[delta])}, oddities, started=False)


def _is_json(text: str) -> bool:
    return load(text) is not None or text.strip() == "null"
