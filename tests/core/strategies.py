"""Whole runs for Hypothesis: any contract, and a host that answers every decision with whatever can be seen.

A run is told from `RunStarted` to `RunFinished`, or cut off on the way by a person; every event in it is legal.
"""

import msgspec
from hypothesis import strategies as st

from signoff.core.budget import Limits
from signoff.core.canonical import digest_bytes
from signoff.core.completion.contract import (
    Artifact,
    Contract,
    Fresh,
    ImmutableInput,
    Mode,
    ReportFormat,
    ValidationCommand,
)
from signoff.core.completion.evidence import (
    ArtifactEvidence,
    Change,
    CheckEvidence,
    FileFacts,
    FileKind,
    ImmutableInputEvidence,
    OutputFacts,
    Picture,
    TestReport,
)
from signoff.core.goal.advance import advance
from signoff.core.goal.decisions import Decision, Finish, RunAgent, RunCheck, TakePicture, WriteReceipt
from signoff.core.goal.events import (
    AgentEnded,
    AgentOutcome,
    CancelRequested,
    CheckSettled,
    Event,
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
from signoff.core.goal.state import GoalState, Phase
from signoff.core.values import Assurance, Moment
from signoff.testing import FakeClock, Scene, a_check, a_file, a_picture, an_artifact, an_input
from tests.core.walk import following

LONGEST = 120
"""Events after which a person cancels."""

TIMES = ("2029-12-31T23:59:00Z", "2030-01-01T00:00:00Z", "2030-01-01T01:00:00+01:00", "2030-01-01T00:00:05.5Z")
WORDS = st.text(max_size=12)
FLAGS = st.booleans()
MOSTLY = st.sampled_from([*[True] * 14, False])
RARELY = st.sampled_from([*[False] * 50, True])
SECONDS = st.floats(0, 20, allow_nan=False) | st.integers(0, 20).map(float)
DIGESTS = st.sampled_from("abc").map(lambda word: digest_bytes(word.encode()))
CHANGES = st.lists(st.builds(Change, path=WORDS, what=st.sampled_from(["new", "changed", "deleted"])), max_size=2).map(
    tuple
)
NAMES = st.lists(st.sampled_from(["t1", "t2", "t3"]), unique=True, max_size=3).map(tuple)
REPORTS = st.builds(TestReport, passed=NAMES, failed=st.just(()) | NAMES, skipped=NAMES)
OUTPUTS = st.builds(OutputFacts, sha256=DIGESTS, size=st.integers(0, 10**12), head=WORDS, tail=WORDS, truncated=FLAGS)
OUTCOMES = st.builds(
    AgentOutcome,
    started=st.sampled_from([True, True, True, False]),
    exit_code=st.sampled_from([0, 0, 0, 1, 126, 127, 137, None]),
    error=WORDS,
    timed_out=st.sampled_from([False, False, True]),
    output_sha256=st.none() | DIGESTS,
    output_size=st.integers(0, 3),
    output_tail=WORDS,
    leftovers=st.integers(0, 2),
    duration_seconds=SECONDS,
)
COMMANDS = st.builds(
    ValidationCommand,
    id=st.just("x"),
    argv=st.lists(st.text("ab é", min_size=1), min_size=1, max_size=2).map(lambda words: ("make", *words)),
    env=st.dictionaries(st.sampled_from(["A", "B"]), WORDS.filter(lambda word: "\0" not in word), max_size=2),
    timeout_seconds=st.integers(1, 30),
    report=st.sampled_from([None, None, ReportFormat.JUNIT]),
    min_tests=st.integers(1, 2),
    before=st.sampled_from(["any", "any", "any", "failed"]),
)
ARTIFACTS = st.builds(
    Artifact, id=st.just("x"), path=st.sampled_from(["out.txt", "a b/é"]), required=FLAGS, fresh=st.sampled_from(Fresh)
)
LIMITS = st.builds(
    Limits,
    timeout_seconds=st.sampled_from([30.0, 200.0, 100000.0]),
    attempt_timeout_seconds=st.none() | st.just(15.0),
    no_progress=st.none() | st.integers(1, 2),
)


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    """Any contract of up to three commands, two artifacts and an immutable input."""
    commands = draw(st.lists(COMMANDS, max_size=3))
    artifacts = draw(st.lists(ARTIFACTS, max_size=2))
    return Contract(
        mode=draw(st.sampled_from([*[Mode.ENFORCE] * 8, Mode.OBSERVE, Mode.OFF])),
        commands=tuple(msgspec.structs.replace(each, id=f"check-{place}") for place, each in enumerate(commands)),
        artifacts=tuple(msgspec.structs.replace(each, id=f"file-{place}") for place, each in enumerate(artifacts)),
        immutable=draw(st.sampled_from([(), (ImmutableInput(id="src", glob="src/**"),)])),
        max_repairs=draw(st.none() | st.integers(0, 3)),
        max_age_seconds=draw(st.sampled_from([None, None, 30])),
        parallel=draw(FLAGS),
    )


@st.composite
def starts(draw: st.DrawFn) -> RunStarted:
    """Any beginning of a run."""
    return RunStarted(
        at=FakeClock().now(),
        run_id="run-1",
        kind=draw(st.sampled_from([Kind.RUN, Kind.RUN, Kind.CHECK])),
        contract=draw(contracts()),
        limits=draw(LIMITS),
        goal=draw(WORDS),
        workspace="/somewhere",
        assurance=draw(st.sampled_from(Assurance)),
        strict_exit=draw(FLAGS),
        allow_no_change=draw(FLAGS),
        signoff_version="0",
    )


def files(path: str) -> st.SearchStrategy[FileFacts]:
    """Whatever can stand at a path, mostly a regular file that was written."""
    return st.builds(
        FileFacts,
        path=st.just(path),
        kind=st.sampled_from([FileKind.FILE, FileKind.FILE, FileKind.FILE, *FileKind]),
        sha256=DIGESTS | DIGESTS | st.none(),
        size=st.integers(0, 3),
        blank=st.sampled_from([False, False, False, True]),
        written=st.sampled_from([True, True, False, None]),
        changed=st.sampled_from([True, False, None]),
    )


@st.composite
def pictures(draw: st.DrawFn, contract: Contract) -> Picture:
    """Whatever a picture of the workspace can show, mostly nothing that speaks against the agent."""
    time = st.sampled_from(TIMES)
    troubled = draw(st.sampled_from([False, False, False, True]))
    return Picture(
        digest=draw(DIGESTS),
        changes=draw(CHANGES),
        change_count=draw(st.integers(0, 3)),
        artifacts=tuple(
            ArtifactEvidence(requirement_id=item.id, files=(draw(files(item.path)),), observed_at=draw(time))
            for item in contract.artifacts
        ),
        inputs=tuple(
            ImmutableInputEvidence(
                input_id=item.id,
                expected=digest_bytes(b"a"),
                observed=draw(DIGESTS) if troubled else digest_bytes(b"a"),
                observed_at=draw(time),
            )
            for item in contract.immutable
        ),
        control=draw(CHANGES) if troubled else (),
        control_digest=draw(DIGESTS) if troubled else digest_bytes(b"c"),
        contract_changed=troubled and draw(FLAGS),
        shared_with=("run-2",) if troubled and draw(FLAGS) else (),
        observed_at=draw(time),
    )


def results(decision: RunCheck) -> st.SearchStrategy[CheckEvidence]:
    """Whatever a check can say, mostly that all is well."""
    return st.builds(
        CheckEvidence,
        command_id=st.just(decision.command_id),
        exit_code=st.sampled_from([0, 0, 0, 0, 1, 124, 127, 141]),
        output=OUTPUTS | OUTPUTS | st.none(),
        error=WORDS,
        timed_out=st.sampled_from([False, False, False, True]),
        cut_by_deadline=st.just(False) if not decision.deadline_bound else FLAGS,
        held_by=st.sampled_from([(), (), (), ("sleep",)]),
        report=REPORTS | st.none(),
        report_fault=WORDS,
        left_out=st.sampled_from([(), ("PYTHONPATH",)]),
        duration_seconds=SECONDS,
        observed_at=st.sampled_from(TIMES),
    )


class Told(msgspec.Struct, frozen=True):
    """A run as it was told: the events, and after each of them the state and the decisions."""

    events: tuple[Event, ...]
    states: tuple[GoalState, ...]
    decisions: tuple[tuple[Decision, ...], ...]

    def __repr__(self) -> str:
        return f"Told(events={self.events!r})"[:5000]


@st.composite
def runs(draw: st.DrawFn) -> Told:
    """Any whole run: in a lucky one most answers are as good as they can be."""
    clock = FakeClock()
    start, lucky = draw(starts()), draw(st.sampled_from([True, True, False]))
    events: list[Event] = [start]
    steps = [advance(GoalState(), start)]
    asked: list[Decision] = list(steps[0].decisions)
    while steps[-1].state.phase is not Phase.FINISHED:
        at = clock.advance(draw(st.sampled_from([0, 0, 0, 0.5, 10])))
        event: Event
        closing = steps[-1].state.phase is Phase.FINISHING
        if not closing and (len(events) > LONGEST or draw(RARELY)):
            event = CancelRequested(at=at, by="caller")
        else:
            decision = asked.pop(draw(st.integers(0, len(asked) - 1)))
            good = _good_answer(decision, at=at, start=start) if lucky and draw(MOSTLY) else None
            event = good or _answer(draw, decision, at=at, start=start)
            last = steps[-1].state.after_agent
            if isinstance(event, PictureTaken) and event.role is Role.AFTER_CHECKS and last is not None:
                event = msgspec.structs.replace(event, picture=following(last, event.picture))
        events.append(event)
        steps.append(advance(steps[-1].state, event))
        asked += steps[-1].decisions
    return Told(tuple(events), tuple(step.state for step in steps), tuple(step.decisions for step in steps))


def _answer(draw: st.DrawFn, decision: Decision, *, at: Moment, start: RunStarted) -> Event:
    if isinstance(decision, RunCheck | TakePicture) and draw(RARELY):
        return VerifierFailed(at=at, what=draw(WORDS), error=draw(WORDS))
    match decision:
        case TakePicture(role=role):
            return PictureTaken(at=at, role=role, picture=draw(pictures(start.contract)))
        case RunCheck(stage=stage):
            return CheckSettled(at=at, stage=stage, evidence=draw(results(decision)))
        case RunAgent(attempt=attempt):
            return AgentEnded(at=at, attempt=attempt, outcome=draw(OUTCOMES))
        case WriteReceipt():
            failed = draw(FLAGS)
            written = ReceiptWritten(at=at, path=draw(WORDS), sha256=digest_bytes(b"receipt"))
            return ReceiptFailed(at=at, error=draw(WORDS)) if failed else written
        case Finish(verdict=verdict):
            return RunFinished(at=at, verdict=verdict)


def _good_answer(decision: Decision, *, at: Moment, start: RunStarted) -> Event | None:
    scene = Scene()
    match decision:
        case TakePicture(role=role):
            artifacts = tuple(an_artifact(item.id, a_file(item.path)) for item in start.contract.artifacts)
            inputs = tuple(an_input(item.id) for item in start.contract.immutable)
            picture = a_picture(changed=1, artifacts=artifacts, inputs=inputs, observed_at=at.wall)
            return msgspec.structs.replace(scene.pictured(role, picture), at=at)
        case RunCheck(command_id=command_id, stage=stage):
            report = TestReport(passed=("t1", "t2", "t3"))
            exit_code = 0 if stage is Stage.AFTER else 1
            check = a_check(command_id, exit_code, report=report, observed_at=at.wall, duration_seconds=0.5)
            return msgspec.structs.replace(scene.settled(check, stage=stage), at=at)
        case RunAgent(attempt=attempt):
            return msgspec.structs.replace(scene.ended(attempt, duration_seconds=1.5), at=at)
        case _:
            return None
