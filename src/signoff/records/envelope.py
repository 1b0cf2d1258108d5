"""Receipts in their envelope: DSSE, unsigned in this version and marked so by an empty list of signatures.

Reading treats the file as hostile: bounded, strict, and nothing in it is trusted beyond its form.
"""

import base64
import binascii

import msgspec

from signoff.core.canonical import parse
from signoff.errors import ReceiptError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_BYTES = 32 * 1024 * 1024


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signature of an envelope."""

    sig: str
    keyid: str = ""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A DSSE envelope."""

    payload: str
    payload_type: str
    signatures: tuple[Signature, ...] = ()


def enveloped(statement: bytes) -> bytes:
    """Return the unsigned envelope of a statement, as the bytes of a receipt."""
    payload = base64.b64encode(statement).decode("ascii")
    return msgspec.json.encode(Envelope(payload=payload, payload_type=PAYLOAD_TYPE)) + b"\n"


def opened(receipt: bytes) -> tuple[bytes, tuple[Signature, ...]]:
    """Return the statement and the signatures of a receipt; raise `ReceiptError` for anything else."""
    if len(receipt) > MAX_BYTES:
        message = f"the receipt has {len(receipt)} bytes, more than {MAX_BYTES}; nothing was verified"
        raise ReceiptError(message)
    try:
        parse(receipt, max_bytes=MAX_BYTES)  # a key that is there twice means two things
        envelope = msgspec.json.decode(receipt, type=Envelope)
        statement = base64.b64decode(envelope.payload, validate=True)
    except (msgspec.MsgspecError, ValueError, binascii.Error) as error:
        message = f"the receipt is not a DSSE envelope: {error}; nothing was verified; give the file signoff wrote"
        raise ReceiptError(message) from error
    if envelope.payload_type != PAYLOAD_TYPE:
        message = f"the receipt holds {envelope.payload_type[:80]!r}, not {PAYLOAD_TYPE}; nothing was verified"
        raise ReceiptError(message)
    return statement, envelope.signatures
