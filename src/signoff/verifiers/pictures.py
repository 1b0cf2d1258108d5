"""Compares pictures of a workspace, to say what the agent changed and what the checks did. Pure: no file is looked at.

A path is the agent's change when it differs from the baseline and was last touched during the agent's turn. So what a
check writes is nobody's change, what the agent changed in its first attempt still counts in its second, and what is as
it was at the baseline is no change any more.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from signoff.core.completion.evidence import Change
from signoff.verifiers.files import Entry
from signoff.verifiers.names import name_bytes, shown

Tree: TypeAlias = Mapping[str, Entry]
"""Files by their path."""

MOST_CHANGES = 200
"""How many changes are named; all are counted."""


def differences(before: Tree, after: Tree) -> dict[str, Entry | None]:
    """Return the paths whose entries differ, each with the later entry, or None when it is gone."""
    found: dict[str, Entry | None] = {path: entry for path, entry in after.items() if before.get(path) != entry}
    found.update(dict.fromkeys(before.keys() - after.keys()))
    return found


def changes(before: Tree, found: Mapping[str, Entry | None]) -> tuple[Change, ...]:
    """Return differences from an earlier tree as changes, in the order of their paths, bounded by MOST_CHANGES."""
    return tuple(_change(before, path, found[path]) for path in in_order(found)[:MOST_CHANGES])


def in_order(paths: Iterable[str]) -> list[str]:
    """Return paths in the order of their bytes."""
    return sorted(paths, key=name_bytes)


def tree_digest(tree: Tree) -> str:
    """Return the identity of a tree: SHA-256 over path, kind and digest of every file, in the order of the paths.

    Each of the three ends in a NUL, which no path holds; the kind is a word of `EntryKind` and the digest hexadecimal.
    """
    found = hashlib.sha256()
    for name, entry in sorted((name_bytes(path), entry) for path, entry in tree.items()):
        found.update(b"%b\0%b\0%b\0" % (name, entry.kind.encode(), entry.sha256.hex().encode()))
    return f"sha256:{found.hexdigest()}"


class CheckWrites(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that changed while checks ran, in the order of their bytes."""

    all: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    """Those that were there before the checks."""


class AgentChanges:
    """What the agent has changed since the baseline, told picture by picture."""

    def __init__(self, baseline: Tree) -> None:
        self._baseline = baseline
        self._last = baseline
        self._found: dict[str, Entry | None] = {}
        self._digest = tree_digest(baseline)
        self._digest_of: dict[str, Entry | None] = {}

    def after_agent(self, tree: Tree) -> None:
        """Hear what the workspace was after a turn of the agent."""
        self._found.update(differences(self._last, tree))
        self._forget_undone(tree)
        self._last = tree

    def after_checks(self, tree: Tree) -> CheckWrites:
        """Hear what the workspace was after checks, and return what changed meanwhile."""
        written = in_order(differences(self._last, tree))
        rewritten = tuple(path for path in written if path in self._last)
        self._forget_undone(tree)
        self._last = tree
        return CheckWrites(all=tuple(written), rewritten=rewritten)

    def _forget_undone(self, tree: Tree) -> None:
        """Drop what is as it was at the baseline, whoever put it back."""
        undone = [path for path in self._found if tree.get(path) == self._baseline.get(path)]
        for path in undone:
            del self._found[path]

    @property
    def count(self) -> int:
        """How many paths the agent changed."""
        return len(self._found)

    def changes(self) -> tuple[Change, ...]:
        """The first of the agent's changes."""
        return changes(self._baseline, self._found)

    def digest(self) -> str:
        """The identity of the baseline with the agent's changes: what only checks wrote does not alter it."""
        if self._digest_of == self._found:
            return self._digest
        tree = dict(self._baseline)
        for path, entry in self._found.items():
            if entry is None:
                tree.pop(path, None)
            else:
                tree[path] = entry
        self._digest, self._digest_of = tree_digest(tree), dict(self._found)
        return self._digest


def _change(before: Tree, path: str, entry: Entry | None) -> Change:
    if entry is None:
        return Change(path=shown(path), what="deleted")
    return Change(path=shown(path), what="changed" if path in before else "new")
