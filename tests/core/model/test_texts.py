"""What is asked of a text without its meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.texts import inert, is_blank, tail


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\u00a0\n", "\ufeff", "\u2060\u00ad", "\x00\x1b", "\u2028"])
def test_what_nobody_sees_is_blank(text: str) -> None:
    """White space, control characters and characters without a width are nothing to read."""
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", " 0 ", "\u200bx", "\u4e2d", "\U0001f44d", "\ue000"])
def test_what_somebody_sees_is_not(text: str) -> None:
    """One visible character is enough."""
    assert not is_blank(text)


@given(st.text(st.characters()))
def test_an_inert_text_has_no_control_characters(text: str) -> None:
    """What is left is bytes, tabs and line feeds stay, and nothing visible is lost."""
    left = inert(text)
    assert left.encode().decode() == left == inert(left)
    assert not any(ord(mark) < 32 and mark not in "\t\n" for mark in left)
    assert [mark for mark in text if mark.isprintable()] == [mark for mark in left if mark.isprintable()]


def test_surrogates_are_left_out() -> None:
    """Half of a surrogate pair cannot be sent."""
    assert inert("a\ud800\x1b[31mb\x9b\x7f\r\n\t") == "a[31mb\n\t"


@given(st.text(), st.integers(0, 20))
def test_the_end_of_a_text_is_kept(text: str, limit: int) -> None:
    """A short text stays; of a longer one its last characters, behind the number of those left out."""
    kept = tail(text, limit)
    if len(text) <= limit:
        assert kept == text
    else:
        assert kept == f"[{len(text) - limit} characters left out]\n" + text[len(text) - limit :]
