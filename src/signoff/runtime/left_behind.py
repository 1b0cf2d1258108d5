"""Owns the tasks of model clients that would not end, so that their callers need not wait for them.

The event loop keeps no task alive by itself, and complains of an exception that nobody reads. Nothing else may be left
behind: a task comes here only after its cancellation and the grace period.
"""

import asyncio
import logging

_LOG = logging.getLogger("signoff")


class LeftBehind:
    """Tasks that nobody waits for any more, and their count."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._total = 0

    @property
    def running(self) -> int:
        """How many of them have not ended yet."""
        return len(self._tasks)

    @property
    def total(self) -> int:
        """How many there were since the program began."""
        return self._total

    def adopt(self, task: "asyncio.Task[None]") -> None:
        """Own a task to its end, and consume its exception."""
        self._total += 1
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        _LOG.warning("%s did not end in time; it was left behind; %d are running", task.get_name(), self.running)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.warning("%s, left behind, ended in %s", task.get_name(), type(error).__name__)


LEFT_BEHIND = LeftBehind()
"""Those of this program: however many callers there are, the tasks burden the same event loop."""
