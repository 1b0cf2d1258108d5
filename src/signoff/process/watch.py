"""The one poll loop of a run: output, exit and stop are descriptors, and a deadline is the longest wait for them.

Nothing here may decide what an event means; `command` and `group` do.
"""

import math
import select
import time

from signoff.process.child import Child
from signoff.process.output import Drain
from signoff.process.stop import Stop

_LONGEST_WAIT = 3600.0
_TICK = 0.05


class Watch:
    """A running process, what it prints, and the request to stop it, waited for together."""

    def __init__(self, child: Child, drain: Drain, stop: Stop) -> None:
        self.child = child
        self.drain = drain
        self.stop = stop
        self._poll = select.poll()
        self._poll.register(drain.fd, select.POLLIN)
        self._poll.register(stop.fileno(), select.POLLIN)
        self._ticking = child.exit_fd is None
        if child.exit_fd is not None:
            self._poll.register(child.exit_fd, select.POLLIN)

    def step(self, until: float) -> None:
        """Wait for one of the three, until that moment at most, and take what came."""
        wait = min(until - time.monotonic(), _LONGEST_WAIT)
        if self._ticking and not self.child.exited:
            wait = min(wait, _TICK)
        ready = {fd for fd, _ in self._poll.poll(math.ceil(max(wait, 0.0) * 1000))}
        if self.drain.fd in ready:
            self.drain.take()
            if not self.drain.open:
                self._poll.unregister(self.drain.fd)
        if self.child.exit_fd in ready:
            # It stays readable from now on. Should the status not be there yet, ticks find it.
            self._poll.unregister(self.child.exit_fd)
            self._ticking = True
        if self._ticking or self.child.exit_fd in ready:
            self.child.look()

    def ignore_stop(self) -> None:
        """Wait for the stop request no longer: it stays readable once it was made."""
        self._poll.unregister(self.stop.fileno())
