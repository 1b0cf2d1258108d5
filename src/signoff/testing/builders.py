"""Short ways to write down what a host saw, for tests: pictures, files, results of checks, and the events of a run.

Everything has the simplest good value unless a test says otherwise. Nothing here judges, and nothing here looks at a
real file: a digest is that of a word which stands for the content.
"""

import msgspec

from signoff.core.budget import Limits
from signoff.core.canonical import digest_bytes
from signoff.core.completion.contract import Contract
from signoff.core.completion.evidence import (
    ArtifactEvidence,
    CheckEvidence,
    FileFacts,
    FileKind,
    ImmutableInputEvidence,
    OutputFacts,
    Picture,
)
from signoff.core.goal.events import (
    AgentEnded,
    AgentOutcome,
    CancelRequested,
    CheckSettled,
    Kind,
    PictureTaken,
    ReceiptFailed,
    ReceiptWritten,
    Role,
    RunFinished,
    RunStarted,
    Stage,
    VerifierFailed,
)
from signoff.core.goal.state import GoalState
from signoff.core.values import Assurance
from signoff.errors import ProtocolViolation
from signoff.testing.fake_clock import START, FakeClock


def digest_of(word: str) -> str:
    """Return the digest of a word that stands for some content."""
    return digest_bytes(word.encode())


def a_picture(workspace: str = "as it was", *, changed: int = 0, **facts: object) -> Picture:
    """Return a picture of a workspace that a word stands for, with a number of changes since the baseline."""
    control = digest_of("control files")
    picture = Picture(digest=digest_of(workspace), change_count=changed, control_digest=control, observed_at=START)
    return msgspec.structs.replace(picture, **facts)


def a_file(path: str, content: str = "content", *, written: bool | None = True, **facts: object) -> FileFacts:
    """Return a regular file that holds a content and was written since the baseline."""
    file = FileFacts(
        path=path, kind=FileKind.FILE, sha256=digest_of(content), size=len(content), written=written, changed=written
    )
    return msgspec.structs.replace(file, **facts)


def no_file(path: str, kind: FileKind = FileKind.MISSING) -> FileFacts:
    """Return what is found where there is no file, or something else than a file."""
    return FileFacts(path=path, kind=kind)


def an_artifact(requirement_id: str, *files: FileFacts, overflow: bool = False) -> ArtifactEvidence:
    """Return what stands where an artifact is expected."""
    return ArtifactEvidence(requirement_id=requirement_id, files=files, observed_at=START, overflow=overflow)


def an_input(input_id: str, *, before: str = "input", now: str = "input") -> ImmutableInputEvidence:
    """Return what became of an immutable input."""
    return ImmutableInputEvidence(
        input_id=input_id, expected=digest_of(before), observed=digest_of(now), observed_at=START
    )


def a_check(command_id: str, exit_code: int = 0, **facts: object) -> CheckEvidence:
    """Return the result of a validation command that printed nothing."""
    nothing = OutputFacts(sha256=digest_of(""), size=0)
    evidence = CheckEvidence(command_id=command_id, exit_code=exit_code, output=nothing, observed_at=START)
    return msgspec.structs.replace(evidence, **facts)


class Scene:
    """Writes the events of one goal run, each at the present moment of its clock."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock if clock is not None else FakeClock()

    def started(self, contract: Contract, limits: Limits | None = None, **facts: object) -> RunStarted:
        """Say that a run of an agent began; with `kind=Kind.CHECK`, a check of the contract alone."""
        event = RunStarted(
            at=self.clock.now(),
            run_id="run-1",
            kind=Kind.RUN,
            contract=contract,
            limits=limits if limits is not None else Limits(),
            workspace="/somewhere",
            assurance=Assurance.OBSERVED,
            signoff_version="0",
        )
        return msgspec.structs.replace(event, **facts)

    def pictured(self, role: Role, picture: Picture | None = None) -> PictureTaken:
        """Say that the workspace was looked at; it is as it was unless a picture says otherwise."""
        return PictureTaken(at=self.clock.now(), role=role, picture=picture if picture is not None else a_picture())

    def settled(self, check: CheckEvidence | str, *, stage: Stage = Stage.AFTER) -> CheckSettled:
        """Say that a check ended; an id alone says that it passed."""
        evidence = check if isinstance(check, CheckEvidence) else a_check(check)
        return CheckSettled(at=self.clock.now(), stage=stage, evidence=evidence)

    def ended(self, attempt: int = 1, **facts: object) -> AgentEnded:
        """Say that an attempt of the agent ended: with status 0 and some output, unless a fact says otherwise."""
        outcome = AgentOutcome(started=True, exit_code=0, output_size=1)
        return AgentEnded(at=self.clock.now(), attempt=attempt, outcome=msgspec.structs.replace(outcome, **facts))

    def verifier_failed(self, what: str = "picture") -> VerifierFailed:
        """Say that the host could not look."""
        return VerifierFailed(at=self.clock.now(), what=what, error="OSError: no")

    def receipt_written(self, path: str = "/state/receipt.json") -> ReceiptWritten:
        """Say that the receipt is on disk."""
        return ReceiptWritten(at=self.clock.now(), path=path, sha256=digest_of("receipt"))

    def receipt_failed(self, error: str = "no space left") -> ReceiptFailed:
        """Say that the receipt could not be written."""
        return ReceiptFailed(at=self.clock.now(), error=error)

    def cancelled(self) -> CancelRequested:
        """Say that a person asked the run to end."""
        return CancelRequested(at=self.clock.now(), by="SIGINT")

    def finished(self, state: GoalState) -> RunFinished:
        """Say that the run's end was recorded, with the verdict that the state has reached."""
        if state.verdict is None:
            message = f"phase {state.phase} has no verdict to finish with; no event was made; close the run first"
            raise ProtocolViolation(message)
        return RunFinished(at=self.clock.now(), verdict=state.verdict)
