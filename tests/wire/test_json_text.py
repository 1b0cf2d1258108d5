"""JSON of providers is read without raising and written without loss."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.errors import PolicyError
from signoff.wire.json_text import TextPieces, count_of, dump, join, list_of, load, object_of, text_of, write

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_was_written_is_read(value: object) -> None:
    """A value is the same after it was written and read, long integers included."""
    text = dump(value)  # type: ignore[arg-type]
    assert load(text) == load(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        "NaN",
        "[Infinity]",
        "1e999",
        '["\\ud83d",1e999]',
        '["\\ud83d",NaN]',
        '{"a":1}x',
        "\ufeff1",
        "9" * 5000,
        '"\\u"',
        "null",
    ]
    + ["[" * depth + "]" * depth for depth in (201, 5000, 100_000)],
)
def test_what_is_no_json_is_none(text: str) -> None:
    """Text that is not JSON, is nested too deep, or names no number is None, and nothing is raised."""
    assert load(text) is None
    assert load(text.encode()) is None


def test_bytes_that_are_not_utf8_are_none() -> None:
    """A body that is not UTF-8 is not JSON."""
    assert load(b'"\xff"') is None


def test_brackets_in_texts_are_no_depth() -> None:
    """Only nesting counts, not the number of brackets."""
    assert load('["' + "[" * 1000 + '\\"{"]') == ["[" * 1000 + '"{']
    assert load("[" + "[]," * 1000 + "[]]") == [[]] * 1001
    assert isinstance(load("[" * 200 + "]" * 200), list)


def test_a_long_integer_keeps_its_digits() -> None:
    """An integer beyond 64 bits is no float."""
    assert load('{"id":123456789012345678901234567890}') == {"id": 123456789012345678901234567890}
    assert dump({"id": 123456789012345678901234567890}) == '{"id":123456789012345678901234567890}'


def test_halves_of_a_pair_survive_their_frame() -> None:
    """A half is kept until its other half comes; a half that stays alone is replaced, and its frame is written back."""
    first, second = load('{"a":"x\\ud83d"}'), load('{"a":"\\ude00y"}')
    assert first == {"a": "x\ud83d"}
    assert dump(first) == '{"a":"x\\ud83d"}'
    pieces = [str(object_of(value)["a"]) for value in (first, second)]
    assert join(pieces) == "x😀y"
    assert join(pieces[:1]) == text_of(pieces[0]) == "x\ufffd"
    assert join(reversed(pieces)) == "\ufffdyx\ufffd"


@given(st.lists(st.sampled_from(["a", "é", "😀", "\ud83d", "\ude00", ""])))
def test_what_is_shown_comes_to_the_whole_text(pieces: list[str]) -> None:
    """What each piece shows is Unicode, and together it is the text, a half at the very end apart."""
    text = TextPieces()
    shown = "".join(text.add(piece) for piece in pieces)
    shown.encode()
    assert text.text in {shown, shown + "\ufffd"}
    assert text.text == join(pieces)
    assert bool(text) == bool(pieces)


def test_wrong_types_are_read_as_nothing() -> None:
    """What should be an object, a list, a text or a count, and is not, is empty."""
    assert (object_of([]), list_of({}), text_of(1), count_of("1")) == ({}, [], "", None)
    assert [count_of(value) for value in (0, 7, -1, True, 1.0, 2**63, None)] == [0, 7, None, None, None, None, None]


def test_what_cannot_be_written_is_refused() -> None:
    """A text of the caller that is not Unicode is refused with a typed error; fragments are pasted."""
    assert write({"a": orjson.Fragment("[1]")}) == b'{"a":[1]}'
    with pytest.raises(PolicyError, match="nothing was sent"):
        write({"a": "\ud83d"})
