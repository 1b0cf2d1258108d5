"""Folders that nobody but their owner may change: made so, or refused.

What stands above them belongs to the user and is taken as it is. Nothing here knows what the folders are for.
"""

import os
import stat
from pathlib import Path

from signoff.config.paths import shown
from signoff.errors import ConfigError

PRIVATE = 0o700
_OTHERS_WRITE = 0o022
_OTHERS = 0o077
_MEND = "or set SIGNOFF_STATE_DIR to another folder"


def make_shared(path: str) -> None:
    """Make a folder, with what is missing above it, or accept one that only its owner may change."""
    _make(path, parents=True)
    require_owned(path, forbidden=_OTHERS_WRITE)


def make_private(path: str) -> None:
    """Make a folder in one that exists, or accept one that only its owner may look into."""
    _make(path, parents=False)
    require_owned(path, forbidden=_OTHERS)
    if not os.access(path, os.W_OK | os.X_OK):
        message = f"the state folder {shown(path)} cannot be written; nothing was started; make it writable, {_MEND}"
        raise ConfigError(message)


def is_shared(path: str) -> bool:
    """Whether such a folder exists; refuse what stands there instead."""
    return _exists(path, forbidden=_OTHERS_WRITE)


def is_private(path: str) -> bool:
    """Whether such a folder exists; refuse what stands there instead."""
    return _exists(path, forbidden=_OTHERS)


def require_owned(path: str, *, forbidden: int) -> None:
    """Refuse anything but a folder of this account's own, without the forbidden bits (SE-005)."""
    try:
        status = os.lstat(path)
    except OSError as error:
        raise unusable(path, error) from None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        problem, mend = "is a symbolic link, and none is followed", "remove the link"
    elif not stat.S_ISDIR(status.st_mode):
        problem, mend = "is no folder", "move it away"
    elif status.st_uid != os.geteuid():
        problem, mend = "belongs to another account", "work as that account"
    elif mode & stat.S_ISVTX and mode & forbidden:
        problem, mend = "is a folder for everybody", "make one of your own in it"
    elif mode & forbidden:
        problem, mend = f"is open to other accounts (mode {mode:04o})", f"run `chmod 700 {shown(path)}`"
    else:
        return
    raise ConfigError(f"the state folder {shown(path)} {problem}; nothing was started or written; {mend}, {_MEND}")


def unusable(path: str, error: OSError) -> ConfigError:
    """Return the error for a place of the state folder that the system refuses."""
    message = f"the state folder {shown(path)} cannot be used: {error.strerror}"
    return ConfigError(f"{message}; nothing was started; mend that, {_MEND} that can be written")


def _make(path: str, *, parents: bool) -> None:
    folder = Path(path)
    missing = [folder]
    while parents and not os.path.lexists(missing[-1].parent):
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        try:
            each.mkdir(mode=PRIVATE)
        except FileExistsError:
            continue
        except OSError as error:
            raise unusable(path, error) from None


def _exists(path: str, *, forbidden: int) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable(path, error) from None
    require_owned(path, forbidden=forbidden)
    return True
