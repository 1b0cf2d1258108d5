"""Frames of server-sent events, from bytes split anywhere and back.

The decoder reads what the standard allows and what servers send beside it, in linear time, and keeps no more than one
frame. It knows nothing of what stands in a frame. What is written is the one form that every official client reads.
"""

import re
from typing import Final

import msgspec

from signoff.errors import PolicyError

MAX_FRAME = 8 * 1024 * 1024
"""The longest frame that is kept, in bytes; a longer one ends the response as too large."""
COMMENT: Final = b": keep-alive\n\n"
"""A frame that says nothing, for clients of OpenAI's and Anthropic's protocols; Gemini's clients die of it."""

_BOM: Final = b"\xef\xbb\xbf"
_KEPT: Final = {b"data", b"event", b"error"}
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One event as it came."""

    data: str
    """Its data lines, joined by line feeds; empty when they are blank, or when there are none."""
    event: str = ""
    """The name of the event; empty when it has none."""
    error: str = ""
    """The text of a field called `error`, which is no standard field and which one server sends."""
    oddities: tuple[str, ...] = ()
    """Codes of what deviates in its form: bare_json, bom, empty_frame, invalid_utf8, unterminated_frame."""


class SseDecoder:
    """Takes the bytes of one body as they come and gives its frames."""

    def __init__(self, *, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._size = 0  # bytes kept of the frame in progress, its last line apart
        self._unfinished = bytearray()  # its last line, as far as it has come
        self._after_cr = False
        self._beginning: bytes | None = b""  # the first bytes, as long as they may be a byte order mark
        self._data: list[str] = []
        self._event = ""
        self._error = ""
        self._named = False
        self._bare = False  # whether JSON stands where fields should, as one provider writes its errors
        self._oddities: set[str] = set()
        self._too_large = False

    @property
    def too_large(self) -> bool:
        """Whether a frame went over the bound; from there on nothing was kept."""
        return self._too_large

    def feed(self, data: bytes) -> tuple[Frame, ...]:
        """Take in more bytes; return the frames that they end."""
        if self._too_large:
            return ()
        if self._beginning is not None:
            data = self._without_bom(self._beginning + data)
        if self._after_cr or b"\r" in data:
            data = self._with_line_feeds(data)
        lines = data.split(b"\n")
        last = lines.pop()
        if lines and self._unfinished:
            lines[0] = bytes(self._unfinished) + lines[0]
            self._unfinished.clear()
        frames = self._frames_of(lines)
        if last and not self._is_over(len(self._unfinished) + len(last)):
            self._unfinished += last
        return frames

    def end(self, *, clean: bool) -> tuple[Frame, ...]:
        """Say how the body ended; return a last frame that lacks its blank line, if the body ended properly."""
        if self._too_large or not clean:
            return ()
        last = self._beginning or bytes(self._unfinished)
        self._beginning = None
        self._unfinished.clear()
        if last:
            self._take(last)
        if not self._named or self._too_large:
            return ()
        self._oddities.add("unterminated_frame")
        return self._dispatched()

    def _without_bom(self, data: bytes) -> bytes:
        """The data behind a byte order mark, or nothing while it is not known whether there is one."""
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._beginning = data
            return b""
        self._beginning = None
        if not data.startswith(_BOM):
            return data
        self._oddities.add("bom")
        return data[len(_BOM) :]

    def _with_line_feeds(self, data: bytes) -> bytes:
        """The data with every line end as a line feed; one that is split between two pieces counts once."""
        if not data:
            return data
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _frames_of(self, lines: list[bytes]) -> tuple[Frame, ...]:
        frames: list[Frame] = []
        for line in lines:
            if line:
                if self._named and not self._bare and line.lstrip().startswith((b"{", b"[{")):
                    frames.extend(self._dispatched())  # JSON that stands right behind fields is a frame of its own
                self._take(line)
                if self._too_large:
                    break
            elif self._named:
                frames.extend(self._dispatched())
        return tuple(frames)

    def _is_over(self, size: int) -> bool:
        """Whether so many bytes more are too many for one frame; then everything is let go."""
        if self._size + size > self._max_frame:
            self._too_large = True
            self._unfinished.clear()
            self._data.clear()
        return self._too_large

    def _take(self, line: bytes) -> None:
        """Take in one line that is not blank."""
        name, _, value = line.partition(b":")
        bare = self._bare or (name not in _KEPT and not self._named and line.lstrip().startswith((b"{", b"[{")))
        if not (bare or name in _KEPT) or self._is_over(len(line) + 1):
            return  # a comment, an id, a retry time, or a field that nobody knows
        self._size += len(line) + 1
        self._named = True
        if bare:
            self._bare = True
            self._data.append(self._decoded(line))
            return
        if value.startswith(b" "):
            value = value[1:]
        match name:
            case b"data":
                self._data.append(self._decoded(value))
            case b"event":
                self._event = self._decoded(value)
            case _:
                self._error = self._decoded(value)

    def _decoded(self, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            self._oddities.add("invalid_utf8")
            return value.decode(errors="replace")

    def _dispatched(self) -> tuple[Frame, ...]:
        """The frame in progress, which is then done; none if it says nothing at all."""
        data = self._data[0] if len(self._data) == 1 else "\n".join(self._data)
        if not data or data.isspace():
            data = ""
        event, error, oddities = self._event, self._error, self._oddities
        self._data.clear()
        self._event = self._error = ""
        self._named = False
        self._size = 0
        if self._bare:
            self._bare = False
            oddities.add("bare_json")
        if not data and not event and not error:
            oddities.add("empty_frame")  # told with the next frame
            return ()
        if not oddities:
            return (Frame(data=data, event=event, error=error),)
        self._oddities = set()
        return (Frame(data=data, event=event, error=error, oddities=tuple(sorted(oddities))),)


def encode_frame(data: str | bytes, *, event: str = "") -> bytes:
    """Write one frame in the strict form: a name if there is one, the data, a blank line. Raises `PolicyError`."""
    text = data.encode() if isinstance(data, str) else data
    if not text.strip() or _LINE_END.search(event):
        raise PolicyError("a frame without data, or with a line end in its name, kills clients; nothing was written")
    head = f"event: {event}\n".encode() if event else b""
    if b"\n" in text or b"\r" in text:
        lines = _LINE_END.split(text.decode())
        return head + b"".join(f"data: {line}\n".encode() for line in lines) + b"\n"
    return b"%bdata: %b\n\n" % (head, text)
