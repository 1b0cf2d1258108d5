"""How long a model client waits for the network. Deadlines of a whole answer belong to the caller."""

import math

import msgspec

from signoff.errors import PolicyError


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds in seconds, from above 0; None is no bound."""

    connect: float | None = 10.0
    """Name look-up, connection, a proxy's tunnel and TLS together."""
    idle: float | None = 120.0
    """Between two pieces of a response, and from the end of the request to the first."""
    head: float | None = 600.0
    """From the start of a request until the head of its response is whole: connection, upload and waiting together.

    A body that keeps dripping is bounded by nothing here: that is for the caller's deadline of the whole answer.
    """

    def __post_init__(self) -> None:
        for what, seconds in (("connect", self.connect), ("idle", self.idle), ("head", self.head)):
            if seconds is not None and not (0 < seconds < math.inf):
                raise PolicyError(f"the timeout {what} is {seconds!r}; give seconds above 0, or None for no bound")
