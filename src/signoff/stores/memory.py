"""A journal in memory, for tests and for runs whose record nobody needs. It keeps every rule of the port but survival.

Nothing here may be a shortcut around a rule that another store keeps: one conformance suite runs on both.
"""

from signoff.core.journal import FIRST, Record, RunEnds, require_next, require_sound, verify
from signoff.errors import StoreError


class MemoryStore:
    """A `Store` whose records end with the process. It belongs to one event loop."""

    def __init__(self) -> None:
        self._journals: dict[str, list[Record]] = {}
        self._closed = False

    async def append(self, record: Record) -> None:
        """Keep the next record of a run; raise `JournalConflict` when its number is taken or leaves a gap."""
        self._require_open()
        require_sound(record)
        journal = self._journals.get(record.run_id, [])
        last_chain = journal[-1].chain if journal else FIRST
        require_next(record, last_seq=len(journal), last_chain=last_chain)
        self._journals.setdefault(record.run_id, journal).append(record)

    async def read(self, run_id: str) -> tuple[Record, ...]:
        """Return the records of a run in order, with their chain checked; empty when there is no such run."""
        self._require_open()
        records = tuple(self._journals.get(run_id, ()))
        verify(records)
        return records

    async def runs(self) -> tuple[RunEnds, ...]:
        """Return the ends of every run, the run that began last first."""
        self._require_open()
        return tuple(RunEnds(first=journal[0], last=journal[-1]) for journal in reversed(self._journals.values()))

    async def close(self) -> None:
        """Let go of all records; afterwards every other call raises `StoreError`."""
        self._closed = True
        self._journals = {}

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed; nothing was read or written; open a new one")
