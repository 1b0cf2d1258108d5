"""The strict reading of arguments over any text: cut told from broken, in linear time, and never an error."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.model.arguments import Arguments, Fault, FaultCode, are_whole, read
from signoff.core.model.parts import CallPart
from signoff.core.model.request import Tool
from tests.core.test_canonical_parse import with_room_for

pytestmark = pytest.mark.slow

PING = Tool(name="ping")
TOOL = Tool(name="edit", parameters='{"properties":{"a":{"type":"array"}},"required":["a"]}')


def call(text: str) -> CallPart:
    """A closed call with this raw text."""
    return CallPart(call_id="c1", name="edit", arguments=text)


MEMBERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), MEMBERS, min_size=1, max_size=3)


@given(OBJECTS, st.sampled_from([None, 1]), st.sampled_from(["escaped", "plain"]), st.data())
@settings(deadline=None)
def test_an_object_that_was_cut_is_called_cut(
    value: dict[str, object], indent: int | None, form: str, data: st.DataObject
) -> None:
    """Wherever the text of an object ends early, the arguments are truncated, and whole they are read."""
    text = json.dumps(value, ensure_ascii=form == "escaped", indent=indent)
    at = data.draw(st.integers(1, len(text) - 1))
    assert read(call(text[:at]), None) == Fault(code=FaultCode.TRUNCATED)
    assert isinstance(read(call(text), None), Arguments)


TOKENS = st.sampled_from([*'{}[],:"\\01.-+eEtn \n', "true", "null", '"a"', '"a":', "\\u", "00", "fals"])


@given(st.lists(TOKENS, min_size=1, max_size=10).map("".join).filter(str.strip))
@settings(deadline=None, max_examples=400)
def test_cut_means_that_something_could_follow(text: str) -> None:
    """A text that is no row of JSON values is called cut exactly when some continuation makes it one."""
    if text.strip() == "null" or is_row(text):
        return
    answer = read(call(text), None)
    assert isinstance(answer, Fault)
    assert (answer.code is FaultCode.TRUNCATED) is any(is_row(text + end) for end in endings(text)), text


def is_row(text: str) -> bool:
    """Whether a text is JSON values, one after the other, but for raw control characters."""
    decoder, at = json.JSONDecoder(strict=False), 0
    text = text.strip(" \t\n\r")
    while at < len(text):
        try:
            _, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return False
        if text[at - 1].isdigit() and text[at : at + 1] in set("-+.0123456789eE"):
            return False  # the rest of a number is no value of its own
        at += len(text[at:]) - len(text[at:].lstrip(" \t\n\r"))
    return True


def endings(text: str) -> Iterator[str]:
    """What could make a cut text whole: the rest of a token, the rest of a member, and the brackets that are open."""
    opened, in_string, escaped = "", False, False
    for mark in text:
        if in_string:
            in_string, escaped = escaped or mark != '"', not escaped and mark == "\\"
        elif mark == '"':
            in_string = True
        elif mark in "[{":
            opened += "]" if mark == "[" else "}"
        elif mark in "]}":
            opened = opened[:-1]
    tokens = ["", "0", "rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l"]
    tokens += [f"{rest}{end}" for rest in ("", '"', "n", "0", "00", "000", "0000") for end in ('"', '":0')]
    for token in [*tokens, ":0", '"":0']:
        yield token + opened[::-1]


@given(st.text() | st.lists(TOKENS).map("".join) | MEMBERS.map(json.dumps), st.sampled_from([None, PING, TOOL]))
@settings(deadline=None)
def test_any_text_is_read_or_has_a_fault(text: str, tool: Tool | None) -> None:
    """Reading raises nothing, agrees with `are_whole`, and reads its own bytes as the same arguments."""
    answer = read(call(text), tool)
    if isinstance(answer, Fault):
        assert not are_whole(call(text)) or answer.code is FaultCode.MISSING_REQUIRED
        return
    assert are_whole(call(text))
    assert read(call(answer.data.decode()), tool) == answer or answer.data == b"{}"


HOSTILE = ["{", "[", '"', "\\", '"\\', "[0,", '{"a":', "[[],", '{"a":{"b":0,', "`", "``` ", "1e", '{"a":1}', '"a":{},']


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("start", ["", '{"a":[', '"', '"x'])
def test_hostile_texts_take_linear_time(start: str, piece: str) -> None:
    """Half a million brackets, quotes or backslashes take a pass or two; a quadratic one would never end."""
    answer = read(call(start + piece * (500_000 // len(piece))), None)
    assert isinstance(answer, Fault)


def test_too_little_stack_is_a_fault() -> None:
    """With hardly any stack left, deep arguments are refused rather than an error raised."""
    codes: list[FaultCode] = []

    def attempt() -> None:
        answer = read(call('{"a":' * 100 + '{"b":1,"b":2}' + "}" * 100), None)
        assert isinstance(answer, Fault)
        codes.append(answer.code)

    for frames in (60, 90, 400):
        with_room_for(frames, attempt)
    assert (
        len(codes) == 3
    )  # the parser of some Pythons has a stack of its own, and sees the fault with fewer frames too
    assert set(codes[:2]) <= {FaultCode.NOT_CANONICAL, FaultCode.DUPLICATE_KEY}
    assert codes[2] is FaultCode.DUPLICATE_KEY
