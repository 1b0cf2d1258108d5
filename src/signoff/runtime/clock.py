"""The host's clock: monotonic from the moment it was made, with wall times derived from that moment.

A wall clock that jumps during a run moves neither deadlines nor the order of records.
"""

import time
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import anyio

from signoff.core.values import Moment


class HostClock:
    """Implements the ports `Clock` and `Timer`."""

    def __init__(self) -> None:
        self._wall = datetime.now(UTC)  # noqa: TID251 - this is the Clock port
        self._start = time.monotonic()

    def now(self) -> Moment:
        """Return the present moment."""
        elapsed = self.seconds()
        wall = self._wall + timedelta(seconds=elapsed)
        return Moment(elapsed=elapsed, wall=wall.isoformat(timespec="milliseconds"))

    def seconds(self) -> float:
        """Return the seconds since this clock was made."""
        return time.monotonic() - self._start

    def move_on_at(self, seconds: float) -> AbstractContextManager[object]:
        """A block that is left when the clock has come so far."""
        return anyio.move_on_after(max(seconds - self.seconds(), 0.0))
