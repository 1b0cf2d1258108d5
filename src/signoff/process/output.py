"""Drains what a process prints, because a pipe that nobody reads blocks it, and evidence must cover every byte of it.

Memory is constant whatever is printed. Nothing here may interpret the bytes: no decoding, no search for words, no
redaction; a text that says PASS is bytes like any other.
"""

import hashlib
import os
import select
from collections.abc import Callable

import msgspec

KEPT = 64 * 1024
"""How many bytes of an output are kept, head and tail together."""

_HALF = KEPT // 2
_READ = 256 * 1024
_CHUNK = 64 * 1024
_REASON_LIMIT = 200


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a process printed: the digest of every byte that was read, and the two ends of it."""

    sha256: str
    """`sha256:` and 64 hexadecimal digits."""
    size: int
    """Bytes read."""
    head: bytes
    """All of it when it is at most 64 KiB, else its first 32 KiB."""
    tail: bytes
    """Empty when head holds all of it, else its last 32 KiB."""
    truncated: bool
    """Whether bytes between head and tail were dropped."""


class Drain:
    """The reading end of a process's output pipe, and what was read from it."""

    def __init__(self, fd: int, on_output: Callable[[bytes], object] | None) -> None:
        self.fd = fd
        self.open = True
        self.listener_failures = 0
        self.listener_error = ""
        self._on_output = on_output
        self._buffer = bytearray(_READ)
        self._view = memoryview(self._buffer)
        self._digest = hashlib.sha256()
        self._size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def take(self) -> int:
        """Read once without waiting and return how many bytes came; at the end of the stream `open` becomes false."""
        try:
            count = os.readv(self.fd, [self._buffer])
        except BlockingIOError:
            return 0
        if count == 0:
            self.open = False
            return 0
        part = self._view[:count]
        self._digest.update(part)
        self._keep(part)
        if self._on_output is not None:
            self._tell(part, self._on_output)
        self._size += count
        return count

    def take_rest(self, limit: int) -> None:
        """Read what is in the pipe already, about `limit` bytes at most: somebody may go on writing."""
        count = 1
        while self.open and count and limit >= 0:
            count = self.take()
            limit -= count

    def held(self) -> bool:
        """Return whether any process still has the writing end open."""
        if not self.open:
            return False
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def result(self) -> Output:
        """Return what was read so far."""
        truncated = self._size > KEPT
        return Output(
            sha256=f"sha256:{self._digest.hexdigest()}",
            size=self._size,
            head=bytes(self._head[:_HALF] if truncated else self._head),
            tail=bytes(self._tail) if truncated else b"",
            truncated=truncated,
        )

    def _keep(self, part: memoryview) -> None:
        room = KEPT - len(self._head)
        if room > 0:
            self._head += part[:room]
        if len(part) >= _HALF:
            self._tail[:] = part[-_HALF:]
        else:
            self._tail += part
            del self._tail[:-_HALF]

    def _tell(self, part: memoryview, listener: Callable[[bytes], object]) -> None:
        for start in range(0, len(part), _CHUNK):
            try:
                listener(bytes(part[start : start + _CHUNK]))
            except Exception as error:  # noqa: BLE001 - a listener may fail in any way, and the process must be drained anyway
                self.listener_failures += 1
                self.listener_error = self.listener_error or f"{type(error).__name__}: {error}"[:_REASON_LIMIT]
