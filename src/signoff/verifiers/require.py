"""Refuses, before anything is started, a contract that nobody could meet here: its patterns, its shell.

A pattern that matches nothing guards nothing: a slip of the pen would pass for protection.
"""

import shutil
from collections.abc import Mapping
from contextlib import closing

from signoff.core.completion.contract import Contract, ImmutableInput
from signoff.errors import ConfigError
from signoff.process import check_environment
from signoff.verifiers.globs import matcher
from signoff.verifiers.names import shown
from signoff.verifiers.scan import input_matchers
from signoff.verifiers.walk import walk

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


def require_bash(root: str, contract: Contract, *, host: Mapping[str, str]) -> None:
    """Raise `ConfigError` when a check is a shell string and there is no bash to run it: no agent could mend that."""
    for command in contract.commands:
        if command.shell:
            given = check_environment(host, workspace=root, pass_env=command.pass_env, extra=command.env)
            if shutil.which("bash", path=given.env["PATH"]) is None:
                raise ConfigError(
                    f"check {command.id} is a shell string, and no bash is on the checks' PATH; nothing was started; "
                    "install bash, or write the check as argv in signoff.toml"
                )
