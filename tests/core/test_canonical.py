"""One text for one value: both ways of writing agree, keys have no order, and sizes, depths and cycles are bounded."""

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum, StrEnum
from types import MappingProxyType

import orjson
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from signoff.core import canonical as subject
from signoff.core import jcs
from signoff.core.canonical import MAX_BYTES, MAX_DEPTH, canonical, digest, digest_bytes, parse
from signoff.errors import CanonicalError, SignoffError

NUMBERS = st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
NAMES = st.text(st.characters(max_codepoint=127))
PLAIN_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(0.01, 0.99) | st.text()
PLAIN = st.recursive(
    PLAIN_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=20
).filter(lambda value: isinstance(value, dict | list))


class Text(str):
    """A str that could answer for itself."""

    __slots__ = ()


class Colour(StrEnum):
    """A str with a name."""

    RED = "red"


class Size(IntEnum):
    """An int with a name."""

    BIG = 1


FOREIGN: tuple[object, ...] = (
    b"bytes",
    bytearray(b"bytes"),
    {1},
    frozenset({1}),
    object(),
    object,
    len,
    1j,
    Decimal(1),
    uuid.UUID(int=1),
    Text("text"),
    Colour.RED,
    Size.BIG,
    OrderedDict(a=1),
    MappingProxyType({"a": 1}),
    orjson.Fragment(b"]"),
    range(3),
    iter([1]),
    float("nan"),
    float("inf"),
    10**1000,
    "\ud800",
    {1: 1},
    {None: 1},
    {Text("a"): 1},
    {Colour.RED: 1},
    {"a": 1, b"a": 1},
    {"\udfff": 1},
)


def nested(depth: int) -> object:
    """Arrays inside each other, to this depth."""
    value: object = []
    for _ in range(depth - 1):
        value = [value]
    return value


def as_read(value: object) -> object:
    """A value as it comes back from JSON: arrays are lists, and a float that is written like an integer is one."""
    match value:
        case list() | tuple():
            return [as_read(item) for item in value]
        case dict():
            return {key: as_read(item) for key, item in value.items()}
        case float() if set("0123456789-").issuperset(text := canonical(value).decode()):
            return int(text)
        case _:
            return value


def reordered(value: object) -> object:
    """The same value with the members of every object in the opposite order."""
    match value:
        case list():
            return [reordered(item) for item in value]
        case dict():
            return {key: reordered(item) for key, item in reversed(value.items())}
        case _:
            return value


@given(VALUES)
@example({"\U0001f600": 1, "\ufb33": 2})
@example({"b": {"\U0001f600": 1, "\ufb33": 2}, "a": [1]})
@example([({"\U0001f600": 1, "\ufb33": 2},), "\u20ac"])
@example({"b": "\u20ac", "a": ["\u20ac"], "": None})
@example({"b": 1, "a": 2, "B": 3, "": 4})
@example([1.0, -0.0, 1e-6, 1e15, 1e16, 1e21, 2**64, -(2**63) - 1])
@settings(deadline=None)
def test_both_ways_write_the_same_bytes(value: object) -> None:
    """Whichever way a value takes, its bytes are those of the exact writer."""
    assert canonical(value) == jcs.write(value, MAX_BYTES)


@given(PLAIN)
@settings(deadline=None)
def test_the_fast_way_writes_the_same_bytes(value: object) -> None:
    """The values that orjson is trusted with, and they are trusted, come out as the exact writer would write them."""
    assert isinstance(value, dict | list)
    assert subject._is_plain(value, MAX_BYTES)
    assert orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == jcs.write(value, MAX_BYTES)


@given(st.floats(-1e16, 1e16) | st.floats(-1e-4, 1e-4))
@example(1e-5)
@example(9.9e-6)
@example(1e-6)
@example(999999999999999.9)
@example(1e16)
@settings(deadline=None)
def test_the_floats_of_the_fast_way_are_written_as_the_rfc_asks(number: float) -> None:
    """Where orjson may write a float, its form is ECMAScript's."""
    assume(subject._is_plain([number], MAX_BYTES))
    assert orjson.dumps(number) == jcs.write(number, MAX_BYTES)


@given(VALUES)
@example([123456789012345680000.0, 1e20, -0.0, 1e300])
@settings(deadline=None)
def test_what_is_written_is_read_back(value: object) -> None:
    """Parsing canonical bytes gives the value, but that integral floats are integers; writing it again changes none."""
    written = canonical(value)
    read = parse(written)
    assert read == as_read(value)
    assert repr(read) == repr(parse(written.decode()))
    assert canonical(read) == written


@given(VALUES)
@settings(deadline=None)
def test_the_order_of_keys_does_not_matter(value: object) -> None:
    """Two objects with the same members have one text."""
    assert canonical(reordered(value)) == canonical(value)


@given(st.integers(), st.integers())
@example(2**53, 2**53 + 1)
@example(10**22, 10**22 + 1)
@settings(deadline=None)
def test_two_integers_are_never_taken_for_one(one: int, other: int) -> None:
    """Digests of integers are equal exactly if the integers are."""
    assert (digest(one) == digest(other)) == (one == other)


def test_what_is_equal_and_what_is_not() -> None:
    """True is not 1; an integral float is its integer; minus zero is zero; the order of an array counts."""
    assert digest(True) != digest(1)
    assert digest(1.0) == digest(1)
    assert digest(-0.0) == digest(0)
    assert digest([1, 2]) != digest([2, 1])
    assert digest({"a": [1, 2]}) == digest({"a": (1, 2)})
    assert digest("1") != digest(1)


def test_a_digest_is_that_of_the_bytes() -> None:
    """A digest is the name of the algorithm and the hexadecimal SHA-256 of the canonical bytes."""
    expected = "sha256:" + hashlib.sha256(b'{"a":1,"b":[]}').hexdigest()
    assert expected == digest({"b": [], "a": 1.0})
    assert expected == digest_bytes(b'{"a":1,"b":[]}')


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
def test_what_is_not_json_is_refused_everywhere(value: object) -> None:
    """A value of another type, a subclass, or one without a JSON text is refused wherever it lies."""
    for whole in (value, [value], {"a": value}, [{"a": ("x", value)}], [1.0, value]):
        with pytest.raises(CanonicalError, match=r"^The value was refused at \$") as refused:
            canonical(whole)
        assert isinstance(refused.value, SignoffError)
        str(refused.value).encode("ascii")


@given(
    st.recursive(
        st.sampled_from(FOREIGN) | st.floats() | SCALARS,
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from((1, None, Text("a"))), inner),
        max_leaves=10,
    )
)
@settings(deadline=None)
def test_any_object_is_written_or_refused(value: object) -> None:
    """No Python object leads to another error than CanonicalError."""
    try:
        written = canonical(value)
    except CanonicalError:
        return
    assert canonical(parse(written)) == written


def test_no_code_of_the_value_runs() -> None:
    """Iterators, properties, serialisers, comparisons and hashes of a value and of its type are never called."""
    calls: list[str] = []

    def spy(name: str) -> Callable[..., object]:
        def called(*_: object, **__: object) -> object:
            calls.append(name)
            return NotImplemented

        return called

    special = ["__iter__", "__len__", "__eq__", "__hash__", "__str__", "__repr__", "__format__", "__getattribute__"]
    spies = {name: spy(name) for name in [*special, "__getitem__", "__bool__", "__float__", "__index__", "keys"]}
    meta = type("Meta", (type,), {**spies, "__name__": property(spy("__name__"))})
    for base in (object, str, int, float, dict, list, tuple):
        kind = meta("Hostile", (base,), spies)
        value = object.__new__(kind) if base is object else base.__new__(kind)
        calls.clear()
        for whole in (value, [value], {"a": value}):
            with pytest.raises(CanonicalError, match="a value of type Hostile is not JSON"):
                canonical(whole)
        assert calls == []


def test_no_code_of_a_key_runs() -> None:
    """A key that claims to equal another, or to have an encoding of its own, is never asked."""

    class Liar:
        def __init__(self) -> None:
            self.asked = 0

        def __hash__(self) -> int:
            self.asked += 1
            return hash("a")

        def __eq__(self, other: object) -> bool:
            self.asked += 1
            return self is other

    class Encoded(str):
        __slots__ = ()

        def encode(self, *_: object, **__: object) -> bytes:
            pytest.fail("a key was asked for its encoding")

    liar = Liar()
    value = {"a": 1, liar: 2}
    liar.asked = 0
    with pytest.raises(CanonicalError, match=r"at \$: a key is of type Liar"):
        canonical(value)
    assert liar.asked == 0
    with pytest.raises(CanonicalError, match=r"at \$: a key is of type Encoded"):
        canonical({"a": 1, Encoded("b"): 2})


def test_a_type_is_named_in_bounds() -> None:
    """However long the name of a type, the message stays short."""
    with pytest.raises(CanonicalError, match=r"a value of type N{40} is not JSON"):
        canonical([type("N" * 100_000, (), {})()])


@pytest.mark.parametrize("leaf", [0, 0.0], ids=["fast", "exact"])
def test_depth_is_bounded(leaf: object) -> None:
    """MAX_DEPTH levels are written, one more is refused, and a hundred thousand are refused without recursion."""
    deepest = [leaf]
    for _ in range(MAX_DEPTH - 1):
        deepest = [deepest]
    assert canonical(deepest) == b"[" * MAX_DEPTH + b"0" + b"]" * MAX_DEPTH
    for value in ([deepest], {"a": deepest}, (deepest,), nested(100_000)):
        with pytest.raises(CanonicalError, match="lies deeper than 200 levels, or inside itself"):
            canonical(value)


def test_cycles_end() -> None:
    """A value that holds itself, once or many times over, is refused."""
    alone: list[object] = []
    alone.append(alone)
    crowd: list[object] = []
    crowd += [crowd, crowd, crowd]
    tree: dict[str, object] = {"name": "root"}
    tree["children"] = [{"parent": tree}, {"parent": tree}]
    for value in (alone, crowd, tree):
        with pytest.raises(CanonicalError, match="inside itself"):
            canonical(value, max_bytes=64 * 1024)


@pytest.mark.parametrize("leaf", [0, 0.0, "x" * 1000, {"x" * 1000: 0}], ids=["fast", "exact", "text", "key"])
def test_shared_parts_do_not_fill_the_memory(leaf: object) -> None:
    """A small value that would be written as a vast text is refused after the bound, not after the text."""
    value = leaf
    for _ in range(MAX_DEPTH - 2):
        value = [value, value]
    with pytest.raises(CanonicalError, match="longer than 65536 bytes"):
        canonical(value, max_bytes=64 * 1024)
    wide: object = [leaf]
    for _ in range(20):
        wide = [wide] * 10_000
    with pytest.raises(CanonicalError, match="longer than 65536 bytes"):
        canonical(wide, max_bytes=64 * 1024)


@pytest.mark.parametrize("leaf", ["x" * 1000, {"x" * 1000: 0}], ids=["text", "key"])
def test_texts_are_counted_before_they_are_written(leaf: object) -> None:
    """The bound is kept without writing the vast text first: the fast way does not begin on it."""
    value = [[leaf] * 10] * 10
    assert subject._is_plain(value, 128 * 1024)
    assert not subject._is_plain(value, 64 * 1024)


@pytest.mark.parametrize(
    "value", [{"a": [1, "b", 0.5]}, {"a": 1.0}, {"\u20ac": 1}, {"a": "\u20ac"}, "\u20ac", 10, ["x" * 70_000]]
)
def test_the_bound_is_inclusive(value: object) -> None:
    """A value of exactly max_bytes of UTF-8 is written, and one byte more is refused, whichever way it takes."""
    written = canonical(value)
    assert canonical(value, max_bytes=len(written)) == written
    assert digest(value, max_bytes=len(written)) == digest_bytes(written)
    for write in (canonical, digest):
        with pytest.raises(CanonicalError, match=f"longer than {len(written) - 1} bytes"):
            write(value, max_bytes=len(written) - 1)


def test_the_default_bound() -> None:
    """Without another bound a text of MAX_BYTES is written and read, and one byte more is not."""
    text = "x" * (MAX_BYTES - 2)
    assert parse(canonical(text)) == text
    with pytest.raises(CanonicalError, match="longer than 8388608 bytes"):
        canonical(text + "x")
    with pytest.raises(CanonicalError, match="longer than 8388608 bytes"):
        parse(f'"{text}x"')
