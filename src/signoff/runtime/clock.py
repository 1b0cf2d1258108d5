"""The host's clock: monotonic from the moment it was made, with wall times derived from that moment.

A wall clock that jumps during a run moves neither deadlines nor the order of records.
"""

import time
from datetime import UTC, datetime, timedelta

from signoff.core.values import Moment


class HostClock:
    """Implements the port `Clock`."""

    def __init__(self) -> None:
        self._wall = datetime.now(UTC)  # noqa: TID251 - this is the Clock port
        self._start = time.monotonic()

    def now(self) -> Moment:
        """Return the present moment."""
        elapsed = time.monotonic() - self._start
        wall = self._wall + timedelta(seconds=elapsed)
        return Moment(elapsed=elapsed, wall=wall.isoformat(timespec="milliseconds"))
