"""What every stream of a model keeps: one entry, one reader at a time, and a record that is read after the end.

A second entry or reader would ask the model a second time. What must never be put here: a socket, a provider, a script.
"""

from types import TracebackType

from signoff.core.model.response import ModelResponse
from signoff.errors import ProtocolViolation


class OneReader:
    """A stream's entry, and around each of its steps a context that lets one reader in. Raises `ProtocolViolation`."""

    __slots__ = ("_entered", "_reading")

    def __init__(self) -> None:
        self._entered = False
        self._reading = False

    def enter(self) -> None:
        """Take the one entry."""
        if self._entered:
            raise ProtocolViolation("a stream was entered again, a second time; nothing was sent; ask for a new one")
        self._entered = True

    def __enter__(self) -> None:
        if self._reading:
            raise ProtocolViolation("a stream was read by two at once; the second got nothing; read it in one task")
        self._reading = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading = False


def recorded(response: ModelResponse | None) -> ModelResponse:
    """The record of a stream. Raises `ProtocolViolation` while there is none."""
    if response is None:
        raise ProtocolViolation(
            "the response of a stream was asked for while it was in progress; nothing was returned; read it after "
            "the iteration or behind the context"
        )
    return response
