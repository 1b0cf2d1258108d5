"""A model by one string, such as `openai:NAME`: which protocol, which address, which variables hold its key.

Pure: the environment comes as an argument. What must never be put here: a key, or a message that repeats an address,
which may hold one.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec

from signoff.core.model.parts import Api
from signoff.errors import ConfigError

COMPATIBLE = "openai-compatible"
PYDANTIC_AI = "pydantic-ai"

_PRINTABLE = re.compile(r"[!-~]+")
_LONGEST = 256
_SHOWN = 40
_EXAMPLE = "write PROVIDER:NAME, such as openai:NAME or anthropic:NAME"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A model that signoff reaches with a codec of its own."""

    name: str
    """The model as the user named it, for records."""
    api: Api
    base_url: str
    """Without a slash at its end; a codec's path is put behind it."""
    model: str
    """The model in the provider's words."""
    key_variables: tuple[str, ...]
    """The variables of the environment that may hold the key; the first that is set does."""
    key_required: bool = True


class Adapted(msgspec.Struct, frozen=True, kw_only=True):
    """A model that pydantic-ai reaches: its provider library finds the address and the key itself."""

    name: str
    provider: str
    """The provider in pydantic-ai's words."""
    model: str


class _Provider(NamedTuple):
    api: Api
    base_url: str
    base_variables: tuple[str, ...]
    key_variables: tuple[str, ...]


_OPENAI = ("https://api.openai.com/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",))
_PROVIDERS = {
    "openai": _Provider(Api.OPENAI_CHAT, *_OPENAI),
    "openai-responses": _Provider(Api.OPENAI_RESPONSES, *_OPENAI),
    "anthropic": _Provider(
        Api.ANTHROPIC_MESSAGES, "https://api.anthropic.com", ("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)
    ),
    "google": _Provider(
        Api.GEMINI,
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_GEMINI_BASE_URL",),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
}
_ALL = (*_PROVIDERS, COMPATIBLE, PYDANTIC_AI)


def parse_name(name: str, *, base_url: str | None = None, environment: Mapping[str, str]) -> Endpoint | Adapted:
    """Read a model's string. The address comes from the argument, else from the provider's variable, else it is known.

    Raises `ConfigError`.
    """
    provider, colon, rest = name.partition(":")
    if not colon:
        raise ConfigError(f"the model's name has no provider; nothing was started; {_EXAMPLE}")
    if provider == COMPATIBLE:
        return _compatible(name, rest, base_url)
    if provider == PYDANTIC_AI:
        return _adapted(name, rest, base_url)
    known = _PROVIDERS.get(provider)
    if known is None:
        raise ConfigError(_unknown(provider, rest))
    return Endpoint(
        name=name,
        api=known.api,
        base_url=_base_of(known, base_url, environment),
        model=_model(rest, example=f"{provider}:NAME"),
        key_variables=known.key_variables,
    )


def key_in(endpoint: Endpoint, environment: Mapping[str, str]) -> str:
    """The key from the environment; empty where none is set and none is needed. Raises `ConfigError`."""
    for variable in endpoint.key_variables:
        if environment.get(variable):
            return environment[variable]
    if endpoint.key_required:
        variables = " or ".join(endpoint.key_variables)
        raise ConfigError(
            f"the model {endpoint.name} needs a key, and {variables} is not set; nothing was sent; set it, or give the "
            "argument `key` a function that returns the key"
        )
    return ""


def key_fault(key: object) -> str:
    """What is wrong with a key, without a character of it; empty when nothing is."""
    if not isinstance(key, str):
        return f"a key is a string, and its function gave {type(key).__name__}"
    if key and not _PRINTABLE.fullmatch(key):
        return "the key holds a blank, a line break or another character that no header may carry"
    return ""


def _base_of(provider: _Provider, given: str | None, environment: Mapping[str, str]) -> str:
    if given is not None:
        return address(given, what="the argument base_url")
    for variable in provider.base_variables:
        if environment.get(variable):
            return address(environment[variable], what=f"the variable {variable}")
    return provider.base_url


def address(url: str, *, what: str) -> str:
    """A base address, checked, without slashes at its end. Raises `ConfigError`, which never repeats the address."""
    fault = _fault_of(url)
    if fault:
        raise ConfigError(f"{what} {fault}; nothing was started; write an address such as https://host/v1")
    return url.rstrip("/")


def _fault_of(url: str) -> str:
    """What is wrong with a base address, in words that follow its name; empty when nothing is."""
    if not _PRINTABLE.fullmatch(url) or "\\" in url:
        return "is empty, or holds a blank, a backslash or a character outside ASCII"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is no address: its host or port cannot be read"
    if parts.scheme not in {"http", "https"}:
        return "is no address that begins with http:// or https://"
    if "@" in parts.netloc:
        return "has a user name or password before its host; give the key by its variable or the argument `key`"
    if not parts.hostname or port == 0:
        return "has no host, or port 0"
    return _fault_behind_the_host(url, parts)


def _fault_behind_the_host(url: str, parts: SplitResult) -> str:
    if "?" in url or "#" in url:
        return "has a query or a fragment, and a path is to be put behind it"
    if {".", ".."} & set(parts.path.split("/")):
        return "has a step such as '..' in its path"
    return ""


def _compatible(name: str, rest: str, base_url: str | None) -> Endpoint:
    """A Chat server at an address of the user's."""
    url, mark, model = rest.partition("#")
    if not mark:
        raise ConfigError(
            f"a model of {COMPATIBLE} has no '#NAME' behind its address; nothing was started; write "
            f"{COMPATIBLE}:URL#NAME, such as {COMPATIBLE}:http://localhost:8000/v1#NAME"
        )
    base = address(url, what=f"the address of {COMPATIBLE}")
    return Endpoint(
        name=name,
        api=Api.OPENAI_CHAT,
        base_url=base if base_url is None else address(base_url, what="the argument base_url"),
        model=_model(model, example=f"{COMPATIBLE}:URL#NAME"),
        key_variables=("OPENAI_COMPATIBLE_API_KEY",),
        key_required=False,
    )


def _adapted(name: str, rest: str, base_url: str | None) -> Adapted:
    example = f"{PYDANTIC_AI}:PROVIDER:NAME"
    provider, colon, model = rest.partition(":")
    if not (colon and _PRINTABLE.fullmatch(provider)):
        raise ConfigError(f"a model of {PYDANTIC_AI} names no provider; nothing was started; write {example}")
    if base_url is not None:
        raise ConfigError(
            f"base_url was given with {example}; nothing was started; leave it out and set the variable of that "
            "provider's own library"
        )
    return Adapted(name=name, provider=provider, model=_model(model, example=example))


def _model(model: str, *, example: str) -> str:
    if not model:
        raise ConfigError(f"the model's string ends before a name; nothing was started; write {example}")
    if not _PRINTABLE.fullmatch(model) or len(model) > _LONGEST:
        raise ConfigError(
            f"the name in {example} holds a blank or a character outside ASCII, or more than {_LONGEST} characters; "
            "nothing was started; write the name as the provider lists it"
        )
    return model


def _unknown(provider: str, rest: str) -> str:
    """The message for a provider that is not known, with what was probably meant."""
    if rest.startswith("//"):
        return (
            f"the model's string begins with an address; nothing was started; write {COMPATIBLE}:URL#NAME for a "
            "server of your own"
        )
    shown = f" {provider!r}" if _PRINTABLE.fullmatch(provider) and len(provider) <= _SHOWN else ""
    near = difflib.get_close_matches(provider.lower(), _ALL, n=1)
    advice = f"did you mean {near[0]}?" if near else f"write one of {_listed(_ALL)}"
    return f"no provider{shown} is known; nothing was started; {advice}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
