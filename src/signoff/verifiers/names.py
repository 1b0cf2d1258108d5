"""Names of files as text that can be shown, journaled and read back.

A POSIX name is bytes: it may hold newlines, terminal sequences, and what is no UTF-8. Nothing here opens a file.
"""

import re
import sys

_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_SURROGATE_BYTES = range(0xDC80, 0xDD00)
_LATIN = 0x100
_ENCODING = sys.getfilesystemencoding()
_ERRORS = sys.getfilesystemencodeerrors()
_BASIC = 0x10000


def shown(path: str) -> str:
    r"""The path with a backslash doubled and whatever cannot be printed escaped (`\x0a`, `\u202e`): no two look alike.

    `\x80` to `\xff` are bytes that are no UTF-8; characters of those numbers are written `\u0080` to `\u00ff`.
    """
    if path.isprintable() and "\\" not in path:
        return path
    return "".join(_shown_character(one) for one in path)


def unshown(text: str) -> str:
    """The path that `shown` gave this text for."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def name_bytes(path: str) -> bytes:
    """The path as the system keeps it, for digests and for a stable order."""
    return path.encode(_ENCODING, _ERRORS)


def _shown_character(one: str) -> str:
    number = ord(one)
    if one == "\\":
        return "\\\\"
    if one.isprintable():
        return one
    if number in _SURROGATE_BYTES:
        return f"\\x{number - 0xDC00:02x}"
    if number < _SURROGATE_BYTES.start - 0xDC00:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < _BASIC else f"\\U{number:08x}"


def _character(found: re.Match[str]) -> str:
    backslash, byte, short, long = found.groups()
    if backslash:
        return "\\"
    number = int(byte or short or long, 16)
    if number > sys.maxunicode:
        return found[0]
    return chr(number + 0xDC00) if byte and number in range(0x80, _LATIN) else chr(number)
