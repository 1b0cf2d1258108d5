"""What the host saw: facts with a time, never judgements. `assess` is the only place that judges them.

Everything here was gathered by the host; no word of an agent, a model or a command's output is a fact of success.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from signoff.core.canonical import digest
from signoff.core.values import epoch_microseconds, require_digest
from signoff.errors import PolicyError

NOT_STARTED_EXIT = 127
TIMEOUT_EXIT = 124
BROKEN_PIPE_EXIT = 141


class FileKind(StrEnum):
    """What stands at a path."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"
    OUTSIDE = "outside"
    """The path leads, by a link, out of the workspace; nothing was read."""
    OTHER = "other"
    """A FIFO, socket, device or unreadable thing; it was not opened."""


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One path of an artifact as the host found it."""

    path: str
    kind: FileKind
    sha256: str | None = None
    size: int = 0
    blank: bool = False
    """Empty, or nothing but white space."""
    placeholder: bool = False
    """The whole file is a word such as TODO."""
    unstable: bool = False
    """It changed while it was read."""
    written: bool | None = None
    """Written since the baseline, whatever the bytes; None when there is no baseline."""
    changed: bool | None = None
    """The bytes differ from the baseline; None when there is no baseline."""

    def __post_init__(self) -> None:
        if self.sha256 is not None:
            require_digest(self.sha256, what=f"digest of {self.path}")


class ArtifactEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What stands where an artifact is expected: one file, or each match of a glob."""

    requirement_id: str
    files: tuple[FileFacts, ...]
    observed_at: str
    overflow: bool = False
    """The glob matched more files than are looked at; nothing is claimed about the rest."""

    def __post_init__(self) -> None:
        epoch_microseconds(self.observed_at)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A path that differs from the picture before."""

    path: str
    what: Literal["new", "changed", "deleted"]


class ImmutableInputEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The files under an immutable glob, before and now."""

    input_id: str
    expected: str
    observed: str
    changes: tuple[Change, ...] = ()
    """The first of them, bounded; the digests cover all."""
    observed_at: str

    def __post_init__(self) -> None:
        require_digest(self.expected, what=f"expected digest of {self.input_id}")
        require_digest(self.observed, what=f"observed digest of {self.input_id}")
        epoch_microseconds(self.observed_at)


class OutputFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a command: a digest of every byte, and the ends of it as text."""

    sha256: str
    size: int
    head: str = ""
    tail: str = ""
    truncated: bool = False

    def __post_init__(self) -> None:
        require_digest(self.sha256, what="digest of an output")


class TestReport(msgspec.Struct, frozen=True, kw_only=True):
    """A test report that the host read: names of tests by outcome."""

    __test__ = False
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class CheckEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """How one validation command ended."""

    command_id: str
    exit_code: int
    """The command's own; 124 when the time ended it, 127 when it could not be started, 128 + n for a signal."""
    output: OutputFacts | None = None
    """None when it could not be started."""
    error: str = ""
    """Why it could not be started, or what the host could not do."""
    timed_out: bool = False
    cut_by_deadline: bool = False
    """The run's deadline, not the command's own timeout, ended it."""
    held_by: tuple[str, ...] = ()
    """Processes that still held the output when the command itself had ended."""
    report: TestReport | None = None
    report_fault: str = ""
    """Why a demanded report could not be used."""
    left_out: tuple[str, ...] = ()
    """What of the host's environment the command was not given, for the message when it fails."""
    duration_seconds: float = 0.0
    observed_at: str

    def __post_init__(self) -> None:
        if isinstance(self.exit_code, bool):
            message = f"exit code of {self.command_id} is a bool; give the number"
            raise PolicyError(message)
        epoch_microseconds(self.observed_at)

    @property
    def started(self) -> bool:
        """Whether there was a process at all."""
        return self.output is not None


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """The workspace at one moment, compared with the baseline."""

    digest: str
    """Over every file that counts: same digest, same workspace."""
    changes: tuple[Change, ...] = ()
    """The first of the changes since the baseline that count as the agent's, bounded."""
    change_count: int = 0
    artifacts: tuple[ArtifactEvidence, ...] = ()
    inputs: tuple[ImmutableInputEvidence, ...] = ()
    control: tuple[Change, ...] = ()
    """Control files that differ from the baseline and were not allowed to."""
    control_digest: str
    contract_changed: bool = False
    """The contract's file on disk is not the one that was sealed."""
    shared_with: tuple[str, ...] = ()
    """Other runs that were live in this workspace since the baseline: changes count for none of them."""
    observed_at: str

    def __post_init__(self) -> None:
        require_digest(self.digest, what="picture digest")
        require_digest(self.control_digest, what="control digest")
        epoch_microseconds(self.observed_at)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that a judgement may rest on. Where several records carry one id, the last one counts."""

    first: Picture
    """The workspace before the checks were taken."""
    picture: Picture
    """The workspace after the checks were taken, with its artifacts and inputs."""
    checks: tuple[CheckEvidence, ...] = ()
    before: tuple[CheckEvidence, ...] = ()
    """The checks as taken before the agent started."""
    final: tuple[str, ...] = ()
    """Codes of what the agent did at the end, such as `agent_final_response`."""
    idle: bool = False
    """The agent changed nothing in the workspace, although it had to."""
    counted_exit: int | None = None
    """The agent's exit code where a non-zero one is asked to count."""


def basis(contract_digest: str, picture: Picture) -> str:
    """Return what a judgement stands on: the digest of contract, artifacts, immutable inputs and control files."""
    return basis_of(
        contract_digest, artifacts=artifact_rows(picture), inputs=input_rows(picture), control=picture.control_digest
    )


def artifact_rows(picture: Picture) -> list[list[str | None]]:
    """Return id, path and digest of every file of every artifact, in the contract's order."""
    return [[item.requirement_id, file.path, file.sha256] for item in picture.artifacts for file in item.files]


def input_rows(picture: Picture) -> list[list[str | None]]:
    """Return id and digest of every immutable input, in the contract's order."""
    return [[item.input_id, item.observed] for item in picture.inputs]


def basis_of(
    contract_digest: str, *, artifacts: list[list[str | None]], inputs: list[list[str | None]], control: str
) -> str:
    """Return the digest of the parts of a basis, so that a receipt's reader can compute it again."""
    return digest({"contract": contract_digest, "artifacts": artifacts, "inputs": inputs, "control": control})
