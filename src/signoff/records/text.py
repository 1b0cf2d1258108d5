"""Makes text of agents and commands inert: it can be shown, kept and fed back, and can do nothing.

Control characters, escape sequences, bidirectional overrides and the like are shown as what they are. Nothing here
decides what is shown.
"""

_ELLIPSIS = " […]"


def visible(text: str) -> str:
    r"""Return `text` with every character that does not print shown as an escape; line breaks and tabs stay.

    A carriage return before a line break belongs to the break and is dropped.
    """
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if char in "\n\t" or char.isprintable() else _escape(char) for char in text)


def one_line(text: str, *, limit: int = 500) -> str:
    """Return `text` as one printable line of at most `limit` characters."""
    cut = text[: limit + 1]
    line = "".join(char if char.isprintable() else _escape(char) for char in cut)
    return line if len(line) <= limit else line[: max(0, limit - len(_ELLIPSIS))] + _ELLIPSIS


def tail_of(text: str, *, limit: int) -> str:
    """Return the last `limit` characters of `text`, from the start of a line where there is one, saying what is cut."""
    if len(text) <= limit:
        return text
    kept = text[-limit:]
    start = kept.find("\n") + 1
    kept = kept[start:] if 0 < start < limit // 2 else kept
    return f"[… {len(text) - len(kept)} characters before this are left out …]\n{kept}"


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - the width of the escape, as in Python's own notation
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004
