"""A request to stop, because one that waits in poll() in a worker thread can only be woken through a descriptor.

Nothing here may take a lock or allocate much: `request` and `now` are called from signal handlers.
"""

import contextlib
import os
import weakref


def _close(read_end: int, write_end: int) -> None:
    os.close(read_end)
    os.close(write_end)


class Stop:
    """A request to stop that is made once, from any thread or a signal handler, and never taken back.

    Every run that was given this request sees it. Its descriptors are closed when nobody holds the object any more, so
    a late request can never reach a descriptor that means something else by then.
    """

    __slots__ = ("__weakref__", "_immediate", "_read_end", "_requested", "_write_end")

    def __init__(self) -> None:
        self._requested = False
        self._immediate = False
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        # Not at exit: a worker thread may still be polling then, and the system closes them anyway.
        weakref.finalize(self, _close, self._read_end, self._write_end).atexit = False

    @property
    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._requested

    @property
    def immediate(self) -> bool:
        """Whether the stop was asked for without grace."""
        return self._immediate

    def request(self) -> None:
        """Ask that the process be ended; an agent gets its grace."""
        self._requested = True
        # The byte is never read, so the descriptor stays readable for every run that polls it. A full pipe says it too.
        with contextlib.suppress(BlockingIOError):
            os.write(self._write_end, b"\0")

    def now(self) -> None:
        """Ask that the process be killed at once, also when it is in its grace."""
        self._immediate = True
        self.request()

    def fileno(self) -> int:
        """Return the descriptor that is readable from the request on."""
        return self._read_end
