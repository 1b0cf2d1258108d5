"""Where a key comes from. It is asked for once a request, so that it may rotate, and it is kept nowhere.

What must never be put here: a key in an attribute, a message, a log line, or a frame that raises.
"""

import inspect
import os
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from signoff.errors import ConfigError
from signoff.models.names import Endpoint, key_fault, key_in

Key: TypeAlias = Callable[[], "str | Awaitable[str]"]
"""Returns the key, or something to await that does; an empty string is no key."""


def from_environment(endpoint: Endpoint) -> Key:
    """A function that reads an endpoint's key from the environment. Raises `ConfigError` now if it is missing."""
    key_in(endpoint, os.environ)
    return lambda: key_in(endpoint, os.environ)


async def current(key: Key) -> str:
    """Ask for the key, now. Raises `ConfigError`, without the key, for one that no header may carry."""
    given = key()
    value = await given if inspect.isawaitable(given) else given
    fault = key_fault(value)
    if fault:
        del given, value
        raise ConfigError(f"{fault}; nothing was sent; check the variable or function that the key comes from")
    return value
