"""Reads a run back from its journal: the same fold as the live run, so a record can say nothing that did not happen."""

from collections.abc import Iterable, Iterator

from signoff.core.codec import decode_event
from signoff.core.goal.advance import advance
from signoff.core.goal.events import Event
from signoff.core.goal.state import GoalState
from signoff.errors import JournalCorrupt, ProtocolViolation
from signoff.ports import Record


def events_of(records: Iterable[Record]) -> Iterator[Event]:
    """Return the events of a journal in order; raise `JournalCorrupt` or `UnknownFormat` at the first bad one."""
    for record in records:
        yield decode_event(record.body)


def fold(records: Iterable[Record]) -> GoalState:
    """Return the state that a journal leads to; raise `JournalCorrupt` when it is no run's journal."""
    state = GoalState()
    for place, event in enumerate(events_of(records), start=1):
        try:
            state = advance(state, event).state
        except ProtocolViolation as error:
            raise JournalCorrupt(
                f"record {place} cannot follow what is before it ({error}); the run is not shown; "
                "the store was changed by something else than signoff"
            ) from error
    return state
