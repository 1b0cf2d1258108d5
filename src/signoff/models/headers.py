"""What a response's headers say beside its body: request id, wait, type. Pure: the only clock is the server's."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from signoff.core.model.ending import Exchange

LONGEST_WAIT: Final = 24 * 60 * 60.0
"""The longest wait in seconds that is passed on; a longer one is cut to it."""

_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{0,12})?")
_SHOWN = 200


def exchange_of(status: int, headers: Mapping[str, str], *, max_output_tokens: int | None) -> Exchange:
    """The facts of an exchange; the names of the headers are read in any case."""
    lowered = {name.lower(): value for name, value in headers.items()}
    return Exchange(
        status=status,
        content_type=_shown(lowered.get("content-type", "")),
        request_id=_shown(lowered.get("x-request-id") or lowered.get("request-id", "")),
        retry_after=retry_after(lowered),
        max_output_tokens=max_output_tokens,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, by headers with small names; None when they do not say it in a form that is known.

    A date counts against the date of the response: the server's clock on both sides.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return min(milliseconds / 1000, LONGEST_WAIT)
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is None:
        seconds = _until(text, headers.get("date", ""))
    return None if seconds is None else min(seconds, LONGEST_WAIT)


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def _until(then: str, now: str) -> float | None:
    """The seconds from one HTTP date to another, 0 when it has passed."""
    try:
        return max((parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds(), 0.0)
    except (TypeError, ValueError, OverflowError):  # no date, or one with a zone beside one without
        return None


def _shown(text: str) -> str:
    """A header as it may stand in a record: printable and short."""
    return "".join(mark if mark.isprintable() else "?" for mark in text[:_SHOWN])
