"""The failures of pydantic-ai and of the provider clients below it, read as kinds; their text stays where it is."""

import sys
from collections.abc import Iterator, Mapping
from typing import Final

import httpx2
from pydantic_ai import exceptions

from signoff.core.model.response import Failure, FailureKind
from signoff.wire.failure_words import kind_of_status

LONGEST_WAIT: Final = 24 * 60 * 60.0
_LONGEST_WORD: Final = 100
_HTTP_ERRORS: Final = range(400, 600)
_FORBIDDEN: Final = 403

_KINDS: Mapping[type[Exception], FailureKind] = {
    exceptions.ModelRateLimitError: FailureKind.RATE_LIMITED,
    exceptions.ModelQuotaExceededError: FailureKind.QUOTA,
    exceptions.ModelUnavailableError: FailureKind.OVERLOADED,
    exceptions.ModelServerError: FailureKind.SERVER_ERROR,
    exceptions.ModelContextWindowExceededError: FailureKind.CONTEXT_FULL,
    exceptions.ModelAuthenticationError: FailureKind.AUTHENTICATION,
    exceptions.ModelNotFoundError: FailureKind.NOT_FOUND,
    exceptions.ModelRequestRejectedError: FailureKind.INVALID_REQUEST,
    exceptions.ContentFilterError: FailureKind.CONTENT_FILTER,
}


def failure_of_theirs(error: Exception, *, begun: bool) -> Failure:
    """The failure that an exception means; `begun` says that a response had begun."""
    if _is_one(error, (exceptions.ModelTimeoutError, exceptions.ModelRequestTimeout, TimeoutError), "TimeoutException"):
        return Failure(kind=FailureKind.PROVIDER_TIMEOUT, where="transport")
    if _is_one(error, (exceptions.ModelConnectionError, OSError), "TransportError"):
        return Failure(kind=FailureKind.CUT if begun else FailureKind.CONNECTION, where="transport")
    status = getattr(error, "status_code", None)
    status = status if type(status) is int and status in _HTTP_ERRORS else None
    kind = _kind(error, status)
    said = type(error).__name__ if kind is FailureKind.NOT_THE_PROTOCOL else ""
    return Failure(
        kind=kind,
        where="stream" if begun or status is None else "http",
        status=status,
        type=_word(error, "provider_error_type") or said,
        code=_word(error, "provider_error_code"),
        message_length=_length(getattr(error, "body", None)),
        retry_after=_wait(getattr(error, "retry_after", None)),
    )


def _kind(error: Exception, status: int | None) -> FailureKind:
    if status == _FORBIDDEN and isinstance(error, exceptions.ModelAuthenticationError):
        return FailureKind.PERMISSION
    for theirs, kind in _KINDS.items():
        if isinstance(error, theirs):
            return kind
    # Whatever else is raised, an IndexError for an empty list of choices too, met what it could not read.
    return FailureKind.NOT_THE_PROTOCOL if status is None else kind_of_status(status)


def _is_one(error: Exception, kinds: tuple[type[BaseException], ...], transport: str) -> bool:
    """Whether an exception, or one below it, is of these kinds or an HTTP library's `transport` error."""
    named = [getattr(httpx2, transport)]
    if "httpx" in sys.modules:  # the older library, where a provider's client still uses it
        named.append(getattr(sys.modules["httpx"], transport))
    return any(isinstance(one, (*kinds, *named)) for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def _word(error: Exception, name: str) -> str:
    word = getattr(error, name, None)
    return word[:_LONGEST_WORD] if isinstance(word, str) and word.isascii() and word.isprintable() else ""


def _length(body: object) -> int:
    """How long the provider's own message is."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return len(message) if isinstance(message, str) else 0


def _wait(seconds: object) -> float | None:
    if not isinstance(seconds, int | float) or not seconds >= 0:
        return None
    return min(float(seconds), LONGEST_WAIT)
