"""A clock for tests: it stands still until the test moves it, so that no test ever waits for time.

Only the ports `Clock` and `Timer` are implemented here; nothing in this file may read a real clock.
"""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import anyio

from signoff.core.values import Moment, epoch_microseconds
from signoff.errors import PolicyError

START = "2030-01-01T00:00:00Z"
"""Where a fake clock begins unless it is told otherwise."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000


class _Wait(NamedTuple):
    """A block that waits for the clock."""

    until: int
    """Microseconds."""
    scope: anyio.CancelScope


class FakeClock:
    """Implements the ports `Clock` and `Timer`: its times move by `advance`, together, and by nothing else."""

    def __init__(self, start: str = START) -> None:
        self._start = epoch_microseconds(start)
        self._elapsed = 0
        self._waits: list[_Wait] = []
        self._waited = anyio.Event()

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
        for wait in self._waits:
            if wait.until <= self._elapsed:
                wait.scope.cancel()
        return self.now()

    def seconds(self) -> float:
        """Return the seconds that have elapsed."""
        return self._elapsed / _MICROSECONDS

    def move_on_at(self, seconds: float) -> AbstractContextManager[object]:
        """A block that is left when `advance` has brought the clock so far."""
        until = math.ceil(seconds * _MICROSECONDS)
        # Rounding must never leave a block before its time: whoever looks at the clock then would wait anew, for ever.
        return self._moving_on(until if until / _MICROSECONDS >= seconds else until + 1)

    async def waited_for(self) -> float:
        """Return the moment that is waited for first, in seconds, as soon as one in the future is."""
        while True:
            ahead = [wait.until for wait in self._waits if wait.until > self._elapsed]
            if ahead:
                return min(ahead) / _MICROSECONDS
            await self._waited.wait()

    @contextmanager
    def _moving_on(self, until: int) -> Iterator[None]:
        with anyio.CancelScope() as scope:
            wait = _Wait(until, scope)
            self._waits.append(wait)
            self._waited.set()
            self._waited = anyio.Event()
            if until <= self._elapsed:
                scope.cancel()
            try:
                yield
            finally:
                self._waits.remove(wait)
