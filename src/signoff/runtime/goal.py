"""Drives a goal run: take an event, advance, journal it, perform what follows. Decides nothing.

A journal that cannot be written any more ends nothing: the verdict is reached from memory, and what was lost is said
beside it. Only the very first record must be on disk before anything starts.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar, assert_never

import anyio
import anyio.abc
import msgspec

from signoff.core.codec import encode
from signoff.core.completion.contract import ValidationCommand
from signoff.core.completion.evidence import Picture
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
    RunFinished,
    RunStarted,
    VerifierFailed,
)
from signoff.core.goal.state import GoalState, Phase
from signoff.core.journal import FIRST, link
from signoff.errors import CanonicalError, ProtocolViolation, SignoffError, StoreError
from signoff.ports import AgentRunner, Clock, Listener, ReceiptWriter, Record, Store, Verifier

_LOG = logging.getLogger("signoff")
T = TypeVar("T")


class Doers(msgspec.Struct, frozen=True, kw_only=True):
    """Who does what for a run; every member is a port."""

    clock: Clock
    store: Store
    verifier: Verifier
    agent: AgentRunner
    receipts: ReceiptWriter
    listener: Listener


class GoalEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, and what could not be recorded of it."""

    state: GoalState
    store_lost: str = ""
    """Why the last records are not in the store; empty when all are."""


class GoalRun:
    """One run from `RunStarted` to its end; `cancel` may be called at any time from the same event loop."""

    def __init__(self, doers: Doers) -> None:
        self._doers = doers
        self._state = GoalState()
        self._commands: dict[str, ValidationCommand] = {}
        self._unwritten: list[Record] = []
        self._last = FIRST
        self._count = 0
        self._store_fault = ""
        self._broken = ""
        self._events, self._arrived = anyio.create_memory_object_stream[Event](math.inf)

    def cancel(self, event: CancelRequested) -> None:
        """Ask the run to end; what is under way is ended first."""
        self._events.send_nowait(event)

    async def run(self, start: RunStarted) -> GoalEnd:
        """Run to the end; raise `StoreError` when the first record cannot be written, before anything has started."""
        self._commands = {command.id: command for command in start.contract.commands}
        with self._events, self._arrived:
            decisions = await self._take(start)
            if fault := self._fault():
                raise StoreError(fault)
            while self._state.phase is not Phase.FINISHED:
                decisions = await self._until_closing(decisions)
                # Whatever was under way has ended here; what follows is the receipt and the last record.
        return GoalEnd(state=self._state, store_lost=self._fault())

    def _fault(self) -> str:
        """Say why records are not in the store; empty when all are."""
        return self._broken or (self._store_fault if self._unwritten else "")

    async def _until_closing(self, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
        """Perform and take events until a step closes what is under way; return that step's decisions."""
        phase = self._state.phase
        async with anyio.create_task_group() as group:
            while self._state.phase is phase or self._state.phase not in _CLOSING:
                for decision in decisions:
                    group.start_soon(self._perform_and_tell, decision)
                decisions = await self._take(await self._arrived.receive())
            group.cancel_scope.cancel()
        if phase is Phase.RECORDING and self._state.receipt_path is None:
            await self._doers.receipts.withdraw()  # its event came too late, or never: the decision was called off
        return decisions

    async def _take(self, event: Event) -> tuple[Decision, ...]:
        step = advance(self._state, event)
        self._state = step.state
        await self._journal(event)
        try:
            self._doers.listener.told(event, step.decisions)
        except Exception:  # noqa: BLE001 - a listener can change nothing, so its fault ends nothing
            _LOG.exception("a listener failed; the run goes on")
        return step.decisions

    async def _journal(self, event: Event) -> None:
        if self._broken:
            return
        run_id = self._state.run.run_id if self._state.run is not None else ""
        try:
            body = encode(event)
        except CanonicalError as error:
            # Nothing can follow a record that is missing: the verdict is reached from memory, and the loss is said.
            self._broken = f"a record cannot be written: {error}"
            return
        self._count += 1
        record = link(run_id, self._count, kind=type(event).__name__, body=body, previous=self._last)
        self._last = record.chain
        self._unwritten.append(record)
        with anyio.CancelScope(shield=True):
            try:
                while self._unwritten:
                    await self._doers.store.append(self._unwritten[0])
                    self._unwritten.pop(0)
            except StoreError as error:
                # The first fault is the cause; what a second try meets may only follow from it.
                self._store_fault = self._store_fault or str(error)

    async def _perform_and_tell(self, decision: Decision) -> None:
        event = await self._perform(decision)
        self._events.send_nowait(event)

    async def _perform(self, decision: Decision) -> Event:
        match decision:
            case TakePicture():
                return await self._picture(decision)
            case RunCheck():
                return await self._check(decision)
            case RunAgent():
                return await self._agent(decision)
            case WriteReceipt():
                return await self._receipt(decision)
            case Finish(verdict=verdict):
                return RunFinished(at=self._doers.clock.now(), verdict=verdict)
            case _:
                assert_never(decision)

    async def _picture(self, decision: TakePicture) -> Event:
        async def look() -> Picture:
            with anyio.fail_after(decision.timeout_seconds):
                return await self._doers.verifier.picture(decision.role)

        picture = await self._looked(f"picture {decision.role}", look)
        if isinstance(picture, VerifierFailed):
            return picture
        return PictureTaken(at=self._doers.clock.now(), role=decision.role, picture=picture)

    async def _check(self, decision: RunCheck) -> Event:
        command = self._commands[decision.command_id]
        evidence = await self._looked(
            f"check {command.id}",
            lambda: self._doers.verifier.check(
                command,
                stage=decision.stage,
                timeout_seconds=decision.timeout_seconds,
                deadline_bound=decision.deadline_bound,
            ),
        )
        if isinstance(evidence, VerifierFailed):
            return evidence
        return CheckSettled(at=self._doers.clock.now(), stage=decision.stage, evidence=evidence)

    async def _looked(self, what: str, look: Callable[[], Awaitable[T]]) -> T | VerifierFailed:
        try:
            return await look()
        except ProtocolViolation:
            raise
        except Exception as error:  # noqa: BLE001 - here it becomes an event: blocked, never passed
            return VerifierFailed(at=self._doers.clock.now(), what=what, error=f"{type(error).__name__}: {error}")

    async def _agent(self, decision: RunAgent) -> Event:
        try:
            outcome = await self._doers.agent.run(decision)
        except (SignoffError, OSError) as error:
            outcome = AgentOutcome(started=False, error=f"{type(error).__name__}: {error}")
        return AgentEnded(at=self._doers.clock.now(), attempt=decision.attempt, outcome=outcome)

    async def _receipt(self, decision: WriteReceipt) -> Event:
        try:
            path, sha256 = await self._doers.receipts.write(decision.statement)
        except (SignoffError, OSError) as error:
            return ReceiptFailed(at=self._doers.clock.now(), error=str(error))
        return ReceiptWritten(at=self._doers.clock.now(), path=path, sha256=sha256)


_CLOSING = frozenset({Phase.RECORDING, Phase.FINISHING, Phase.FINISHED})
