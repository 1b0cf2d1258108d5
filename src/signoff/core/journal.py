"""The chain of a journal: each record is tied to the one before it by digest, so that a change of any of them shows.

Pure arithmetic on records that are already there; where they are kept, and what they mean, is decided elsewhere.
The chain covers order and bodies. `kind` is outside it: a label for lists, never something to decide by.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from signoff.core.values import require_count, require_digest, require_id
from signoff.errors import JournalConflict, JournalCorrupt, PolicyError, StoreError

FIRST = "sha256:" + "0" * 64
"""What the first record of a run follows."""

MAX_BODY = 32 * 1024 * 1024
"""Bytes that one record may hold."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a journal: an event in canonical bytes, chained to the line before by digest."""

    run_id: str
    seq: int
    """Counts from 1 within the run, without gaps."""
    kind: str
    """The event's type name, for lists."""
    body: bytes
    previous: str
    """Chain digest of the record before; 64 zeros after `sha256:` for the first."""
    chain: str
    """`sha256:` of previous + newline + body."""


class RunEnds(msgspec.Struct, frozen=True, kw_only=True):
    """The first and the last record of one run: enough for a list."""

    first: Record
    last: Record


def chain(previous: str, body: bytes) -> str:
    """Return the digest of a record with this body that follows the record of digest `previous`."""
    digest = hashlib.sha256(previous.encode("ascii") + b"\n")
    digest.update(body)
    return f"sha256:{digest.hexdigest()}"


def link(run_id: str, seq: int, *, kind: str, body: bytes, previous: str) -> Record:
    """Return the record that follows the record of digest `previous`."""
    return Record(run_id=run_id, seq=seq, kind=kind, body=body, previous=previous, chain=chain(previous, body))


def verify(records: Iterable[Record]) -> None:
    """Raise `JournalCorrupt` unless the records are one run's, numbered from 1 without a gap, each fitting the last."""
    run_id: str | None = None
    expected, previous = 1, FIRST
    for record in records:
        run_id = record.run_id if run_id is None else run_id
        misfit = _misfit(record, run_id=run_id, seq=expected, previous=previous)
        if misfit:
            raise JournalCorrupt(
                f"record {expected} of run {run_id!r} does not fit the chain: {misfit}; no record of this run was "
                "used; keep the store as it is to find out who changed it, and start a new run"
            )
        expected, previous = expected + 1, record.chain


def _misfit(record: Record, *, run_id: str, seq: int, previous: str) -> str:
    if record.run_id != run_id:
        return f"it belongs to run {record.run_id!r}"
    if record.seq != seq:
        return f"its number is {record.seq!r}"
    if record.previous != previous:
        return f"it follows {record.previous[:80]!r} instead of {previous!r}"
    if record.chain != chain(previous, record.body):
        return "its body does not match its digest"
    return ""


def require_sound(record: Record) -> None:
    """Raise `StoreError` unless a store may keep the record: usable ids, a bounded body, and its own digest."""
    try:
        require_id(record.run_id, what="run id")
        require_id(record.kind, what="kind of record")
        require_count(record.seq, what="record number", least=1)
        require_digest(record.previous, what="digest of the record before")
    except PolicyError as error:
        raise StoreError(f"a record cannot be kept: {error}; nothing was written") from error
    name = f"record {record.seq} of run {record.run_id!r}"
    if len(record.body) > MAX_BODY:
        raise StoreError(
            f"{name} has {len(record.body)} bytes, more than the {MAX_BODY} that a journal takes; nothing was written; "
            "keep large content elsewhere and record its digest"
        )
    if record.chain != chain(record.previous, record.body):
        raise JournalCorrupt(f"{name} does not match its own digest; nothing was written; build records with link()")


def require_next(record: Record, *, last_seq: int, last_chain: str) -> None:
    """Raise `JournalConflict` unless the record follows the run's last one; without one, give 0 and `FIRST`."""
    name = f"record {record.seq} of run {record.run_id!r}"
    if record.seq <= last_seq:
        raise JournalConflict(
            f"{name} exists already; nothing was written; another process drives this run: end one of them"
        )
    if record.seq != last_seq + 1:
        raise JournalConflict(
            f"{name} would leave a gap after record {last_seq}; nothing was written; "
            "the journal was changed by somebody else: read the run again before going on"
        )
    if record.previous != last_chain:
        raise JournalConflict(
            f"{name} does not follow the record {last_seq} that is in the store; nothing was written; "
            "the journal was changed by somebody else: read the run again before going on"
        )
