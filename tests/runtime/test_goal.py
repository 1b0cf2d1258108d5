"""The driver of a goal run: it journals before it acts, turns faults into events, and ends what it began."""

import logging
from collections.abc import Callable, Sequence
from typing import Literal

import anyio
import anyio.lowlevel
import msgspec
import pytest

from signoff.core.budget import Limits
from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence, Picture
from signoff.core.goal.decisions import Decision, RunAgent
from signoff.core.goal.events import AgentOutcome, CancelRequested, Event, Role, RunStarted
from signoff.core.values import EndedBy, Reason, Status
from signoff.errors import ReceiptError, StoreError
from signoff.ports import AgentRunner, ReceiptWriter, Record, Store, Verifier
from signoff.runtime.fold import fold
from signoff.runtime.goal import Doers, GoalEnd, GoalRun
from signoff.stores.memory import MemoryStore
from signoff.testing import FakeClock, Scene, ScriptedAgent, ScriptedVerifier, a_check, a_picture

ONE = Contract(commands=(ValidationCommand(id="tests", argv=("true",)),), max_repairs=0)
DONE = AgentOutcome(started=True, exit_code=0, output_size=3)


class Receipts:
    """Keeps what it is given; raises, or waits for ever, when told to."""

    def __init__(
        self, *, error: Exception | None = None, waits: bool = False, after: Callable[[], None] | None = None
    ) -> None:
        self._after = after
        self.statements: list[bytes] = []
        self.entered = anyio.Event()
        self._error = error
        self._waits = waits

    async def write(self, statement: bytes) -> tuple[str, str]:
        """Take a statement."""
        self.entered.set()
        if self._waits:
            await anyio.sleep_forever()
        if self._error is not None:
            raise self._error
        self.statements.append(statement)
        if self._after is not None:
            self._after()
        return "/receipt.json", "sha256:" + "0" * 64

    async def withdraw(self) -> None:
        """Give a statement back."""
        self.statements.clear()


class Heard:
    """Keeps what it hears; may raise."""

    def __init__(self, *, raises: bool = False) -> None:
        self.events: list[str] = []
        self._raises = raises

    def told(self, event: Event, decisions: Sequence[Decision]) -> None:
        """Hear an event."""
        del decisions
        self.events.append(type(event).__name__)
        if self._raises:
            raise RuntimeError("the listener is broken")


class FailingStore(MemoryStore):
    """A store whose disk is full for some of its appends, counted from 1."""

    def __init__(self, *, full: range) -> None:
        super().__init__()
        self._full = full
        self._asked = 0

    async def append(self, record: Record) -> None:
        """Append, or find the disk full."""
        self._asked += 1
        if self._asked in self._full:
            raise StoreError("the disk is full; the record was not written; make room")
        await super().append(record)


class Cast:
    """Everybody that a run needs, each replaceable."""

    def __init__(
        self,
        *,
        store: Store | None = None,
        verifier: Verifier | None = None,
        agent: AgentRunner | None = None,
        receipts: Receipts | None = None,
        heard: Heard | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.store = store or MemoryStore()
        self.verifier = verifier or a_verifier()
        self.agent = agent or ScriptedAgent([DONE])
        self.receipts = receipts or Receipts()
        self.heard = heard or Heard()

    def run(self) -> GoalRun:
        """Make the run."""
        receipts: ReceiptWriter = self.receipts
        return GoalRun(
            Doers(
                clock=self.clock,
                store=self.store,
                verifier=self.verifier,
                agent=self.agent,
                receipts=receipts,
                listener=self.heard,
            )
        )

    def start(self, contract: Contract = ONE) -> RunStarted:
        """Write the first event."""
        return Scene(self.clock).started(contract)


def a_verifier(after: int | Exception = 0) -> ScriptedVerifier:
    """Script one attempt: the check fails before and then gives `after`; the agent changed something."""
    result = after if isinstance(after, Exception) else a_check("tests", after)
    pictures = [a_picture(), a_picture("changed", changed=1), a_picture("changed", changed=1)]
    return ScriptedVerifier(checks={"tests": [a_check("tests", 1), result]}, pictures=pictures)


def driven(cast: Cast, contract: Contract = ONE) -> GoalEnd:
    """Run to the end."""

    async def main() -> GoalEnd:
        return await cast.run().run(cast.start(contract))

    return anyio.run(main)


def status(end: GoalEnd) -> Status | None:
    """Return the status of a run's end."""
    return end.state.verdict.status if end.state.verdict is not None else None


def test_a_run_ends_and_its_journal_folds_to_the_same_state() -> None:
    """The journal of a run is the run: folding it gives the state that was reached live."""
    cast = Cast()
    end = driven(cast)
    records = anyio.run(cast.store.read, "run-1")

    assert status(end) is Status.COMPLETED
    assert fold(records) == end.state
    assert [record.kind for record in records] == cast.heard.events
    assert cast.heard.events[-1] == "RunFinished"


def test_every_event_is_journaled_before_what_follows_from_it_is_done() -> None:
    """When the agent is started, the decision's event is in the store already."""
    store = MemoryStore()
    seen: list[str] = []

    class Curious:
        async def run(self, decision: RunAgent) -> AgentOutcome:
            del decision
            seen.extend(record.kind for record in await store.read("run-1"))
            return DONE

    driven(Cast(store=store, agent=Curious()))

    assert seen == ["RunStarted", "CheckSettled", "PictureTaken"]


def test_nothing_starts_when_the_first_record_cannot_be_written() -> None:
    """A run whose beginning is not on disk does not begin."""
    verifier = a_verifier()
    with pytest.raises(StoreError, match="disk is full"):
        driven(Cast(store=FailingStore(full=range(1, 2)), verifier=verifier))

    assert verifier.asked == []


def test_a_store_that_fills_up_changes_no_verdict_and_is_reported() -> None:
    """Records that cannot be written any more are named as lost; the verdict is reached from memory."""
    store = FailingStore(full=range(3, 1000))
    end = driven(Cast(store=store))

    assert status(end) is Status.COMPLETED
    assert "disk is full" in end.store_lost
    assert len(anyio.run(store.read, "run-1")) == 2


def test_a_store_that_recovers_has_lost_nothing() -> None:
    """Records wait in memory and are written, in order, as soon as the store takes them again."""
    store = FailingStore(full=range(3, 6))
    end = driven(Cast(store=store))

    assert end.store_lost == ""
    assert fold(anyio.run(store.read, "run-1")) == end.state


@pytest.mark.parametrize("fault", [OSError("no"), RuntimeError("a bug"), ValueError("odd")])
def test_a_verifier_that_raises_blocks(fault: Exception) -> None:
    """What the host could not look at is neither passed nor failed: a person is needed."""
    end = driven(Cast(verifier=a_verifier(fault)))

    assert status(end) is Status.BLOCKED
    assert end.state.verdict is not None
    assert end.state.verdict.reasons == (Reason.CHECKER_ERROR,)


def test_a_picture_that_does_not_end_is_ended_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace that cannot be looked at in time ends the run when its time is up, and not later."""
    monkeypatch.setattr("signoff.core.goal.advance.PICTURE_SECONDS", 0.05)

    class Slow:
        async def check(self, command: ValidationCommand, **rest: object) -> CheckEvidence:
            del rest
            return a_check(command.id, 1)

        async def picture(self, role: Role) -> Picture:
            if role is Role.AFTER_AGENT:
                cast.clock.advance(100)
                await anyio.sleep_forever()
            cast.clock.advance(50)
            return a_picture()

    cast = Cast(verifier=Slow())

    async def main() -> GoalEnd:
        start = msgspec.structs.replace(cast.start(), limits=Limits(timeout_seconds=50.01))
        with anyio.fail_after(10):
            return await cast.run().run(start)

    end = anyio.run(main)

    assert (status(end), end.state.verdict and end.state.verdict.ended_by) == (Status.BUDGET_EXHAUSTED, EndedBy.TIMEOUT)


def test_an_agent_runner_that_fails_is_an_agent_that_did_not_start() -> None:
    """An operating-system error while the agent is started ends the run as agent_failed, with its text."""
    end = driven(Cast(agent=ScriptedAgent([OSError("no room for its texts")])))

    assert status(end) is Status.AGENT_FAILED
    assert end.state.agent is not None
    assert "no room" in end.state.agent.error


def test_a_receipt_that_cannot_be_written_leaves_the_verdict() -> None:
    """The verdict stands without its receipt, and the reason is kept."""
    end = driven(Cast(receipts=Receipts(error=ReceiptError("no space left"))))

    assert (status(end), end.state.receipt_path) == (Status.COMPLETED, None)
    assert "no space left" in end.state.receipt_error


def test_a_listener_that_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A broken listener becomes a log line."""
    with caplog.at_level(logging.ERROR, logger="signoff"):
        end = driven(Cast(heard=Heard(raises=True)))

    assert status(end) is Status.COMPLETED
    assert "a listener failed" in caplog.text


def cancelled_when(cast: Cast, entered: anyio.Event, *, by: Literal["SIGINT", "caller"] = "SIGINT") -> GoalEnd:
    """Run, and cancel as soon as something has been entered."""

    async def main() -> None:
        run = cast.run()

        async def cancel() -> None:
            await entered.wait()
            run.cancel(CancelRequested(at=cast.clock.now(), by=by))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(cancel)
                ends.append(await run.run(cast.start()))

    ends: list[GoalEnd] = []
    anyio.run(main)
    return ends[0]


def test_cancelling_ends_what_is_under_way_and_is_recorded() -> None:
    """The agent is cancelled and has ended before the run does; the record says cancelled."""
    entered, ended = anyio.Event(), []

    class Endless:
        async def run(self, decision: RunAgent) -> AgentOutcome:
            del decision
            entered.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("agent")
            return DONE

    cast = Cast(agent=Endless())
    end = cancelled_when(cast, entered)

    assert (status(end), ended) == (Status.CANCELLED, ["agent"])
    assert anyio.run(cast.store.read, "run-1")[-1].kind == "RunFinished"


def test_cancelling_during_the_receipt_is_a_cancelled_run() -> None:
    """A run that is cancelled while its receipt is written has no receipt and says cancelled."""
    cast = Cast(receipts=Receipts(waits=True))
    end = cancelled_when(cast, cast.receipts.entered)

    assert (status(end), end.state.receipt_path, cast.receipts.statements) == (Status.CANCELLED, None, [])


def test_a_receipt_that_was_written_as_the_run_was_cancelled_is_taken_back() -> None:
    """When the cancellation is heard before the receipt's own event, the run is cancelled and has no receipt."""

    async def main() -> GoalEnd:
        cast = Cast(receipts=Receipts(after=lambda: run.cancel(CancelRequested(at=cast.clock.now(), by="SIGINT"))))
        run = cast.run()
        end = await run.run(cast.start())
        assert cast.receipts.statements == []
        return end

    end = anyio.run(main)

    assert (status(end), end.state.receipt_path) == (Status.CANCELLED, None)


def test_checks_that_run_together_all_end_when_one_cannot_be_taken() -> None:
    """With parallel checks, a verifier's fault ends the others before the run goes on."""
    ended: list[str] = []

    class Half:
        async def check(self, command: ValidationCommand, **rest: object) -> CheckEvidence:
            del rest
            if command.id == "bad":
                await anyio.lowlevel.checkpoint()
                raise OSError("gone")
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(command.id)
            return a_check(command.id)

        async def picture(self, role: Role) -> Picture:
            del role
            return a_picture()

    both = (ValidationCommand(id="slow", argv=("true",)), ValidationCommand(id="bad", argv=("true",)))
    contract = Contract(commands=both, parallel=True)
    end = driven(Cast(verifier=Half()), contract)

    assert (status(end), ended) == (Status.BLOCKED, ["slow"])
