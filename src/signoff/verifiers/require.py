"""Refuses, before anything is started, a contract whose patterns are none or match nothing in the workspace.

A pattern that matches nothing guards nothing: a slip of the pen would pass for protection.
"""

import os
from collections.abc import Iterator
from contextlib import closing

from signoff.core.completion.contract import Contract, ImmutableInput
from signoff.errors import ConfigError
from signoff.verifiers.files import statuses
from signoff.verifiers.globs import Matcher, matcher
from signoff.verifiers.left_out import path_left_out
from signoff.verifiers.names import shown
from signoff.verifiers.scan import input_matchers
from signoff.verifiers.walk import walk

_ANY_NAME = "\x01"
_MOST_LINKED = 100_000
"""Files looked at, in all, behind links to folders that are under no pattern themselves."""

_LEFT_OUT = "links are not followed, and caches and folders of version control are left out"


def unmatched(root: str, contract: Contract) -> tuple[ImmutableInput, ...]:
    """Return the immutable inputs whose pattern matches nothing but links in the workspace; reads names only.

    Raises `ConfigError` for a pattern that is none, and for a workspace that cannot be read.
    """
    waiting = input_matchers(contract)
    try:
        with closing(walk(root)) as files:
            names = (path for path, entry, _ in files if entry is None or not entry.is_symlink())
            while waiting and (path := next(names, None)) is not None:
                waiting = {name: matches for name, matches in waiting.items() if not matches(path)}
    except OSError as error:
        raise ConfigError(
            f"the workspace {shown(root)} cannot be read ({error.strerror}); nothing was started; "
            "make it readable for this account"
        ) from error
    return tuple(item for item in contract.immutable if item.id in waiting)


def require_matches(root: str, contract: Contract) -> None:
    """Raise `ConfigError` when a pattern of the contract is none, or an immutable input matches nothing unbidden."""
    matcher(contract.ignore, what="[contract] ignore")
    matcher(contract.allow_change, what="[contract] allow_change")
    for artifact in contract.artifacts:
        if artifact.glob:
            matcher([artifact.path], what=f"artifact {artifact.id}")
    missing = [item for item in unmatched(root, contract) if not item.allow_no_match]
    if missing:
        named = ", ".join(f"{item.id} ({item.glob!r})" for item in missing)
        raise ConfigError(
            f"no file of {shown(root)} is under the immutable input {named}; nothing was started; correct the pattern, "
            f"or set allow_no_match = true ({_LEFT_OUT})"
        )
    _require_guarded_links(root, contract)


def _require_guarded_links(root: str, contract: Contract) -> None:
    """Raise `ConfigError` for a link under an immutable input that leads to files which nothing would watch."""
    inputs = input_matchers(contract)
    if not inputs:
        return
    budget = iter(range(_MOST_LINKED))
    with closing(walk(root)) as files:
        for path in (path for path, entry, _ in files if entry is not None and entry.is_symlink()):
            link = _Link(root, path, guards=tuple(inputs.values()))
            astray = [name for name, matches in inputs.items() if link.is_astray(matches, budget)]
            if astray:
                raise ConfigError(
                    f"the link {shown(path)} is under the immutable input {astray[0]} and leads to files that are not "
                    "watched through it; nothing was started; put the files in its place, or make the folder it leads "
                    "to, if that is in the workspace, an immutable input too"
                )


class _Link:
    """A link of the workspace, and what it leads to."""

    def __init__(self, root: str, path: str, *, guards: tuple[Matcher, ...]) -> None:
        self._path = path
        self._real = os.path.realpath(f"{root}/{path}")
        inside = self._real.removeprefix(f"{root}/") if self._real.startswith(f"{root}/") else ""
        self._inside = "" if path_left_out(inside) else inside
        self._guards = guards

    def is_astray(self, matches: Matcher, budget: Iterator[int]) -> bool:
        """Whether there is something behind it that a pattern means, and that nothing watches where it is."""
        if os.path.isfile(self._real) or not os.path.lexists(self._real):  # noqa: PTH113 - a file is watched by bytes
            return False
        if matches(self._path):
            return not (os.path.isdir(self._real) and self._is_guarded(_ANY_NAME))  # noqa: PTH112 - a resolved text
        with closing(statuses(self._real)) as files:
            names = (name for (name, _), _ in zip(files, budget, strict=False) if matches(f"{self._path}/{name}"))
            return any(not self._is_guarded(name) for name in names)

    def _is_guarded(self, name: str) -> bool:
        return bool(self._inside) and any(matches(f"{self._inside}/{name}") for matches in self._guards)
