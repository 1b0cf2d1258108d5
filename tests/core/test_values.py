"""Moments, ids, digests and counts: what may be constructed, and instants against another calendar."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signoff.core.values import Moment, epoch_microseconds, require_count, require_digest, require_id
from signoff.errors import PolicyError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def microseconds(moment: datetime) -> int:
    """The microseconds since 1970 by the calendar of the standard library."""
    return (moment - EPOCH) // timedelta(microseconds=1)


@given(st.datetimes(timezones=ZONES))
@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
@example(datetime(2000, 2, 29, 12, tzinfo=UTC))
@example(datetime(1900, 3, 1, tzinfo=UTC))
def test_instants_are_those_of_the_calendar(moment: datetime) -> None:
    """Every date of the calendar, in every zone, is the same instant as the standard library says."""
    assert epoch_microseconds(moment.isoformat()) == microseconds(moment)


@given(st.dates())
def test_every_day_has_its_number(day: object) -> None:
    """Midnight of every day, leap years included, is a whole number of days after 1970."""
    instant = epoch_microseconds(f"{day}T00:00:00Z")
    assert instant % (24 * 3600 * 1_000_000) == 0
    assert EPOCH + timedelta(microseconds=instant) == datetime.fromisoformat(f"{day}T00:00:00+00:00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.123456789Z", 123_456),
        ("1970-01-01T00:00:60Z", 60_000_000),
        ("2000-02-29T00:00:00Z", 951_782_400_000_000),
        ("2024-12-31T00:00:00Z", 1_735_603_200_000_000),
    ],
)
def test_how_an_instant_is_read(text: str, expected: int) -> None:
    """Case, zone, fraction and leap second are read as RFC 3339 has them; digits below a microsecond are dropped."""
    assert epoch_microseconds(text) == expected


NO_INSTANTS = [
    "",
    "now",
    "2030-01-31",
    "2030-01-31T12:00:00",
    "2030-01-31 12:00:00Z",
    "2030-01-31T12:00Z",
    "2030-01-31T12:00:00.Z",
    "2030-01-31T12:00:00.1234567890Z",
    "2030-01-31T12:00:00+0100",
    "2030-01-31T12:00:00Z\n",
    " 2030-01-31T12:00:00Z",
    "٢٠٣٠-01-31T12:00:00Z",
    "0000-01-01T00:00:00Z",
    "2030-00-01T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-32T00:00:00Z",
    "2030-04-31T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2030-01-01T24:00:00Z",
    "2030-01-01T00:60:00Z",
    "2030-01-01T00:00:61Z",
    "2030-01-01T00:00:00+24:00",
    "2030-01-01T00:00:00-00:60",
]


@pytest.mark.parametrize("text", NO_INSTANTS)
def test_what_is_no_instant(text: str) -> None:
    """What has no zone, no real day or time, or another form is refused wherever a moment is made."""
    with pytest.raises(PolicyError, match="timestamp"):
        epoch_microseconds(text)
    with pytest.raises(PolicyError):
        Moment(elapsed=0, wall=text)


@pytest.mark.parametrize("text", ["a", "0", "A.b_c-9", "x" * 128])
def test_what_is_an_id(text: str) -> None:
    """An id is returned as it is."""
    assert require_id(text, what="check id") == text


@pytest.mark.parametrize("text", ["", "-a", ".a", "_a", "a b", "a/b", "é", "a\n", "x" * 129])
def test_what_is_no_id(text: str) -> None:
    """What cannot be an id is refused, with the thing named and the text shown in part."""
    with pytest.raises(PolicyError, match="check id") as caught:
        require_id(text, what="check id")
    assert len(str(caught.value)) < 400


def test_what_is_a_digest() -> None:
    """A digest is its algorithm and 64 lower-case hexadecimal digits."""
    good = "sha256:" + "0af9" * 16
    assert require_digest(good, what="digest") == good
    for bad in ("", good.upper(), good[:-1], good + "0", good[7:], "sha512:" + good[7:], good + "\n", "x" * 1000):
        with pytest.raises(PolicyError, match="is not a digest"):
            require_digest(bad, what="digest")


@pytest.mark.parametrize("number", [None, 0, 1, 10**30])
def test_what_is_a_count(number: int | None) -> None:
    """A count is a whole number from its least on, or none at all."""
    require_count(number, what="max_repairs")


@pytest.mark.parametrize("number", [-1, 1.0, 1.5, True, False, float("nan"), float("inf")])
def test_what_is_no_count(number: float) -> None:
    """Negative numbers, fractions and truth values are no counts."""
    with pytest.raises(PolicyError, match="max_repairs"):
        require_count(number, what="max_repairs")


def test_a_count_has_its_least() -> None:
    """One below the least is refused with the least named."""
    require_count(3, what="min_tests", least=3)
    with pytest.raises(PolicyError, match="at least 3"):
        require_count(2, what="min_tests", least=3)
