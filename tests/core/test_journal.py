"""The chain of a journal: whatever is changed in it shows, and names the place."""

import hashlib
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.journal import FIRST, MAX_BODY, Record, chain, link, require_next, require_sound, verify
from signoff.errors import JournalConflict, JournalCorrupt, StoreError


def journal(*bodies: bytes, run_id: str = "run-1") -> list[Record]:
    """Return the chained records of a run."""
    records: list[Record] = []
    previous = FIRST
    for seq, body in enumerate(bodies, start=1):
        records.append(link(run_id, seq, kind="CheckSettled", body=body, previous=previous))
        previous = records[-1].chain
    return records


def test_a_chain_digest_is_of_the_digest_before_a_newline_and_the_body() -> None:
    """Anybody can recompute the chain with a SHA-256 program."""
    expected = hashlib.sha256(b"sha256:" + b"0" * 64 + b"\n" + b'{"a":1}').hexdigest()
    assert chain(FIRST, b'{"a":1}') == f"sha256:{expected}"


def test_a_link_fills_in_its_own_digest() -> None:
    """A linked record carries what it was given and the digest that follows from it."""
    record = link("run-1", 7, kind="RunFinished", body=b"{}", previous=FIRST)
    assert record == Record(
        run_id="run-1", seq=7, kind="RunFinished", body=b"{}", previous=FIRST, chain=chain(FIRST, b"{}")
    )


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_a_journal_of_links_verifies(bodies: list[bytes]) -> None:
    """What was linked one to the next is a sound journal, also when it is empty."""
    verify(journal(*bodies))


@given(
    bodies=st.lists(st.binary(max_size=8), min_size=1, max_size=6),
    at=st.integers(min_value=0),
    body=st.binary(max_size=8),
)
def test_a_changed_body_is_named(bodies: list[bytes], at: int, body: bytes) -> None:
    """The first record whose body differs from what was linked is the one that is named."""
    at %= len(bodies)
    records = journal(*bodies)
    records[at] = msgspec.structs.replace(records[at], body=body)
    if body == bodies[at]:
        verify(records)
        return
    with pytest.raises(JournalCorrupt, match=rf"record {at + 1} of run 'run-1' .* body does not match its digest"):
        verify(records)


ONE, TWO, THREE = journal(b"one", b"two", b"three")
STRANGER = journal(b"one", b"two", run_id="run-2")[1]
FORGED = link("run-1", 2, kind="CheckSettled", body=b"forged", previous=ONE.chain)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([ONE, THREE], "record 2 of run 'run-1' does not fit the chain: its number is 3"),
        ([TWO, THREE], "record 1 of run 'run-1' does not fit the chain: its number is 2"),
        ([TWO, ONE, THREE], "record 1 of run 'run-1' does not fit the chain: its number is 2"),
        ([ONE, TWO, TWO], "record 3 of run 'run-1' does not fit the chain: its number is 2"),
        ([ONE, STRANGER], "record 2 of run 'run-1' does not fit the chain: it belongs to run 'run-2'"),
        ([ONE, FORGED, THREE], "record 3 of run 'run-1' does not fit the chain: it follows 'sha256:"),
        ([msgspec.structs.replace(ONE, previous="no\udc80")], "record 1 of run 'run-1' does not fit the chain: it fol"),
        ([msgspec.structs.replace(ONE, chain=FIRST)], "record 1 of run 'run-1' does not fit the chain: its body does"),
    ],
)
def test_a_journal_that_does_not_fit_is_named_with_run_number_and_difference(
    records: list[Record], message: str
) -> None:
    """A left out, moved, repeated, foreign or replaced record is found, and the message says what to do."""
    with pytest.raises(JournalCorrupt, match=re.escape(message)) as caught:
        verify(records)
    assert "no record of this run was used; keep the store as it is" in str(caught.value)


def test_a_forged_end_verifies_so_the_head_must_be_held_elsewhere() -> None:
    """A chain alone does not show that its end was written anew: only a holder of the last digest sees that."""
    verify([ONE, FORGED])


def test_a_sound_record_may_be_kept() -> None:
    """A linked record of ordinary ids is sound, up to the greatest body."""
    require_sound(ONE)
    require_sound(link("run-1", 1, kind="RunStarted", body=bytes(MAX_BODY), previous=FIRST))


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        (msgspec.structs.replace(ONE, run_id="a b"), StoreError, "run id 'a b' is not a usable id"),
        (msgspec.structs.replace(ONE, run_id="\ud800"), StoreError, "is not a usable id"),
        (msgspec.structs.replace(ONE, kind=""), StoreError, "kind of record '' is not a usable id"),
        (msgspec.structs.replace(ONE, seq=0), StoreError, "record number is 0"),
        (msgspec.structs.replace(ONE, seq=True), StoreError, "record number is True"),
        (msgspec.structs.replace(ONE, previous="0" * 64), StoreError, "is not a digest"),
        (msgspec.structs.replace(ONE, body=b"other"), JournalCorrupt, "does not match its own digest"),
        (link("r", 1, kind="k", body=bytes(MAX_BODY + 1), previous=FIRST), StoreError, "has 33554433 bytes, more than"),
    ],
)
def test_a_record_that_may_not_be_kept_is_named(record: Record, error: type[StoreError], message: str) -> None:
    """Each fault of a record has its sentence, and the sentence says that nothing was written."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        require_sound(record)
    assert "nothing was written" in str(caught.value)


def test_the_next_record_is_the_one_after_the_last_that_follows_its_digest() -> None:
    """The first record follows nothing, each other one the record before."""
    require_next(ONE, last_seq=0, last_chain=FIRST)
    require_next(THREE, last_seq=2, last_chain=TWO.chain)


@pytest.mark.parametrize(
    ("record", "last", "message"),
    [
        (ONE, ONE, "record 1 of run 'run-1' exists already"),
        (ONE, THREE, "record 1 of run 'run-1' exists already"),
        (THREE, ONE, "record 3 of run 'run-1' would leave a gap after record 1"),
        (THREE, FORGED, "record 3 of run 'run-1' does not follow the record 2 that is in the store"),
    ],
)
def test_any_other_record_is_a_conflict(record: Record, last: Record, message: str) -> None:
    """A taken number, a gap and a changed end are told apart, and nothing is written."""
    with pytest.raises(JournalConflict, match=re.escape(message)) as caught:
        require_next(record, last_seq=last.seq, last_chain=last.chain)
    assert "nothing was written" in str(caught.value)
