"""SQLite's errors as errors of the house: what happened, what was done about it, what to do.

Nothing that `sqlite3` raises leaves the stores: all of it passes through here. Nothing is decided or retried here.
"""

import sqlite3
from pathlib import Path

from signoff.errors import JournalCorrupt, StoreError

BUSY_SECONDS = 10.0
"""How long a statement waits for other processes that hold the file."""

ELSEWHERE = "set SIGNOFF_STATE_DIR to another folder"

_MENDS = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space and try again",
    sqlite3.SQLITE_BUSY: f"another process held the store for more than {BUSY_SECONDS:.0f} s: let it end and try again",
    sqlite3.SQLITE_LOCKED: "another connection holds the table: let it end and try again",
    sqlite3.SQLITE_READONLY: f"the store cannot be written: make the file and its folder writable, or {ELSEWHERE}",
    sqlite3.SQLITE_CANTOPEN: "the store or a file beside it cannot be opened: look at their owner and mode, "
    f"or {ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"look at the owner and mode of the file, or {ELSEWHERE}",
    sqlite3.SQLITE_IOERR: "the disk refused: look at its space, its limits and the system's log, then try again",
    sqlite3.SQLITE_NOTADB: f"the file is not a store: move it away, or {ELSEWHERE}",
    sqlite3.SQLITE_CORRUPT: f"the file is damaged: keep it, restore a copy, or {ELSEWHERE}",
    sqlite3.SQLITE_AUTH: "the file holds a trigger or view that signoff did not make, and it was not run: "
    f"keep the file to find out who changed it, and {ELSEWHERE}",
    sqlite3.SQLITE_TOOBIG: "a value is larger than signoff ever writes: keep the file to find out who changed it, "
    f"and {ELSEWHERE}",
}
_UNKNOWN = f"try again, or {ELSEWHERE}"

Fault = sqlite3.Error | UnicodeDecodeError
FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What the database raises. SQLite quotes a file's own names in its words, and they need not be text."""


def primary_code(error: Fault) -> int | None:
    """Return SQLite's primary result code; None when the error did not come from the database."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def store_error(error: Fault, *, path: Path, doing: str, done: str) -> StoreError:
    """Return the `StoreError` to raise: what was being done, SQLite's words, what was `done` about it, the mend."""
    code = primary_code(error)
    mend = _MENDS.get(code, _UNKNOWN) if code is not None else _UNKNOWN
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    kind = JournalCorrupt if code == sqlite3.SQLITE_CORRUPT else StoreError
    return kind(f"{doing} in {path} failed: {error} ({name}); {done}; {mend}")
