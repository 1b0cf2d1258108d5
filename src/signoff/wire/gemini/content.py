"""The model's content as it grows: the neutral parts, and the provider's own parts beside them.

Plain text is joined; whatever carries more than text stands in the native content exactly as it came, in its place.
A part with a signature joins no other, since a signature speaks of its own part.
"""

from itertools import groupby
from typing import Final, TypeAlias

import msgspec

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, TextDelta
from signoff.core.model.parts import OpaquePart, Part, ReasoningPart, TextPart
from signoff.wire.gemini.calls import Call
from signoff.wire.gemini.exact import At, Source, Unreadable
from signoff.wire.json_text import JSON, TextPieces, dump, load
from signoff.wire.slices import object_text

_PLAIN: Final = {"text"}
_PLAIN_THOUGHT: Final = {"text", "thought"}
_KINDS: Final = frozenset(
    (
        "text",
        "functionCall",
        "functionResponse",
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
        "audioTranscription",
    )
)
"""A part has one of these, or one that is not known yet."""
_BESIDE: Final = frozenset(
    (
        "thought",
        "thoughtSignature",
        "partMetadata",
        "mediaProcessing",
        "mediaResolution",
        "audioMetadata",
        "documentMetadata",
        "speechMetadata",
        "spreadsheetMetadata",
        "videoMetadata",
    )
)
"""What stands beside a part's one kind of content."""


class _Run:
    """Text of one kind, in pieces."""

    __slots__ = ("pieces", "thought")

    def __init__(self, *, thought: bool) -> None:
        self.thought = thought
        self.pieces = TextPieces()


class _CallText(msgspec.Struct, frozen=True):
    """One part that is, or goes on with, a call."""

    call: Call
    text: str


_Native: TypeAlias = _Run | _CallText | str


class Content:
    """The parts of one candidate, in the order in which they came."""

    def __init__(self) -> None:
        self.oddities: set[str] = set()
        self.deltas: list[Delta] = []
        """What was added and not yet shown; whoever shows it takes it out."""
        self._parts: list[_Run | Call | OpaquePart] = []
        self._natives: list[_Native] = []
        self._run: _Run | None = None
        self._native_run: _Run | None = None
        self._open: Call | None = None
        self._calls = 0

    def take(self, part: JSON, at: At) -> bool:
        """Take in one part; return whether it says anything. Raises `Unreadable`."""
        if not isinstance(part, dict):
            raise Unreadable
        text = part.get("text")
        keys = part.keys()
        if not isinstance(text, str) or not (keys == _PLAIN or (keys == _PLAIN_THOUGHT and part["thought"] is True)):
            return self._take_special(part, at)
        thought = len(keys) > 1
        if self._native_run is None or self._native_run.thought is not thought:
            self._native_run = _Run(thought=thought)
            self._natives.append(self._native_run)
        self._native_run.pieces.add(text)
        return self._say(text, thought=thought)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The neutral parts."""
        return tuple(_part(part) for part in self._parts)

    @property
    def natives(self) -> list[str]:
        """The provider's own parts; a call that came in several and is whole is one of them.

        Plain text without a letter only fills a chunk. It is kept where nothing else is: a history refuses it.
        """
        said = [one for one in self._natives if not isinstance(one, _Run) or one.pieces.text]
        kept = said or self._natives[:1]
        return [text for call, group in groupby(kept, _call_of) for text in _texts(call, list(group))]

    def _say(self, text: str, *, thought: bool) -> bool:
        """Add text to the run of its kind; text without a letter begins none and ends none."""
        if not text:
            return False
        if self._run is None or self._run.thought is not thought:
            self._run = _Run(thought=thought)
            self._parts.append(self._run)
        shown = self._run.pieces.add(text)
        if shown:
            self.deltas.append(ReasoningDelta(shown) if thought else TextDelta(shown))
        return True

    def _take_special(self, part: dict[str, JSON], at: At) -> bool:
        """Take in a part that is more than plain text: its own text is kept, and its native form joins no other."""
        raw = at.source.at(*at.path)
        signed = part.get("thoughtSignature") is not None
        given = [key for key, value in part.items() if value is not None and key not in _BESIDE]
        kinds = [key for key in given if key in _KINDS] or given[:1]
        self._note(kinds, signed=signed)
        self._native_run = None
        if signed:
            self._run = None
        call = None
        for kind in kinds:
            if kind == "text":
                self._say(_text(part[kind]), thought=part.get("thought") is True)
                continue
            self._run = None
            if kind == "functionCall":
                call = self._take_call(part[kind], Source(at.source.at(*at.path, kind)))
            else:
                self._parts.append(OpaquePart(kind=kind, native=raw))
        if signed:
            self._run = None
        self._natives.append(_CallText(call, raw) if call else raw)
        return signed or (kinds != [] and part.get("text") != "")

    def _note(self, kinds: list[str], *, signed: bool) -> None:
        if len(kinds) > 1:
            self.oddities.add("part_of_two_kinds")
        if not kinds and not signed:
            self.oddities.add("empty_part")

    def _take_call(self, fields: JSON, source: Source) -> Call:
        """Take in a call, or more of the one that is open."""
        if not isinstance(fields, dict):
            raise Unreadable
        call = self._open
        if call is None or not call.is_continued_by(fields):
            if call is not None:
                self.oddities.add("call_left_open")
            call = Call(fields, index=self._calls)
            self._calls += 1
            self._parts.append(call)
            self.deltas.append(CallStarted(call.index, call.call_id, call.name))
        self._open = call
        if call.take(fields, source):
            self._open = None
            if not call.closed:
                self.oddities.add("partial_args_in_doubt")
            elif call.arguments:
                self.deltas.append(CallDelta(call.index, call.arguments))
        return call


def _text(value: JSON) -> str:
    if not isinstance(value, str):
        raise Unreadable
    return value


def _part(part: _Run | Call | OpaquePart) -> Part:
    if isinstance(part, _Run):
        text = part.pieces.text
        return ReasoningPart(text=text) if part.thought else TextPart(text=text)
    return part.part if isinstance(part, Call) else part


def _call_of(native: _Native) -> int:
    """Which call a native part belongs to; parts of no call stand for themselves."""
    return native.call.index if isinstance(native, _CallText) else -1


def _texts(call: int, group: list[_Native]) -> list[str]:
    """The native parts that stand together: those of one call, or those of none."""
    pieces = [native for native in group if isinstance(native, _CallText)]
    if call >= 0 and len(pieces) > 1 and pieces[0].call.closed:
        whole = _assembled(pieces)
        return [whole] if whole else [piece.text for piece in pieces]
    return [_native_text(native) for native in group]


def _native_text(native: _Native) -> str:
    if isinstance(native, _CallText):
        return native.text
    if isinstance(native, str):
        return native
    text = dump(native.pieces.text)
    return object_text({"text": text, "thought": "true"} if native.thought else {"text": text})


def _assembled(pieces: list[_CallText]) -> str | None:
    """One part of a call that came in several, as a history needs it; None when they disagree beside the call."""
    call = pieces[0].call
    beside: dict[str, str] = {}
    for piece in pieces:
        source, fields = Source(piece.text), load(piece.text)
        for key in fields if isinstance(fields, dict) else ():
            text = source.at(key)
            if key != "functionCall" and beside.setdefault(key, text) != text:
                return None
    words = {"id": call.call_id, "name": call.name}
    members = {key: dump(word) for key, word in words.items() if word}
    if call.arguments:
        members["args"] = call.arguments
    return object_text({"functionCall": object_text(members), **beside})
