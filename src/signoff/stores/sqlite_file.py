"""Opening a store's file: only one that signoff made, of a format that it knows, with nothing planted in it.

Whatever else lies at the path is refused untouched. A file is looked at before it is opened for use, and what was
seen is checked again by the connection that is then used, so that nothing runs of a file that was swapped meanwhile.
Paths come from the configuration; which folders are safe is judged there, and no folder is made here.
"""

import contextlib
import errno
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from signoff.core.journal import MAX_BODY
from signoff.errors import StoreError, UnknownFormat
from signoff.stores.schema import migrations
from signoff.stores.sqlite_faults import BUSY_SECONDS, ELSEWHERE, FAULTS, Fault, primary_code, store_error

Synchronous = Literal["FULL", "NORMAL"]
Identity = tuple[int, int]
"""Device and inode of a file: what a path names, whatever its content."""

OLDEST_SQLITE = (3, 37, 0)
_ROW_BYTES = MAX_BODY + 64 * 1024
_SCHEMA_BYTES = 1024 * 1024
_CREATION_MENDS = {
    errno.ENOENT: "create its folder first",
    errno.ENOTDIR: "create its folder first",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EPERM: "use a disk with hard links",
    errno.EOPNOTSUPP: "use a disk with hard links",
}


def open_file(path: Path, *, synchronous: Synchronous, read_only: bool) -> tuple[sqlite3.Connection, Identity]:
    """Return a connection to the store at `path`, made when absent and migrated when older, and the file's identity."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"this Python has SQLite {sqlite3.sqlite_version}, and a store needs 3.37; nothing was opened; "
            "use a Python that is linked to a newer SQLite"
        )
    identity = _present(path)
    if identity is None and read_only:
        raise StoreError(
            f"there is no store at {path}; nothing was created; start a run first, or set SIGNOFF_STATE_DIR to the "
            "folder that holds the store"
        )
    if identity is None:
        _create(path)
        identity = _present(path)
    _look(path)
    connection = _connect(path, synchronous=synchronous, read_only=read_only)
    if identity is None or lost(path, identity):
        connection.close()
        raise StoreError(f"{path} was replaced while it was opened; nothing was written; try again")
    return connection, identity


def lost(path: Path, identity: Identity) -> bool:
    """Whether the path no longer names the file that was opened: then what is written to it will not be found."""
    try:
        found = path.lstat()
    except OSError:
        return True
    return (found.st_dev, found.st_ino) != identity


def _present(path: Path) -> Identity | None:
    """Return what the path names when that may be a store; None when it names nothing."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"the store {path} cannot be reached: {error}; nothing was changed; {ELSEWHERE}") from error
    if stat.S_ISREG(found.st_mode):
        return found.st_dev, found.st_ino
    kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
    if stat.S_ISLNK(found.st_mode):
        kind = "a symbolic link, which is not followed"
    raise StoreError(f"the store {path} is {kind}; nothing was changed; move it away, or {ELSEWHERE}")


def _create(path: Path) -> None:
    """Make an empty store under a name of its own, then give it the path unless another process was faster."""
    try:
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.new-", dir=path.parent)
    except OSError as error:
        raise _not_created(path, error) from error
    os.close(handle)
    draft = Path(name)
    try:
        _make(draft)
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    except OSError as error:
        raise _not_created(path, error) from error
    except FAULTS as error:
        raise store_error(error, path=path, doing="creating the store", done="nothing was left behind") from error
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                Path(f"{draft}{suffix}").unlink()


def _make(draft: Path) -> None:
    with _connection(draft, "mode=rw") as connection:
        connection.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID:d}")
        migrations.migrate(connection, migrations.MIGRATIONS)
        _use_write_ahead_log(connection, draft)


def _not_created(path: Path, error: OSError) -> StoreError:
    mend = _CREATION_MENDS.get(error.errno or 0, "make its folder writable")
    return StoreError(
        f"the store {path} could not be created: {error.strerror}; nothing was left behind; {mend}, or {ELSEWHERE}"
    )


def _look(path: Path) -> None:
    """Check the file without leaving a trace beside it, as far as that can be."""
    # Without a log beside it the file says everything, and can be read as if nothing could change it: no lock and no
    # trace. While another process begins or ends that may fail; then, as with a log, the ordinary reading judges.
    if not os.path.lexists(f"{path}-wal"):
        try:
            with _connection(path, "immutable=1") as connection:
                _check(connection, path)
        except FAULTS as error:
            if primary_code(error) == sqlite3.SQLITE_NOTADB:
                raise _refused(error, path) from error
        else:
            return
    try:
        with _connection(path, "mode=ro") as connection:
            _check(connection, path)
    except FAULTS as error:
        raise _refused(error, path) from error


def _connect(path: Path, *, synchronous: Synchronous, read_only: bool) -> sqlite3.Connection:
    connection = _raw_connection(path, "mode=ro" if read_only else "mode=rw")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ROW_BYTES)
        _check(connection, path)
        if read_only:
            _require_current(connection, path)
        else:
            _use_write_ahead_log(connection, path)
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            migrations.migrate(connection, migrations.MIGRATIONS)
        _check(connection, path)
    except FAULTS as error:
        connection.close()
        raise _refused(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _require_current(connection: sqlite3.Connection, path: Path) -> None:
    found, known = migrations.version(connection), len(migrations.MIGRATIONS)
    if found < known:
        raise StoreError(
            f"{path} was written by an older version of signoff (format {found}, now {known}); it was not changed, "
            "since it is only read here; start a run there to bring it up to date"
        )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that signoff did not make, of a newer format, or whose schema is not what its format says."""
    connection.execute("BEGIN")
    try:
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        if application != migrations.APPLICATION_ID:
            raise StoreError(
                f"{path} is not a store of signoff (its application id is {application:#x}); it was not touched; "
                f"move it away, or {ELSEWHERE}"
            )
        found, known = migrations.version(connection), len(migrations.MIGRATIONS)
        if not 0 <= found <= known:
            raise UnknownFormat(
                f"{path} was written by a newer version of signoff (format {found}, this one knows {known}); nothing "
                f"was changed; upgrade signoff, or {ELSEWHERE}"
            )
        odd = migrations.odd_objects(connection, migrations.MIGRATIONS[:found])
        if odd:
            raise StoreError(
                f"{path} does not hold what signoff made: {'; '.join(odd[:3])}; it was refused before anything in it "
                f"could run, and nothing was written; keep it to find out who changed it, and {ELSEWHERE}"
            )
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _use_write_ahead_log(connection: sqlite3.Connection, path: Path) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(
            f"the store {path} cannot keep a write-ahead log (its mode stays {mode!r}), as on a network folder; "
            f"nothing was written; {ELSEWHERE}, on a local disk"
        )


@contextlib.contextmanager
def _connection(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    connection = _raw_connection(path, how)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SCHEMA_BYTES)
        yield connection
    finally:
        connection.close()


def _raw_connection(path: Path, how: str) -> sqlite3.Connection:
    """Open the file, and trust nothing in it."""
    uri = f"file:{quote(os.fsencode(path))}?{how}"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except FAULTS as error:
        raise _refused(error, path) from error
    connection.set_authorizer(_authorize)
    try:
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}")
    except FAULTS as error:
        connection.close()
        raise _refused(error, path) from error
    return connection


def _authorize(_action: int, _first: str | None, _second: str | None, _place: str | None, inside: str | None) -> int:
    """Refuse every statement that a trigger or a view would run, also of one planted after the file was opened."""
    return sqlite3.SQLITE_OK if inside is None else sqlite3.SQLITE_DENY


def _refused(error: Fault, path: Path) -> StoreError:
    return store_error(error, path=path, doing="opening the store", done="nothing was changed")
