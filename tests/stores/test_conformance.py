"""Every store keeps every rule of the port, and the suite that says so can tell a store that does not."""

import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from signoff.core.journal import Record
from signoff.errors import JournalConflict, StoreError
from signoff.ports import Store
from signoff.stores.memory import MemoryStore
from signoff.stores.sql import SqliteStore
from signoff.testing.store_conformance import (
    CHECKS,
    DURABLE_CHECKS,
    Check,
    DurableCheck,
    a_cancelled_caller_harms_nobody,
    a_closed_store_does_nothing,
    a_gap_is_a_conflict,
    a_record_follows_the_last_one,
    a_record_that_lies_is_refused,
    a_refused_append_leaves_others_alone,
    a_taken_number_is_a_conflict,
    check_name,
    one_of_many_wins_a_number,
    records_outlive_the_store,
    runs_are_listed_latest_first,
)

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / "store.db"),
    "sqlite-normal": lambda folder: SqliteStore(folder / "store.db", synchronous="NORMAL"),
}


async def run_and_close(check: Check, store: Store) -> None:
    """Run a check and close the store that it was given."""
    try:
        await check(store)
    finally:
        await store.close()


@pytest.mark.parametrize("check", CHECKS, ids=check_name)
@pytest.mark.parametrize("store", STORES)
def test_a_store_keeps_the_rules(store: str, check: Check, tmp_path: Path) -> None:
    """A store of this kind passes this check, and leaves no thread behind."""
    anyio.run(run_and_close, check, STORES[store](tmp_path))
    assert [thread for thread in threading.enumerate() if thread.name == "signoff-store"] == []


@pytest.mark.parametrize("check", DURABLE_CHECKS, ids=check_name)
@pytest.mark.parametrize("store", [name for name in STORES if name != "memory"])
def test_a_durable_store_keeps_the_rules(store: str, check: DurableCheck, tmp_path: Path) -> None:
    """A store that lives in a file passes this check on one file opened several times."""
    anyio.run(check, lambda: STORES[store](tmp_path))


class Careless(MemoryStore):
    """A store that keeps whatever it is given under the number that it says."""

    async def append(self, record: Record) -> None:
        """Keep the record without a look at the others."""
        self._journals.setdefault(record.run_id, [])[record.seq - 1 :] = [record]


class Spoiled(MemoryStore):
    """A store that keeps nothing after it has refused a record."""

    refused = False

    async def append(self, record: Record) -> None:
        """Keep the record unless one was refused before."""
        if self.refused:
            raise StoreError("spoiled")
        self.refused = True
        await super().append(record)
        self.refused = False


class Impatient(MemoryStore):
    """A store that keeps a record twice unless its caller waits until the end."""

    async def append(self, record: Record) -> None:
        """Keep the record, wait, and mend what was kept too often."""
        await super().append(record)
        self._journals[record.run_id].append(record)
        await anyio.lowlevel.checkpoint()
        self._journals[record.run_id].pop()


class Revived(MemoryStore):
    """A store that cannot be closed."""

    async def close(self) -> None:
        """Do nothing."""


class ByLastWrite(MemoryStore):
    """A store that lists the run first that was written to last."""

    async def append(self, record: Record) -> None:
        """Keep the record and move its run to the end."""
        await super().append(record)
        self._journals[record.run_id] = self._journals.pop(record.run_id)


@pytest.mark.parametrize(
    ("check", "store"),
    [
        (a_taken_number_is_a_conflict, Careless),
        (a_gap_is_a_conflict, Careless),
        (a_record_follows_the_last_one, Careless),
        (a_record_that_lies_is_refused, Careless),
        (one_of_many_wins_a_number, Careless),
        (a_refused_append_leaves_others_alone, Spoiled),
        (a_cancelled_caller_harms_nobody, Impatient),
        (a_closed_store_does_nothing, Revived),
        (runs_are_listed_latest_first, ByLastWrite),
    ],
)
def test_a_store_that_breaks_a_rule_fails_its_check(check: Check, store: type[MemoryStore]) -> None:
    """The suite is no rubber stamp: a store with this fault does not pass the check that is about it."""
    with pytest.raises((AssertionError, ExceptionGroup, StoreError)):
        anyio.run(check, store())


def test_a_store_in_memory_is_not_durable() -> None:
    """The durable checks notice a store that forgets."""
    with pytest.raises(JournalConflict, match="record 2 of run 'run-1' would leave a gap"):
        anyio.run(records_outlive_the_store, MemoryStore)
