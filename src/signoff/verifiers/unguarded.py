"""Finds the programs of the checks that lie in the workspace with nothing to guard them, so that the user is told.

Only a note comes of it: a check may start the very program that the agent is to write.
"""

import os
import re
import stat
from collections.abc import Iterator

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.verifiers.globs import matcher
from signoff.verifiers.names import shown

_WORD = re.compile(r"[^\s'\"();|&<>]+")
_SOURCES = (".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")
_MOST = 3


def unguarded_programs(root: str, contract: Contract) -> tuple[str, ...]:
    """Return a sentence for each check that starts a file which the agent can edit without being noticed."""
    guarded = matcher([source.glob for source in contract.immutable], what="immutable inputs")
    notes = []
    for command in contract.commands:
        found = sorted({path for path in _programs(root, command) if not guarded(path)})
        if found:
            named = ", ".join(shown(path) for path in found[:_MOST])
            options = " ".join(f"--immutable {shown(path)}" for path in found[:_MOST])
            notes.append(f"check {command.id} starts {named}, which the agent can edit; if it is not to, add {options}")
    return tuple(notes)


def _programs(root: str, command: ValidationCommand) -> Iterator[str]:
    for word in command.argv or _WORD.findall(command.shell):
        real = os.path.realpath(os.path.join(root, command.cwd, word))  # noqa: PTH118 - an absolute word stays what it is
        try:
            status = os.lstat(real) if real.startswith(f"{root}/") else None
        except (OSError, ValueError):
            continue
        if status is None or not stat.S_ISREG(status.st_mode):
            continue
        if real.endswith(_SOURCES) or ("/" in word and status.st_mode & stat.S_IXUSR):
            yield real.removeprefix(f"{root}/")
