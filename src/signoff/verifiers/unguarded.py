"""Finds the programs of the checks that lie in the workspace with nothing to guard them, so that the user is told.

Only a note comes of it: a check may start the very program that the agent is to write.
"""

from signoff.core.completion.contract import Contract
from signoff.verifiers.globs import matcher
from signoff.verifiers.names import shown
from signoff.verifiers.starts import follow

_MOST = 3


def unguarded_programs(root: str, contract: Contract) -> tuple[str, ...]:
    """Return a sentence for each check that starts a file which the agent can edit without being noticed."""
    guarded = matcher([source.glob for source in contract.immutable], what="immutable inputs")
    notes = []
    for command in contract.commands:
        found = [path for path in follow([command], root).files if not guarded(path)]
        if found:
            named = ", ".join(shown(path) for path in found[:_MOST])
            options = " ".join(f"--immutable {shown(path)}" for path in found[:_MOST])
            notes.append(f"check {command.id} starts {named}, which the agent can edit; if it is not to, add {options}")
    return tuple(notes)
