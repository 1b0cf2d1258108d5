"""The thread of a store: it shares commits, keeps its callers apart, and outlives their event loops."""

import gc
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from signoff.errors import JournalConflict, StoreError
from signoff.stores.sql import SqliteStore
from signoff.stores.writer import Writer
from signoff.testing.store_conformance import journal_of

PATIENCE = 20.0
INSERT = "INSERT INTO t VALUES (?)"


class Table:
    """A file with one table of unique numbers, a writer on it, and the transactions that the writer ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.statements: list[str] = []
        self.held = threading.Event()
        self.release = threading.Event()
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a INTEGER UNIQUE CHECK (a < 100))")
        connection.set_trace_callback(self.statements.append)
        self.fault: StoreError | None = None
        self.writer = Writer(connection, guard=lambda: self.fault)

    async def insert(self, number: int) -> None:
        """Insert a number."""
        await self.writer.call(lambda connection: connection.execute(INSERT, (number,)), writes=True)

    async def held_up(self, *calls: Callable[[], Awaitable[object]]) -> list[BaseException | None]:
        """Start calls while the thread is busy, let it go on when all wait, and return how each ended."""
        ends: list[BaseException | None] = [None] * len(calls)

        async def call(number: int) -> None:
            try:
                await calls[number]()
            except (StoreError, sqlite3.Error) as error:
                ends[number] = error

        def hold(_: sqlite3.Connection) -> None:
            self.held.set()
            assert self.release.wait(PATIENCE)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(self.writer.call, hold)
                await anyio.to_thread.run_sync(self.held.wait, PATIENCE)
                for number in range(len(calls)):
                    group.start_soon(call, number)
                await anyio.wait_all_tasks_blocked()
                self.release.set()
        return ends

    def numbers(self) -> list[int]:
        """Return the numbers in the file, as another connection sees them."""
        connection = sqlite3.connect(self.path)
        try:
            return [number for (number,) in connection.execute("SELECT a FROM t ORDER BY a")]
        finally:
            connection.close()


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """A table whose writer is closed afterwards."""
    made = Table(tmp_path / "t.db")
    yield made
    anyio.run(made.writer.close)


def test_calls_that_wait_share_one_commit(table: Table) -> None:
    """What came while the thread was busy is committed at once, and everybody has an answer."""
    ends = anyio.run(table.held_up, *[partial(table.insert, number) for number in range(50)])
    assert ends == [None] * 50
    assert table.numbers() == list(range(50))
    assert table.statements.count("COMMIT") == 1


def test_a_call_that_the_database_refuses_leaves_the_others_alone(table: Table) -> None:
    """Of calls that share a commit those that can be done are, each with its own answer."""
    ends = anyio.run(table.held_up, *[partial(table.insert, number) for number in (1, 2, 2, 100, 3)])
    assert [type(end) for end in ends] == [
        type(None),
        type(None),
        sqlite3.IntegrityError,
        sqlite3.IntegrityError,
        type(None),
    ]
    assert table.numbers() == [1, 2, 3]


def test_a_call_that_refuses_itself_leaves_the_others_alone(table: Table) -> None:
    """A conflict is found before anything is written, so that the others still share one commit."""

    def conflict(_: sqlite3.Connection) -> None:
        raise JournalConflict("taken")

    ends = anyio.run(
        table.held_up,
        partial(table.insert, 1),
        partial(table.writer.call, conflict, writes=True),
        partial(table.insert, 2),
    )
    assert [type(end) for end in ends] == [type(None), JournalConflict, type(None)]
    assert table.numbers() == [1, 2]
    assert table.statements.count("COMMIT") == 1


def test_a_fault_after_the_commit_reaches_every_caller(table: Table) -> None:
    """Nobody is told that a write is kept which the guard says will not be found."""
    table.fault = StoreError("removed")
    ends = anyio.run(table.held_up, partial(table.insert, 1), partial(table.insert, 2))
    assert ends == [table.fault, table.fault]


def test_a_surprise_is_raised_where_the_call_was_made_and_the_thread_serves_on(table: Table) -> None:
    """Work that raises something unforeseen harms its own caller only."""

    def surprise(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    for writes in (False, True):
        with pytest.raises(ZeroDivisionError):
            anyio.run(partial(table.writer.call, surprise, writes=writes))
    anyio.run(table.insert, 1)
    assert table.numbers() == [1]


def test_whoever_waits_hears_when_the_thread_breaks(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fault of the thread itself leaves a caller waiting: those in hand, those behind, and later ones are told."""

    def broken() -> StoreError | None:
        raise ZeroDivisionError("guard")

    monkeypatch.setattr("signoff.stores.writer._SHARED_AT_MOST", 2)
    table.writer = Writer(sqlite3.connect(table.path, isolation_level=None, check_same_thread=False), guard=broken)
    ends = anyio.run(table.held_up, *[partial(table.insert, number) for number in range(6)])
    words = "the thread of the store ended: ZeroDivisionError('guard'); whether this was written is not known; read it"
    assert [str(end) for end in ends] == [words] * 6
    with pytest.raises(StoreError, match="nothing more is read or written; open a new one"):
        anyio.run(table.insert, 7)


def test_a_busy_database_does_not_block_the_loop(table: Table) -> None:
    """While another process holds the file, the loop turns; when it lets go, the write is done."""
    other = sqlite3.connect(table.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def main() -> int:
        turns = 0
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(table.insert, 1)
                while turns < 200:
                    await anyio.lowlevel.checkpoint()
                    turns += 1
                other.execute("COMMIT")
        return turns

    assert anyio.run(main) == 200
    assert table.numbers() == [1]
    other.close()


def test_a_database_that_stays_busy_is_an_answer_for_all_at_once(tmp_path: Path) -> None:
    """The wait for others ends, once for all that waited, and later calls are served again."""
    table = Table(tmp_path / "t.db")
    anyio.run(table.writer.call, lambda connection: connection.execute("PRAGMA busy_timeout = 50"))
    other = sqlite3.connect(table.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ends = anyio.run(table.held_up, *[partial(table.insert, number) for number in range(10)])
    assert [str(end) for end in ends] == ["database is locked"] * 10
    assert table.statements.count("BEGIN IMMEDIATE") == 1
    other.execute("COMMIT")
    other.close()
    anyio.run(table.insert, 1)
    assert table.numbers() == [1]
    anyio.run(table.writer.close)


def test_a_caller_that_is_cancelled_stops_waiting_at_once(table: Table) -> None:
    """Cancellation does not wait for the thread, and the work may be done all the same."""

    def hold(_: sqlite3.Connection) -> None:
        table.held.set()
        assert table.release.wait(PATIENCE)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(table.writer.call, hold)
            group.start_soon(table.insert, 1)
            await anyio.to_thread.run_sync(table.held.wait, PATIENCE)
            group.cancel_scope.cancel()

    anyio.run(main)
    # The loop of those callers is gone by now, and the thread finds nobody to tell.
    table.release.set()
    anyio.run(table.insert, 2)
    assert table.numbers() == [1, 2]


def test_a_caller_that_is_cancelled_does_not_keep_the_others_from_their_answer(table: Table) -> None:
    """Those who share a commit with it hear of theirs, in the same loop."""

    async def cancelled() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await table.insert(1)

    ends = anyio.run(table.held_up, cancelled, partial(table.insert, 2), partial(table.insert, 3))
    assert ends == [None] * 3
    assert table.numbers() == [1, 2, 3]
    assert table.statements.count("COMMIT") == 1


def test_two_event_loops_may_call_at_once(table: Table) -> None:
    """Each caller is answered in its own loop."""

    async def insert_all(numbers: range) -> None:
        for number in numbers:
            await table.insert(number)

    threads = [threading.Thread(target=anyio.run, args=(insert_all, numbers)) for numbers in (range(40), range(40, 80))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert table.numbers() == list(range(80))


def test_closing_does_what_waits_first(table: Table) -> None:
    """A call that came before `close` is done; one that comes after it is refused."""
    ends = anyio.run(
        table.held_up, partial(table.insert, 1), table.writer.close, partial(table.insert, 2), table.writer.close
    )
    assert [str(end) for end in ends] == [
        "None",
        "None",
        "the store is closed; nothing was read or written; open a new one",
        "None",
    ]
    assert table.numbers() == [1]


def test_closing_is_finished_also_when_it_is_cancelled(table: Table) -> None:
    """A `finally` that closes under a cancelled scope leaves no thread behind."""

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await table.writer.close()

    anyio.run(main)
    assert not table.writer._thread.is_alive()


def test_a_thread_that_does_not_end_is_an_error(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing has a deadline, and says so when it has passed."""
    monkeypatch.setattr("signoff.stores.writer._CLOSE_SECONDS", 0.01)

    def hold(_: sqlite3.Connection) -> None:
        assert table.release.wait(PATIENCE)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(table.writer.call, hold)
            await anyio.wait_all_tasks_blocked()
            try:
                await table.writer.close()
            finally:
                table.release.set()

    with pytest.raises(ExceptionGroup) as caught:
        anyio.run(main)
    assert "did not close within 0 s; what was appended is kept" in str(caught.value.exceptions[0])
    monkeypatch.undo()


def test_the_thread_ends_with_the_last_who_held_the_store(tmp_path: Path) -> None:
    """A store that was never closed takes its thread along, and its connection."""
    store = SqliteStore(tmp_path / "store.db")
    anyio.run(store.append, journal_of("run-1", (b"one",))[0])
    thread, gone = store._writer._thread, weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


PRELUDE = """
import os, sys, threading, warnings
import anyio
from signoff.errors import StoreError
from signoff.stores.sql import SqliteStore
from signoff.testing.store_conformance import journal_of
one, two, three = journal_of("run-1", (b"one", b"two", b"three"))
store = SqliteStore(sys.argv[1])
anyio.run(store.append, one)
"""


def ran(script: str, path: Path) -> str:
    """Run a program that opens the store at `path`, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, path], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_that_does_not_close_its_store_still_ends(tmp_path: Path) -> None:
    """The thread does not keep a process alive, and what was appended is there."""
    assert ran("", tmp_path / "store.db") == ""
    store = SqliteStore(tmp_path / "store.db")
    assert anyio.run(store.read, "run-1") == journal_of("run-1", (b"one",))
    anyio.run(store.close)


def test_a_forked_child_may_not_use_the_store_and_does_not_harm_it(tmp_path: Path) -> None:
    """In the child every call is refused; the parent goes on, also after the child has ended in the ordinary way."""
    script = """
warnings.simplefilter("ignore", DeprecationWarning)
child = os.fork()
if child == 0:
    for call in (lambda: store.append(two), lambda: store.read("run-1"), store.runs):
        try:
            anyio.run(call)
        except StoreError as error:
            print(error)
    anyio.run(store.close)
    sys.exit(0)
print(os.waitpid(child, 0)[1])
anyio.run(store.append, two)
again = SqliteStore(sys.argv[1])
anyio.run(again.append, three)
print(len(anyio.run(store.read, "run-1")))
anyio.run(again.close)
anyio.run(store.close)
"""
    refusal = "the store was opened before a fork; nothing was read or written; open a new one here"
    assert ran(script, tmp_path / "store.db").splitlines() == [refusal] * 3 + ["0", "3"]
