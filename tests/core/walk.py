"""Walks through every state that a world can lead a goal run to, once each, and asks the invariants at every step.

A world is a contract with bounds and a small alphabet: what checks, pictures and agents can say in it, and which
moments there are. Parts of the alphabet are told apart by identity, and two states are one when all their fields are
equal but for these: the wording of a failure; the wall time; signature and count of unchanged repairs where no bound
asks for them; and, once a verdict is reached, everything that no later row of the table reads.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

import msgspec

from signoff.core.completion.evidence import CheckEvidence, Picture
from signoff.core.goal.advance import advance
from signoff.core.goal.decisions import Decision, Finish, RunAgent, RunCheck, TakePicture, WriteReceipt
from signoff.core.goal.events import (
    AgentEnded,
    AgentOutcome,
    CancelRequested,
    CheckSettled,
    Event,
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
from signoff.core.values import Moment
from signoff.testing import FakeClock
from tests.core.oracle import Witness

Steps: TypeAlias = dict[tuple[Phase, type[Event]], set[Phase]]

CLOSING = frozenset({Phase.RECORDING, Phase.FINISHING, Phase.FINISHED})


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A contract with its bounds, and everything that can happen under it."""

    name: str
    start: RunStarted
    before: Mapping[str, tuple[CheckEvidence, ...]] = {}
    after: Mapping[str, tuple[CheckEvidence, ...]] = {}
    cut: Mapping[str, CheckEvidence] = {}
    """What a check says that the run's deadline ended."""
    baselines: tuple[Picture, ...]
    looks: tuple[Picture, ...]
    agents: tuple[AgentOutcome, ...] = ()
    moments: tuple[Moment, ...]
    """The moments at which something can happen; time may stand still or go on."""
    disturbed: bool = True
    """Whether the run can be cancelled, and the host fail to look."""
    least: int
    """States that the walk must come to, so that it cannot shrink unseen."""


class Node(msgspec.Struct, frozen=True):
    """A state, what the host was asked for and has not answered, and what a witness has seen."""

    state: GoalState
    asked: tuple[Decision, ...]
    seen: Witness


class Move(msgspec.Struct, frozen=True):
    """One step of a walk."""

    source: Node
    event: Event
    answered: Decision | None
    target: Node
    given: tuple[Decision, ...]


class Walk:
    """All nodes of a world and the steps between them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.transitions = 0
        self.leads: Steps = {}
        self.children: list[set[int]] = []
        self.finished: set[int] = set()
        self._found: dict[tuple[object, ...], int] = {}

    @property
    def states(self) -> int:
        """How many different nodes there are."""
        return len(self._found)

    def moves(self) -> Iterator[Move]:
        """Every step between nodes, each once."""
        waiting = [Node(GoalState(), (), Witness())]
        self._place(waiting[0])
        while waiting:
            node = waiting.pop()
            here = self._place(node)
            if node.state.phase is Phase.FINISHED:
                self.finished.add(here)
            for event, answered in events_at(self.world, node):
                move = taken(node, event, answered)
                self._note(move)
                yield move
                known = self.states
                place = self._place(move.target)
                self.children[here].add(place)
                if place == known:
                    waiting.append(move.target)

    def _place(self, node: Node) -> int:
        place = self._found.setdefault(key_of(node), len(self._found))
        if place == len(self.children):
            self.children.append(set())
        return place

    def _note(self, move: Move) -> None:
        self.transitions += 1
        step = (move.source.state.phase, type(move.event))
        self.leads.setdefault(step, set()).add(move.target.state.phase)


def taken(node: Node, event: Event, answered: Decision | None) -> Move:
    """The step that an event makes from a node."""
    step = advance(node.state, event)
    seen = node.seen if node.state.phase in CLOSING else node.seen.hears(event)
    asked = tuple(each for each in node.asked if each is not answered) + step.decisions
    return Move(node, event, answered, Node(step.state, asked, seen), step.decisions)


def events_at(world: World, node: Node) -> Iterator[tuple[Event, Decision | None]]:
    """Everything that can happen next: each answer to each decision at each moment, and disturbances.

    Of the answers that come late, when the run is closing, one of each type stands for all.
    """
    state = node.state
    if state.phase is Phase.FINISHED:
        return
    elapsed = state.at.elapsed if state.at is not None else 0.0
    for at in world.moments:
        if at.elapsed < elapsed:
            continue
        if state.phase is Phase.NEW:
            yield msgspec.structs.replace(world.start, at=at), None
            return
        late = [each for each in node.asked if state.phase in CLOSING and not isinstance(each, WriteReceipt | Finish)]
        for decision in node.asked:
            possible = _answers(world, decision, at=at, last=node.seen.looks[-1] if node.seen.looks else None)
            answers = {(type(each) if decision in late else id(each)): each for each in possible}
            yield from ((answer, decision) for answer in answers.values())
        if world.disturbed:
            yield CancelRequested(at=at, by="SIGINT"), None


@cache
def following(last: Picture, picture: Picture) -> Picture:
    """A picture as it can be after a round of checks, where no agent acts: the host promises two things of it.

    What it counts as changed is the agent's, so there is none where there was none; and who was live stays known.
    """
    facts: dict[str, object] = {}
    if last.change_count == 0:
        facts |= {"change_count": 0, "changes": ()}
    if last.shared_with:
        facts |= {"shared_with": last.shared_with}
    return msgspec.structs.replace(picture, **facts) if facts else picture


def _answers(world: World, decision: Decision, *, at: Moment, last: Picture | None) -> Iterator[Event]:
    match decision:
        case TakePicture(role=role):
            pictures = world.baselines if role is Role.BASELINE else world.looks
            if role is Role.AFTER_CHECKS and last is not None:
                pictures = tuple(following(last, picture) for picture in pictures)
            yield from (PictureTaken(at=at, role=role, picture=picture) for picture in pictures)
        case RunCheck(command_id=command_id, stage=stage):
            results = (world.before if stage is Stage.BEFORE else world.after)[command_id]
            cut = (world.cut[command_id],) if decision.deadline_bound and command_id in world.cut else ()
            yield from (CheckSettled(at=at, stage=stage, evidence=evidence) for evidence in (*results, *cut))
        case RunAgent(attempt=attempt):
            yield from (AgentEnded(at=at, attempt=attempt, outcome=outcome) for outcome in world.agents)
        case WriteReceipt():
            yield ReceiptWritten(at=at, path="receipt", sha256="sha256:" + "0" * 64)
            yield ReceiptFailed(at=at, error="no space left")
        case Finish(verdict=verdict):
            yield RunFinished(at=at, verdict=verdict)
    if world.disturbed and isinstance(decision, TakePicture | RunCheck):
        yield VerifierFailed(at=at, what="look", error="OSError")


def leads_of(worlds: Iterable[World]) -> Steps:
    """Where each row of the table leads in some worlds."""
    found: Steps = {}
    for world in worlds:
        walk = Walk(world)
        for _ in walk.moves():
            pass
        for step, phases in walk.leads.items():
            found.setdefault(step, set()).update(phases)
    return found


def key_of(node: Node) -> tuple[object, ...]:
    """What makes a node this one and no other."""
    state, seen = node.state, node.seen
    common = (
        state.phase,
        state.at.elapsed if state.at is not None else None,
        tuple(_key_of_decision(each) for each in node.asked),
    )
    if state.verdict is not None:
        verdict = (state.verdict.status, state.verdict.ended_by, state.verdict.reasons)
        return (*common, *verdict, state.receipt_path, state.receipt_error, state.pending)
    asks_progress = state.run is not None and state.run.limits.no_progress is not None
    return (
        *common,
        state.pending,
        _ids(state.before),
        state.held_before,
        state.attempt,
        id(state.agent),
        id(state.after_agent),
        id(state.after_checks),
        _ids(state.checks),
        state.again,
        frozenset((failure.reason, failure.subject) for failure in state.failures),
        state.usage,
        (state.signature, state.unchanged_repairs) if asks_progress else None,
        (_ids(seen.before), id(seen.agent), _ids(seen.looks), _ids(seen.taken), _ids(seen.judged)),
    )


def _key_of_decision(decision: Decision) -> tuple[object, ...]:
    match decision:
        case RunAgent(attempt=attempt, timeout_seconds=seconds):
            return (RunAgent, attempt, seconds)
        case WriteReceipt() | Finish():
            return (type(decision),)
        case _:
            return (type(decision), decision)


def _ids(parts: Iterable[object]) -> tuple[int, ...]:
    return tuple(id(part) for part in parts)


def moments(*elapsed: float) -> tuple[Moment, ...]:
    """The moments at these numbers of seconds after the start."""
    found, clock = [], FakeClock()
    for seconds in sorted(elapsed):
        clock.advance(seconds - clock.now().elapsed)
        found.append(clock.now())
    return tuple(found)
