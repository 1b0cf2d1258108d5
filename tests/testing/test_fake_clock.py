"""The fake clock moves only when it is told to, both of its times together, and never back."""

import pytest

from signoff.core.values import epoch_microseconds
from signoff.errors import PolicyError
from signoff.ports import Clock
from signoff.testing import FakeClock


def test_it_stands_still() -> None:
    """Asked again, it says the same."""
    clock: Clock = FakeClock()
    assert clock.now() == clock.now()
    assert clock.now().elapsed == 0
    assert clock.now().wall == "2030-01-01T00:00:00.000000Z"


def test_both_times_move_together() -> None:
    """The wall time is the start plus what has elapsed, to the microsecond, across the end of a year too."""
    clock = FakeClock("2023-12-31T23:59:59.999999+00:00")
    moment = clock.advance(0.000001)
    assert moment == clock.now()
    assert (moment.elapsed, moment.wall) == (0.000001, "2024-01-01T00:00:00.000000Z")
    assert clock.advance(60 * 24 * 3600).wall == "2024-03-01T00:00:00.000000Z"


def test_it_begins_where_it_is_told() -> None:
    """A start in any zone is the same instant."""
    clock = FakeClock("2030-06-01T02:00:00+02:00")
    assert clock.now().wall == "2030-06-01T00:00:00.000000Z"
    assert epoch_microseconds(clock.now().wall) == epoch_microseconds("2030-06-01T02:00:00+02:00")


def test_small_steps_add_up() -> None:
    """A thousand steps of a tenth are a hundred seconds: nothing is lost to rounding."""
    clock = FakeClock()
    for _ in range(1000):
        clock.advance(0.1)
    assert clock.now().elapsed == 100


@pytest.mark.parametrize("seconds", [-1, -0.001, float("nan"), float("inf")])
def test_it_never_goes_back(seconds: float) -> None:
    """A step that is no step forwards is refused, and the clock stays."""
    clock = FakeClock()
    with pytest.raises(PolicyError, match="was not moved"):
        clock.advance(seconds)
    assert clock.advance(0).elapsed == 0


@pytest.mark.parametrize("start", ["2030-01-01T00:00:00", "now"])
def test_it_needs_an_instant_to_begin(start: str) -> None:
    """A start without a zone is no instant."""
    with pytest.raises(PolicyError, match="timestamp"):
        FakeClock(start)
