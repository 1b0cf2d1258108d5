"""Puts a receipt on disk: whole or not at all, and never over something that is not a receipt."""

import contextlib
import os
import stat
from pathlib import Path

import anyio
import anyio.to_thread

from signoff.core.canonical import digest_bytes
from signoff.errors import ConfigError, ReceiptError
from signoff.records.envelope import MAX_BYTES, enveloped, opened


def require_writable_place(path: str) -> None:
    """Refuse, before anything starts, a place where a receipt could not be put."""
    folder = Path(path).parent
    if not folder.is_dir():
        message = f"the receipt's folder {folder} does not exist; nothing was started; make it, or name another place"
        raise ConfigError(message)
    if not os.access(folder, os.W_OK | os.X_OK):
        message = f"the receipt's folder {folder} cannot be written; nothing was started; name another place"
        raise ConfigError(message)
    if os.path.lexists(path) and not _is_receipt(path):
        message = f"{path} is there already and is no receipt; nothing was started or overwritten; name another place"
        raise ConfigError(message)


def read_receipt(path: str) -> bytes:
    """Return the bytes of a regular file of bounded size; raise `ReceiptError` for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{path} cannot be read: {reason}; nothing was verified; give the path of a receipt"
        raise ReceiptError(message) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        message = f"{path} is not a regular file; nothing was verified; give the path of a receipt"
        raise ReceiptError(message)
    with os.fdopen(descriptor, "rb") as file:
        try:
            return file.read(MAX_BYTES + 1)
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}; nothing was verified"
            raise ReceiptError(message) from error


class ReceiptFile:
    """Implements the port `ReceiptWriter` for one path."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._put = False

    async def write(self, statement: bytes) -> tuple[str, str]:
        """Write the envelope, flushed to disk, whole or not at all."""
        receipt = enveloped(statement)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_put, self._path, receipt)
        self._put = True
        return self._path, digest_bytes(receipt)

    async def withdraw(self) -> None:
        """Remove the receipt if this writer put it there; what was there before another write is gone all the same."""
        if self._put:
            self._put = False
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_remove, self._path)


def _is_receipt(path: str) -> bool:
    if Path(path).is_symlink():
        return False
    try:
        opened(read_receipt(path))
    except ReceiptError:
        return False
    return True


def _remove(path: str) -> None:
    """Take back what was put there; a file that cannot be removed stays, and the run's record says cancelled."""
    with contextlib.suppress(OSError):
        Path(path).unlink(missing_ok=True)


def _put(path: str, receipt: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.new"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(receipt)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        message = f"the receipt could not be written to {path}: {error.strerror}; the verdict stands without it"
        raise ReceiptError(message) from error
