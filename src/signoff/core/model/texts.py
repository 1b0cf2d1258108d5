"""What is asked of a text without asking what it means: whether anything of it can be seen, its end, its safe form."""

import re
import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_NOT_TEXT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]+")


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: it is empty, or white space and characters without a width."""
    return all(unicodedata.category(character) in _UNSEEN for character in text.strip())


def inert(text: str) -> str:
    """A text without control characters, but for tabs and line feeds, and without halves of surrogate pairs."""
    return _NOT_TEXT.sub("", text)


def tail(text: str, limit: int) -> str:
    """The end of a text, with a mark of omission before it when it is not the whole."""
    return text if len(text) <= limit else f"[{len(text) - limit} characters left out]\n{text[len(text) - limit :]}"
