"""RFC 8785: its published examples, and the departures and bounds that the exact writer states."""

import struct
import sys
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from signoff.core import jcs
from signoff.errors import CanonicalError

ROOM = 1 << 20

# RFC 8785, appendix B.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
NOT_NUMBERS = {"7fffffffffffffff": "nan", "7ff0000000000000": "inf", "fff0000000000000": "-inf"}


def double(bits: str) -> float:
    """The double that is made of these 64 bits."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    return float(number)


def ecmascript(number: float) -> str:
    """ECMA-262's Number::toString on decimals, written from its text: digits s, their count k, and the exponent n."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    s, k, n = "".join(map(str, digits)), len(digits), len(digits) + exponent
    minus = "-" if sign else ""
    if number == 0:
        return "0"
    if k <= n <= 21:
        return minus + s + "0" * (n - k)
    if 0 < n <= 21:
        return f"{minus}{s[:n]}.{s[n:]}"
    if -6 < n <= 0:
        return f"{minus}0.{'0' * -n}{s}"
    power = f"e{'+' if n > 0 else '-'}{abs(n - 1)}"
    return minus + (s + power if k == 1 else f"{s[0]}.{s[1:]}{power}")


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_rfc(bits: str, text: str) -> None:
    """Every finite sample of the RFC's table of numbers is written as the table says."""
    assert text.encode() == jcs.write(double(bits), ROOM)


@pytest.mark.parametrize(("bits", "name"), NOT_NUMBERS.items())
def test_what_the_rfc_calls_an_error(bits: str, name: str) -> None:
    """NaN and the infinities are refused, by name."""
    with pytest.raises(CanonicalError, match=f"at \\$: {name} is not a JSON number"):
        jcs.write(double(bits), ROOM)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e21)
@example(1e-7)
@example(-1e-6)
@example(1.5e300)
@example(123456789.0)
@settings(deadline=None)
def test_numbers_are_written_as_ecmascript_writes_them(number: float) -> None:
    """Any finite float has the text that ECMA-262 gives it, and that text reads back as the same float."""
    text = jcs.write(number, ROOM).decode()
    assert ecmascript(number) == text
    assert float(text) == number


def test_keys_are_sorted_by_utf_16_code_units() -> None:
    """The sorting example of the RFC: a character beyond the basic plane comes before one at its end."""
    unsorted = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    written = (
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",'
        '"\u20ac":"Euro Sign","\U0001f600":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
    )
    assert written.encode() == jcs.write(unsorted, ROOM)


def test_the_first_example_of_the_rfc() -> None:
    """Numbers, escapes and literals of the RFC's sample object come out as the RFC prints them."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    written = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert written.encode() == jcs.write(value, ROOM)


def test_strings_are_escaped_no_more_than_needed() -> None:
    """Short escapes where JSON has them, lower-case hexadecimal for other controls, everything else as it is."""
    text = '\b\t\n\f\r"\\\x00\x1f /\x7f\u2028\u00e9\U0001f600'
    written = r'"\b\t\n\f\r\"\\\u0000\u001f' + ' /\x7f\u2028\u00e9\U0001f600"'
    assert written.encode() == jcs.write(text, ROOM)


def test_integers_keep_every_digit() -> None:
    """The departure from the RFC: an integer is not rounded to a double, whatever its size up to the bound."""
    for number in (2**53 + 1, -(2**53) - 1, 2**64, 10**21, 10**jcs.MAX_DIGITS - 1, 1 - 10**jcs.MAX_DIGITS):
        assert str(number).encode() == jcs.write(number, ROOM)
    for number in (10**jcs.MAX_DIGITS, -(10**jcs.MAX_DIGITS)):
        with pytest.raises(CanonicalError, match="more than 640 digits"):
            jcs.write(number, ROOM)


def test_the_longest_integer_does_not_depend_on_the_process() -> None:
    """The strictest limit that Python lets a process set changes nothing."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(jcs.MAX_DIGITS)
    try:
        written = jcs.write(10**jcs.MAX_DIGITS - 1, ROOM)
    finally:
        sys.set_int_max_str_digits(before)
    assert written == b"9" * jcs.MAX_DIGITS


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [0, 0, 0, {"b": b""}]}, "$.a[3].b"),
        ([(0, b"")], "$[0][1]"),
        ({"two words": {"": b""}}, '$["two words"][""]'),
        ({"k\u00e9y": b""}, '$["k\\u00e9y"]'),
        ({"n" * 50: b""}, '$["' + "n" * 40 + '..."]'),
    ],
)
def test_a_refusal_names_the_place(value: object, path: str) -> None:
    """The path leads to the value that is refused; keys that are no names are quoted and bounded."""
    with pytest.raises(CanonicalError) as refused:
        jcs.write(value, ROOM)
    assert str(refused.value).startswith(f"The value was refused at {path}: a value of type bytes is not JSON. Use ")


def test_a_long_path_loses_its_middle() -> None:
    """A message stays short however deep the fault lies."""
    value: object = float("nan")
    for _ in range(60):
        value = {"member": value}
    with pytest.raises(CanonicalError) as refused:
        jcs.write(value, ROOM)
    path = str(refused.value).removeprefix("The value was refused at ").partition(": nan")[0]
    assert len(path) == 163
    assert path.startswith("$.member.member")
    assert "..." in path
    assert path.endswith(".member.member")


@pytest.mark.parametrize("value", [{}, [], (), {"a": 1}, [1], [[]], {"\u00e9": {"b": [1, None, "\u20ac"]}, "c": ()}])
def test_the_bound_counts_every_byte(value: object) -> None:
    """A value is written if its bytes fit exactly, and refused if one byte is missing."""
    written = jcs.write(value, ROOM)
    assert written == jcs.write(value, len(written))
    with pytest.raises(CanonicalError, match=f"longer than {len(written) - 1} bytes"):
        jcs.write(value, len(written) - 1)
