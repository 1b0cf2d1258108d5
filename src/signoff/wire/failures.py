"""The errors of all protocols, read as one: which kind it is, and nothing of its text.

Providers repeat prompts and pieces of keys in their messages, so only the length of a message is kept. The kind comes
from the provider's own words (code, type, reason) first and from the status second. One exception reads a message:
Anthropic says that a prompt is too long in nothing else than its first words.

What must never be put here: a guess from prose, and any decision about retrying.
"""

import re
from typing import Final, NamedTuple

from signoff.core.model.ending import Exchange
from signoff.core.model.response import Failure, FailureKind
from signoff.wire.failure_words import ERRORS, GENERIC, KINDS, kind_of_status
from signoff.wire.json_text import JSON, object_of

_LONGEST_WORD: Final = 100
_TOO_LONG_PROMPT: Final = ("prompt is too long", "input length and `max_tokens` exceed context limit")
_NOT_A_TYPE: Final = {"error", "response.error"}  # the name of an event, which says nothing
_DELAY: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s")
_DIGITS: Final = re.compile(r"[1-5][0-9][0-9]")
_STATUSES: Final = range(100, 600)


def failure_of(payload: JSON, exchange: Exchange, *, where: str) -> Failure:
    """Read an error in any shape that a provider or a compatible server gives it.

    `payload` is the whole JSON value that holds the error (`{"error": {...}}`, a one-element list of it, the flat form
    of a Responses `error` event, `{"object": "error"}`, `{"error_type": …}`), or None when there is none to read. With
    `where="http"` the status of the exchange decides when the payload says nothing; with `"stream"` the status is that
    inside the error, if it names one.
    """
    said = _said(_error_in(payload))
    http = where == "http"
    status = exchange.status if http else said.status
    return Failure(
        kind=_kind(said, status if status in _STATUSES else None),
        where=where,
        status=status if status in _STATUSES else None,
        type=said.type,
        code=said.code,
        message_length=len(said.message),
        retry_after=exchange.retry_after if http and exchange.retry_after is not None else said.retry_after,
    )


def not_the_protocol(exchange: Exchange, *, length: int) -> Failure:
    """A web page, broken JSON or another format where an answer should stand; `length` bytes or characters of it."""
    return Failure(kind=FailureKind.NOT_THE_PROTOCOL, where="stream", status=exchange.status, message_length=length)


class _Said(NamedTuple):
    """What an error says, whatever its shape."""

    type: str
    code: str
    reason: str
    status: int | None
    message: str
    retry_after: float | None


def _error_in(payload: JSON) -> dict[str, JSON]:
    """The object that describes the error, wherever it stands."""
    if isinstance(payload, list):
        payload = next((item for item in payload if isinstance(item, dict)), None)
    whole = object_of(payload)
    failed = whole.get("response")
    if isinstance(failed, dict) and failed.get("error"):
        whole = failed
    error = whole.get("error")
    if isinstance(error, list):
        error = next((item for item in error if isinstance(item, dict)), None)
    if isinstance(error, dict):
        beside = whole.get("status")
        return error if "status" in error or type(beside) is not int else {**error, "status": beside}
    if isinstance(error, str):
        # a bare text is a code or a sentence; beside it may stand the fields of the flat form
        known = error.lower() in KINDS or error.lower() in GENERIC
        return {"message": error, **({"code": error} if known else {}), **whole}
    return whole


def _said(error: dict[str, JSON]) -> _Said:
    """The words, numbers and lengths of an error."""
    kind = _word(error.get("type")) or _word(error.get("error_type")) or _word(error.get("__type"))
    code = _word(error.get("code"))
    named = _word(error.get("status"))  # Gemini's word; a number elsewhere
    details = error.get("details")
    reason, retry_after = _details(details) if isinstance(details, list) else ("", None)
    statuses = (_status(error.get(key)) for key in ("code", "status", "status_code"))
    messages = (error.get(key) for key in ("message", "error_message", "detail"))
    return _Said(
        type=("" if kind in _NOT_A_TYPE else kind) or ("" if named.isdigit() else named),
        code=code or _word(object_of(details).get("error_code")),
        reason=reason,
        status=next((status for status in statuses if status is not None), None),
        message=next((message for message in messages if isinstance(message, str)), ""),
        retry_after=retry_after,
    )


def _details(details: list[JSON]) -> tuple[str, float | None]:
    """The reason and the delay in Gemini's list of details."""
    reason, delay = "", None
    for detail in details:
        fields = object_of(detail)
        reason = reason or _word(fields.get("reason"))
        asked = fields.get("retryDelay")
        found = _DELAY.fullmatch(asked) if isinstance(asked, str) else None
        if found and delay is None:
            delay = float(found[1])
    return reason, delay


def _word(value: JSON) -> str:
    """A provider's type or code: at most 100 characters of printable ASCII, or nothing."""
    if type(value) is int:
        return str(value) if abs(value) < 10**18 else ""
    if not isinstance(value, str):
        return ""
    word = value[:_LONGEST_WORD].strip()
    return word if word.isascii() and word.isprintable() else ""


def _status(value: JSON) -> int | None:
    """A status inside an error, as a number or as its digits."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    return value if type(value) is int and value in _STATUSES else None


def _kind(said: _Said, status: int | None) -> FailureKind:
    """The provider's most telling word decides; then the status inside the error, then that of the exchange."""
    words = _folded(said)
    for word in words:
        if word in KINDS:
            return KINDS[word]
    if _is_too_long_prompt(said, words, status):
        return FailureKind.CONTEXT_FULL
    numbers = [number for number in (said.status, status) if number is not None and number >= ERRORS]
    told = [kind_of_status(number) for number in numbers]
    generic = [GENERIC[word] for word in words if word in GENERIC]
    telling = [kind for kind in told if kind not in GENERIC.values()]
    for kinds in (telling, generic, told):
        if kinds:
            return kinds[0]
    nothing_said = status is not None and not words and not said.message
    return FailureKind.NOT_THE_PROTOCOL if nothing_said else FailureKind.SERVER_ERROR


def _is_too_long_prompt(said: _Said, words: list[str], status: int | None) -> bool:
    """The one message that is read; with 413 it is seen on errors of other kinds too."""
    anthropic = "invalid_request_error" in words and status in {None, ERRORS}
    return anthropic and said.message.lower().startswith(_TOO_LONG_PROMPT)


def _folded(said: _Said) -> list[str]:
    """The words in the form of the tables: lower case with underscores."""
    words = (said.code, said.reason, said.type)
    return [word.lower().replace("-", "_").replace(" ", "_") for word in words if word]
