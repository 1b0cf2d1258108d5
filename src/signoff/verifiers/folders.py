"""Looks at a directory that must be delivered: all that is below it, and all that its links lead to.

Its digest (`signoffTree` in receipts) is `pictures.tree_digest` over the files, without folders of version control and
without caches but `__pycache__`, which Python would import from. A link counts by its text and by the bytes of the file
that it leads to; below a link to a folder that is not covered yet, that folder's files count by their paths through it.
Everything comes in the order of the paths, so that the same files have the same digest anywhere.
"""

import heapq
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

import msgspec

from signoff.verifiers.content import Content
from signoff.verifiers.files import Entry, EntryKind, Reader, digest_at, statuses
from signoff.verifiers.left_out import path_left_out
from signoff.verifiers.names import name_bytes
from signoff.verifiers.pictures import in_order, tree_digest
from signoff.verifiers.walk import OPEN_FLAGS

MOST_LINKED = 1000
"""How many folders links may lead to; with more, a directory cannot be delivered."""

_COUNTED = frozenset({"__pycache__"})
_BLOCK = 256 * 1024
_Member: TypeAlias = tuple[str, str, Entry | None, os.stat_result]
_State: TypeAlias = tuple[int, ...]


class Outside(Exception):
    """A link in the directory leads out of where it may lead to."""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory holds."""

    sha256: str
    size: int
    """Bytes of all regular files."""
    blank: bool
    """Whether no regular file in it holds anything."""
    stable: bool
    stamp: tuple[object, ...]
    """Another stamp means that it was written."""


def survey(real: str, reader: Reader, *, inside: Callable[[str], bool]) -> Survey:
    """Read a whole directory at a resolved path; raise `Outside`, or `OSError` for what cannot be read."""
    tree: dict[str, Entry] = {}
    states: dict[str, _State] = {}
    files: list[tuple[str, os.stat_result]] = []
    for path, where, entry, status in _members(real, partial(reader.tree, also=_COUNTED), inside=inside):
        if entry is None or entry.kind is EntryKind.UNREADABLE:
            raise PermissionError(where)
        states[path] = _state_of(where, status)
        target = os.path.realpath(where) if entry.kind is EntryKind.LINK else where
        tree[path] = entry if target is where else Entry(EntryKind.LINK, entry.sha256 + (digest_at(target) or b""))
        found = _status(target)
        if found is not None and stat.S_ISREG(found.st_mode):
            files.append((target, found))
    again = _members(real, _without_reading, inside=inside)
    return Survey(
        sha256=tree_digest(tree),
        size=sum(status.st_size for _, status in files),
        blank=not any(status.st_size and _has_content(where, reader) for where, status in files),
        stable=states == {path: _state_of(where, status) for path, where, _, status in again},
        stamp=tuple((name_bytes(path), states[path]) for path in in_order(states)),
    )


def _members(
    real: str,
    find: Callable[[str], Iterable[tuple[str, Entry | None, os.stat_result]]],
    *,
    inside: Callable[[str], bool],
) -> Iterator[_Member]:
    """Yield every file with its path, where it is, its entry and status; a folder that is covered comes only once."""
    todo, covered = [("", real)], list[str]()
    while todo:
        above, folder = heapq.heappop(todo)
        if _is_covered(folder, covered):
            continue
        covered.append(folder)
        if len(covered) > MOST_LINKED:
            raise OSError("its links lead to too many folders")
        for path, entry, status in find(folder):
            where = f"{folder}/{path}"
            yield above + path, where, entry, status
            if not stat.S_ISLNK(status.st_mode):
                continue
            target = os.path.realpath(where)
            if not inside(target):
                raise Outside
            if os.path.isdir(target):  # noqa: PTH112 - a resolved text
                heapq.heappush(todo, (f"{above}{path}/", target))


def _is_covered(folder: str, covered: Iterable[str]) -> bool:
    return any(
        folder == known or (folder.startswith(f"{known}/") and not path_left_out(folder.removeprefix(f"{known}/")))
        for known in covered
    )


def _without_reading(folder: str) -> Iterator[tuple[str, None, os.stat_result]]:
    return ((path, None, status) for path, status in statuses(folder, also=_COUNTED))


def _state_of(where: str, status: os.stat_result) -> _State:
    """What another look would find otherwise if the file, or the one that a link leads to, were written meanwhile."""
    target = _status(os.path.realpath(where)) if stat.S_ISLNK(status.st_mode) else None
    through = _state(target) if target is not None and stat.S_ISREG(target.st_mode) else ()
    return *_state(status), *through


def _state(status: os.stat_result) -> _State:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _status(real: str) -> os.stat_result | None:
    try:
        return os.lstat(real)
    except (OSError, ValueError):
        return None


def _has_content(real: str, reader: Reader) -> bool:
    """Whether a regular file holds anything but white space; read no further than to the first such block."""
    content = Content()
    try:
        with open(os.open(real, OPEN_FLAGS), "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
            while content.blank_so_far and (block := file.read(_BLOCK)):
                reader.work.go_on()
                content.take(memoryview(block))
    except OSError:
        return False
    return not content.blank
