"""The tables of a store, as the steps that make them. Step n takes a file of format n to format n + 1.

A step that was released is never edited: files made by it exist. A file is accepted only when its schema is, word for
word, what these steps make, so a later step makes a table anew and copies, rather than alter it: SQLite's versions
write down an altered table differently. No trigger, no view: none could be told from a planted one at a glance, and
the connections that signoff opens refuse to run any.
"""

import functools
import sqlite3

APPLICATION_ID = 0x73676E66
"""`sgnf`: stands in the header of every file that signoff made, and in no other program's."""

Step = tuple[str, ...]
"""Statements that are carried out in one transaction."""
SchemaObject = tuple[str, str, str, str | None]
"""Type, name, table and text of one thing in a schema."""

MIGRATIONS: tuple[Step, ...] = (
    (
        # `position` keeps the order in which runs began. `body` stands last: what comes before it is read without it.
        """CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    kind TEXT NOT NULL,
    chain TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (run_id, seq)
) STRICT""",
        "CREATE INDEX event_begun ON event (position) WHERE seq = 1",
    ),
)


def migrate(connection: sqlite3.Connection, steps: tuple[Step, ...]) -> None:
    """Take the steps that the file has not yet taken, each with its number in one transaction."""
    for number in range(version(connection), len(steps)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have taken the step while this one waited for the lock.
            if version(connection) == number:
                _take(connection, steps[number], number + 1)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _take(connection: sqlite3.Connection, step: Step, number: int) -> None:
    for statement in step:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {number:d}")


def version(connection: sqlite3.Connection) -> int:
    """Return the format that the file says it has."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def odd_objects(connection: sqlite3.Connection, steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Return what stands in the schema beyond these steps or lacks in it, in words; empty when it is theirs exactly."""
    expected = _made_by(steps)
    found = _objects(connection, at_most=len(expected) + 10)
    surplus = (f"unexpected {kind[:20]} {name[:60]!r}" for kind, name, _, _ in sorted(found - expected, key=_rank))
    missing = (f"no {kind} {name!r} as signoff makes it" for kind, name, _, _ in sorted(expected - found, key=_rank))
    return (*surplus, *missing)


def _rank(thing: SchemaObject) -> tuple[int, str]:
    """Order what is worst, or explains the rest, first."""
    kind, name, _, _ = thing
    return {"trigger": 0, "view": 1, "table": 2}.get(kind, 3), name


@functools.cache
def _made_by(steps: tuple[Step, ...]) -> frozenset[SchemaObject]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(made, steps)
        return _objects(made, at_most=-1)
    finally:
        made.close()


def _objects(connection: sqlite3.Connection, *, at_most: int) -> frozenset[SchemaObject]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?", (at_most,))
    return frozenset((str(kind), str(name), str(table), text) for kind, name, table, text in rows)
