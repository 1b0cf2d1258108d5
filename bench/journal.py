"""Appends a second to the journal of a goal run, against raw inserts of the same rows on the same disk.

    python bench/journal.py [--json] [--folder FOLDER]

Raw: one thread, one connection with the store's own settings and table, one commit a row. The store: one caller that
waits for each append, and 16 callers that each wait for theirs, one run a caller. Every round measures all three, one
after the other, on new files; the ratios are taken within a round, since a disk's pace drifts, and the median counts.
Use a folder on a real disk: where syncing costs nothing, only the way to the thread is measured.
"""

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from signoff.core.journal import FIRST, Record, link
from signoff.stores.sql import SqliteStore

CALLERS = 16
ROWS = 1_600
ROUNDS = 7
BODY = b'{"check":"tests","passed":false}'.ljust(290, b" ")
BUDGET = {"one caller": 0.5, "16 callers": 2.0}
INSERT = "INSERT INTO event (run_id, seq, kind, chain, body) VALUES (?, ?, ?, ?, ?)"


def journal(run_id: str, rows: int) -> list[Record]:
    """Return a chained journal of so many rows."""
    records: list[Record] = []
    previous = FIRST
    for seq in range(1, rows + 1):
        records.append(link(run_id, seq, kind="CheckSettled", body=BODY, previous=previous))
        previous = records[-1].chain
    return records


def raw(path: Path) -> float:
    """Return the seconds of plain inserts into a file that a store made."""
    anyio.run(SqliteStore(path).close)
    records = journal("run-0", ROWS)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        begun = time.perf_counter()
        for record in records:
            connection.execute(INSERT, (record.run_id, record.seq, record.kind, record.chain, record.body))
        return time.perf_counter() - begun
    finally:
        connection.close()


def appended(path: Path, callers: int) -> float:
    """Return the seconds of the same number of appends by so many callers at once."""
    store = SqliteStore(path)
    journals = [journal(f"run-{number}", ROWS // callers) for number in range(callers)]

    async def call(records: list[Record]) -> None:
        for record in records:
            await store.append(record)

    async def measure() -> float:
        begun = time.perf_counter()
        async with anyio.create_task_group() as group:
            for records in journals:
                group.start_soon(call, records)
        spent = time.perf_counter() - begun
        await store.close()
        return spent

    return anyio.run(measure)


def measured(folder: Path) -> dict[str, list[float]]:
    """Return the seconds of every round for each way to write; a first round, which warms up, is thrown away."""
    ways: dict[str, Callable[[Path], float]] = {
        "raw": raw,
        "one caller": lambda path: appended(path, 1),
        "16 callers": lambda path: appended(path, CALLERS),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for name, way in ways.items():
            spent = way(folder / f"{name.replace(' ', '-')}-{number}.db")
            if number:
                seconds[name].append(spent)
    return seconds


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="Journal appends against raw inserts, in one run on one disk.")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--folder", type=Path, default=Path(), help="where to write; default: the current folder")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix=".bench-journal-", dir=given.folder) as folder:
        seconds = measured(Path(folder))
    figures = {
        name: {
            "microseconds": round(statistics.median(seconds[name]) / ROWS * 1e6, 1),
            "ratio": round(statistics.median(a / b for a, b in zip(seconds["raw"], seconds[name], strict=True)), 2),
            "budget": BUDGET.get(name),
        }
        for name in seconds
    }
    if given.json:
        print(json.dumps({"bench": "journal", "sqlite": sqlite3.sqlite_version, "rows": ROWS, "figures": figures}))
        return
    for name, figure in figures.items():
        budget = "" if figure["budget"] is None else f"  (budget: at least {figure['budget']} x)"
        print(f"{name:<11} {figure['microseconds']:>8} us an append  {figure['ratio']:>5} x raw{budget}")


if __name__ == "__main__":
    main()
