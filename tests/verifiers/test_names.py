"""Names of files as text: whatever bytes they are, they can be shown, told apart and read back."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.canonical import canonical
from signoff.verifiers.names import name_bytes, shown, unshown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/main.py", "src/main.py"),
        ("with space/ümlaut/文件", "with space/ümlaut/文件"),
        ("new\nline", r"new\x0aline"),
        ("esc\x1b[2J", r"esc\x1b[2J"),
        (r"back\slash", r"back\\slash"),
        (r"back\x0aslash", r"back\\x0aslash"),
        (os.fsdecode(b"not-\xff-utf8"), r"not-\xff-utf8"),
        ("\u0085next", r"\u0085next"),
        ("right\u202eleft", r"right\u202eleft"),
        ("\U000e0041tag", r"\U000e0041tag"),
    ],
)
def test_a_name_is_shown_without_what_cannot_be_printed(path: str, text: str) -> None:
    """Plain names stay as they are; everything that acts on a terminal, and every stray byte, is escaped."""
    assert shown(path) == text
    assert unshown(text) == path


@given(st.binary(max_size=30))
def test_every_name_can_be_read_back(name: bytes) -> None:
    """Whatever bytes a name has, its text is printable, has a canonical form, and leads back to the same bytes."""
    path = os.fsdecode(name)
    text = shown(path)
    assert text.isprintable()
    assert canonical(text)
    assert name_bytes(unshown(text)) == name


def test_an_escape_that_names_no_character_is_left_as_it_is() -> None:
    """Beyond the last character there is nothing to read back."""
    assert unshown(r"\Uffffffff") == r"\Uffffffff"


@given(st.text(max_size=30))
def test_reading_any_text_back_never_raises(text: str) -> None:
    """A text that was never shown, such as a forged receipt's, is read as something."""
    assert isinstance(unshown(text), str)


@given(st.text(alphabet="\\xuU0123456789abcdef", max_size=30))
def test_reading_back_text_full_of_escapes_never_raises(text: str) -> None:
    """Escapes that name no character are left as they are."""
    assert isinstance(unshown(text), str)
