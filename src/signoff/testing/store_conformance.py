"""The rules of the `Store` port as checks that any store can be run against.

`CHECKS` take an empty store; `DURABLE_CHECKS` take a function that opens a store on the same empty place each time it
is called, and are for stores whose records outlive them. A check that fails raises `AssertionError` with what was
expected and what came instead. Whoever calls closes the store that it gave; the second kind closes what it opens.

    @pytest.mark.parametrize("check", CHECKS, ids=check_name)
    def test_my_store(check: Check) -> None:
        anyio.run(check, MyStore())

It knows no test runner, and no store: nothing that only one store does belongs here.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio
import msgspec

from signoff.core.journal import FIRST, MAX_BODY, Record, link
from signoff.errors import JournalConflict, JournalCorrupt, StoreError
from signoff.ports import Store

Check = Callable[[Store], Awaitable[None]]
Opening = Callable[[], Store]
DurableCheck = Callable[[Opening], Awaitable[None]]

_ODD_IDS = ("", "no-such-run", "../run", "run\x00", "\ud800", "run'; --", "x" * 4000)


def journal_of(run_id: str, bodies: Iterable[bytes]) -> tuple[Record, ...]:
    """Return the chained records of one run."""
    records: list[Record] = []
    previous = FIRST
    for seq, body in enumerate(bodies, start=1):
        records.append(link(run_id, seq, kind="CheckSettled", body=body, previous=previous))
        previous = records[-1].chain
    return tuple(records)


def check_name(check: object) -> str:
    """Return a check's name, for the id of a test."""
    return str(getattr(check, "__name__", check))


# ── What every store does ────────────────────────────────────────────────────────────────────────────────────────────


async def an_empty_store_has_no_runs(store: Store) -> None:
    """Nothing is there, whatever is asked for, and asking is no error."""
    _same(await store.runs(), (), "the runs of an empty store")
    for run_id in _ODD_IDS:
        _same(await store.read(run_id), (), f"the records of run {run_id[:20]!r}")


async def records_come_back_as_they_were(store: Store) -> None:
    """Every field comes back equal, whatever bytes a body holds, and in order."""
    records = journal_of("run-1", (b"", b"\x00\xff'\n", "päng €".encode(), b"{}" * 40_000, bytes(range(256))))
    await _append_all(store, records)
    _same(await store.read("run-1"), records, "the records")
    _same(await store.read("RUN-1"), (), "the records of a run whose id differs in case")


async def a_taken_number_is_a_conflict(store: Store) -> None:
    """Neither the same record nor another with its number is written a second time."""
    records = journal_of("run-1", (b"one", b"two", b"three"))
    await _append_all(store, records)
    other = link("run-1", 3, kind="RunFinished", body=b"other", previous=records[1].chain)
    for taken in (records[0], records[2], other):
        await _refused(store, taken, JournalConflict)
    _same(await store.read("run-1"), records, "the records after refused ones")


async def a_gap_is_a_conflict(store: Store) -> None:
    """A run begins with number 1 and leaves none out, and a refused beginning leaves no run behind."""
    records = journal_of("run-1", (b"one", b"two", b"three"))
    await _refused(store, records[1], JournalConflict)
    _same(await store.runs(), (), "the runs after a refused beginning")
    await store.append(records[0])
    await _refused(store, records[2], JournalConflict)
    _same(await store.read("run-1"), records[:1], "the records after a refused one")


async def a_record_follows_the_last_one(store: Store) -> None:
    """The right number after another record than the last is a conflict: somebody else wrote meanwhile."""
    (first,) = journal_of("run-1", (b"one",))
    stranger = link("run-1", 1, kind="RunStarted", body=b"one", previous=_strange_chain())
    await _refused(store, stranger, JournalConflict)
    await store.append(first)
    await _refused(store, link("run-1", 2, kind="RunFinished", body=b"two", previous=FIRST), JournalConflict)
    _same(await store.read("run-1"), (first,), "the records after refused ones")


async def a_record_that_lies_is_refused(store: Store) -> None:
    """A record whose digest is not its own, or whose parts have no usable form, is not kept."""
    (record,) = journal_of("run-1", (b"one",))
    await _refused(store, msgspec.structs.replace(record, body=b"two"), JournalCorrupt)
    await _refused(store, msgspec.structs.replace(record, chain=FIRST), JournalCorrupt)
    for run_id in _ODD_IDS:
        if run_id != "no-such-run":
            await _refused(store, msgspec.structs.replace(record, run_id=run_id), StoreError)
    for seq in (0, -1, True, 2**70):
        await _refused(store, msgspec.structs.replace(record, seq=seq), StoreError)
    for odd in ("", "two words", "\ud800"):
        await _refused(store, msgspec.structs.replace(record, kind=odd), StoreError)
        await _refused(store, msgspec.structs.replace(record, previous=odd), StoreError)
    _same(await store.runs(), (), "the runs after refused records")


async def a_body_has_a_bound(store: Store) -> None:
    """A body of the greatest size comes back; one byte more is refused."""
    largest, larger = journal_of("run-1", (bytes(MAX_BODY), bytes(MAX_BODY + 1)))
    await store.append(largest)
    await _refused(store, larger, StoreError)
    found = await store.read("run-1")
    _same([record.chain for record in found], [largest.chain], "the digests")
    if found != (largest,):
        raise AssertionError("the largest body came back changed")


async def runs_are_listed_latest_first(store: Store) -> None:
    """Each run is listed by its first and last record, in the order of their beginnings, whichever went on last."""
    names = ("run-b", "run-c", "run-a")
    journals = [journal_of(name, (b"one", name.encode(), b"three")) for name in names]
    for records in journals:
        await store.append(records[0])
    await store.append(journals[0][1])
    await store.append(journals[2][1])
    await store.append(journals[0][2])
    expected = [
        (journals[2][0], journals[2][1]),
        (journals[1][0], journals[1][0]),
        (journals[0][0], journals[0][2]),
    ]
    _same([(ends.first, ends.last) for ends in await store.runs()], expected, "the ends of the runs")


async def appends_at_once_are_all_kept(store: Store) -> None:
    """Many runs write at once, and each finds its own records."""
    journals = [journal_of(f"run-{number}", [b"%d" % count for count in range(20)]) for number in range(16)]
    async with anyio.create_task_group() as group:
        for records in journals:
            group.start_soon(_append_all, store, records)
    for records in journals:
        _same(await store.read(records[0].run_id), records, "the records of one of many runs")
    _same(len(await store.runs()), len(journals), "the number of runs")


async def one_of_many_wins_a_number(store: Store) -> None:
    """When several callers write the same number at once, one does, and the others learn that they did not."""
    rivals = [link("run-1", 1, kind="RunStarted", body=b"%d" % number, previous=FIRST) for number in range(16)]
    kept: list[Record] = []

    async def compete(record: Record) -> None:
        try:
            await store.append(record)
        except JournalConflict:
            return
        kept.append(record)

    async with anyio.create_task_group() as group:
        for rival in rivals:
            group.start_soon(compete, rival)
    _same(len(kept), 1, "the number of callers that were told that theirs was written")
    _same(await store.read("run-1"), tuple(kept), "the records")


async def a_refused_append_leaves_others_alone(store: Store) -> None:
    """Of appends that wait together, those that may be written are, whatever becomes of the others."""
    good = [journal_of(f"run-{number}", (b"one",))[0] for number in range(16)]
    bad = [journal_of(f"bad-{number}", (b"one", b"two"))[1] for number in range(16)]
    async with anyio.create_task_group() as group:
        for right, wrong in zip(good, bad, strict=True):
            group.start_soon(_refused, store, wrong, JournalConflict)
            group.start_soon(store.append, right)
    found = {ends.first for ends in await store.runs()}
    _same(found, set(good), "the records")


async def a_cancelled_caller_harms_nobody(store: Store) -> None:
    """Whether the record of a caller that stopped waiting was written can be read, and the run can go on from there."""
    records = journal_of("run-1", [b"%d" % number for number in range(32)])
    for record in records:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.append(record)
        if len(await store.read("run-1")) < record.seq:
            await store.append(record)
    _same(await store.read("run-1"), records, "the records")


async def a_closed_store_does_nothing(store: Store) -> None:
    """After `close` every call but another `close` raises `StoreError`."""
    (record,) = journal_of("run-1", (b"one",))
    await store.close()
    await store.close()
    await _refused(store, record, StoreError)
    await _raises(lambda: store.read("run-1"), StoreError, "read")
    await _raises(store.runs, StoreError, "runs")


CHECKS: tuple[Check, ...] = (
    an_empty_store_has_no_runs,
    records_come_back_as_they_were,
    a_taken_number_is_a_conflict,
    a_gap_is_a_conflict,
    a_record_follows_the_last_one,
    a_record_that_lies_is_refused,
    a_body_has_a_bound,
    runs_are_listed_latest_first,
    appends_at_once_are_all_kept,
    one_of_many_wins_a_number,
    a_refused_append_leaves_others_alone,
    a_cancelled_caller_harms_nobody,
    a_closed_store_does_nothing,
)


# ── What a store does whose records outlive it ───────────────────────────────────────────────────────────────────────


async def records_outlive_the_store(opening: Opening) -> None:
    """What one store was given, the next one on the same place has, and a run goes on there."""
    records = journal_of("run-1", (b"one", b"two", b"three"))
    for record in records:
        store = opening()
        await store.append(record)
        await store.close()
    store = opening()
    _same(await store.read("run-1"), records, "the records after each store was closed")
    await store.close()


async def two_stores_see_one_journal(opening: Opening) -> None:
    """Of two stores on one place each sees what the other wrote, and neither overwrites it."""
    ours, theirs = opening(), opening()
    records = journal_of("run-1", (b"one", b"two", b"three"))
    await ours.append(records[0])
    await _refused(theirs, records[0], JournalConflict)
    await theirs.append(records[1])
    await ours.append(records[2])
    await theirs.append(journal_of("run-2", (b"one",))[0])
    for store in (ours, theirs):
        _same(await store.read("run-1"), records, "the records that two stores wrote")
        _same([ends.first.run_id for ends in await store.runs()], ["run-2", "run-1"], "the runs of two stores")
    await ours.close()
    _same(await theirs.read("run-1"), records, "the records after the other store was closed")
    await theirs.close()


DURABLE_CHECKS: tuple[DurableCheck, ...] = (records_outlive_the_store, two_stores_see_one_journal)


# ── How a check speaks ───────────────────────────────────────────────────────────────────────────────────────────────


def _strange_chain() -> str:
    """Return a digest that no record of these checks has."""
    return "sha256:" + "f" * 64


async def _append_all(store: Store, records: Sequence[Record]) -> None:
    for record in records:
        await store.append(record)


async def _refused(store: Store, record: Record, error: type[StoreError]) -> None:
    what = f"append of record {record.seq!r} of run {record.run_id[:20]!r}"
    await _raises(lambda: store.append(record), error, what)


async def _raises(call: Callable[[], Awaitable[object]], error: type[StoreError], what: str) -> None:
    try:
        await call()
    except error:
        return
    raise AssertionError(f"{what} was accepted; expected {error.__name__}")


def _same(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r:.2000}, found {found!r:.2000}")
