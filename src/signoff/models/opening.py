"""From a model's string to a model. What each kind of model needs is imported when one is opened."""

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING

from signoff.errors import ConfigError
from signoff.models.keys import Key
from signoff.models.names import Adapted, parse_name
from signoff.models.timeouts import Timeouts

if TYPE_CHECKING:  # importing these costs time, and only one of them is ever needed
    import ssl as tls

    from signoff.models.http import HttpModel
    from signoff.models.pydantic_ai import PydanticAIModel


def open_model(
    name: str,
    *,
    key: Key | None = None,
    base_url: str | None = None,
    timeouts: Timeouts | None = None,
    ssl: "tls.SSLContext | None" = None,
) -> "HttpModel | PydanticAIModel":
    """Open a model by its string, such as `openai:NAME`; nothing is sent. Raises `ConfigError`.

    `key` is a function that returns the key, called once a request; by default the key comes from the provider's
    variable. `base_url` replaces the provider's address; OpenAI's ends in `/v1`, the others' do not.
    """
    try:
        endpoint = parse_name(name, base_url=base_url, environment=os.environ)
    except ConfigError as error:  # the frames below hold the whole environment, keys among it
        raise error.with_traceback(None) from None
    if not isinstance(endpoint, Adapted):
        http = _room("signoff.models.http", extra="models")
        opened: HttpModel = http.HttpModel(endpoint, key=key, timeouts=timeouts, tls=ssl)
        return opened
    if key is not None or ssl is not None:
        raise ConfigError(
            f"key or ssl was given with {name}; nothing was started; leave them out: that provider's own library has "
            "its variables"
        )
    adapter = _room("signoff.models.pydantic_ai", extra="pydantic-ai")
    try:
        adapted: PydanticAIModel = adapter.open_adapted(endpoint, timeouts)
    except ImportError:
        raise ConfigError(
            f"the library of {endpoint.provider} is not installed; nothing was started; "
            f"pip install 'pydantic-ai-slim[{endpoint.provider}]'"
        ) from None
    return adapted


def _room(module: str, *, extra: str) -> ModuleType:
    """Import a module whose library is optional. Raises `ConfigError` that says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in {"", "signoff"}:
            raise
        raise ConfigError(
            f"this model needs the package {missing}, which is not installed; nothing was started; "
            f"pip install 'signoff[{extra}]'"
        ) from None
