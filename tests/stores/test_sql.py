"""A journal in a file: nothing that was acknowledged is lost, nothing that was changed goes unnoticed."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from signoff.core.journal import Record
from signoff.errors import JournalConflict, JournalCorrupt, PolicyError, StoreError
from signoff.stores import sqlite_file
from signoff.stores.sql import _RUNS, SqliteStore
from signoff.testing.store_conformance import journal_of

PATIENCE = 60.0
RECORDS = journal_of("run-1", [b"record %d" % number for number in range(1, 6)])

PRELUDE = """
import os, resource, sys
import anyio
from signoff.errors import StoreError
from signoff.stores.sql import SqliteStore
from signoff.testing.store_conformance import journal_of

def as_an_ordinary_account():
    if os.geteuid() == 0:
        os.setegid(65534)
        os.seteuid(65534)

def refused(call):
    try:
        call()
    except StoreError as error:
        print(error)
    else:
        print("accepted")
"""
WRITER = """
path, run_id, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

async def write(store, run_id):
    for record in journal_of(run_id, (b"%d" % number for number in range(count))):
        await store.append(record)
        print(run_id, record.seq, flush=True)

async def main():
    store = SqliteStore(path)
    async with anyio.create_task_group() as group:
        for part in run_id.split(","):
            group.start_soon(write, store, part)
    await store.close()

anyio.run(main)
"""


def started(script: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start a program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed(script: str, *arguments: object) -> list[str]:
    """Run a program to its end and return the lines that it printed."""
    with started(script, *arguments) as process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    return output.splitlines()


def appended(store: SqliteStore, records: tuple[Record, ...]) -> SqliteStore:
    """Append records, and return the store."""
    for record in records:
        anyio.run(store.append, record)
    return store


def read_anew(path: Path, run_id: str) -> tuple[Record, ...]:
    """Return the records of a run as a store sees them that was opened for it."""
    store = SqliteStore(path)
    try:
        return anyio.run(store.read, run_id)
    finally:
        anyio.run(store.close)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store that holds a run of five records."""
    place = tmp_path / "store.db"
    anyio.run(appended(SqliteStore(place), RECORDS).close)
    return place


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an ordinary account may reach and enter."""
    with tempfile.TemporaryDirectory(prefix="signoff-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def tampered(path: Path, *statements: str) -> None:
    """Change a store's file as somebody else would."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE event SET body = x'31' WHERE seq = 3",
            "record 3 of run 'run-1' does not fit the chain: its body does",
        ),
        ("UPDATE event SET chain = replace(chain, 'a', 'b') WHERE seq = 5", "record 5 of run 'run-1' does not fit"),
        ("DELETE FROM event WHERE seq = 2", "record 2 of run 'run-1' does not fit the chain: its number is 3"),
        ("DELETE FROM event WHERE seq = 1", "record 1 of run 'run-1' does not fit the chain: its number is 2"),
        ("UPDATE event SET seq = seq + 10", "record 1 of run 'run-1' does not fit the chain: its number is 11"),
    ],
)
def test_a_changed_record_is_named_when_it_is_read(statement: str, message: str, path: Path) -> None:
    """Whatever row is changed, the run is not read, and the message names the record."""
    tampered(path, statement)
    with pytest.raises(JournalCorrupt, match=re.escape(message)):
        read_anew(path, "run-1")


def test_a_run_goes_on_only_from_the_end_that_its_writer_knows(path: Path) -> None:
    """A store whose last record was replaced meanwhile does not take the next one."""
    store = SqliteStore(path)
    tampered(path, "UPDATE event SET chain = replace(chain, 'sha256:', 'sha256:0') WHERE seq = 5")
    following = journal_of("run-1", [record.body for record in RECORDS] + [b"next"])[5]
    with pytest.raises(JournalConflict, match="does not follow the record 5 that is in the store; nothing was written"):
        anyio.run(store.append, following)
    anyio.run(store.close)


def test_a_field_of_another_type_is_corrupt(path: Path) -> None:
    """Bytes where text belongs are refused, although the table's own rules forbid them."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = replace(sql, ' STRICT', '')")
    connection.commit()
    connection.close()
    tampered(path, "UPDATE event SET kind = x'00ff' WHERE seq = 1", "UPDATE event SET body = 'text' WHERE seq = 5")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = sql || ' STRICT' WHERE type = 'table'")
    connection.commit()
    connection.close()
    store = SqliteStore(path)
    with pytest.raises(
        JournalCorrupt, match="run 'run-1' has fields of the wrong type; no record of this run was used"
    ):
        anyio.run(store.read, "run-1")
    with pytest.raises(JournalCorrupt, match="has fields of the wrong type"):
        anyio.run(store.runs)
    anyio.run(store.close)


@pytest.mark.parametrize("page", range(6))
@pytest.mark.parametrize("damage", ["zeros", "noise", "cut", "turned"])
def test_a_damaged_page_is_an_error_of_the_house(page: int, damage: str, tmp_path: Path) -> None:
    """Whichever page is damaged, and how, what comes is the truth or a `StoreError`, never something else."""
    place, size = tmp_path / "store.db", 4096
    records = journal_of("run-1", [b"%d " % number * 200 for number in range(20)])
    anyio.run(appended(SqliteStore(place, synchronous="NORMAL"), records).close)
    content = bytearray(place.read_bytes())
    old = bytes(content[page * size : (page + 1) * size])
    new = {"zeros": bytes(size), "noise": os.urandom(size), "cut": b"", "turned": old[::-1]}[damage]
    content[page * size :] = new if damage == "cut" else new + content[(page + 1) * size :]
    place.write_bytes(content)
    try:
        store = SqliteStore(place)
    except StoreError:
        return
    for call in (lambda: store.read("run-1"), lambda: store.append(journal_of("run-2", (b"one",))[0])):
        try:
            assert anyio.run(call) in (records, None)
        except StoreError as error:
            assert "; " in str(error)  # noqa: PT017 - an error is allowed, and then it speaks as the house does
    anyio.run(store.close)


def test_runs_are_listed_through_indexes(path: Path) -> None:
    """The list costs what its runs are worth, not what the journal holds: no row of the middle is touched."""
    connection = sqlite3.connect(path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {_RUNS}")]
    connection.close()
    assert [step for step in plan if step.startswith("SCAN")] == ["SCAN first USING INDEX event_begun"]
    assert [step for step in plan if "TEMP B-TREE" in step] == []


def test_another_way_to_sync_is_refused(tmp_path: Path) -> None:
    """Only the two ways that keep what was committed are accepted, before anything is opened."""
    with pytest.raises(PolicyError, match="synchronous is 'OFF'; nothing was opened; use 'FULL' or 'NORMAL'"):
        SqliteStore(tmp_path / "store.db", synchronous="OFF")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_others_hold_too_long_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for another process ends, and the record is not written."""
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    store = SqliteStore(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    (record,) = journal_of("run-2", (b"one",))
    with pytest.raises(
        StoreError, match=r"writing record 1 of run 'run-2' in .* failed: .*locked .*; it was not written"
    ):
        anyio.run(store.append, record)
    other.execute("COMMIT")
    other.close()
    appended(store, (record,))
    anyio.run(store.close)


def test_processes_that_begin_at_once_share_one_store(tmp_path: Path) -> None:
    """Each of several processes makes or finds the same file, and every record of each is there."""
    for attempt in range(2):
        place = tmp_path / f"store-{attempt}.db"
        processes = [started(WRITER, place, f"run-{number},more-{number}", 40) for number in range(3)]
        for process in processes:
            with process:
                output, errors = process.communicate(timeout=PATIENCE)
            assert (process.returncode, errors, len(output.splitlines())) == (0, "", 80)
        expected = tuple(b"%d" % number for number in range(40))
        for run_id in [f"{name}-{number}" for name in ("run", "more") for number in range(3)]:
            assert tuple(record.body for record in read_anew(place, run_id)) == expected
        assert [one.name for one in tmp_path.glob(f"store-{attempt}*")] == [place.name]


@pytest.mark.parametrize("lines", [1, 7, 40, 150])
def test_a_killed_writer_loses_nothing_that_it_acknowledged(lines: int, path: Path) -> None:
    """After SIGKILL amid many appends each acknowledged record is there, the chain holds, and each run goes on."""
    names = [f"killed-{number}" for number in range(4)]
    acknowledged = dict.fromkeys(names, 0)
    with started(WRITER, path, ",".join(names), 100_000) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    for line in said:
        if line.endswith("\n"):  # the kill may cut the last one
            name, seq = line.split()
            acknowledged[name] = int(seq)
    assert sum(acknowledged.values()) >= lines
    for name in names:
        records = read_anew(path, name)
        assert len(records) >= acknowledged[name]
        following = journal_of(name, [record.body for record in records] + [b"next"])[-1]
        anyio.run(appended(SqliteStore(path), (following,)).close)
    assert read_anew(path, "run-1") == RECORDS


LIMITED = """
store = SqliteStore(sys.argv[1])
records = journal_of("big", [b"x" * 100_000] * 100)
kept = 0
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for record in records:
        anyio.run(store.append, record)
        kept += 1
except StoreError as error:
    print(error)
print(anyio.run(store.read, "big") == records[:kept])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for record in records[kept:]:
    anyio.run(store.append, record)
print(anyio.run(store.read, "big") == records, kept < 100)
anyio.run(store.close)
"""


def test_a_file_that_may_not_grow_is_an_error_and_no_loss(path: Path) -> None:
    """At the limit of a file's size the append fails, what was kept is readable, and later the run goes on."""
    error, *rest = printed(LIMITED, path, 1_000_000)
    assert re.search(r"writing record \d+ of run 'big' in .* failed: .*; it was not written; the dis", error)
    assert rest == ["True", "True True"]
    assert read_anew(path, "run-1") == RECORDS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one mebibyte, where the system lets a test have one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting needs rights that this account does not have")
    yield place
    subprocess.run(["umount", place], check=True)


def filled(store: SqliteStore, records: tuple[Record, ...]) -> tuple[int, str]:
    """Append records until one is refused, and return how many were kept and why no more."""
    for kept, record in enumerate(records):
        try:
            anyio.run(store.append, record)
        except StoreError as error:
            return kept, str(error)
    return len(records), ""


def test_a_full_disk_is_an_error_and_no_loss(small_disk: Path) -> None:
    """On a full disk the append fails, what was kept is readable, and with space again the run goes on."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    store = SqliteStore(small_disk / "store.db")
    records = journal_of("run-1", [b"x" * 20_000] * 40)
    kept, error = filled(store, records)
    assert re.search(r"failed: .*full.*; it was not written; the disk is full: free some space", error)
    assert anyio.run(store.read, "run-1") == records[:kept]
    ballast.unlink()
    appended(store, records[kept : kept + 3])
    anyio.run(store.close)
    assert read_anew(small_disk / "store.db", "run-1") == records[: kept + 3]


def test_a_store_is_not_made_on_a_full_disk(small_disk: Path) -> None:
    """Where there is no space for a store, the message says so and no part of one is left."""
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "ballast").write_bytes(bytes(2**21))
    with pytest.raises(StoreError, match=r"(full|No space left).*nothing was left behind.*free some space"):
        SqliteStore(small_disk / "store.db")
    assert [one.name for one in small_disk.iterdir()] == ["ballast"]


def test_a_folder_that_may_not_be_written_is_named(open_folder: Path) -> None:
    """An ordinary account that may not write the folder is told so, and nothing is left there."""
    open_folder.chmod(0o555)
    script = "as_an_ordinary_account()\nrefused(lambda: SqliteStore(sys.argv[1]))"
    (line,) = printed(script, open_folder / "store.db")
    assert "could not be created: Permission denied; nothing was left behind; make its folder writable, or set" in line
    assert list(open_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (0o000, "opening the store in .* failed: unable to open database file"),
        (0o444, "opening the store in .* failed: .*; nothing was changed; the store cannot be written"),
    ],
)
def test_a_file_that_may_not_be_read_or_written_is_named(mode: int, words: str, open_folder: Path) -> None:
    """An ordinary account that may not use the file is told what to look at, and the file stays as it is."""
    place = open_folder / "store.db"
    anyio.run(appended(SqliteStore(place), RECORDS).close)
    before = place.read_bytes()
    place.chmod(mode)
    (line,) = printed("as_an_ordinary_account()\nrefused(lambda: SqliteStore(sys.argv[1]))", place)
    assert re.search(words, line)
    place.chmod(0o600)
    assert place.read_bytes() == before
