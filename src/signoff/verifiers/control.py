"""Watches the files that steer the checks without being named by the contract: a runner's settings and start-up files.

Which runners count is read from the words of the contract's commands, and from the files that those commands start, as
they were when the workspace was looked at first. The list itself is `runners.py`.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping

import msgspec

from signoff.core.completion.contract import ValidationCommand
from signoff.verifiers.files import Entry, EntryKind, digest_at
from signoff.verifiers.left_out import path_left_out
from signoff.verifiers.runners import (
    DEPENDENCY_FOLDERS,
    START_UP_MODULES,
    UNKNOWN,
    Part,
    is_module_of_runner,
)
from signoff.verifiers.starts import follow
from signoff.verifiers.steering import MOST_PARSED, steering_digest
from signoff.verifiers.walk import OPEN_FLAGS

_WHOLE = (Part.WHOLE,)
_PACKAGE_START = "__init__"


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for: built once, before anything is compared."""

    names: Mapping[str, tuple[Part, ...]]
    """Files by name."""
    beginnings: tuple[str, ...]
    """Files by the beginning of their name, of which all steers."""
    nested: Mapping[str, tuple[Part, ...]]
    """Files by the name of their folder and their own, with `/`."""
    paths: frozenset[str]
    """Files by their whole path: those that a runner was told to read."""
    module_folders: frozenset[str]
    """Folders, as paths that end in `/` or as nothing for the workspace, whose top-level modules steer."""

    root: str
    links: bool
    """Whether a link to a folder that the walk of the workspace does not see steers, wherever it lies."""

    def parts_of(self, path: str, *, link: bool) -> tuple[Part, ...]:
        """Return how much of the file, or link, at a path steers the checks; nothing when it is no control file."""
        if path in self.paths:
            return _WHOLE
        folder, _, name = path.rpartition("/")
        parts = self.names.get(name, ())
        if name.startswith(self.beginnings):
            parts = _WHOLE
        if not parts and self.nested:
            parts = self.nested.get(f"{folder.rpartition('/')[2]}/{name}", ())
        dependency = _is_dependency(folder, name)
        if parts and not dependency:
            return parts
        if link and self.links and not dependency and _leads_to_the_unseen(path, self.root):
            return _WHOLE
        return _WHOLE if self.module_folders and self._is_module(folder, name, link=link) else ()

    def _is_module(self, folder: str, name: str, *, link: bool) -> bool:
        """Whether it is a module, or the start of a package, that would be imported in another's place."""
        module = name.partition(".")[0]
        if (f"{folder}/" if folder else "") in self.module_folders:
            # A link without an ending may lead to a package; a file without one is never imported.
            return is_module_of_runner(module) and (_is_importable(name) or (link and module == name))
        if module != _PACKAGE_START or not _is_importable(name):
            return False
        above, _, package = folder.rpartition("/")
        return (f"{above}/" if above else "") in self.module_folders and is_module_of_runner(package)


def control_of(commands: Iterable[ValidationCommand], root: str) -> Control:
    """Return what steers these commands in a workspace; reads the files that the commands start, and writes nothing."""
    started = follow(commands, root)
    runners = started.runners or ((UNKNOWN,) if started.files else ())
    names: dict[str, tuple[Part, ...]] = {}
    beginnings: list[str] = []
    nested: dict[str, tuple[Part, ...]] = {}
    for pattern, part in (entry for runner in runners for entry in runner.files):
        if pattern.endswith("*"):
            beginnings.append(pattern.removesuffix("*"))
        else:
            place = nested if "/" in pattern else names
            place[pattern] = tuple(sorted({*place.get(pattern, ()), part}))
    return Control(
        names=names,
        beginnings=tuple(beginnings),
        nested=nested,
        paths=started.settings if runners else frozenset(),
        module_folders=started.folders if any(runner.modules for runner in runners) else frozenset(),
        root=root,
        links=any(runner.links for runner in runners),
    )


def control_entry(parts: tuple[Part, ...], entry: Entry, *, path: str, root: str) -> Entry | None:
    """Return a control file's entry reduced to what steers; None when nothing in it does.

    A link counts by its text and by what it leads to, since whoever changes that changes what the runner reads.
    """
    if entry.kind is EntryKind.LINK:
        real = os.path.realpath(f"{root}/{path}")
        data = _read(real)
        steers = digest_at(real) if data is None else _digest(parts, data)
        return Entry(EntryKind.LINK, entry.sha256 + (steers or b""))
    if entry.kind not in (EntryKind.FILE, EntryKind.EXECUTABLE):
        return entry
    data = _read(f"{root}/{path}") if Part.WHOLE not in parts else None
    steers = entry.sha256 if data is None else _digest(parts, data)
    return None if steers is None else Entry(EntryKind.FILE, steers)


def _digest(parts: tuple[Part, ...], data: bytes) -> bytes | None:
    """The digest of all that steers; the parts of one file go with the contract, so their order is always the same."""
    found = [steering_digest(part, data) for part in parts]
    if not any(found):
        return None
    return found[0] if len(found) == 1 else hashlib.sha256(b"".join(each or bytes(32) for each in found)).digest()


def _leads_to_the_unseen(path: str, root: str) -> bool:
    """Whether a link leads, or may come to lead, to a folder outside of the workspace or one that is left out of it."""
    real = os.path.realpath(f"{root}/{path}")
    if os.path.isfile(real):  # noqa: PTH113 - a resolved text
        return False
    if not real.startswith(f"{root}/"):
        return real != root
    inside = real.removeprefix(f"{root}/")
    return path_left_out(inside) or not frozenset(DEPENDENCY_FOLDERS).isdisjoint(inside.split("/"))


def _is_dependency(folder: str, name: str) -> bool:
    """Whether a file belongs to an installed package; what Python starts with counts wherever it lies."""
    if name.partition(".")[0] in START_UP_MODULES:
        return False
    return not frozenset(DEPENDENCY_FOLDERS).isdisjoint(folder.split("/"))


def _is_importable(name: str) -> bool:
    """Whether Python imports a file of this name."""
    return name.endswith((".py", ".pyc", ".so", ".pyd"))


def _read(path: str) -> bytes | None:
    """Return the bytes of a regular file that is no link; None when it cannot be read or is too long to be parsed."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_PARSED:
            return None
        with open(os.open(path, OPEN_FLAGS), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            data = file.read(MOST_PARSED + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= MOST_PARSED else None
