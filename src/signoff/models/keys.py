"""Where a key comes from. It is asked for once a request, so that it may rotate, and it is kept nowhere.

What must never be put here: a key in an attribute, a message, a log line, or a frame that raises.
"""

import inspect
import os
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from signoff.core.model.response import ModelResponse
from signoff.errors import ConfigError
from signoff.models.names import Endpoint, key_fault, key_in

Key: TypeAlias = Callable[[], "str | Awaitable[str]"]
"""Returns the key, or something to await that does; an empty string is no key."""


def from_environment(endpoint: Endpoint) -> Key:
    """A function that reads an endpoint's key from the environment. Raises `ConfigError` now if it is missing."""

    def read() -> str:
        try:
            return key_in(endpoint, os.environ)
        except ConfigError as error:  # the frames below hold the whole environment, other keys among it
            raise error.with_traceback(None) from None

    read()
    return read


def without_key(response: ModelResponse, key: str) -> ModelResponse:
    """The record without the key, where a provider repeated it in a word of its own."""
    if not key:
        return response
    failure = response.failure
    if failure is not None and (key in failure.type or key in failure.code):
        kept = {name: "" if key in text else text for name, text in (("type", failure.type), ("code", failure.code))}
        failure = msgspec.structs.replace(failure, **kept)
    words = {name: getattr(response, name) for name in ("request_id", "response_id", "model", "raw_reason", "envelope")}
    empty = {"raw_reason": None, "envelope": "{}"}
    changed = {name: empty.get(name, "") for name, text in words.items() if text is not None and key in text}
    if failure is response.failure and not changed:
        return response
    return msgspec.structs.replace(response, failure=failure, **changed)


async def current(key: Key) -> str:
    """Ask for the key, now. Raises `ConfigError`, without the key, for one that no header may carry."""
    given = key()
    value = await given if inspect.isawaitable(given) else given
    fault = key_fault(value)
    if fault:
        del given, value
        raise ConfigError(f"{fault}; nothing was sent; check the variable or function that the key comes from")
    return value
