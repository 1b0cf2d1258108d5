"""A clock for tests: it stands still until the test moves it, so that no test ever waits for time.

Only the port `Clock` is implemented here; nothing in this file may read a real clock.
"""

import math
from datetime import UTC, datetime, timedelta

from signoff.core.values import Moment, epoch_microseconds
from signoff.errors import PolicyError

START = "2030-01-01T00:00:00Z"
"""Where a fake clock begins unless it is told otherwise."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000


class FakeClock:
    """Implements the port `Clock`: both of its times move by `advance`, together, and by nothing else."""

    def __init__(self, start: str = START) -> None:
        self._start = epoch_microseconds(start)
        self._elapsed = 0

    def now(self) -> Moment:
        """Return the present moment; its wall time is the start plus what has elapsed."""
        wall = _EPOCH + timedelta(microseconds=self._start + self._elapsed)
        text = wall.isoformat(timespec="microseconds").removesuffix("+00:00")
        return Moment(elapsed=self._elapsed / _MICROSECONDS, wall=f"{text}Z")

    def advance(self, seconds: float) -> Moment:
        """Let time pass, to the microsecond, and return the moment that is then; time never goes back."""
        if not math.isfinite(seconds) or seconds < 0:
            message = f"the clock cannot advance by {seconds!r} s; it was not moved; give a finite number from 0 on"
            raise PolicyError(message)
        self._elapsed += round(seconds * _MICROSECONDS)
        return self.now()
