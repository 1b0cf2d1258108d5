"""A journal in one SQLite file, for several processes at once.

A record that was appended survives the process and, with `synchronous="FULL"`, the power. Appends that wait together
share one commit. How a file is opened stands in `sqlite_file`, who may touch the connection in `writer`.
"""

import sqlite3
from functools import partial
from pathlib import Path

from signoff.core.journal import FIRST, Record, RunEnds, require_next, require_sound, verify
from signoff.core.values import require_id
from signoff.errors import JournalCorrupt, PolicyError, StoreError
from signoff.stores.sqlite_faults import ELSEWHERE, FAULTS, store_error
from signoff.stores.sqlite_file import Synchronous, lost, open_file
from signoff.stores.writer import Writer

_LAST = "SELECT seq, chain FROM event WHERE run_id = ? ORDER BY seq DESC LIMIT 1"
_INSERT = "INSERT INTO event (run_id, seq, kind, chain, body) VALUES (?, ?, ?, ?, ?)"
_READ = "SELECT seq, kind, chain, body FROM event WHERE run_id = ? ORDER BY seq"
_RUNS = """
SELECT first.run_id, first.seq, first.kind, first.chain, first.body,
       last.seq, last.kind, last.chain, last.body, before.chain
FROM event AS first
JOIN event AS last ON last.run_id = first.run_id
    AND last.seq = (SELECT max(seq) FROM event WHERE run_id = first.run_id)
LEFT JOIN event AS before ON before.run_id = last.run_id AND before.seq = last.seq - 1
WHERE first.seq = 1
ORDER BY first.position DESC
"""


class SqliteStore:
    """A `Store` in the file at `path`, usable from any event loop of asyncio, one after another or at once.

    Constructing it opens the file, at once and in the calling thread, or raises `StoreError`. The file is made, with
    mode 0600, when there is none, in a folder that exists; with `read_only` nothing is made, migrated or written.
    After a fork the child opens its own.
    """

    def __init__(self, path: Path | str, *, synchronous: Synchronous = "FULL", read_only: bool = False) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise PolicyError(f"synchronous is {synchronous!r}; nothing was opened; use 'FULL' or 'NORMAL'")
        self.path = Path(path).absolute()
        self._read_only = read_only
        connection, identity = open_file(self.path, synchronous=synchronous, read_only=read_only)
        self._writer = Writer(connection, guard=partial(_misplaced, self.path, identity))

    async def append(self, record: Record) -> None:
        """Write the next record of a run; raise `JournalConflict` when its number is taken or leaves a gap.

        A caller that is cancelled while it waits does not learn whether the record was written: read the run.
        """
        if self._read_only:
            raise StoreError(f"{self.path} was opened for reading; nothing was written; open it without read_only")
        try:
            await self._writer.call(partial(_append, record=record), writes=True)
        except FAULTS as error:
            doing = f"writing record {record.seq} of run {record.run_id!r}"
            raise store_error(error, path=self.path, doing=doing, done="it was not written") from error

    async def read(self, run_id: str) -> tuple[Record, ...]:
        """Return the records of a run in order, with their chain checked; empty when there is no such run."""
        try:
            return await self._writer.call(partial(_read, run_id=run_id))
        except FAULTS as error:
            doing = f"reading run {run_id!r}"
            raise store_error(error, path=self.path, doing=doing, done="no record of it was used") from error

    async def runs(self) -> tuple[RunEnds, ...]:
        """Return the ends of every run, the run that began last first. The chains between them are not checked."""
        try:
            return await self._writer.call(_runs)
        except FAULTS as error:
            raise store_error(error, path=self.path, doing="listing the runs", done="none was listed") from error

    async def close(self) -> None:
        """Let go of the file and end the thread; afterwards every other call raises `StoreError`."""
        await self._writer.close()


def _misplaced(path: Path, identity: tuple[int, int]) -> StoreError | None:
    if not lost(path, identity):
        return None
    return StoreError(
        f"{path} was removed or replaced while it was in use; what was written to it will not be found again; "
        f"find out who did it, and {ELSEWHERE}"
    )


def _append(connection: sqlite3.Connection, *, record: Record) -> None:
    require_sound(record)
    last = connection.execute(_LAST, (record.run_id,)).fetchone()
    last_seq, last_chain = (0, FIRST) if last is None else last
    require_next(record, last_seq=last_seq, last_chain=last_chain)
    connection.execute(_INSERT, (record.run_id, record.seq, record.kind, record.chain, record.body))


def _read(connection: sqlite3.Connection, *, run_id: str) -> tuple[Record, ...]:
    try:
        require_id(run_id, what="run id")
    except PolicyError:
        return ()  # what could never be appended is not there
    records: list[Record] = []
    previous = FIRST
    for row in connection.execute(_READ, (run_id,)):
        records.append(_record(run_id, row, previous))
        previous = records[-1].chain
    verify(records)
    return tuple(records)


def _runs(connection: sqlite3.Connection) -> tuple[RunEnds, ...]:
    return tuple(
        RunEnds(first=_record(run_id, row[:4], FIRST), last=_record(run_id, row[4:8], row[8] or FIRST))
        for run_id, *row in connection.execute(_RUNS)
    )


def _record(run_id: object, row: "tuple[object, ...] | list[object]", previous: object) -> Record:
    """Build a record from what a file says, which may be anything."""
    match (run_id, previous, *row):
        case (str(run), str(before), int(seq), str(kind), str(chain), bytes(body)):
            return Record(run_id=run, seq=seq, kind=kind, body=body, previous=before, chain=chain)
        case _:
            raise JournalCorrupt(
                f"a record of run {run_id!r} has fields of the wrong type; no record of this run was used; "
                "keep the store as it is to find out who changed it, and start a new run"
            )
