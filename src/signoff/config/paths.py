"""Writes a path the one way that two spellings of it share. Judged as text: what is at a path is not looked at.

The one exception: the folder of an absolute path is resolved, to see whether it is the workspace by another name.
"""

import os
import posixpath
from pathlib import Path

from signoff.core.jcs import quoted
from signoff.errors import ConfigError


def require_unicode(text: str, *, what: str) -> str:
    """Return a text that can be written as UTF-8, as records and digests are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{what} is not valid Unicode: {quoted(text)}; nothing was started; write it in UTF-8"
        raise ConfigError(message) from None
    return text


def shown(path: str) -> str:
    """Return a path as a message may hold it: as it is, or escaped and cut when it does not print."""
    return path if path.isprintable() else quoted(path)


def workspace_path(text: str, *, root: str, home: str) -> str:
    """Return a path relative to the workspace where it lies in it, else as it is, without `.`, `..` and doubled `/`.

    A leading `~` stands for the home. What leads out of the workspace is left to the contract to refuse.
    """
    if not text.strip() or "\0" in text:
        return text
    if home.startswith("/") and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    if text.startswith("~"):
        return text
    if not text.startswith("/"):
        normal = posixpath.normpath(text)
        return f"./{normal}" if normal.startswith("~") else normal
    path = posixpath.normpath("/" + text.lstrip("/"))
    inner = _below(root, path)
    if inner is None:
        folder, name = posixpath.split(path)
        inner = _below(root, posixpath.join(os.path.realpath(folder), name))
    return path if inner is None else inner


def workspace_glob(text: str, *, root: str) -> str:
    """Return a pattern of the gitignore dialect without what says only where the workspace is.

    A leading `/` goes too where another one in the pattern anchors it all the same.
    """
    inner = _below(root, text) if root != "/" else None
    if inner not in {None, "", "."}:
        text = f"/{str(inner).removeprefix('./')}"
    while text.startswith("./"):
        text = text[2:].lstrip("/")
    return text[1:] if text.startswith("/") and "/" in text[1:].rstrip("/") else text


def workspace_root(given: str | None, *, cwd: str) -> str:
    """Return the real path of the workspace: the folder that was given, or the one that the user stands in."""
    if given is not None and not given.strip():
        raise ConfigError("--cwd is blank; nothing was started; name the project's folder")
    place = Path(cwd, given or "")
    try:
        root = os.path.realpath(place, strict=True)
        why = "" if os.access(f"{root}/.", os.R_OK | os.X_OK) else "it is no folder, or may not be entered"
    except (OSError, ValueError) as error:
        root, why = "", str(error.strerror if isinstance(error, OSError) else "nothing can be named so")
    if why:
        what = f"--cwd {quoted(given)}" if given is not None else "the current folder"
        message = f"{what} is no folder to work in ({why}); nothing was started; name an existing folder"
        raise ConfigError(message)
    return require_unicode(root, what="the path of the workspace")


def _below(root: str, path: str) -> str | None:
    """A path as seen from a folder above it; None when it lies elsewhere."""
    if path == root:
        return "."
    start = root if root.endswith("/") else f"{root}/"
    if not path.startswith(start):
        return None
    inner = path[len(start) :]
    return f"./{inner}" if inner.startswith("~") else inner
