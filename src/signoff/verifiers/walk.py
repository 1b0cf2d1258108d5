"""Walks a folder: every file below it that counts, without following a link and without recursion.

Only finding belongs here; what is found is read elsewhere. A folder is opened by a name that is no link, and its files
are reached through that descriptor, so that a folder put in its place meanwhile is not read for it.
"""

import errno
import os
from collections.abc import Collection, Generator, Iterator
from typing import TypeAlias

from signoff.verifiers.left_out import file_left_out, folder_left_out

Found: TypeAlias = "tuple[str, os.DirEntry[str] | None, int]"
"""Path below the root, with `/`; its entry; the descriptor of its folder, open until the next one is asked for.

A folder that cannot be read comes as itself, without an entry and without a descriptor (-1).
"""

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Never through a link, and never waiting for the other end of a FIFO."""

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""The folder is not there any more; a link or a file may stand in its place."""


def walk(root: str, *, own: Collection[str] = (), also: Collection[str] = ()) -> Generator[Found]:
    """Yield all but folders, caches, version control and the paths in `own`; nothing when there is no such folder.

    `also` names folders that count although they are caches. Links, FIFOs, sockets and devices are yielded like files.
    Raises `OSError` when the root itself cannot be read.
    """
    todo = [""]
    while todo:
        folder = todo.pop()
        try:
            fd = os.open(f"{root}/{folder}" if folder else root, OPEN_FLAGS | os.O_DIRECTORY)
        except OSError as error:
            if error.errno in _GONE:
                continue
            if not folder:
                raise
            yield folder.rstrip("/"), None, -1
            continue
        try:
            yield from _files(fd, folder, own=own, also=also, todo=todo)
        finally:
            os.close(fd)


def _files(fd: int, folder: str, *, own: Collection[str], also: Collection[str], todo: list[str]) -> Iterator[Found]:
    above = folder.rstrip("/").rpartition("/")[2]
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            path = folder + name
            is_folder = entry.is_dir(follow_symlinks=False)
            if path in own or _is_left_out(name, above, is_folder=is_folder, also=also):
                continue
            if is_folder:
                todo.append(path + "/")
            else:
                yield path, entry, fd


def _is_left_out(name: str, above: str, *, is_folder: bool, also: Collection[str]) -> bool:
    if not is_folder:
        return file_left_out(name)
    return name not in also and folder_left_out(name, above=above)
