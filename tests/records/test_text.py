"""Text made inert: what prints stays, everything else is shown as what it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.records.text import one_line, tail_of, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("a\r\nb", "a\nb"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\u202eabc", "\\u202eabc"),
        ("\U000e0041", "\\U000e0041"),
        ("é ü 漢", "é ü 漢"),
    ],
)
def test_what_does_not_print_is_shown_as_an_escape(text: str, shown: str) -> None:
    """Escape sequences, carriage returns and bidirectional overrides can do nothing."""
    assert visible(text) == shown


@given(st.text(), st.integers(min_value=10, max_value=300))
def test_one_line_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    """Whatever the text, the result is printable, has no line break, and is no longer than asked."""
    line = one_line(text, limit=limit)

    assert line.isprintable()
    assert len(line) <= limit


def test_a_tail_begins_with_a_whole_line_and_says_what_is_cut() -> None:
    """Only the end is kept, from the start of a line where there is one."""
    text = "".join(f"line {number}\n" for number in range(100))
    kept = tail_of(text, limit=40)

    assert kept.endswith("line 98\nline 99\n")
    assert kept.startswith("[… ")
    assert kept.split("\n")[1] == "line 96"
    assert tail_of("short", limit=40) == "short"
