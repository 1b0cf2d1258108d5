"""What holds for every run, whatever the host sees in it."""

import pytest
from hypothesis import HealthCheck, event, find, given, settings
from hypothesis import Phase as Stages
from hypothesis import strategies as st

from signoff.core.codec import decode_event, decode_state, encode
from signoff.core.goal.advance import TABLE, advance
from signoff.core.goal.decisions import WriteReceipt
from signoff.core.goal.events import RunFinished, RunStarted
from signoff.core.goal.state import GoalState, Phase
from signoff.core.journal import FIRST, link, verify
from signoff.core.receipt import inconsistencies, read_statement
from signoff.core.values import Status
from signoff.errors import ProtocolViolation
from tests.core.oracle import Witness, objections
from tests.core.strategies import Told, runs

pytestmark = pytest.mark.slow

PATIENT = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEARCH = settings(PATIENT, max_examples=2000, phases=[Stages.generate], database=None)


@pytest.mark.parametrize("status", Status)
def test_runs_of_every_kind_are_told(status: Status) -> None:
    """Each way to end is among the runs that these properties speak of."""
    found = find(runs(), lambda told: told.states[-1].verdict.status is status, settings=SEARCH)
    assert isinstance(found.events[-1], RunFinished)


@PATIENT
@given(runs())
def test_a_replay_makes_the_same_decisions(told: Told) -> None:
    """The same events, told again, lead to the same decisions and the same states."""
    state = GoalState()
    for happened, expected, decisions in zip(told.events, told.states, told.decisions, strict=True):
        step = advance(state, happened)
        state = step.state
        assert (step.state, step.decisions) == (expected, decisions)


@PATIENT
@given(runs())
def test_what_is_written_is_read_back(told: Told) -> None:
    """Every event and every state is the same after a way through bytes, and so are the bytes."""
    for happened, state in zip(told.events, told.states, strict=True):
        assert decode_event(encode(happened)) == happened
        assert decode_state(encode(state)) == state
        assert encode(decode_event(encode(happened))) == encode(happened)


@PATIENT
@given(runs())
def test_the_fold_of_the_journal_is_the_run(told: Told) -> None:
    """Records that fit their chain, read back and folded, come to the state of the live run."""
    records, previous = [], FIRST
    for seq, happened in enumerate(told.events, start=1):
        record = link("run-1", seq, kind=type(happened).__name__, body=encode(happened), previous=previous)
        records.append(record)
        previous = record.chain
    verify(records)
    state = GoalState()
    for record in records:
        state = advance(state, decode_event(record.body)).state
    assert state == told.states[-1]


@PATIENT
@given(runs())
def test_completed_needs_all_its_evidence(told: Told) -> None:
    """A run that is called completed stands up to the second opinion."""
    start, seen = told.events[0], Witness()
    assert isinstance(start, RunStarted)
    for happened, state in zip(told.events, told.states, strict=True):
        seen = seen.hears(happened)
        if state.verdict is not None:
            event(state.verdict.status)
            if state.verdict.status is Status.COMPLETED:
                assert objections(start, seen, happened.at) == []
            return


@PATIENT
@given(runs())
def test_what_was_spent_stays_spent(told: Told) -> None:
    """No number of the usage ever decreases, and the repairs keep within their bound."""
    start = told.events[0]
    assert isinstance(start, RunStarted)
    for before, after in zip(told.states, told.states[1:], strict=False):
        for field in after.usage.__struct_fields__:
            assert getattr(before.usage, field) <= getattr(after.usage, field)
    bound = start.contract.max_repairs
    assert bound is None or told.states[-1].usage.repairs <= bound


@PATIENT
@given(runs())
def test_every_run_ends_with_its_verdict(told: Told) -> None:
    """The last record of a run carries the verdict that was reached, and nothing can happen after it."""
    end, state = told.events[-1], told.states[-1]
    assert isinstance(end, RunFinished)
    assert state.phase is Phase.FINISHED
    assert end.verdict == state.verdict
    for happened in told.events:
        with pytest.raises(ProtocolViolation):
            advance(state, happened)


@PATIENT
@given(runs())
def test_every_statement_can_be_read_and_fits_itself(told: Told) -> None:
    """What a receipt states is read back without loss of a verdict, and contradicts nothing in it."""
    for decisions, state in zip(told.decisions, told.states, strict=True):
        for decision in decisions:
            if isinstance(decision, WriteReceipt):
                value = read_statement(decision.statement)
                assert inconsistencies(value) == ()
                assert state.verdict is not None
                assert value.predicate.verdict.status is state.verdict.status
                assert value.predicate.verdict.reasons == state.verdict.reasons
                assert value.predicate.usage == state.verdict.usage


@PATIENT
@given(runs(), st.data())
def test_a_refused_event_changes_nothing(told: Told, data: st.DataObject) -> None:
    """An event out of its place either has a row in the table, or is refused; the state's bytes stay the same."""
    state = data.draw(st.sampled_from(told.states))
    happened = data.draw(st.sampled_from(told.events))
    before = encode(state)
    try:
        advance(state, happened)
    except ProtocolViolation:
        event("refused")
    else:
        assert (state.phase, type(happened)) in TABLE
    assert encode(state) == before
