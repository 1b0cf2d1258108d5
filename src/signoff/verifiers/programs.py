"""Finds the program that a check will start, as the check itself will look for it. Starts and judges nothing."""

import os
import shutil
from collections.abc import Mapping

import msgspec

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.errors import ConfigError
from signoff.process import check_environment
from signoff.verifiers.names import shown


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What a check starts."""

    word: str
    """As the check names it; `bash` for a shell string."""
    found: str | None
    """Where it is; None when it is nowhere."""
    not_searched: tuple[str, ...] = ()
    """Entries of PATH that a check does not search, each with its reason."""

    @property
    def mend(self) -> str:
        """What a person can do when it is not found."""
        dropped = f" (not searched: {'; '.join(self.not_searched)})" if self.not_searched else ""
        return f"install it, or name it by its path, such as .venv/bin/{self.word}{dropped}"


def program_of(root: str, command: ValidationCommand, *, host: Mapping[str, str]) -> Program:
    """Return the program that a check starts in the workspace `root`."""
    given = check_environment(host, workspace=root, pass_env=command.pass_env, extra=command.env)
    word = "bash" if command.shell else command.argv[0]
    # A word with a slash is a path from the check's folder; any other is looked for on the check's PATH.
    place = os.path.join(root, command.cwd, word) if "/" in word else word  # noqa: PTH118 - joined as its start joins it
    dropped = tuple(shown(each) for each in given.left_out if each.startswith("PATH entry"))
    return Program(word=word, found=shutil.which(place, path=given.env["PATH"]), not_searched=dropped)


def require_bash(root: str, contract: Contract, *, host: Mapping[str, str]) -> None:
    """Raise `ConfigError` when a check is a shell string and there is no bash to run it: no agent could mend that."""
    for command in contract.commands:
        if command.shell and program_of(root, command, host=host).found is None:
            raise ConfigError(
                f"check {command.id} is a shell string, and no bash is on the checks' PATH; nothing was started; "
                "install bash, or write the check as argv in signoff.toml"
            )


def missing_programs(root: str, contract: Contract, *, host: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each check whose program is nowhere now; an agent may still make one that is a path."""
    programs = [(command.id, program_of(root, command, host=host)) for command in contract.commands]
    return tuple(
        f"check {name} cannot start now: {shown(program.word)} is not found; {program.mend}"
        for name, program in programs
        if program.found is None
    )
