"""The thread that owns a database connection, and the calls that wait for it without blocking their event loop.

Calls that write and wait at the same time share one commit, and none returns before it. A call that fails leaves the
others alone. Only the passing of work belongs here: no SQL but the transaction's own, no knowledge of journals.

Callers wait in asyncio's event loop, as anyio runs it by default; a caller that is cancelled stops waiting, and its
work may still be done. The thread needs no event loop and survives every one; it ends with `close`, or when nobody
holds the `Writer` any more. A process forked from this one has no thread:
calls there are refused, and nothing is closed on its behalf.
"""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

from signoff.errors import StoreError

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
Guard = Callable[[], StoreError | None]
"""Says after a commit why it may not count; None when it does."""

_SHARED_AT_MOST = 256
_CLOSE_SECONDS = 30.0
_CLOSED = "the store is closed; nothing was read or written; open a new one"


class _Call(Generic[T]):
    """One caller's work, and what came of it."""

    __slots__ = ("_done", "_work", "answered", "failure", "loop", "value", "writes")

    def __init__(self, work: Work[T], *, writes: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.writes = writes
        self.answered = False
        self.value: T
        self.failure: Exception | None = None
        self._work = work
        # A future and its loop, where anyio's event and token would do: they cost a quarter of a shared append.
        self._done = self.loop.create_future()

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Do the work in the thread; a failure of the database itself is the caller's to judge."""
        self.failure = None
        try:
            self.value = self._work(connection)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again where the call was made; the thread serves on
            self.failure = error

    def finish(self) -> None:
        """Let the caller go on; runs in the caller's loop."""
        if not self._done.done():  # a caller that was cancelled waits no more
            self._done.set_result(None)

    async def outcome(self) -> T:
        """Wait for the thread; return or raise what came of the work."""
        await self._done
        if self.failure is not None:
            raise self.failure
        return self.value


class _Inbox:
    """The calls that wait for the thread; once shut, it takes none."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_Call[Any] | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._refusal = ""

    def put(self, call: _Call[Any]) -> None:
        """Add a call, which from now on is answered whatever happens."""
        with self._gate:
            if self._refusal:
                raise StoreError(self._refusal)
            self._calls.put(call)

    def shut(self, refusal: str) -> None:
        """Take no more calls; the first reason given is the one that later callers hear."""
        with self._gate:
            if not self._refusal:
                self._refusal = refusal
                self._calls.put(None)

    def take(self) -> tuple[list[_Call[Any]], bool]:
        """Wait for a call, and take all that came meanwhile; the flag falls when there will be no more."""
        calls: list[_Call[Any]] = []
        call = self._calls.get()
        while call is not None:
            calls.append(call)
            if len(calls) == _SHARED_AT_MOST or self._calls.empty():
                return calls, True
            call = self._calls.get_nowait()  # nobody else takes
        return calls, False


class Writer:
    """Runs calls on one connection in one thread, in the order in which they came."""

    def __init__(self, connection: sqlite3.Connection, *, guard: Guard) -> None:
        """Take the connection over; from now on only the thread touches it."""
        self._inbox = _Inbox()
        self._process = os.getpid()
        self._thread = threading.Thread(
            target=_serve, args=(connection, guard, self._inbox), name="signoff-store", daemon=True
        )
        self._thread.start()
        weakref.finalize(self, self._inbox.shut, _CLOSED).atexit = False

    async def call(self, work: Work[T], *, writes: bool = False) -> T:
        """Have the thread do the work, inside a transaction when it writes, and return what it returned."""
        if os.getpid() != self._process:
            raise StoreError("the store was opened before a fork; nothing was read or written; open a new one here")
        call = _Call(work, writes=writes)
        self._inbox.put(call)
        return await call.outcome()

    async def close(self) -> None:
        """Let the calls that wait be done, close the connection and end the thread."""
        self._inbox.shut(_CLOSED)
        with anyio.CancelScope(shield=True):
            # A limiter of its own: the shared one may be used up by threads that never return.
            await anyio.to_thread.run_sync(self._thread.join, _CLOSE_SECONDS, limiter=anyio.CapacityLimiter(1))
        if self._thread.is_alive():
            raise StoreError(
                f"the store did not close within {_CLOSE_SECONDS:.0f} s; what was appended is kept; "
                "look at the disk, and end this process"
            )


def _serve(connection: sqlite3.Connection, guard: Guard, inbox: _Inbox) -> None:
    calls: list[_Call[Any]] = []
    serving = True
    try:
        while serving:
            calls, serving = inbox.take()
            _write_together(connection, guard, [call for call in calls if call.writes])
            _read(connection, [call for call in calls if not call.writes])
    except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, or would wait for ever
        inbox.shut(f"the thread of the store ended: {error!r}; nothing more is read or written; open a new one")
        while serving:
            more, serving = inbox.take()
            calls += more
        fault = StoreError(f"the thread of the store ended: {error!r}; whether this was written is not known; read it")
        _settle([call for call in calls if not call.answered], fault)
    finally:
        connection.close()


def _read(connection: sqlite3.Connection, calls: Iterable[_Call[Any]]) -> None:
    for call in calls:
        try:
            call.attempt(connection)
        except sqlite3.Error as error:
            call.failure = error
        _release([call])


def _write_together(connection: sqlite3.Connection, guard: Guard, calls: Sequence[_Call[Any]]) -> None:
    """Do these calls in one transaction; when the database refuses it, each in its own, so that each has its answer."""
    if not calls:
        return
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        # Nobody's fault among the calls, and it may have taken long to find out: not again for each of them.
        _settle(calls, error)
        return
    try:
        for call in calls:
            call.attempt(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        _roll_back(connection)
        if len(calls) == 1:
            _settle(calls, error)
            return
        for call in calls:
            _write_together(connection, guard, [call])
        return
    _settle(calls, guard())


def _roll_back(connection: sqlite3.Connection) -> None:
    # Where SQLite cannot, it has done so already; if not, the next BEGIN says so to its caller.
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _settle(calls: Iterable[_Call[Any]], failure: Exception | None) -> None:
    for call in calls:
        call.failure = call.failure or failure
    _release(calls)


def _release(calls: Iterable[_Call[Any]]) -> None:
    """Let the callers go on, with one message to each event loop."""
    waiting: dict[asyncio.AbstractEventLoop, list[_Call[Any]]] = {}
    for call in calls:
        call.answered = True
        waiting.setdefault(call.loop, []).append(call)
    for loop, callers in waiting.items():
        try:
            loop.call_soon_threadsafe(_finish, callers)
        except RuntimeError:
            continue  # the loop is closed, and everybody who waited in it is gone


def _finish(calls: Iterable[_Call[Any]]) -> None:
    for call in calls:
        call.finish()
