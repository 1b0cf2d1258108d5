"""The shape of signoff.toml: one Struct a table, and the JSON Schema that editors complete it by.

Only what this version does may stand here, since a key that is accepted and does nothing is a promise. Values are
judged where the contract is built, not here.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from signoff.config.quantities import DURATION_PATTERN, MOST_COUNT, MOST_SECONDS
from signoff.core.budget import DEFAULT_TIMEOUT_SECONDS
from signoff.core.completion.contract import DEFAULT_CHECK_SECONDS, Fresh, Mode, ReportFormat

Count: TypeAlias = Annotated[int, Meta(ge=0, le=MOST_COUNT)]
Least: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_COUNT)]
Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_SECONDS)]
Duration: TypeAlias = Seconds | Annotated[str, Meta(extra_json_schema={"pattern": DURATION_PATTERN})]
Id: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"})]
Digest: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": "^sha256:[0-9a-f]{64}$"})]
Words: TypeAlias = Annotated[tuple[str, ...], Meta(min_length=1)]


class ArtifactTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file, or a declared directory, that must be there at the end."""

    path: Annotated[str, Meta(description="Relative to the workspace; a gitignore pattern when glob = true.")]
    id: Annotated[Id, Meta(description="Its name in results; artifact-1, artifact-2 … otherwise.")] | UnsetType = UNSET
    sha256: Annotated[Digest, Meta(description="The digest its bytes must have.")] | UnsetType = UNSET
    min_bytes: Annotated[Count, Meta(description="Its least size in bytes.")] = 0
    allow_empty: Annotated[bool, Meta(description="Whether it may be empty or hold blanks only.")] = False
    allow_outside: Annotated[bool, Meta(description="Whether the path may lead out of the workspace.")] = False
    directory: Annotated[bool, Meta(description="Whether it is a directory.")] = False
    glob: Annotated[bool, Meta(description="Whether path is a pattern; every match is judged.")] = False
    min_count: Annotated[Least, Meta(description="How many files a pattern must match at least.")] = 1
    fresh: Annotated[
        Fresh, Meta(description="Since the agent started: written, changed in its bytes, or any (nothing is asked).")
    ] = Fresh.WRITTEN
    required: Annotated[bool, Meta(description="Whether completion depends on it.")] = True


class CommandTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that the host runs when the agent claims to be done; its exit status decides."""

    id: Annotated[Id, Meta(description="Its name in results; command-1, command-2 … otherwise.")] | UnsetType = UNSET
    argv: (
        Annotated[Words, Meta(description="Program and arguments, no shell; {report} becomes the report's path.")]
        | UnsetType
    ) = UNSET
    shell: (
        Annotated[str, Meta(description="A string for bash -o pipefail -c, instead of argv; see $SIGNOFF_REPORT_FILE.")]
        | UnsetType
    ) = UNSET
    cwd: Annotated[str, Meta(description="The folder it runs in, relative to the workspace.")] = "."
    allow_outside: Annotated[bool, Meta(description="Whether cwd may lead out of the workspace.")] = False
    timeout_seconds: Annotated[Seconds, Meta(description="It has failed when it takes longer.")] = DEFAULT_CHECK_SECONDS
    env: Annotated[dict[str, str], Meta(description="Variables set for it.")] = {}
    pass_env: Annotated[
        tuple[str, ...], Meta(description="Names of variables passed from your environment beside the usual few.")
    ] = ()
    report: (
        Annotated[ReportFormat, Meta(description="It writes a test report in this format, and tests are counted.")]
        | UnsetType
    ) = UNSET
    min_tests: Annotated[Least, Meta(description="How many tests the report must show as passed at least.")] = 1
    before: Annotated[
        Literal["any", "failed"], Meta(description="What it must say before the agent starts; failed: it must fail.")
    ] = "any"


class ImmutableTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files that the agent may not change, add to or delete from."""

    glob: Annotated[str, Meta(description="A pattern of the gitignore dialect; a folder means all below it.")]
    id: Annotated[Id, Meta(description="Its name in results; immutable-1 … otherwise.")] | UnsetType = UNSET
    allow_no_match: Annotated[bool, Meta(description="Whether it may match nothing at the start.")] = False


class ContractTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must hold before a run counts as completed."""

    mode: (
        Annotated[Mode, Meta(description="enforce (the default once something is declared), observe or off.")]
        | UnsetType
    ) = UNSET
    max_repairs: (
        Annotated[Count, Meta(description="How often the agent is sent back in the whole run.")] | UnsetType
    ) = UNSET
    no_progress: (
        Annotated[Least, Meta(description="End after so many repairs with the same failures and the same workspace.")]
        | UnsetType
    ) = UNSET
    max_age_seconds: Annotated[Count, Meta(description="Evidence older than this is stale.")] | UnsetType = UNSET
    allow_no_change: Annotated[bool, Meta(description="Whether a run that changed nothing may count as completed.")] = (
        False
    )
    ignore: Annotated[
        tuple[str, ...], Meta(description="Patterns of files whose change does not count as a change.")
    ] = ()
    allow_change: Annotated[
        tuple[str, ...], Meta(description="Patterns of files that steer the checks and may be changed all the same.")
    ] = ()
    parallel: Annotated[bool, Meta(description="Whether checks run at the same time.")] = False
    artifact: tuple[ArtifactTable, ...] | UnsetType = UNSET
    command: tuple[CommandTable, ...] | UnsetType = UNSET
    immutable: tuple[ImmutableTable, ...] | UnsetType = UNSET


class AgentTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The agent that `signoff run` starts when the command line names none."""

    command: (
        Annotated[
            Words, Meta(description="Program and arguments; {goal}, {feedback} and {prompt} are replaced in arguments.")
        ]
        | UnsetType
    ) = UNSET
    goal: Annotated[str, Meta(description="What the agent is asked to do.")] | UnsetType = UNSET
    stdin: Annotated[bool, Meta(description="Whether the agent gets your standard input.")] = False
    timeout: Annotated[
        Duration, Meta(description="Time for the whole run, checks included: seconds, or a text such as 10m or 2h.")
    ] = int(DEFAULT_TIMEOUT_SECONDS)
    attempt_timeout: Annotated[Duration, Meta(description="Time for one attempt of the agent.")] | UnsetType = UNSET
    strict_exit: Annotated[bool, Meta(description="Whether a non-zero exit of the agent counts against it.")] = False


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contract of a project, and the agent that works on it."""

    contract: ContractTable | UnsetType = UNSET
    agent: AgentTable | UnsetType = UNSET


TABLES: dict[tuple[str, ...], type[msgspec.Struct]] = {
    (): Settings,
    ("contract",): ContractTable,
    ("contract", "artifact"): ArtifactTable,
    ("contract", "command"): CommandTable,
    ("contract", "immutable"): ImmutableTable,
    ("agent",): AgentTable,
}
"""Every table by its name, the file itself first."""

LATER: frozenset[tuple[str, ...]] = frozenset(
    {
        ("policy",),
        ("gateway",),
        ("redact",),
        ("store",),
        ("contract", "http"),
        ("contract", "sql"),
        ("contract", "isolate"),
        ("contract", "artifact", "media_type"),
        ("contract", "artifact", "json_schema"),
    }
)
"""Names that a later version gives a meaning, so that a message can say so."""


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of signoff.toml, draft 2020-12, for editors."""
    schema: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Settings)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "signoff.toml", **schema}
