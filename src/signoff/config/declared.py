"""Turns what each source says into requirements: the contract file, the environment, the command line.

Every fault names its place in the source. Nothing is looked up in the workspace, and no text that is not a field of
its own counts: a goal, a comment or a tool's output declares nothing.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from msgspec import UNSET, UnsetType

from signoff.config import environment as variables
from signoff.config.command_line import CommandLine
from signoff.config.paths import require_unicode, workspace_glob, workspace_path
from signoff.config.requirements import Declared, Origin, Wanted
from signoff.config.settings import ArtifactTable, CommandTable, ContractTable, ImmutableTable
from signoff.config.toml_file import ContractFile
from signoff.core.completion.contract import Artifact, ImmutableInput, ReportFormat, ValidationCommand
from signoff.core.jcs import quoted
from signoff.errors import ConfigError, PolicyError

_DIGEST = re.compile(r"(.*)=(sha256:.*)", re.DOTALL | re.IGNORECASE)
T = TypeVar("T")


class Reader:
    """Reads requirements for one workspace; `home` is what `~` stands for."""

    def __init__(self, *, root: str, home: str) -> None:
        self._root = root
        self._home = home

    def file(self, file: ContractFile | None) -> Declared:
        """Return what a contract file declares."""
        contract = file.settings.contract if file is not None else UNSET
        if file is None or isinstance(contract, UnsetType):
            return Declared()
        return Declared(
            artifacts=tuple(self._artifact(each, file, number) for number, each in _numbered(contract.artifact)),
            commands=tuple(self._command(each, file, number) for number, each in _numbered(contract.command)),
            immutable=tuple(self._immutable(each, file, number) for number, each in _numbered(contract.immutable)),
            given=_is_given(contract),
        )

    def environment(self, environment: Mapping[str, str]) -> Declared:
        """Return what the variables declare."""
        paths = variables.required_artifacts(environment)
        commands = variables.validation_commands(environment, root=self._root, home=self._home)
        places = {
            name: variables.variable_of(environment, name) or "" for name in (variables.ARTIFACTS, variables.COMMANDS)
        }
        return Declared(
            artifacts=tuple(
                self._plain_artifact(path, origin=Origin.ENVIRONMENT, where=places[variables.ARTIFACTS])
                for path in paths or ()
            ),
            commands=tuple(
                Wanted(
                    item=each,
                    origin=Origin.ENVIRONMENT,
                    where=f"{places[variables.COMMANDS]}: {each.id}",
                    prefix="command",
                    named=True,
                )
                for each in commands or ()
            ),
            given=paths is not None or commands is not None,
        )

    def command_line(self, line: CommandLine) -> Declared:
        """Return what the options declare."""
        report = _report(line)
        artifacts, immutable = line.artifacts, line.immutable
        return Declared(
            artifacts=tuple(
                self._plain_artifact(text, origin=Origin.COMMAND_LINE, where=_option("--artifact", text))
                for text in artifacts
            ),
            commands=tuple(_verify(text, number, report) for number, text in enumerate(line.verify, start=1)),
            immutable=tuple(self._glob(text, number) for number, text in enumerate(immutable, start=1)),
            given=bool(artifacts or line.verify or immutable),
        )

    def _artifact(self, table: ArtifactTable, file: ContractFile, number: int) -> Wanted[Artifact]:
        where = file.where(("contract", "artifact", number))
        with _at(where):
            path = table.path
            item = Artifact(
                id=_id(table.id, "artifact", number),
                path=workspace_glob(path, root=self._root) if table.glob else self._path(path),
                required=table.required,
                sha256=None if isinstance(table.sha256, UnsetType) else table.sha256,
                min_bytes=table.min_bytes,
                allow_empty=table.allow_empty,
                allow_outside=table.allow_outside,
                directory=table.directory,
                glob=table.glob,
                min_count=table.min_count,
                fresh=table.fresh,
            )
        return Wanted(item=item, origin=Origin.FILE, where=where, prefix="artifact", named=table.id is not UNSET)

    def _command(self, table: CommandTable, file: ContractFile, number: int) -> Wanted[ValidationCommand]:
        where = file.where(("contract", "command", number))
        with _at(where):
            item = ValidationCommand(
                id=_id(table.id, "command", number),
                argv=() if isinstance(table.argv, UnsetType) else table.argv,
                shell="" if isinstance(table.shell, UnsetType) else table.shell,
                cwd=self._path(table.cwd),
                allow_outside=table.allow_outside,
                timeout_seconds=table.timeout_seconds,
                env=table.env,
                pass_env=table.pass_env,
                report=None if isinstance(table.report, UnsetType) else table.report,
                min_tests=table.min_tests,
                before=table.before,
            )
        return Wanted(item=item, origin=Origin.FILE, where=where, prefix="command", named=table.id is not UNSET)

    def _immutable(self, table: ImmutableTable, file: ContractFile, number: int) -> Wanted[ImmutableInput]:
        where = file.where(("contract", "immutable", number))
        with _at(where):
            item = ImmutableInput(
                id=_id(table.id, "immutable", number),
                glob=workspace_glob(table.glob, root=self._root),
                allow_no_match=table.allow_no_match,
            )
        return Wanted(item=item, origin=Origin.FILE, where=where, prefix="immutable", named=table.id is not UNSET)

    def _plain_artifact(self, text: str, *, origin: Origin, where: str) -> Wanted[Artifact]:
        require_unicode(text, what=where)
        found = _DIGEST.fullmatch(text) if origin is Origin.COMMAND_LINE else None
        path, digest = (found[1], found[2]) if found else (text, None)
        with _at(where):
            item = Artifact(id="artifact", path=self._path(path), sha256=digest)
        return Wanted(item=item, origin=origin, where=where, prefix="artifact")

    def _glob(self, text: str, number: int) -> Wanted[ImmutableInput]:
        where = _option("--immutable", text)
        require_unicode(text, what=where)
        with _at(where):
            item = ImmutableInput(id=f"immutable-{number}", glob=workspace_glob(text, root=self._root))
        return Wanted(item=item, origin=Origin.COMMAND_LINE, where=where, prefix="immutable")

    def _path(self, text: str) -> str:
        return workspace_path(text, root=self._root, home=self._home)


def _verify(text: str, number: int, report: ReportFormat | None) -> Wanted[ValidationCommand]:
    where = _option("--verify", text)
    require_unicode(text, what=where)
    with _at(where):
        item = ValidationCommand(id=f"verify-{number}", shell=text, report=report)
    return Wanted(item=item, origin=Origin.COMMAND_LINE, where=where, prefix="verify")


def _report(line: CommandLine) -> ReportFormat | None:
    if line.report is None:
        return None
    try:
        report = ReportFormat(line.report)
    except ValueError:
        message = f"{_option('--report', line.report)} is no known format; nothing was started; write --report junit"
        raise ConfigError(message) from None
    if not line.verify:
        message = (
            "--report asks the --verify commands for a report, and there is none; nothing was started; add --verify"
        )
        raise ConfigError(message)
    return report


def _is_given(contract: ContractTable) -> bool:
    return any(each is not UNSET for each in (contract.artifact, contract.command, contract.immutable))


def _numbered(tables: tuple[T, ...] | UnsetType) -> Iterator[tuple[int, T]]:
    return enumerate(() if isinstance(tables, UnsetType) else tables)


def _id(given: str | UnsetType, prefix: str, number: int) -> str:
    return f"{prefix}-{number + 1}" if isinstance(given, UnsetType) else given


def _option(name: str, text: str) -> str:
    return f"{name} {text}" if text.isprintable() and text.strip() and len(text) <= 60 else f"{name} {quoted(text)}"  # noqa: PLR2004


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Give a fault of the contract its place."""
    try:
        yield
    except PolicyError as error:
        raise ConfigError(f"{where}: {error}; nothing was started") from None
