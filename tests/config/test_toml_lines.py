"""The line of every key: exact for the ways that TOML offers, never beyond an end for what is not TOML."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config.toml_lines import MAX_DEPTH, Place, TooDeep, line_of, lines_of
from tests.config.resolving import any_speed

TEXT = '''\
# [comment]
top = 1
"quoted key" = """
not = "a key"
[nor.a.table]""" # end
[a . "b"]
c.d = 1
long = [
  "one", # [two]
  'three',
  { x = 1, y.z = [1, 2] },
]
[[a.list]]
k = \'\'\'
[x]
''\'\'\'
[a.list.sub]
s = "]"
[[a.list]]
k = 1979-05-27 07:32:00Z
t = {}
"\\u0065sc" = "\\""
'''
LINES: dict[Place, int] = {
    ("top",): 2,
    ("quoted key",): 3,
    ("a",): 6,
    ("a", "b"): 6,
    ("a", "b", "c"): 7,
    ("a", "b", "c", "d"): 7,
    ("a", "b", "long"): 8,
    ("a", "b", "long", 0): 9,
    ("a", "b", "long", 1): 10,
    ("a", "b", "long", 2): 11,
    ("a", "b", "long", 2, "x"): 11,
    ("a", "b", "long", 2, "y"): 11,
    ("a", "b", "long", 2, "y", "z"): 11,
    ("a", "list"): 13,
    ("a", "list", 0): 13,
    ("a", "list", 0, "k"): 14,
    ("a", "list", 0, "sub"): 17,
    ("a", "list", 0, "sub", "s"): 18,
    ("a", "list", 1): 19,
    ("a", "list", 1, "k"): 20,
    ("a", "list", 1, "t"): 21,
    ("a", "list", 1, "esc"): 22,
}


def test_every_way_to_write_a_key_has_its_line() -> None:
    """Tables, arrays of tables, dotted and quoted keys, long strings and values inside values."""
    tomllib.loads(TEXT)
    assert lines_of(TEXT) == LINES


def test_an_unknown_place_falls_back_to_what_is_around_it() -> None:
    """A place without a line of its own has the line of the innermost table that has one."""
    assert line_of(LINES, ("a", "list", 0, "sub", "s", 4)) == 18
    assert line_of(LINES, ("b",)) == 1


@pytest.mark.parametrize("start", ["a" + ".a" * 100_000 + " = 1", "[a" + ".a" * 100_000 + "]", "a = " + "[" * 100_000])
def test_what_is_too_deep_is_refused(start: str) -> None:
    """A key or value that the parser would take minutes for, or fall over, has a line and no more."""
    with pytest.raises(TooDeep) as caught:
        lines_of(f"x = 1\n{start}\n")
    assert caught.value.line == 2


def test_the_depth_is_exact() -> None:
    """A key of the greatest depth is taken, one part more is not."""
    assert len(lines_of(".".join("a" * MAX_DEPTH) + " = 1")) == MAX_DEPTH
    with pytest.raises(TooDeep):
        lines_of(".".join("a" * (MAX_DEPTH + 1)) + " = 1")


@any_speed
@given(st.text(st.sampled_from("a.[]{}=,#\"'\\\n \t1é")) | st.text())
def test_the_scan_ends_on_any_text(text: str) -> None:
    """Whatever the text, the lines that are found lie within it."""
    last = text.count("\n") + 1
    try:
        lines = list(lines_of(text).values())
    except TooDeep as error:
        lines = [error.line]
    assert all(1 <= line <= last for line in lines)


KEYS = st.sampled_from(["a", "b", '"c d"', "'e'", "f-1"])
VALUES = st.recursive(
    st.sampled_from(["1", '"x"', "'[y]'", '"""\n]\n"""', "'''\n{'\n'''", "true", "1.5", "1979-05-27T07:32:00Z"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: "[\n" + ",\n".join(items) + "]"),
    max_leaves=5,
)
STATEMENTS = st.one_of(
    st.tuples(KEYS, VALUES).map(" = ".join),
    st.tuples(KEYS, KEYS, VALUES).map(lambda parts: f"{parts[0]} . {parts[1]} = {parts[2]} # {parts[2]!r}"),
    KEYS.map("[{}]".format),
    KEYS.map("[[{}]]".format),
    st.tuples(KEYS, KEYS).map("[{0[0]}.{0[1]}]".format),
)


def places_of(value: object, place: Place = ()) -> set[Place]:
    """Every place in a parsed text that has a name of its own."""
    if isinstance(value, dict):
        return {(*place, key) for key in value} | {
            inner for key, item in value.items() for inner in places_of(item, (*place, key))
        }
    if isinstance(value, list):
        return {inner for number, item in enumerate(value) for inner in places_of(item, (*place, number))}
    return set()


@any_speed
@given(st.lists(STATEMENTS, max_size=8))
def test_every_key_that_the_parser_finds_has_a_line(statements: list[str]) -> None:
    """The scan and the parser agree on what the keys are, and the line of a key holds its name."""
    text = "\n".join(statements)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = lines_of(text)
    lines = text.split("\n")
    for place in places_of(document):
        assert str(place[-1]) in lines[found[place] - 1]
