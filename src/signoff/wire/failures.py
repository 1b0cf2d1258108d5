"""The errors of all protocols, read as one: which kind it is, and nothing of its text.

Providers repeat prompts and pieces of keys in their messages, so only the length of a message is kept.
"""

from signoff.core.canonical import JSON
from signoff.core.model.ending import Exchange
from signoff.core.model.response import Failure, FailureKind


def failure_of(payload: JSON, exchange: Exchange, *, where: str) -> Failure:
    """Read an error in any shape that a provider or a compatible server gives it.

    `payload` is the whole JSON value that holds the error (`{"error": {...}}`, a one-element list of it, the flat form
    of a Responses `error` event, `{"object": "error"}`, `{"error_type": …}`), or None when there is none to read. With
    `where="http"` the status of the exchange decides when the payload says nothing; with `"stream"` the status is that
    inside the error, if it names one.
    """
    raise NotImplementedError


def not_the_protocol(exchange: Exchange, *, length: int) -> Failure:
    """A web page, broken JSON or another format where an answer should stand; `length` bytes or characters of it."""
    return Failure(kind=FailureKind.NOT_THE_PROTOCOL, where="stream", status=exchange.status, message_length=length)
