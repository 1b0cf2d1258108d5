"""Text of commands made fit to be kept: nothing in it acts on a terminal, and its length is bounded in bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.verifiers.texts import decoded, first, last, on_one_line, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("dos\r\nline", "dos\nline"),
        ("over\rwritten", r"over\x0dwritten"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("right\u202eleft", r"right\u202eleft"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("nul\0", r"nul\x00"),
        ("文件 ümlaut 👩\u200d💻", "文件 ümlaut 👩\u200d💻"),
        (r"back\slash", r"back\slash"),
    ],
)
def test_what_acts_is_made_visible(text: str, expected: str) -> None:
    """Cursor movement, titles, overwriting and turned directions become escapes; readable text stays."""
    assert visible(text) == expected


def test_bytes_become_text() -> None:
    """What is no UTF-8 becomes the replacement character, as one would expect of a text."""
    assert decoded(b"a\xffb\x1b") == "a\ufffdb\\x1b"


def test_one_line_is_one_line() -> None:
    """Newlines and tabs become escapes too."""
    assert on_one_line("a\nb\tc\r\nd") == r"a\x0ab\x09c\x0ad"


@given(st.text(), st.integers(0, 20))
def test_an_end_is_as_long_as_it_may_be(text: str, size: int) -> None:
    """Beginning and end hold at most that many bytes, whole characters only, and not one character less than fits."""
    clean = text.encode("utf-8", "ignore").decode()
    begin, end = first(clean, size), last(clean, size)
    assert clean.startswith(begin)
    assert clean.endswith(end)
    assert max(len(begin.encode()), len(end.encode())) <= size
    assert begin == clean or len(clean[: len(begin) + 1].encode()) > size
    assert end == clean or len(clean[-len(end) - 1 :].encode()) > size


@given(st.binary())
def test_any_output_is_inert(data: bytes) -> None:
    """No byte that starts a sequence is left."""
    assert not set(decoded(data)) & {chr(n) for n in range(32) if chr(n) not in "\n\t"}
