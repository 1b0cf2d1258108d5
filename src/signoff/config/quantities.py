"""Reads the numbers and times that people type into options, variables and signoff.toml.

Every reader names what it read and what it wants. Defaults do not belong here.
"""

import re

from signoff.core.jcs import quoted
from signoff.errors import ConfigError

MOST_SECONDS = 366 * 24 * 3600
"""The longest time that can be asked for: a deadline beyond a year is a slip, and a huge one breaks clocks."""

MOST_COUNT = 10**15
"""The largest number that can be asked for; it bounds nothing that runs."""

DURATION_PATTERN = r"^\s*[0-9]{1,9}[smhd]?\s*$"
"""How a time is typed, for editors."""

_COUNT = re.compile(r"[0-9]{1,15}")
_DURATION = re.compile(r"([0-9]{1,9})([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def count(text: str, *, what: str, least: int = 0) -> int:
    """Return a whole number typed as digits only, blanks around it aside."""
    digits = text.strip()
    if not _COUNT.fullmatch(digits) or int(digits) < least:
        message = (
            f"{what} is {quoted(text)}, which is no whole number of at least {least}; nothing was started; "
            "write digits only, such as 3"
        )
        raise ConfigError(message)
    return int(digits)


def seconds(value: str | int, *, what: str) -> int:
    """Return a time in seconds from a number, or from a text such as 90, 90s, 10m, 2h or 1d."""
    found = _DURATION.fullmatch(str(value).strip()) if isinstance(value, str) or value <= MOST_SECONDS else None
    amount = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 1 <= amount <= MOST_SECONDS:
        shown = quoted(value) if isinstance(value, str) else "that number"
        message = (
            f"{what} is {shown}, which is no time between 1s and 366d; nothing was started; "
            "write it like 90, 90s, 10m, 2h or 1d"
        )
        raise ConfigError(message)
    return amount
