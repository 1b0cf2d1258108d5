"""Placeholders: a whole file that only stands in for the real one, and nothing with anything of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.verifiers.placeholders import MOST_BYTES, WORDS, is_placeholder


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("dressed", ["{}", "  {}\n\n", "# {}", "// {}: implement this later", "<!-- {} -->", '"{}"'])
def test_each_word_is_found_bare_and_dressed(word: str, dressed: str) -> None:
    """Every published word is a placeholder, in any case, in comments and quotes, with a phrase that adds nothing."""
    assert is_placeholder(dressed.format(word).encode())
    assert is_placeholder(dressed.format(word.upper()).encode())


@pytest.mark.parametrize(
    "text",
    [
        "```\nTODO\n```",
        "~~~markdown\nTBD: fill in later\n~~~\n",
        "/* placeholder */",
        "<!-- ```\n# TODO\n``` -->",
        "# TODO\n# fill in later\n",
        "**TODO**",
        "- TBD",
        "[TODO]",
        "TODO - add content here",
        "placeholder: replace me",
        "Placeholder text",
        "TBD (to be determined)",
        "todo: your answer here",
        "coming soon…",
        "FIXME!!!",
        "\ufeffTODO",
        "TODO TODO",
    ],
)
def test_up_to_three_layers_are_taken_off(text: str) -> None:
    """Fences, comments, quotes and brackets around a word do not make it a result."""
    assert is_placeholder(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "hello",
        "42",
        "x",
        "-",
        "```\n```",
        "TODO: buy milk",
        "TODO list\n- water the plants",
        '{"status": "TODO"}',
        "unknown error: 42",
        "The value is unknown",
        "def f():\n    # TODO\n    return 1",
        "placeholder.png",
        "((((TODO))))",
        "result",
        "not implemented by any vendor",
    ],
)
def test_a_text_with_anything_of_its_own_is_none(text: str) -> None:
    """A short, poor or unfinished text is not a placeholder, and neither is a word below more than three layers."""
    assert not is_placeholder(text.encode())


def test_what_is_no_text_or_long_is_none() -> None:
    """Bytes that are no UTF-8, and anything above the bound, are not looked at; just at the bound they are."""
    assert not is_placeholder(b"TODO\xff")
    assert is_placeholder(b"TODO" + b" " * (MOST_BYTES - 4))
    assert not is_placeholder(b"TODO" + b" " * (MOST_BYTES - 3))


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(data: bytes) -> None:
    """No content makes it raise."""
    assert is_placeholder(data) in (True, False)


@pytest.mark.parametrize("piece", ["``` ", "~~~\n", "* ", "(", "a\n", "#\n", '"', "`", "todo ", "- todo\n", "{#"])
def test_hostile_repetition_is_judged_at_once(piece: str) -> None:
    """Texts of the longest size, made to send a pattern astray, take no noticeable time (else the test hangs)."""
    assert not is_placeholder((piece * MOST_BYTES)[:MOST_BYTES].encode())
