"""The fake clock moves only when it is told to, both of its times together, and never back."""

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from signoff.core.values import epoch_microseconds
from signoff.errors import PolicyError
from signoff.ports import Clock, Timer
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


def test_a_block_is_left_when_the_clock_has_come_so_far() -> None:
    """Not before, and at once where it had; the earliest wait is told to whoever moves the clock."""
    clock: FakeClock = FakeClock()
    timer: Timer = clock
    left: list[float] = []

    async def wait(seconds: float) -> None:
        with timer.move_on_at(seconds):
            await anyio.sleep_forever()
        left.append(seconds)

    async def waiting() -> None:
        with anyio.fail_after(10):
            await wait(0)
            async with anyio.create_task_group() as group:
                for seconds in (3.5, 2, 0.1 + 0.2):
                    group.start_soon(wait, seconds)
                assert await clock.waited_for() == 0.300001
                clock.advance(2)
                await anyio.wait_all_tasks_blocked()
                assert (sorted(left), await clock.waited_for()) == ([0, 0.1 + 0.2, 2], 3.5)
                clock.advance(await clock.waited_for() - clock.seconds())

    anyio.run(waiting)
    assert left[-1] == 3.5


def test_whoever_moves_the_clock_may_come_before_whoever_waits() -> None:
    """The moment is told as soon as there is one."""
    clock = FakeClock()
    told: list[float] = []

    async def move() -> None:
        told.append(await clock.waited_for())
        clock.advance(told[0])

    async def waiting() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(move)
                await anyio.wait_all_tasks_blocked()
                with clock.move_on_at(7):
                    await anyio.sleep_forever()

    anyio.run(waiting)
    assert told == [7]


@settings(deadline=None)
@given(st.floats(min_value=0, max_value=10**6))
@example(0.00015000000000000001)
def test_a_block_is_never_left_before_its_time(seconds: float) -> None:
    """The clock counts microseconds; a moment between two of them has come at the second."""
    clock = FakeClock()

    async def waiting() -> None:
        async with anyio.create_task_group() as group:
            with clock.move_on_at(seconds):
                if seconds:
                    group.start_soon(move)
                await anyio.sleep_forever()

    async def move() -> None:
        clock.advance(await clock.waited_for())

    anyio.run(waiting)
    assert clock.seconds() >= seconds
