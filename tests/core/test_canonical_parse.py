"""Parsing: what RFC 8259 leaves open, drops or lets a parser guess is refused, at any depth and by its place."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import groupby

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from signoff.core.canonical import JSON, MAX_DEPTH, MAX_DIGITS, canonical, parse
from signoff.errors import CanonicalError

ANY_TEXT = st.text(st.characters(exclude_categories=()))
MARKS = ("[", "]", "{", "}", ",", ":", '"', "\\", "[[[", "]]]", '{"a":', '"a"', '"a":', " ", "\n", "\x00", "\ufeff")
ITEMS = ("0", "-", "1.5", "1e999", "9" * 700, "\u0661", "NaN", "-Infinity", "null", "true", "\ud800", "\\u0061")
TOKENS = st.sampled_from((*MARKS, *ITEMS, '"\\ud800"', '"\\ud83d\\ude00"'))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" [true, false]\r\n\t", [True, False]),
        (b'{"a": {"b": [1, -2.5, "\xc3\xa9"]}}', {"a": {"b": [1, -2.5, "\u00e9"]}}),
        ('"\\ud83d\\ude00 \\u00e9 \\/"', "\U0001f600 \u00e9 /"),
        ("-0", 0),
        ("-0.0", -0.0),
        ("1E2", 100.0),
        ("1e-999", 0.0),
        ("9007199254740993", 9007199254740993),
        ("9" * MAX_DIGITS, 10**MAX_DIGITS - 1),
        ("-" + "9" * MAX_DIGITS, 1 - 10**MAX_DIGITS),
        ('{"a": 1, "A": 2, "": 3}', {"a": 1, "A": 2, "": 3}),
    ],
)
def test_strict_json_is_read(text: str | bytes, value: object) -> None:
    """A strict text gives its value, with the exact type of every part."""
    assert repr(parse(text)) == repr(value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is not JSON at line 1, column 1: Expecting value"),
        ("[1,\n 2,]", "it is not JSON at line 2, column "),
        ("[1] 2", "it is not JSON at line 1, column 5: Extra data"),
        ("{'a': 1}", "it is not JSON at line 1, column 2: "),
        ("[01]", "it is not JSON at line 1, column 3: "),
        ("\u0661", "it is not JSON at line 1, column 1: "),
        ("1\u00a0", "it is not JSON at line 1, column 2: "),
        ('"a\tb"', "it is not JSON at line 1, column 3: Invalid control character"),
        ('"\\u12"', "it is not JSON at line 1, column 3: "),
        ('"\\x41"', "it is not JSON at line 1, column 2: Invalid \\escape"),
        ("\ufeff1", "it begins with a byte order mark. Send UTF-8 without one."),
        (b"\xef\xbb\xbf1", "it begins with a byte order mark. Send UTF-8 without one."),
        ("1".encode("utf-16"), "it is not Unicode at position 0. Encode it as UTF-8."),
        (b'"\xff"', "it is not Unicode at position 1. Encode it as UTF-8."),
        (b'"\xed\xa0\x80"', "it is not Unicode at position 1. Encode it as UTF-8."),
        (b'"\xc0\x80"', "it is not Unicode at position 1. Encode it as UTF-8."),
        ('["\ud800"]', "it is not Unicode at position 2. Encode it as UTF-8."),
    ],
)
def test_other_texts_are_refused(text: str | bytes, fault: str) -> None:
    """What is not strict JSON in UTF-8 is refused with the position of the fault."""
    with pytest.raises(CanonicalError) as refused:
        parse(text)
    assert str(refused.value).startswith(f"The text was refused: {fault}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": [0, {"b": 1, "c": 2, "b": 1}]}', '$.a[1]: the key "b" appears more than once. Send each key once.'),
        ('{"a": 1, "\\u0061": 1}', '$: the key "a" appears more than once. Send each key once.'),
        ('{"": [NaN]}', '$[""][0]: NaN is not JSON. Send null or a string.'),
        ("Infinity", "$: Infinity is not JSON. Send null or a string."),
        ("[-Infinity]", "$[0]: -Infinity is not JSON. Send null or a string."),
        ('{"a": 1e999}', "$.a: the number 1e999 is beyond a double. Send it as a string."),
        ("-" + "9" * 400 + ".5", "$: the number -" + "9" * 39 + " is beyond a double. Send it as a string."),
        ("[1" + "0" * MAX_DIGITS + "]", "$[0]: the integer has more than 640 digits. Send it as a string."),
        ("-" + "1" * 100_000, "$: the integer has more than 640 digits. Send it as a string."),
        ('{"a": ["\\ud800"]}', '$.a[0]: the text "\\ud800" holds half of a surrogate pair. Use whole characters.'),
        ('"\\udc00\\ud800"', '$: the text "\\udc00\\ud800" holds half of a surrogate pair. Use whole characters.'),
        ('{"\\ud800": 1}', '$["\\ud800"]: the text "\\ud800" holds half of a surrogate pair. Use whole characters.'),
    ],
)
def test_values_that_a_parser_would_guess_about_are_refused_by_place(text: str, fault: str) -> None:
    """Duplicates, numbers that are none or too large, and half characters are named with their place."""
    with pytest.raises(CanonicalError) as refused:
        parse(text)
    assert str(refused.value) == f"The value was refused at {fault}"


@pytest.mark.parametrize(
    "value", [None, 1, bytearray(b"1"), ["1"], type("T", (str,), {})("1"), type("B", (bytes,), {})(b"1")]
)
def test_only_text_is_read(value: str) -> None:
    """Anything but exactly str or bytes is refused as such."""
    with pytest.raises(CanonicalError, match=r"it is of type \w+\. Pass str or bytes"):
        parse(value)


@given(st.lists(st.sampled_from(["[%s]", '[0, "[", %s]', '{"a": %s}', '{"b": {}, "a": %s}']), max_size=150))
@settings(deadline=None)
def test_duplicates_are_refused_at_any_depth(wrappings: list[str]) -> None:
    """An object that repeats a key is refused however deep it lies; the same text without it is read."""
    twice, once = '{"k": 1, "l": 2, "k": 1}', '{"k": 1, "l": 2}'
    for wrapping in wrappings:
        twice, once = wrapping.replace("%s", twice), wrapping.replace("%s", once)
    with pytest.raises(CanonicalError, match='the key "k" appears more than once'):
        parse(twice)
    assert parse(once) == json.loads(once)


@given(st.binary() | ANY_TEXT | st.lists(TOKENS).map("".join) | ANY_TEXT.map(json.dumps))
@example(b'{"a":1}')
@settings(deadline=None)
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    """No text leads to another error than CanonicalError, and what is read is what the standard parser reads."""
    try:
        value = parse(text)
    except CanonicalError:
        return
    assert repr(value) == repr(json.loads(text))
    assert canonical(parse(canonical(value))) == canonical(value)


@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_depth_is_bounded(opened: str) -> None:
    """MAX_DEPTH levels are read, one more is refused, and so are a hundred thousand, closed or not."""
    closed = "]" if opened == "[" else "}"
    for inner in ("0", '"[[[[\\"[[[["'):
        deepest = opened * MAX_DEPTH + inner + closed * MAX_DEPTH
        assert parse(deepest) == json.loads(deepest)
    for text in (
        opened * (MAX_DEPTH + 1) + "0" + closed * (MAX_DEPTH + 1),
        opened * 100_000 + "0" + closed * 100_000,
        opened * 100_000,
        '["\\"",' + opened * 100_000,
    ):
        with pytest.raises(CanonicalError, match="nested deeper than 200 levels"):
            parse(text)


@pytest.mark.parametrize("text", ["[]," * 300, "]" * 300 + "[" * 300, '"' + "[" * 300, '"\\' + "[" * 300 + '\\"'])
def test_brackets_alone_are_no_depth(text: str) -> None:
    """Many brackets beside each other, or in a string that never ends, are refused for what is really wrong."""
    with pytest.raises(CanonicalError, match="it is not JSON at line 1"):
        parse(text)
    wide: list[list[object]] = [[]] * 1000
    assert parse(json.dumps(wide)) == wide


def test_depth_is_bounded_whatever_the_recursion_limit() -> None:
    """A process that raised Python's recursion limit, where a recursive parser would crash, gets the same refusal."""
    program = (
        "import sys; sys.setrecursionlimit(10**9)\n"
        "from signoff.core.canonical import parse\n"
        "try: parse('[' * 1_000_000)\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "The text was refused: it is nested deeper than 200 levels. Flatten it.\n"


def test_too_little_stack_is_a_refusal() -> None:
    """As soon as there is stack for the call itself, the parser's RecursionError never comes through."""
    text = "[" * 100 + '{"a": 1, "a": 2}' + "]" * 100
    outcomes: list[str] = []

    def attempt() -> None:
        try:
            outcomes.append(read(text))
        except RecursionError:
            outcomes.append("no call")

    for frames in range(1, 200):
        with_room_for(frames, attempt)
    refused = "The text was refused: too little stack is left to read it. Call this from fewer nested calls."
    assert [outcome for outcome, _ in groupby(outcomes)] == ["no call", refused, read(text)]
    assert len(outcomes) == 199


def read(text: str) -> str:
    """What parsing says of a text."""
    try:
        parse(text)
    except CanonicalError as error:
        return str(error)
    return "read"


def with_room_for(frames: int, action: Callable[[], None]) -> None:
    """Do something when this many calls are left before Python's recursion limit, on a stack of its own."""

    def descend(calls: int) -> None:
        if calls:
            descend(calls - 1)
        else:
            action()

    calls_above = 5  # of threading, and the first call below
    thread = threading.Thread(target=descend, args=(sys.getrecursionlimit() - frames - calls_above,))
    thread.start()
    thread.join()


@pytest.mark.parametrize("text", ['"\u20ac"', "[1, 2]", b"[1, 2]", '"\u20ac"'.encode(), "1 "])
def test_the_bound_is_inclusive(text: str | bytes) -> None:
    """A text of exactly max_bytes of UTF-8 is read, and one byte more is refused."""
    size = len(text.encode() if isinstance(text, str) else text)
    expected: JSON = json.loads(text)
    assert parse(text, max_bytes=size) == expected
    with pytest.raises(CanonicalError, match=f"it is longer than {size - 1} bytes. Send less"):
        parse(text, max_bytes=size - 1)


@pytest.mark.parametrize(
    "text", ['"' + '\\"' * 200_000, "[[" * 101 + '"' * 400_000, "0." + "1" * 400_000, '{"":0,' * 50_000]
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    """Unfinished strings, quotes and digits in bulk are dealt with in one pass; a quadratic one would never end."""
    assert read(text) == "read" or "was refused" in read(text)
