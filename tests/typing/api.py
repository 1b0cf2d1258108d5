"""What a user's type checker sees: read by two of them, never run. A changed type of a public name fails here first."""

from collections.abc import Mapping
from typing import Literal, assert_never, assert_type

import signoff

assert_type(signoff.__version__, str)

artifact = signoff.Artifact(id="report", path="out/report.txt", fresh=signoff.Fresh.CHANGED, min_bytes=1)
assert_type(artifact.path, str)
assert_type(artifact.sha256, str | None)
assert_type(artifact.fresh, signoff.Fresh)

command = signoff.ValidationCommand(id="tests", argv=("pytest", "-q"), env={"CI": "1"}, before="failed")
assert_type(command.argv, tuple[str, ...])
assert_type(command.env, Mapping[str, str])
assert_type(command.before, Literal["any", "failed"])
assert_type(command.report, signoff.ReportFormat | None)

contract = signoff.Contract(
    mode=signoff.Mode.ENFORCE,
    artifacts=(artifact,),
    commands=(command,),
    immutable=(signoff.ImmutableInput(id="suite", glob="tests/"),),
    max_repairs=2,
)
assert_type(contract.artifacts, tuple[signoff.Artifact, ...])
assert_type(contract.commands, tuple[signoff.ValidationCommand, ...])
assert_type(contract.immutable, tuple[signoff.ImmutableInput, ...])
assert_type(contract.max_repairs, int | None)
assert_type(contract.decides, bool)
assert_type(contract.digest(), str)


def exit_code(status: signoff.Status) -> int:
    """Match over every status: a new one is an error here, and in users' own programs."""
    match status:
        case signoff.Status.COMPLETED:
            return 0
        case signoff.Status.NOT_COMPLETED | signoff.Status.UNVERIFIED:
            return 1
        case signoff.Status.BLOCKED:
            return 3
        case signoff.Status.BUDGET_EXHAUSTED:
            return 4
        case signoff.Status.AGENT_FAILED:
            return 5
        case signoff.Status.CANCELLED:
            return 130
        case _:
            assert_never(status)


def words(reason: signoff.Reason, ended_by: signoff.EndedBy | None) -> tuple[str, str]:
    """Use the codes as the plain text that they are."""
    return (reason.value, "" if ended_by is None else ended_by.value)


def advice(error: signoff.SignoffError) -> str:
    """Tell the errors apart: each is a SignoffError."""
    match error:
        case signoff.ConfigError() | signoff.PolicyError():
            return "mend what was configured"
        case signoff.StoreError() | signoff.ReceiptError():
            return "look at the records"
        case signoff.ProtocolViolation():
            return "an event came that cannot happen here"
        case _:
            return str(error)
