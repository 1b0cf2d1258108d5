"""Looks at a whole workspace once: what counts, what must not change, what steers the checks, what the globs match.

It runs in one worker thread and keeps, from one look to the next, what lets it leave an unchanged file unread. That is
never done for what a verdict stands on: immutable inputs, control files and artifacts are read at every look.
"""

import os
import stat
import time
from collections.abc import Collection, Iterable
from contextlib import closing

import msgspec

from signoff.core.completion.contract import Contract
from signoff.verifiers.control import Control, control_entry, control_of
from signoff.verifiers.files import Entry, EntryKind, Reader, Work, digest_at, status_of
from signoff.verifiers.globs import Matcher, matcher
from signoff.verifiers.walk import walk

SETTLED_NS = 2_000_000_000
"""A file is left unread only when its change time was this old at the look that read it: clocks of files are coarse."""


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at the workspace found."""

    counted: dict[str, Entry]
    """Files whose change counts as a change of the workspace."""
    inputs: dict[str, dict[str, Entry]]
    """Files under each immutable input, by its id."""
    control: dict[str, Entry]
    """Control files that are no immutable inputs, each reduced to what steers."""
    matches: dict[str, list[str]]
    """Paths that the glob of each artifact matches, by its id."""


class _Remembered(msgspec.Struct, frozen=True, gc=False):
    """What an earlier look learned about a file that was settled by then."""

    stamp: tuple[int, ...]
    entry: Entry


class Scanner:
    """Looks at one workspace, again and again, for one contract."""

    def __init__(self, root: str, contract: Contract, *, own: Collection[str]) -> None:
        self._root = root
        self._own = frozenset(own)
        self._commands = contract.commands
        self._ignored = matcher(contract.ignore, what="[contract] ignore")
        self._inputs = input_matchers(contract)
        self._globs = {
            item.id: matcher([item.path], what=f"artifact {item.id}") for item in contract.artifacts if item.glob
        }
        self._control: Control | None = None
        self._remembered: dict[str, _Remembered] = {}

    def scan(self, work: Work) -> Scan:
        """Look at every file of the workspace; raise `OSError` when the workspace itself cannot be read."""
        if self._control is None:
            self._control = control_of(self._commands, self._root)
        reader = _RememberingReader(work, self._remembered)
        found = Scan(
            counted={},
            inputs={name: {} for name in self._inputs},
            control={},
            matches={name: [] for name in self._globs},
        )
        with closing(walk(self._root, own=self._own)) as files:
            for path, place, fd in files:
                work.next_file()
                status = status_of(path, place, root=self._root)
                if status is not None:
                    self._take(path, fd, status=status, reader=reader, found=found)
        self._remembered = reader.settled
        return found

    def _take(self, path: str, fd: int, *, status: os.stat_result, reader: "_RememberingReader", found: Scan) -> None:
        inputs = [name for name, matches in self._inputs.items() if matches(path)]
        control = self._control.parts_of(path, link=stat.S_ISLNK(status.st_mode)) if self._control else ()
        counts = not self._ignored(path)
        for name, matches in self._globs.items():
            if matches(path):
                found.matches[name].append(path)
        if not (counts or inputs or control):
            return
        entry = reader.read(path, fd, status=status, again=bool(inputs or control))
        if entry is None:
            return
        if counts:
            found.counted[path] = entry
        if inputs and entry.kind is EntryKind.LINK:
            entry = self._through(path, entry)
        for name in inputs:
            found.inputs[name][path] = entry
        if control and not inputs:
            steers = control_entry(control, entry, path=path, root=self._root)
            if steers is not None:
                found.control[path] = steers

    def _through(self, path: str, link: Entry) -> Entry:
        """A link by its text and by the bytes of the file that it leads to; to no folder, by `require_matches`."""
        return Entry(EntryKind.LINK, link.sha256 + (digest_at(os.path.realpath(f"{self._root}/{path}")) or b""))


class _RememberingReader:
    """Reads files for one look, but for those that are known to be as they were at an earlier one."""

    def __init__(self, work: Work, remembered: dict[str, _Remembered]) -> None:
        self.settled: dict[str, _Remembered] = {}
        self._reader = Reader(work)
        self._remembered = remembered
        # The kernel's own clock, since it is compared with the change times that the kernel sets.
        self._settled_before = time.time_ns() - SETTLED_NS

    def read(self, path: str, fd: int, *, status: os.stat_result, again: bool) -> Entry | None:
        known = self._remembered.get(path)
        if known is not None and not again and known.stamp == _stamp(status):
            self.settled[path] = known
            return known.entry
        item = self._reader.entry(path.rpartition("/")[2], fd, status=status, whole=again)
        if item is None:
            return None
        entry, status = item
        if known is not None and known.entry == entry:
            entry = known.entry  # one value for one content, whatever the number of looks
        if not again and status.st_ctime_ns < self._settled_before:
            self.settled[path] = _Remembered(_stamp(status), entry)
        return entry


def input_matchers(contract: Contract) -> dict[str, Matcher]:
    """Return what tells whether a path is under each immutable input, by its id."""
    return {item.id: matcher([item.glob], what=f"immutable input {item.id}") for item in contract.immutable}


def own_paths(paths: Iterable[str], root: str) -> frozenset[str]:
    """Return the host's own paths relative to the workspace; those outside of it are dropped.

    They are given absolute or relative to the workspace, and may not exist yet.
    """
    inside = f"{root}/"
    found = set()
    for path in paths:
        absolute = os.path.join(root, path)  # noqa: PTH118 - an absolute path stays what it is
        folder, name = os.path.split(os.path.normpath(absolute))
        # The last part may be a link of that name: then both it and what it leads to are the host's.
        found |= {f"{os.path.realpath(folder)}/{name}", os.path.realpath(absolute)}
    return frozenset(path.removeprefix(inside) for path in found if path.startswith(inside))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
