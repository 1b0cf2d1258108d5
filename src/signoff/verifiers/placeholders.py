"""Tells a file that only stands in for the real one: its whole text is a word such as TODO, bare or dressed up.

A text with anything of its own is no placeholder, however poor it is; nobody's work may be called empty by a guess.
"""

import re
from typing import Final

MOST_BYTES: Final = 64 * 1024
"""A longer file is not looked at: it holds more than a word."""

WORDS: Final = (
    "todo",
    "to do",
    "tbd",
    "tba",
    "tbc",
    "fixme",
    "xxx",
    "wip",
    "unknown",
    "placeholder",
    "dummy",
    "coming soon",
    "work in progress",
    "not implemented",
    "not yet implemented",
    "not available yet",
    "to be added",
    "to be announced",
    "to be completed",
    "to be decided",
    "to be defined",
    "to be determined",
    "to be done",
    "to be filled in",
    "to be written",
    "待办",
    "待定",
    "待补充",
    "占位符",
)
"""What a placeholder says, compared without case."""

FILLERS: Final = (
    r"(?:please )?(?:add|complete|fill in|finish|implement|insert|provide|put|replace|update|write)"
    r"(?: (?:it|me|this|that|the|your|actual|real|content|contents|text|code|data|answer|result|results|report|file))*"
    r"(?: (?:here|later|below|soon|in))*"
    r"|(?:(?:the|your|actual|real) )*"
    r"(?:content|contents|text|code|data|answer|result|results|details|more|file|value|report)"
    r"(?: (?:goes|go|comes|come|will be added|to be added|to follow|follows?))?(?: (?:here|later|soon))*"
    r"|(?:for )?(?:later|now)"
    r"|here|soon"
)
"""What may stand beside such a word without adding anything, as a pattern."""

_LAYERS = 3
_SPACE = re.compile(r"\s+")
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*\n(.*?)\n?\1", re.DOTALL)
_PAIRS = (
    ("<!--", "-->"),
    ("/*", "*/"),
    ("{#", "#}"),
    ("(*", "*)"),
    ('"""', '"""'),
    ("'''", "'''"),
    ("**", "**"),
    ("__", "__"),
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("\u2018", "\u2019"),
    ("«", "»"),
    ("[", "]"),
    ("<", ">"),
    ("(", ")"),
    ("{", "}"),
    ("*", "*"),
    ("_", "_"),
)
_LINE_MARKS = re.compile(r"(?:\#+|//+|--+|;+|%+|>+|\*(?!\*)|-|rem\b|dnl\b)[ \t]*", re.IGNORECASE)
_WORD = "|".join(re.escape(word) for word in sorted(WORDS, key=len, reverse=True))
_PLACEHOLDER = re.compile(rf"(?:{_WORD})(?:\W+(?:{_WORD})|\W*\s?(?:{FILLERS}))?[\s.!?:…)-]*")


def is_placeholder(data: bytes) -> bool:
    """Whether the whole content of a file is a placeholder; what is no UTF-8 text, or too long, is none."""
    if len(data) > MOST_BYTES:
        return False
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    text = text.strip()
    for _ in range(_LAYERS):
        if _says_nothing(text):
            return True
        bare = _without_layer(text)
        if bare == text:
            return False
        text = bare
    return _says_nothing(text)


def _says_nothing(text: str) -> bool:
    longest = 200  # of the words and fillers together, by far
    return len(text) <= longest and _PLACEHOLDER.fullmatch(_SPACE.sub(" ", text).casefold()) is not None


def _without_layer(text: str) -> str:
    """The text without its outermost fence, pair of quotes or brackets, or marks that open each of its lines."""
    fence = _FENCE.fullmatch(text)
    if fence is not None:
        return fence[2].strip()
    for left, right in _PAIRS:
        if len(text) >= len(left) + len(right) and text.startswith(left) and text.endswith(right):
            return text[len(left) : len(text) - len(right)].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and all(_LINE_MARKS.match(line) for line in lines):
        return "\n".join(_LINE_MARKS.sub("", line, count=1) for line in lines).strip()
    return text
