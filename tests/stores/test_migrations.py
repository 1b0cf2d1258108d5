"""A store's tables: made step by step, each in one transaction, and recognised word for word."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from signoff.errors import StoreError, UnknownFormat
from signoff.stores.schema import migrations
from signoff.stores.schema.migrations import APPLICATION_ID, MIGRATIONS, migrate, odd_objects, version
from signoff.stores.sql import SqliteStore
from signoff.testing.store_conformance import journal_of

RECORDS = journal_of("run-1", (b"one", b"two"))
SECOND = (
    "CREATE TABLE note (run_id TEXT NOT NULL, note TEXT NOT NULL) STRICT",
    "CREATE INDEX note_run ON note (run_id)",
)
FAILING = ("CREATE TABLE note (run_id TEXT NOT NULL) STRICT", "INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    """An empty database in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def written(path: Path) -> bytes:
    """Make a store with two records, and return its bytes."""
    store = SqliteStore(path)
    for record in RECORDS:
        anyio.run(store.append, record)
    anyio.run(store.close)
    return path.read_bytes()


def described(path: Path) -> tuple[int, set[str]]:
    """Return the format of a file and the names of what it holds."""
    connection = sqlite3.connect(path)
    try:
        return version(connection), {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    finally:
        connection.close()


def test_every_step_counts_the_format_up(database: sqlite3.Connection) -> None:
    """From nothing, each step takes the format one further, and taking them again changes nothing."""
    for number in range(1, len(MIGRATIONS) + 1):
        migrate(database, MIGRATIONS[:number])
        assert version(database) == number
        assert odd_objects(database, MIGRATIONS[:number]) == ()
    migrate(database, MIGRATIONS)
    assert odd_objects(database, MIGRATIONS) == ()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END", ("unexpected trigger 't'",)),
        ("CREATE VIEW v AS SELECT 1", ("unexpected view 'v'",)),
        ("CREATE INDEX i ON event (kind)", ("unexpected index 'i'",)),
        ("DROP INDEX event_begun", ("no index 'event_begun' as signoff makes it",)),
        (
            "ALTER TABLE event ADD COLUMN verdict TEXT",
            ("unexpected table 'event'", "no table 'event' as signoff makes it"),
        ),
    ],
)
def test_what_differs_from_the_steps_is_named(
    statement: str, words: tuple[str, ...], database: sqlite3.Connection
) -> None:
    """One thing more, less or other than the steps make is found and named."""
    migrate(database, MIGRATIONS)
    database.execute(statement)
    assert odd_objects(database, MIGRATIONS) == words


def test_a_file_of_the_very_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    """A file that carries the mark of signoff and no table yet becomes a store."""
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("VACUUM")
    connection.close()
    store = SqliteStore(path)
    anyio.run(store.append, RECORDS[0])
    anyio.run(store.close)
    assert described(path)[0] == len(MIGRATIONS)


def test_an_older_store_is_migrated_and_keeps_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version with one step more takes it on the files of the version before, and reads what they hold."""
    path = tmp_path / "store.db"
    written(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, SECOND))
    store = SqliteStore(path)
    assert anyio.run(store.read, "run-1") == RECORDS
    anyio.run(store.close)
    found, names = described(path)
    assert found == len(MIGRATIONS) + 1
    assert {"note", "note_run"} <= names


def test_a_version_before_refuses_what_a_later_one_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of a newer format is not touched, and the message names both formats and the mend."""
    path = tmp_path / "store.db"
    with monkeypatch.context() as later:
        later.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, SECOND))
        before = written(path)
    for read_only in (False, True):
        with pytest.raises(
            UnknownFormat, match=re.escape("(format 2, this one knows 1); nothing was changed; upgrade")
        ):
            SqliteStore(path, read_only=read_only)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["store.db"]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a step is never seen: the statements before the failing one are taken back, and the records stay."""
    path = tmp_path / "store.db"
    written(path)
    before = described(path)
    with monkeypatch.context() as later:
        later.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, FAILING))
        with pytest.raises(
            StoreError, match=r"opening the store .* failed: no such table: nowhere .* nothing was changed"
        ):
            SqliteStore(path)
    assert described(path) == before
    store = SqliteStore(path)
    assert anyio.run(store.read, "run-1") == RECORDS
    anyio.run(store.close)


def test_reading_only_migrates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older store that is opened for reading is left as it is, with a sentence that says how to go on."""
    path = tmp_path / "store.db"
    before = written(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, SECOND))
    with pytest.raises(StoreError, match=r"written by an older version .*; it was not changed, .*; start a run"):
        SqliteStore(path, read_only=True)
    assert path.read_bytes() == before


def test_a_step_that_another_process_takes_meanwhile_is_taken_once(tmp_path: Path) -> None:
    """Of two that find the same old file, one takes the step; the other, which waited, finds it done."""
    path, steps = tmp_path / "store.db", (*MIGRATIONS, SECOND)
    written(path)
    ours = sqlite3.connect(path, isolation_level=None)
    theirs = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    waiting = threading.Event()
    theirs.set_trace_callback(lambda statement: waiting.set() if statement == "BEGIN IMMEDIATE" else None)
    with ThreadPoolExecutor(1) as pool:
        ours.execute("BEGIN IMMEDIATE")
        other = pool.submit(migrate, theirs, steps)
        assert waiting.wait(20)
        for statement in SECOND:
            ours.execute(statement)
        ours.execute(f"PRAGMA user_version = {len(steps)}")
        ours.execute("COMMIT")
        other.result(20)
    assert odd_objects(theirs, steps) == ()
    ours.close()
    theirs.close()


def test_a_draft_of_a_store_that_cannot_be_made_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When making the tables fails, nothing is left at the path nor beside it."""
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, FAILING))
    with pytest.raises(StoreError, match=r"creating the store in .* failed: .* nothing was left behind"):
        SqliteStore(tmp_path / "store.db")
    assert list(tmp_path.iterdir()) == []
