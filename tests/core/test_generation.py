"""One call of a model as a machine: which deadline stops it and when, and what the receipt of a stop says."""

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from signoff.core.boundary import BoundaryReason
from signoff.core.generation import (
    Close,
    DeltaArrived,
    DeltaKind,
    Ended,
    Event,
    Generation,
    GenerationLimits,
    GenerationPhase,
    GenerationReceipt,
    GoOn,
    Repair,
    Stop,
    TimePassed,
    advance,
    arrived,
    receipt,
    spanned,
    started,
)
from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, RefusalDelta, TextDelta
from signoff.errors import PolicyError

PRIMARY, REPAIR = GenerationPhase.PRIMARY, GenerationPhase.ACTION_REPAIR
WORDS, CALL, ARGUMENTS, NOTHING = DeltaKind.WORDS, DeltaKind.CALL, DeltaKind.ARGUMENTS, DeltaKind.NOTHING
DEADLINES = ("total", "idle", "active", "action_repair")


def a_call(
    limits: GenerationLimits, *, tools: bool = True, phase: GenerationPhase = PRIMARY, at: float = 0.0
) -> Generation:
    """A call of an answer that began at 0."""
    return started(limits, span=spanned(limits, at=0.0, left=None), at=at, tools_offered=tools, phase=phase)


def after(state: Generation, *events: Event) -> Generation:
    """The state behind these events."""
    for one in events:
        state = advance(state, one).state
    return state


# ── Limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_deadline_is_off_unless_it_is_set() -> None:
    """The default bounds nothing in time, makes one short repair and shows the end of what was cut."""
    assert asdict(GenerationLimits()) == {
        "total": None,
        "idle": None,
        "active": None,
        "action_repair": None,
        "repair": "on",
        "repair_output_tokens": 1024,
        "partial_chars": 8192,
    }
    state = after(a_call(GenerationLimits()), DeltaArrived(5.0, WORDS, 3), TimePassed(10.0**9))
    assert state.decision == GoOn(None)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), -float("inf"), True, "5", [5]])
@pytest.mark.parametrize("name", DEADLINES)
def test_what_is_no_deadline(name: str, seconds: object) -> None:
    """Nothing, less than nothing, for ever, a bool and what is no number are refused by name."""
    values: dict[str, Any] = {name: seconds}
    with pytest.raises(PolicyError, match=f"deadline {name} .* positive number of seconds"):
        GenerationLimits(**values)


@pytest.mark.parametrize("seconds", [0.001, 1, 360.0, None])
@pytest.mark.parametrize("name", DEADLINES)
def test_what_is_a_deadline(name: str, seconds: float | None) -> None:
    """A deadline is any positive number of seconds, or None, which is off."""
    values: dict[str, Any] = {name: seconds}
    assert getattr(GenerationLimits(**values), name) == seconds


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repair", True),
        ("repair", "yes"),
        ("repair", None),
        ("repair_output_tokens", 0),
        ("repair_output_tokens", True),
        ("repair_output_tokens", None),
        ("partial_chars", -1),
        ("partial_chars", 1.5),
        ("partial_chars", None),
    ],
)
def test_what_is_no_limit(name: str, value: object) -> None:
    """A repair is on or off, and its sizes are whole numbers."""
    values: dict[str, Any] = {name: value}
    with pytest.raises(PolicyError, match=name):
        GenerationLimits(**values)


@pytest.mark.parametrize(
    ("total", "left", "effective"), [(None, None, None), (9, None, 9), (None, 4.0, 4.0), (9, 4.0, 4.0), (3, 4.0, 3)]
)
def test_the_shorter_of_limit_and_task_holds(total: float | None, left: float | None, effective: float | None) -> None:
    """The deadline that was asked for is kept beside the one that holds."""
    span = spanned(GenerationLimits(total=total), at=100.0, left=left)
    assert (span.requested_total, span.effective_total) == (total, effective)
    assert span.until == (None if effective is None else 100 + effective)


def test_a_task_without_time_leaves_none() -> None:
    """A deadline that has passed is now, and never in the past."""
    assert spanned(GenerationLimits(), at=7.0, left=-3.0).until == 7


# ── Deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (TextDelta("ab"), DeltaArrived(2.0, WORDS, 2)),
        (ReasoningDelta("abc"), DeltaArrived(2.0, WORDS, 3)),
        (RefusalDelta("no"), DeltaArrived(2.0, WORDS, 2)),
        (TextDelta(""), DeltaArrived(2.0, NOTHING, 0)),
        (CallStarted(index=0, call_id="a", name="f"), DeltaArrived(2.0, CALL, 0)),
        (CallDelta(index=0, text="{}"), DeltaArrived(2.0, ARGUMENTS, 2)),
        (CallDelta(index=0, text=""), DeltaArrived(2.0, NOTHING, 0)),
    ],
)
def test_what_a_delta_adds(delta: Delta, expected: DeltaArrived) -> None:
    """Words and calls are progress; what is empty is a sign of life only."""
    assert arrived(delta, 2.0) == expected


def test_the_whole_answer_has_one_deadline() -> None:
    """A later call of the same answer has what the earlier ones left."""
    limits = GenerationLimits(total=10)
    assert a_call(limits, at=7.0).decision == GoOn(10)
    assert after(a_call(limits, at=7.0), TimePassed(9.999)).decision == GoOn(10)
    assert after(a_call(limits, at=7.0), TimePassed(10.0)).decision == Stop(BoundaryReason.CALL_DEADLINE_EXCEEDED)
    assert after(a_call(limits, at=7.0), DeltaArrived(10.0, WORDS, 1)).decision == Stop(
        BoundaryReason.CALL_DEADLINE_EXCEEDED
    )


def test_silence_is_counted_from_the_last_thing_that_was_added() -> None:
    """The idle deadline runs from the start, and anew from each delta that is not empty."""
    state = a_call(GenerationLimits(idle=5), at=1.0)
    assert state.decision == GoOn(6)
    state = after(state, DeltaArrived(4.0, WORDS, 1), DeltaArrived(5.0, NOTHING))
    assert state.decision == GoOn(9)
    assert after(state, DeltaArrived(8.5, ARGUMENTS, 1)).decision == GoOn(13.5)
    assert after(state, DeltaArrived(8.5, NOTHING), TimePassed(9)).decision == Stop(BoundaryReason.IDLE_TIMEOUT)


def test_the_active_deadline_begins_with_the_first_delta() -> None:
    """Before anything was added there is no active deadline; what follows does not move it."""
    state = a_call(GenerationLimits(active=5))
    assert state.decision == GoOn(None)
    state = after(state, DeltaArrived(50.0, NOTHING), DeltaArrived(100.0, WORDS, 1), DeltaArrived(104.0, WORDS, 1))
    assert state.decision == GoOn(105)
    assert after(state, DeltaArrived(105.0, WORDS, 1)).decision == Stop(BoundaryReason.ACTIVE_STREAM_OVER_BUDGET)


@pytest.mark.parametrize("kind", [CALL, ARGUMENTS])
def test_a_call_that_has_begun_ends_the_active_deadline_for_good(kind: DeltaKind) -> None:
    """However slowly its arguments come, and whatever words follow."""
    state = after(a_call(GenerationLimits(active=5)), DeltaArrived(1.0, WORDS, 1), DeltaArrived(2.0, kind, 1))
    assert after(state, DeltaArrived(500.0, WORDS, 1), TimePassed(900.0)).decision == GoOn(None)


def test_the_active_deadline_needs_tools() -> None:
    """Where no tool was offered, a long text is no fault."""
    state = after(a_call(GenerationLimits(active=5), tools=False), DeltaArrived(1.0, WORDS, 1), TimePassed(99.0))
    assert state.decision == GoOn(None)


def test_an_action_repair_has_its_own_deadline() -> None:
    """It runs from its start, applies to nothing else, and replaces the active one."""
    limits = GenerationLimits(active=1, action_repair=5)
    assert after(a_call(limits, at=10.0), TimePassed(99.0)).decision == GoOn(None)
    state = after(a_call(limits, phase=REPAIR, at=10.0), DeltaArrived(11.0, WORDS, 1), DeltaArrived(14.0, WORDS, 1))
    assert state.decision == GoOn(15)
    assert after(state, TimePassed(15.0)).decision == Stop(BoundaryReason.ACTION_REPAIR_TIMEOUT)
    off = after(a_call(GenerationLimits(active=1), phase=REPAIR), DeltaArrived(1.0, WORDS, 1))
    assert off.decision == GoOn(None)


@pytest.mark.parametrize(
    ("limits", "phase", "reason"),
    [
        ({"total": 6, "idle": 5, "active": 5}, PRIMARY, "active_stream_over_budget"),
        ({"total": 6, "idle": 5}, PRIMARY, "call_deadline_exceeded"),
        ({"total": 6, "idle": 5, "action_repair": 6}, REPAIR, "action_repair_timeout"),
        ({"total": 7, "idle": 5, "active": 6}, PRIMARY, "idle_timeout"),
        ({"total": 7, "idle": 9, "active": 5.5}, PRIMARY, "active_stream_over_budget"),
    ],
)
def test_the_nearest_deadline_wins(limits: dict[str, Any], phase: GenerationPhase, reason: str) -> None:
    """However late it is noticed; those that fall together are told apart by the alphabet."""
    state = after(a_call(GenerationLimits(**limits), phase=phase), DeltaArrived(1.0, WORDS, 1), TimePassed(1000.0))
    assert state.decision == Stop(BoundaryReason(reason))


def test_a_response_that_has_ended_is_not_stopped() -> None:
    """There is nothing left to stop, however late that is noticed."""
    assert after(a_call(GenerationLimits(total=5)), Ended(99.0)).decision == Close()


@pytest.mark.parametrize("end", [Ended(1.0), TimePassed(7.0)])
def test_nothing_changes_behind_the_end(end: Event) -> None:
    """What comes late, from a client that will not stop, neither undoes nor counts."""
    over = after(a_call(GenerationLimits(total=5)), end)
    assert after(over, DeltaArrived(8.0, CALL, 9), TimePassed(99.0), Ended(100.0)) == over


def test_time_never_goes_back() -> None:
    """An event that claims to be earlier than the last one is taken as of then."""
    state = after(a_call(GenerationLimits(idle=5)), DeltaArrived(10.0 - 6, WORDS, 1), DeltaArrived(2.0, WORDS, 1))
    assert state.decision == GoOn(9)
    assert state.at == 4


# ── Receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_receipt_says_what_was_stopped_and_when() -> None:
    """Times, counts and both totals, and not one word of the model."""
    limits = GenerationLimits(total=60, active=5)
    span = spanned(limits, at=10.0, left=30.0)
    state = started(limits, span=span, at=12.0, tools_offered=True, phase=PRIMARY)
    state = after(state, DeltaArrived(13.0, WORDS, 40), TimePassed(19.5))
    told = receipt(state, BoundaryReason.ACTIVE_STREAM_OVER_BUDGET, repair=Repair.SCHEDULED)
    assert told == GenerationReceipt(
        reason=BoundaryReason.ACTIVE_STREAM_OVER_BUDGET,
        phase=PRIMARY,
        elapsed=9.5,
        phase_elapsed=7.5,
        partial_characters=40,
        calls=0,
        repair=Repair.SCHEDULED,
        requested_total=60,
        effective_total=30,
    )
    assert told.partial_available


def test_a_receipt_of_a_repair_says_that_it_was_attempted() -> None:
    """Its calls and arguments are counted as those of any call."""
    state = a_call(GenerationLimits(), phase=REPAIR, at=3.0)
    empty = receipt(state, BoundaryReason.CALLER_CANCELLED)
    assert (empty.repair, empty.partial_available) == (Repair.ATTEMPTED, False)
    state = after(
        state,
        DeltaArrived(4.0, CALL),
        DeltaArrived(5.0, ARGUMENTS, 7),
        DeltaArrived(6.0, CALL),
        DeltaArrived(7.0, NOTHING),
    )
    told = receipt(state, BoundaryReason.PROVIDER_TIMEOUT)
    assert (told.calls, told.partial_characters, told.phase_elapsed, told.elapsed) == (2, 7, 4, 7)
    assert receipt(a_call(GenerationLimits()), BoundaryReason.PROVIDER_TIMEOUT).repair is Repair.NONE


# ── Properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

SECONDS = st.floats(min_value=0.001, max_value=100)
LIMITS = st.builds(GenerationLimits, **{name: st.none() | SECONDS for name in DEADLINES})
EVENTS = st.lists(
    st.tuples(st.floats(min_value=-1, max_value=60), st.sampled_from([*DeltaKind, "time"]), st.integers(1, 9))
)


def told(at: float, kind: DeltaKind | str, characters: int) -> Event:
    """An event as hypothesis writes it."""
    if not isinstance(kind, DeltaKind):
        return TimePassed(at)
    return DeltaArrived(at, kind, 0 if kind is NOTHING or kind is CALL else characters)


@settings(deadline=None, max_examples=300)
@given(
    limits=LIMITS,
    events=EVENTS,
    tools=st.booleans(),
    phase=st.sampled_from(GenerationPhase),
    left=st.none() | SECONDS,
    began=st.floats(min_value=0, max_value=10**6),
)
def test_every_run_ends_by_its_nearest_deadline(
    *,
    limits: GenerationLimits,
    events: list[tuple[float, DeltaKind | str, int]],
    tools: bool,
    phase: GenerationPhase,
    left: float | None,
    began: float,
) -> None:
    """A call never goes on past a wake-up time, none lies in the past, and waking it there stops it."""
    state = started(limits, span=spanned(limits, at=began, left=left), at=began, tools_offered=tools, phase=phase)
    clock, kinds = began, list[DeltaKind | str]()
    for step, kind, characters in events:
        clock += step
        before = state.decision
        state = after(state, told(clock, kind, characters))
        if not isinstance(before, GoOn):
            assert state.decision == before
        elif before.wake_at is not None and state.at >= before.wake_at:
            assert isinstance(state.decision, Stop)
        elif isinstance(state.decision, GoOn):
            kinds.append(kind)
            assert state.decision.wake_at is None or state.decision.wake_at >= state.at
    active = tools and phase is PRIMARY and WORDS in kinds and not {CALL, ARGUMENTS} & set(kinds)
    armed = [
        limits.total is not None or left is not None,
        limits.idle is not None,
        limits.action_repair is not None and phase is REPAIR,
        limits.active is not None and active,
    ]
    if isinstance(state.decision, GoOn):
        assert any(armed) == (state.decision.wake_at is not None)
        woken = after(state, TimePassed(state.decision.wake_at or 0), Ended(clock))
        assert woken.decision == Close() if state.decision.wake_at is None else isinstance(woken.decision, Stop)
    event(f"{state.decision}".partition("(")[0])
