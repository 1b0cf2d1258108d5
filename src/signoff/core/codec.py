"""Values of the core ↔ bytes of the journal. One codec, one format version; old formats stay readable.

A record's body is canonical JSON with its format first named, so that equal events have equal bytes.
"""

import msgspec

from signoff.core.canonical import canonical
from signoff.core.goal.events import Event
from signoff.core.goal.state import GoalState
from signoff.core.journal import MAX_BODY
from signoff.errors import JournalCorrupt, UnknownFormat

FORMAT = 1


class _Envelope(msgspec.Struct, frozen=True):
    format: int
    value: msgspec.Raw


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_EVENT = msgspec.json.Decoder[Event](Event)
_STATE = msgspec.json.Decoder(GoalState)


def encode(value: Event | GoalState) -> bytes:
    """Return the canonical bytes of an event or a checkpoint, with the format's version.

    Raises `CanonicalError` for a value that no journal takes: longer than `journal.MAX_BODY`, or no Unicode text.
    """
    return canonical({"format": FORMAT, "value": msgspec.to_builtins(value)}, max_bytes=MAX_BODY)


def decode_event(body: bytes) -> Event:
    """Return the event of a record; raise `UnknownFormat` for a newer one, `JournalCorrupt` for broken bytes."""
    raw = _open(body)
    try:
        return _EVENT.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"a record is no event of format {FORMAT}: {error}; it was not used; restore the store from a copy"
        raise JournalCorrupt(message) from error


def decode_state(body: bytes) -> GoalState:
    """Return the state of a checkpoint; errors as in `decode_event`."""
    raw = _open(body)
    try:
        return _STATE.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"a checkpoint is no state of format {FORMAT}: {error}; it was not used; fold the journal instead"
        raise JournalCorrupt(message) from error


def _open(body: bytes) -> msgspec.Raw:
    try:
        envelope = _ENVELOPE.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"a record cannot be decoded: {error}; it was not used; restore the store from a copy"
        raise JournalCorrupt(message) from error
    if envelope.format != FORMAT:
        message = (
            f"a record has format {envelope.format} and this version reads format {FORMAT}; nothing was changed; "
            "use the version of signoff that wrote it, or a newer one"
        )
        raise UnknownFormat(message)
    return envelope.value
