"""Gathers what the three sources say, each read once and judged on its own, before one is weighed against another."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from signoff.config import environment as variables
from signoff.config.command_line import CommandLine
from signoff.config.declared import Reader
from signoff.config.paths import shown, workspace_root
from signoff.config.requirements import Declared
from signoff.config.settings import AgentTable, ContractTable
from signoff.config.toml_file import ContractFile, read_contract_file
from signoff.core.completion.contract import Mode
from signoff.core.jcs import quoted
from signoff.errors import ConfigError

FILE_NAME = "signoff.toml"


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """All that the sources say, side by side."""

    root: str
    line: CommandLine
    environment: Mapping[str, str]
    file: ContractFile | None
    contract: ContractTable
    """The file's table, or an empty one."""
    agent: AgentTable
    """The file's table, or an empty one."""
    asked: Mode | None
    """The mode that the environment or the file names."""
    of_file: Declared
    of_environment: Declared
    """Empty when the environment's fields do not count: they do when a mode other than off is named (CC-001)."""
    of_line: Declared

    @property
    def sources(self) -> tuple[Declared, Declared, Declared]:
        """The declarations, the one that gives way first."""
        return self.of_file, self.of_environment, self.of_line

    def where(self, table: str, key: str) -> str:
        """Return file, line and key of a value that the file gives."""
        return self.file.where((table, key)) if self.file is not None else f"{table}.{key}"


def gather(line: CommandLine, *, environment: Mapping[str, str], cwd: str) -> Given:
    """Read every source for the workspace that the command line names, or the folder that the user stands in."""
    root = workspace_root(line.cwd, cwd=cwd)
    variables.require_agreement(environment)
    file = _contract_file(line.config, root=root, cwd=cwd)
    contract = file.settings.contract if file is not None else UNSET
    agent = file.settings.agent if file is not None else UNSET
    contract = ContractTable() if isinstance(contract, UnsetType) else contract
    asked = variables.completion_mode(environment) or (None if isinstance(contract.mode, UnsetType) else contract.mode)
    reader = Reader(root=root, home=environment.get("HOME", ""))
    return Given(
        root=root,
        line=line,
        environment=environment,
        file=file,
        contract=contract,
        agent=AgentTable() if isinstance(agent, UnsetType) else agent,
        asked=asked,
        of_file=reader.file(file),
        of_environment=Declared() if asked in {None, Mode.OFF} else reader.environment(environment),
        of_line=reader.command_line(line),
    )


def _contract_file(given: str | None, *, root: str, cwd: str) -> ContractFile | None:
    if given is None:
        return read_contract_file(str(Path(root, FILE_NAME)))
    if not given.strip():
        raise ConfigError("--config is blank; nothing was started; name a contract file")
    place = str(Path(cwd, given))
    file = read_contract_file(place)
    if file is None:
        near = " (`signoff init` writes one)" if Path(given).name == FILE_NAME else ""
        message = f"--config {shown(given) if len(given) < len(place) else quoted(given)} does not exist"
        raise ConfigError(f"{message}; nothing was started; name an existing contract file{near}")
    return file
