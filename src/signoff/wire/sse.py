"""Frames of server-sent events, from bytes split anywhere and back."""

import msgspec

MAX_FRAME = 8 * 1024 * 1024
"""The longest frame that is kept, in bytes; a longer one ends the response as too large."""


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One event as it came."""

    data: str
    """Its data lines, joined by line feeds."""
    event: str = ""
    """The name of the event; empty when it has none."""
    error: str = ""
    """The text of a field called `error`, which is no standard field and which one server sends."""
    oddities: tuple[str, ...] = ()
    """Codes of what deviates in its form."""
