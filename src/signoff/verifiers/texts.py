"""Text of commands and reports made fit to be kept and shown: bounded, with nothing in it that acts on a terminal.

Nothing here may interpret what a text says.
"""

import re

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_LINE_ENDS = re.compile(r"[\t\n]")
_BYTE = 0x100
_BASIC = 0x10000


def visible(text: str) -> str:
    """The text with what moves a cursor, starts a sequence, hides or turns the direction written as an escape.

    Lines and tabs stay; a carriage return before a newline goes.
    """
    return _ACTING.sub(_escape, text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """The text made visible, its newlines and tabs too."""
    return _LINE_ENDS.sub(_escape, visible(text))


def decoded(data: bytes) -> str:
    """The bytes as visible text; what is no UTF-8 becomes the replacement character."""
    return visible(data.decode("utf-8", "replace"))


def first(text: str, size: int) -> str:
    """The longest beginning of a text that has at most `size` bytes of UTF-8."""
    return text.encode()[:size].decode("utf-8", "ignore")


def last(text: str, size: int) -> str:
    """The longest end of a text that has at most `size` bytes of UTF-8."""
    return text.encode()[-size:].decode("utf-8", "ignore") if size else ""


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < _BYTE:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < _BASIC else f"\\U{number:08x}"
