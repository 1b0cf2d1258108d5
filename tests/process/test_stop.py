"""A request to stop: made once, seen by all, never in the way."""

import select

from signoff.process import Stop
from tests.process.running import open_descriptors


def readable(stop: Stop) -> bool:
    """Return whether somebody who polls the request would wake."""
    poll = select.poll()
    poll.register(stop.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def test_a_request_is_seen_and_stays() -> None:
    """From the request on the descriptor is readable for everybody, and stays so."""
    stop = Stop()
    assert (stop.requested, stop.immediate, readable(stop)) == (False, False, False)
    stop.request()
    assert (stop.requested, stop.immediate, readable(stop), readable(stop)) == (True, False, True, True)


def test_without_grace_is_a_request_too() -> None:
    """A stop without grace is also a stop."""
    stop = Stop()
    stop.now()
    assert (stop.requested, stop.immediate, readable(stop)) == (True, True, True)


def test_any_number_of_requests_is_one() -> None:
    """More requests than the pipe can hold neither wait nor fail."""
    stop = Stop()
    for _ in range(100_000):
        stop.request()
    assert stop.requested


def test_its_descriptors_are_closed_with_it() -> None:
    """Nobody has to close a stop: it takes its two descriptors along."""
    before = open_descriptors()
    stops = [Stop() for _ in range(10)]
    assert len(open_descriptors()) == len(before) + 20
    del stops
    assert open_descriptors() == before
