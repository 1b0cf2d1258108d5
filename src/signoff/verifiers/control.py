"""Watches the files that steer the checks without being named by the contract: a runner's settings and start-up files.

Which runners count is read from the words of the contract's commands, and from the files that those commands start, as
they were when the workspace was looked at first. The list itself is `runners.py`.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping

import msgspec

from signoff.core.completion.contract import ValidationCommand
from signoff.verifiers.files import Entry, EntryKind
from signoff.verifiers.runners import (
    DEPENDENCY_FOLDERS,
    START_UP_MODULES,
    Part,
    Runner,
    is_module_of_runner,
    named_in,
)
from signoff.verifiers.steering import MOST_PARSED, steering_digest
from signoff.verifiers.walk import OPEN_FLAGS

_ROUNDS = 4
_WORD = re.compile(r"[^\s'\"();|&<>]+")
_PACKAGE_START = "__init__"


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for: built once, before anything is compared."""

    names: Mapping[str, Part]
    """Files by name."""
    beginnings: tuple[str, ...]
    """Files by the beginning of their name, of which all steers."""
    nested: Mapping[str, Part]
    """Files by the name of their folder and their own, with `/`."""
    module_folders: frozenset[str]
    """Folders, as paths that end in `/` or as nothing for the workspace, whose top-level modules steer."""

    def part_of(self, path: str, *, link: bool) -> Part | None:
        """Return how much of the file, or link, at a path steers the checks; None when it is no control file."""
        folder, _, name = path.rpartition("/")
        part = self.names.get(name)
        if part is None and name.startswith(self.beginnings):
            part = Part.WHOLE
        if part is None and self.nested:
            part = self.nested.get(f"{folder.rpartition('/')[2]}/{name}")
        if part is not None and not _is_dependency(folder, name):
            return part
        return Part.WHOLE if self.module_folders and self._is_module(folder, name, link=link) else None

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
    given = tuple(commands)
    folders = _folders(given, root)
    runners = _recognised(given, root, folders)
    names: dict[str, Part] = {}
    beginnings: list[str] = []
    nested: dict[str, Part] = {}
    for pattern, part in (entry for runner in runners for entry in runner.files):
        if pattern.endswith("*"):
            beginnings.append(pattern.removesuffix("*"))
        else:
            (nested if "/" in pattern else names)[pattern] = part
    modules = frozenset(folders) if any(runner.modules for runner in runners) else frozenset[str]()
    return Control(names=names, beginnings=tuple(beginnings), nested=nested, module_folders=modules)


def control_entry(part: Part, entry: Entry, *, path: str, root: str) -> Entry | None:
    """Return a control file's entry reduced to what steers; None when nothing in it does.

    A link counts by its text and by what it leads to, since whoever changes that changes what the runner reads.
    """
    if entry.kind is EntryKind.LINK:
        return Entry(EntryKind.LINK, entry.sha256 + (_steering_at(part, f"{root}/{path}") or b""))
    if entry.kind not in (EntryKind.FILE, EntryKind.EXECUTABLE):
        return entry
    data = _read(f"{root}/{path}") if part is not Part.WHOLE else None
    steers = entry.sha256 if data is None else steering_digest(part, data)
    return None if steers is None else Entry(EntryKind.FILE, steers)


def _is_dependency(folder: str, name: str) -> bool:
    """Whether a file belongs to an installed package; what Python starts with counts wherever it lies."""
    if name.partition(".")[0] in START_UP_MODULES:
        return False
    return not frozenset(DEPENDENCY_FOLDERS).isdisjoint(folder.split("/"))


def _is_importable(name: str) -> bool:
    """Whether Python imports a file of this name."""
    return name.endswith((".py", ".pyc", ".so", ".pyd"))


def _folders(commands: Iterable[ValidationCommand], root: str) -> tuple[str, ...]:
    """The workspace and the commands' folders in it, as paths relative to it that end in `/`."""
    found = {""}
    for command in commands:
        real = os.path.realpath(f"{root}/{command.cwd}")
        if real.startswith(f"{root}/"):
            found.add(real.removeprefix(f"{root}/") + "/")
    return tuple(sorted(found))


def _recognised(commands: tuple[ValidationCommand, ...], root: str, folders: tuple[str, ...]) -> tuple[Runner, ...]:
    """Return the runners that the commands name, or that the files they start name in turn."""
    found: dict[str, Runner] = {}
    for text in (command.words for command in commands):
        found.update((runner.name, runner) for runner in named_in(text))
        for word in _WORD.findall(text):
            found.update((runner.name, runner) for runner in _named_in_file(root, folders, word))
    seen: set[str] = set()
    for _ in range(_ROUNDS):
        new = [runner for runner in found.values() if runner.wrapper and runner.name not in seen]
        seen.update(runner.name for runner in new)
        for name in (pattern for runner in new for pattern, _ in runner.files if not pattern.endswith("*")):
            found.update((runner.name, runner) for runner in _named_in_file(root, folders, name))
    return tuple(found[name] for name in sorted(found))


def _named_in_file(root: str, folders: tuple[str, ...], name: str) -> tuple[Runner, ...]:
    found: list[Runner] = []
    for folder in folders:
        path = os.path.realpath(os.path.join(root, folder, name))  # noqa: PTH118 - an absolute name stays what it is
        data = _read(path) if path.startswith(f"{root}/") else None
        if data is not None and b"\0" not in data:
            found += named_in(data.decode("utf-8", "replace"))
    return tuple(found)


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


def _steering_at(part: Part, link: str) -> bytes | None:
    """Return the digest of what steers in the regular file that a link leads to; None when it leads to none."""
    path = os.path.realpath(link)
    data = _read(path)
    if data is not None:
        return steering_digest(part, data)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(os.open(path, OPEN_FLAGS), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None
