"""Remembers how the messages of the last request were written, so that a growing history is encoded once.

A conversation grows at its end: what stood in the last request is recognised by identity, which needs neither a hash
nor a comparison of its text. One memo serves one conversation with one codec; another conversation only costs it its
gain.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from signoff.core.model.request import Message


class Encoded(NamedTuple):
    """One message as a codec writes it."""

    role: str
    """The role that its items belong under, where neighbours of one role are written as one; else empty."""
    items: bytes
    """JSON texts, joined by commas: messages, items, blocks or parts, as the protocol calls them."""


class Memo:
    """The messages of the last request and what each was encoded to."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._encoded: list[Encoded] = []

    def encode(self, messages: Sequence[Message], encode: Callable[[Message], Encoded]) -> list[Encoded]:
        """Encode a history; the messages that it shares with the last one, from the start, are not encoded again."""
        shared = 0
        for old, new in zip(self._messages, messages, strict=False):
            if old is not new:
                break
            shared += 1
        del self._messages[shared:], self._encoded[shared:]
        for message in messages[shared:]:
            self._encoded.append(encode(message))
            self._messages.append(message)
        return list(self._encoded)
