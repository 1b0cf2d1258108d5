"""What "done" means for a run, in structured fields only. Sealed before the agent starts; never read again from disk.

No text in natural language can add to a contract, and nothing here opens a file: paths are judged as text.
"""

import posixpath
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Literal

import msgspec

from signoff.core.canonical import digest
from signoff.core.values import require_count, require_digest, require_id
from signoff.errors import PolicyError

DEFAULT_CHECK_SECONDS = 300
RUN = "run"
"""The subject of a failure that concerns the run as a whole; no requirement's id."""
FINAL_RESPONSE = "agent_final_response"
REPORT_VARIABLE = "SIGNOFF_REPORT_FILE"


class Mode(StrEnum):
    """What a contract does with its findings: nothing, report them, or decide by them."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


class Fresh(StrEnum):
    """What must have happened to an artifact since the agent started."""

    WRITTEN = "written"
    """Written, whatever the bytes, so that a deterministic rebuild passes."""
    CHANGED = "changed"
    """The bytes differ from the baseline."""
    ANY = "any"
    """Nothing is asked."""


class ReportFormat(StrEnum):
    """The test reports that can be counted."""

    JUNIT = "junit"


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file (or declared directory) that must be there at the end."""

    id: str
    path: str
    """Relative to the workspace, with `/`; a pattern of the gitignore dialect when `glob` is true."""
    required: bool = True
    sha256: str | None = None
    min_bytes: int = 0
    allow_empty: bool = False
    allow_outside: bool = False
    """The host's permission, by name, for a path that leads out of the workspace."""
    directory: bool = False
    glob: bool = False
    min_count: int = 1
    """Least number of files that a glob must match; every match is judged."""
    fresh: Fresh = Fresh.WRITTEN

    def __post_init__(self) -> None:
        require_id(self.id, what="artifact id")
        _require_text(self.path, what=f"path of artifact {self.id}")
        require_count(self.min_bytes, what=f"min_bytes of artifact {self.id}")
        require_count(self.min_count, what=f"min_count of artifact {self.id}", least=1)
        if self.sha256 is not None:
            require_digest(self.sha256, what=f"sha256 of artifact {self.id}")
        if self.glob and (self.directory or self.sha256 is not None or self.allow_outside):
            message = f"artifact {self.id} is a glob; directory, sha256 and allow_outside go with a single path"
            raise PolicyError(message)
        if self.min_count > 1 and not self.glob:
            message = f"artifact {self.id} has min_count {self.min_count} without glob; set glob = true or drop it"
            raise PolicyError(message)
        if not self.allow_outside and leads_outside(self.path):
            message = (
                f"path {self.path!r} leads out of the workspace; allow_outside, in signoff.toml or Python, permits it"
            )
            raise PolicyError(message)


class ValidationCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that the host runs at the boundary; its exit status, not its words, is the evidence."""

    id: str
    argv: tuple[str, ...] = ()
    """Program and arguments, started without a shell; `{report}` is replaced by the report's path."""
    shell: str = ""
    """A string for `bash -o pipefail -c`, instead of `argv`."""
    cwd: str = "."
    allow_outside: bool = False
    """The host's permission for a `cwd` that leads out of the workspace."""
    timeout_seconds: int = DEFAULT_CHECK_SECONDS
    env: Mapping[str, str] = {}
    pass_env: tuple[str, ...] = ()
    """Names that are passed from the host's environment beside the allow-list."""
    report: ReportFormat | None = None
    min_tests: int = 1
    """Least number of tests that a report must hold as passed."""
    before: Literal["any", "failed"] = "any"
    """What the check must say before the agent starts."""

    def __post_init__(self) -> None:
        require_id(self.id, what="check id")
        what = f"check {self.id}"
        if bool(self.argv) == bool(self.shell.strip()):
            message = f"{what} needs exactly one of argv (a list of words) and shell (a string)"
            raise PolicyError(message)
        for word in (*self.argv, self.shell, self.cwd, *self.env.keys(), *self.env.values()):
            if "\0" in word:
                message = f"{what} holds a NUL character, which no command line can carry"
                raise PolicyError(message)
        if self.argv and not self.argv[0].strip():
            message = f"{what} has an empty program name in argv"
            raise PolicyError(message)
        require_count(self.timeout_seconds, what=f"timeout_seconds of {what}", least=1)
        require_count(self.min_tests, what=f"min_tests of {what}", least=1)
        _require_text(self.cwd, what=f"cwd of {what}")
        if not self.allow_outside and leads_outside(self.cwd):
            message = f"{what}: cwd {self.cwd!r} leads out of the workspace; allow_outside permits it"
            raise PolicyError(message)

    @property
    def words(self) -> str:
        """The command as a person would type it, for messages."""
        return self.shell or " ".join(self.argv)


class ImmutableInput(msgspec.Struct, frozen=True, kw_only=True):
    """Files that the agent may not change, add to or delete from: a pattern of the gitignore dialect."""

    id: str
    glob: str
    allow_no_match: bool = False
    """A pattern that matches nothing at the start is an error unless this is true."""

    def __post_init__(self) -> None:
        require_id(self.id, what="immutable input id")
        _require_text(self.glob, what=f"glob of immutable input {self.id}")


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that must hold before a run may be called completed."""

    mode: Mode = Mode.ENFORCE
    artifacts: tuple[Artifact, ...] = ()
    commands: tuple[ValidationCommand, ...] = ()
    immutable: tuple[ImmutableInput, ...] = ()
    max_repairs: int | None = None
    """Repairs of the whole run; None leaves the number unbounded (the time still bounds it)."""
    max_age_seconds: int | None = None
    """Age in seconds above which evidence is stale; None switches the test off."""
    required_final: tuple[str, ...] = (FINAL_RESPONSE,)
    ignore: tuple[str, ...] = ()
    """Patterns of files whose change does not count as a change of the workspace."""
    allow_change: tuple[str, ...] = ()
    """Control files, by pattern, that the agent may change."""
    parallel: bool = False

    def __post_init__(self) -> None:
        require_count(self.max_repairs, what="max_repairs")
        require_count(self.max_age_seconds, what="max_age_seconds")
        ids = [item.id for item in self.artifacts]
        ids += [item.id for item in self.commands]
        ids += [item.id for item in self.immutable]
        _require_unique(ids)

    @property
    def decides(self) -> bool:
        """Whether there is anything to decide by: a command or a required artifact, in a mode that looks."""
        return self.mode is not Mode.OFF and bool(self.commands or any(item.required for item in self.artifacts))

    def digest(self) -> str:
        """The contract's identity: SHA-256 of its canonical form; values of `env` count, in digest form only."""
        return digest(msgspec.to_builtins(self))


def leads_outside(path: str) -> bool:
    """Whether a path, judged as text, is absolute, starts at a home, or climbs out of the workspace."""
    normal = posixpath.normpath(path)
    return path.startswith(("/", "~")) or normal == ".." or normal.startswith("../")


def _require_text(text: str, *, what: str) -> None:
    if not text.strip() or "\0" in text:
        message = f"{what} is {text!r}; give a text that is not blank and has no NUL"
        raise PolicyError(message)


def _require_unique(ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for each in ids:
        if each == RUN:
            message = f"the id {RUN!r} stands for the run as a whole; give the requirement another"
            raise PolicyError(message)
        if each in seen:
            message = f"two requirements share the id {each!r}; give each its own"
            raise PolicyError(message)
        seen.add(each)
