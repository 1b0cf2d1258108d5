"""Watches the file that a contract came from. Its bytes are compared and never read for what they say."""

import os
import stat

from signoff.errors import ConfigError
from signoff.verifiers.files import Reader
from signoff.verifiers.walk import OPEN_FLAGS


class SealedFile:
    """A file that must stay what it was when the contract was sealed: its bytes, and its text when it is a link."""

    def __init__(self, path: str | None, sha256: str | None) -> None:
        if (path is None) != (sha256 is None):
            raise ConfigError("a contract's file goes with the digest of its bytes; nothing was started; give both")
        self._path = path
        self._sha256 = sha256
        self._leads_to = _link_text(path) if path is not None else None

    def changed(self, reader: Reader) -> bool:
        """Return whether the file is another one now, or gone."""
        if self._path is None:
            return False
        if _link_text(self._path) != self._leads_to:
            return True
        try:
            real = os.path.realpath(self._path)
            if not stat.S_ISREG(os.lstat(real).st_mode):
                return True
            file = os.open(real, OPEN_FLAGS)
        except (OSError, ValueError):
            return True
        try:
            return f"sha256:{reader.digest(file, os.fstat(file).st_size).hex()}" != self._sha256
        except OSError:
            return True
        finally:
            os.close(file)


def _link_text(path: str) -> str | None:
    """The text of a link; None for what is none."""
    try:
        return os.readlink(path)  # noqa: PTH115 - the text as it is, not as a path
    except OSError:
        return None
