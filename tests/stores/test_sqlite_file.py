"""What lies at a store's path is opened only when signoff made it; anything else is refused untouched."""

import os
import re
import shutil
import sqlite3
import stat
import struct
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from signoff.errors import StoreError, UnknownFormat
from signoff.stores import sqlite_file
from signoff.stores.schema.migrations import APPLICATION_ID, MIGRATIONS
from signoff.stores.sql import SqliteStore
from signoff.testing.store_conformance import journal_of

RECORDS = journal_of("run-1", [b"%d" % number for number in range(200)])


def made(path: Path) -> Path:
    """Make a store with a run in it."""
    store = SqliteStore(path, synchronous="NORMAL")
    for record in RECORDS:
        anyio.run(store.append, record)
    anyio.run(store.close)
    return path


def changed(path: Path, script: str) -> None:
    """Run a script of SQL on a file, as somebody else would."""
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused_untouched(path: Path, words: str, error: type[StoreError] = StoreError) -> None:
    """See that the path is refused in these words, for writing and for reading, and that its folder stays as it is."""
    before = contents(path.parent)
    for read_only in (False, True):
        with pytest.raises(error, match=words):
            SqliteStore(path, read_only=read_only)
    assert contents(path.parent) == before


def refused_untouched_file(path: Path, words: str) -> None:
    """See that the path is refused in these words, and that the file stays as it is."""
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_new_store_is_the_owners_alone(tmp_path: Path) -> None:
    """The file and what SQLite keeps beside it are readable by nobody else, whatever the process allows by default."""
    before = os.umask(0)
    try:
        store = SqliteStore(str(tmp_path / "store.db"))
        anyio.run(store.append, RECORDS[0])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        anyio.run(store.close)
    finally:
        os.umask(before)
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_a_store_is_marked_as_signoffs(tmp_path: Path) -> None:
    """The file's header carries the mark and the format, where any program can read them."""
    header = made(tmp_path / "store.db").read_bytes()[:100]
    assert header.startswith(b"SQLite format 3\0")
    assert struct.unpack(">I", header[68:72]) == (APPLICATION_ID,)
    assert struct.unpack(">I", header[60:64]) == (len(MIGRATIONS),)


@pytest.mark.parametrize("name", ["päng €.db", "a?mode=memory&b#c%41.db", ":memory:", "-db", os.fsdecode(b"\xff.db")])
def test_a_path_is_a_path_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    """No name is taken for a part of an address, an option or a database in memory."""
    made(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store goes on in its file when the process moves to another folder."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("store.db")
    monkeypatch.chdir("/")
    anyio.run(store.append, RECORDS[0])
    anyio.run(store.close)
    assert store.path == tmp_path / "store.db"


def other_database(path: Path, *, mode: str) -> None:
    """Make a database of another program."""
    changed(path, f"PRAGMA journal_mode = {mode}; PRAGMA application_id = 7; CREATE TABLE t (a)")


THINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda path: path.mkdir(), "is a folder; nothing was changed; move it away, or set SIGNOFF_STATE_DIR"),
    "a pipe": (os.mkfifo, "is not a regular file; nothing was changed"),
    "a link to nothing": (
        lambda path: path.symlink_to(path.parent / "none"),
        "is a symbolic link, which is not followed",
    ),
    "a link to a store": (
        lambda path: path.symlink_to(made(path.parent / "other.db")),
        "is a symbolic link, which is not followed",
    ),
    "an empty file": (
        lambda path: path.touch(),
        r"is not a store of signoff \(its application id is 0x0\); it was not touched; move it",
    ),
    "text": (lambda path: path.write_text("journal\n" * 400), r"file is not a database \(SQLITE_NOTADB\); nothing was"),
    "short text": (lambda path: path.write_text("x"), r"is not a store of signoff \(its application id is 0x0\)"),
    "noise": (lambda path: path.write_bytes(os.urandom(100_000)), "the file is not a store: move it away"),
    "another program's database": (
        lambda path: other_database(path, mode="DELETE"),
        r"is not a store of signoff \(its application id is 0x7\); it was not touched; move it away",
    ),
    "another program's database with a log": (
        lambda path: other_database(path, mode="WAL"),
        r"is not a store of signoff \(its application id is 0x7\)",
    ),
}


@pytest.mark.parametrize("thing", THINGS)
def test_what_is_no_store_is_refused_untouched(thing: str, tmp_path: Path) -> None:
    """Whatever else lies at the path is named for what it is, and neither it nor its folder changes."""
    make, words = THINGS[thing]
    make(tmp_path / "store.db")
    refused_untouched(tmp_path / "store.db", words)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (
            "none/store.db",
            "could not be created: No such file or directory; nothing was left behind; create its folder",
        ),
        ("file/store.db", "cannot be reached: .*Not a directory"),
        ("x" * 300, "cannot be reached: .*File name too long"),
        ("a\0b", "cannot be reached: .*embedded null"),
    ],
)
def test_a_place_that_cannot_be_is_named(place: str, words: str, tmp_path: Path) -> None:
    """A path that leads nowhere is an error that names it, and makes no folder."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=words):
        SqliteStore(tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("number", [len(MIGRATIONS) + 1, 2**31 - 1, -1])
def test_an_unknown_format_is_refused_untouched(number: int, tmp_path: Path) -> None:
    """A format that this version does not know is left alone, and the message says what to do."""
    path = made(tmp_path / "store.db")
    changed(path, f"PRAGMA user_version = {number}")
    words = "written by a newer version of signoff .* nothing was changed; upgrade signoff, or set SIGNOFF_STATE_DIR"
    refused_untouched(path, words, UnknownFormat)


TURN = "UPDATE event SET body = 'completed'"
PLANTED = {
    "a trigger": (f"CREATE TRIGGER t AFTER INSERT ON event BEGIN {TURN}; END", "unexpected trigger 't'"),
    "a trigger of a signoff name": (
        f"DROP INDEX event_begun; CREATE TRIGGER event_begun AFTER INSERT ON event BEGIN {TURN}; END",
        "unexpected trigger 'event_begun'; no index 'event_begun'",
    ),
    "a view": ("CREATE VIEW v AS SELECT * FROM event", "unexpected view 'v'"),
    "a view in place of the table": (
        "ALTER TABLE event RENAME TO real; CREATE VIEW event AS SELECT * FROM real",
        "unexpected view 'event'",
    ),
    "a table": ("CREATE TABLE t (a)", "unexpected table 't'"),
    "an index": ("CREATE INDEX i ON event (kind, body)", "unexpected index 'i'"),
    "a column": ("ALTER TABLE event ADD COLUMN verdict TEXT DEFAULT 'completed'", "unexpected table 'event'"),
    "hundreds of views": (
        f"BEGIN; {' '.join(f'CREATE VIEW v{n} AS SELECT 1;' for n in range(500))} COMMIT",
        "unexpected view",
    ),
    "a missing index": ("DROP INDEX event_begun", "no index 'event_begun' as signoff makes it"),
    "a missing table": ("DROP TABLE event", "no table 'event' as signoff makes it"),
}


@pytest.mark.scenario("SE-003")
@pytest.mark.parametrize("thing", PLANTED)
def test_a_planted_schema_is_refused_untouched(thing: str, tmp_path: Path) -> None:
    """A file whose schema is not what signoff makes is refused by name before anything of it runs."""
    script, words = PLANTED[thing]
    path = made(tmp_path / "store.db")
    changed(path, script)
    refused_untouched(path, f"does not hold what signoff made: {words}.* refused before anything in it could run")


@pytest.mark.scenario("SE-003")
def test_a_trigger_that_stands_in_the_log_only_is_refused(tmp_path: Path) -> None:
    """What was planted is seen also while it has not reached the file itself, which then stays as it is."""
    live, copy = made(tmp_path / "live.db"), tmp_path / "copy"
    copy.mkdir()
    connection = sqlite3.connect(live)
    connection.execute(PLANTED["a trigger"][0])
    for name in ("live.db", "live.db-wal"):
        shutil.copy(tmp_path / name, copy / name)
    connection.close()
    before = (copy / "live.db").read_bytes()
    with pytest.raises(StoreError, match="unexpected trigger 't'"):
        SqliteStore(copy / "live.db")
    assert (copy / "live.db").read_bytes() == before


def test_a_trigger_that_is_planted_while_the_store_is_open_does_not_run(tmp_path: Path) -> None:
    """An append that would run somebody else's code is refused, and the records stay what they were."""
    path = made(tmp_path / "store.db")
    store = SqliteStore(path)
    changed(path, PLANTED["a trigger"][0])
    (record,) = journal_of("run-2", (b"one",))
    with pytest.raises(StoreError, match=r"not authorized .* it was not written; the file holds a trigger or view"):
        anyio.run(store.append, record)
    assert anyio.run(store.read, "run-1") == RECORDS
    anyio.run(store.close)


def test_names_that_are_no_text_are_an_error_of_the_house(tmp_path: Path) -> None:
    """A schema whose names cannot be decoded, so that SQLite's own words about it cannot either, is refused."""
    path = made(tmp_path / "store.db")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"event_begun", b"event_\xff\xfegun").replace(b"CREATE INDEX", b"CREATE INDEY"))
    refused_untouched_file(path, "opening the store in .* failed: .*; nothing was changed")
    path.write_bytes(content.replace(b"event_begun", b"event_\xff\xfegun"))
    refused_untouched_file(path, "opening the store in .* failed: .*; nothing was changed")


def test_a_value_larger_than_signoff_writes_is_not_loaded(tmp_path: Path) -> None:
    """A body of a size that no record has is refused instead of taking the memory."""
    path = made(tmp_path / "store.db")
    changed(path, "UPDATE event SET body = zeroblob(40000000) WHERE seq = 2")
    store = SqliteStore(path)
    with pytest.raises(StoreError, match=r"too big .*; no record of it was used; a value is larger than signoff ever"):
        anyio.run(store.read, "run-1")
    anyio.run(store.close)


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
def test_a_connection_is_careful(synchronous: sqlite_file.Synchronous, level: int, tmp_path: Path) -> None:
    """What makes a commit survive is on, and what trusts a file is off."""
    store = SqliteStore(tmp_path / "store.db", synchronous=synchronous)
    names = ("synchronous", "journal_mode", "trusted_schema", "cell_size_check")

    def settings(connection: sqlite3.Connection) -> dict[str, object]:
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    found = anyio.run(store._writer.call, settings)
    anyio.run(store.close)
    assert found == {"synchronous": level, "journal_mode": "wal", "trusted_schema": 0, "cell_size_check": 1}


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_link_beside_the_store_is_not_followed(suffix: str, tmp_path: Path) -> None:
    """A file that somebody else points the log at is neither read as one nor overwritten."""
    path = made(tmp_path / "store.db")
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    Path(f"{path}{suffix}").symlink_to(victim)
    with pytest.raises(StoreError, match="look at their owner and mode"):
        SqliteStore(path)
    assert victim.read_text() == "precious\n"


def test_a_file_that_is_swapped_while_it_is_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at must be what was opened."""
    path, other = made(tmp_path / "store.db"), made(tmp_path / "other.db")
    look = sqlite_file._look

    def looked(seen: Path) -> None:
        look(seen)
        other.replace(path)

    monkeypatch.setattr(sqlite_file, "_look", looked)
    with pytest.raises(StoreError, match="was replaced while it was opened"):
        SqliteStore(path)


def test_a_store_that_is_removed_while_it_is_open_says_so(tmp_path: Path) -> None:
    """A record that went into a file which the path no longer names is not reported as kept."""
    path = made(tmp_path / "store.db")
    store = SqliteStore(path)
    shutil.move(path, tmp_path / "elsewhere.db")
    (record,) = journal_of("run-2", (b"one",))
    with pytest.raises(StoreError, match="removed or replaced while it was in use; what was written to it will not be"):
        anyio.run(store.append, record)
    anyio.run(store.close)


def test_an_sqlite_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python with an SQLite that cannot keep the tables' rules is told so, before anything is made."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreError, match=re.escape("a store needs 3.37; nothing was opened; use a Python")):
        SqliteStore(tmp_path / "store.db")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_keeps_no_log_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite stays in another mode, as on network folders, the store is refused and nothing is left."""

    def connected(_path: Path, _how: str) -> sqlite3.Connection:
        return sqlite3.connect(":memory:", isolation_level=None)

    monkeypatch.setattr(sqlite_file, "_raw_connection", connected)
    with pytest.raises(StoreError, match=r"cannot keep a write-ahead log .*'memory'.* on a local disk"):
        SqliteStore(tmp_path / "store.db")
    assert list(tmp_path.iterdir()) == []


class TestReadingOnly:
    """A store that is opened for reading."""

    def test_makes_nothing(self, tmp_path: Path) -> None:
        """Where there is no store, none is made."""
        with pytest.raises(StoreError, match=r"there is no store at .*; nothing was created; start a run first"):
            SqliteStore(tmp_path / "store.db", read_only=True)
        assert list(tmp_path.iterdir()) == []

    def test_reads_what_another_writes(self, tmp_path: Path) -> None:
        """It sees each record that was appended since, and never takes part in writing."""
        writer = SqliteStore(tmp_path / "store.db")
        reader = SqliteStore(tmp_path / "store.db", read_only=True)
        for count, record in enumerate(RECORDS[:5], start=1):
            anyio.run(writer.append, record)
            assert anyio.run(reader.read, "run-1") == RECORDS[:count]
        with pytest.raises(StoreError, match="was opened for reading; nothing was written; open it without read_only"):
            anyio.run(reader.append, RECORDS[5])
        assert [ends.last for ends in anyio.run(reader.runs)] == [RECORDS[4]]
        anyio.run(writer.close)
        anyio.run(reader.close)

    def test_changes_nothing(self, tmp_path: Path) -> None:
        """The file's bytes are the same afterwards."""
        path = made(tmp_path / "store.db")
        before = path.read_bytes()
        reader = SqliteStore(path, read_only=True)
        assert anyio.run(reader.read, "run-1") == RECORDS
        anyio.run(reader.close)
        assert path.read_bytes() == before
