"""What went wrong between a model client and its server, as the record says it.

The HTTP client's exceptions carry the request with its key, so none of them leaves this room: their kind is read here,
their text never.
"""

from typing import Final

import aiohttp
from aiohttp.http import HttpProcessingError

from signoff.core.model.response import Failure, FailureKind

FAULTS: Final = (aiohttp.ClientError, HttpProcessingError, OSError, UnicodeError)
"""What the HTTP client raises for a server or a network; a host that no look-up takes is a UnicodeError."""

GIVEN_UP: Final = Failure(kind=FailureKind.CANCELLED, where="host")
"""The caller cancelled, or left before the end."""


def failure_by(error: BaseException, *, begun: bool) -> Failure:
    """The failure that an exception of the HTTP client means; `begun` says that the head of a response had come."""
    if isinstance(error, TimeoutError):
        return Failure(kind=FailureKind.PROVIDER_TIMEOUT, where="transport")
    if begun:
        return Failure(kind=FailureKind.CUT, where="transport")
    if isinstance(error, aiohttp.ClientResponseError) and not isinstance(error, aiohttp.ClientHttpProxyError):
        # what came is no HTTP, or its head is over a bound
        return Failure(kind=FailureKind.NOT_THE_PROTOCOL, where="transport")
    return Failure(kind=FailureKind.CONNECTION, where="transport")
