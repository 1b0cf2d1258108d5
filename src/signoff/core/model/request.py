"""One request to a model: messages, tools and bounds. A codec of `signoff.wire` turns it into a provider's bytes.

What a provider's protocol cannot say is refused by its codec, never left out silently; reasoning of another provider is
the one exception, since nobody else can read it.
"""

import json
import re
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from signoff.core.canonical import parse
from signoff.core.model.parts import Api, Part, UserPart
from signoff.core.values import require_count
from signoff.errors import CanonicalError, PolicyError

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
NO_PARAMETERS = '{"type":"object","properties":{}}'


class SystemMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="system"):
    """Instructions of the host."""

    text: str
    native: str = ""
    """The message as a client sent it, when the text alone does not say everything."""
    api: Api | None = None
    """Whose format `native` is in."""


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """What the user, or the host in the user's place, says."""

    parts: tuple[UserPart, ...]
    api: Api | None = None
    """Whose format the native text of its opaque parts is in."""


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """An earlier answer of the model."""

    parts: tuple[Part, ...]
    native: str = ""
    """The turn as the provider sent it (JSON text); sent back unchanged to the same protocol."""
    api: Api | None = None
    """Whose format `native` and opaque parts are in."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call."""

    call_id: str
    name: str
    text: str
    is_error: bool = False
    native: str = ""
    """The result as a client sent it, when the text alone does not say everything."""


class ToolMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="tool"):
    """The results of the calls of the assistant message before it, all of them."""

    results: tuple[ToolResult, ...]
    api: Api | None = None
    """Whose format the native text of its results is in."""


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model is offered."""

    name: str
    """A letter or `_`, then up to 63 letters, digits, `_` and `-`: what all four protocols accept."""
    description: str = ""
    parameters: str = NO_PARAMETERS
    """JSON Schema of the arguments, as JSON text: an object schema."""

    def __post_init__(self) -> None:
        if not _TOOL_NAME.fullmatch(self.name):
            message = (
                f"tool name {self.name[:80]!r} is not usable with every provider; start with a letter or '_' and use "
                "at most 64 of letters, digits, '_' and '-'"
            )
            raise PolicyError(message)
        if not isinstance(self.parameters, str):
            raise PolicyError(
                f"the parameters of tool {self.name} are no text; give a JSON Schema as text: json.dumps(…)"
            )
        kind = schema_of(self.parameters).get("type", "object")
        if kind != "object":
            raise PolicyError(
                f"the parameters of tool {self.name} are of type {str(kind)[:40]!r}; arguments are an object"
            )

    @property
    def schema(self) -> dict[str, Any]:
        """The parameters as a value, fresh for each caller to read."""
        return schema_of(self.parameters)


@lru_cache(maxsize=1024)
def schema_of(parameters: str) -> dict[str, Any]:
    """The object schema in a JSON text. Callers read it and never change it. Raises `PolicyError`."""
    try:
        schema = parse(parameters)
    except CanonicalError as error:
        raise PolicyError(f"a tool's parameters are not JSON Schema: {error}") from None
    if not isinstance(schema, dict):
        raise PolicyError(f"a tool's parameters are {json.dumps(schema)[:40]}; give a JSON Schema of type object")
    return schema


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools the model may or must call."""

    mode: str = "auto"
    """`auto`, `none`, `required`, or `tool` with a name."""
    name: str = ""

    def __post_init__(self) -> None:
        if self.mode not in {"auto", "none", "required", "tool"} or (self.mode == "tool") != bool(self.name):
            message = f"tool choice {self.mode!r} {self.name!r} is none of auto, none, required, tool with a name"
            raise PolicyError(message)


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    choice: Choice = Choice()
    max_output_tokens: int | None = None
    """Reasoning included; None leaves it to the provider (Anthropic needs one: its codec sets a default)."""
    extra: str = "{}"
    """JSON object of further fields of the provider's own request body: temperature and the like."""

    def __post_init__(self) -> None:
        require_count(self.max_output_tokens, what="max_output_tokens", least=1)


def required_of(tool: Tool | None) -> tuple[str, ...]:
    """The names of the arguments that a tool requires; none for a tool that is not known."""
    if tool is None:
        return ()
    required = tool.schema.get("required")
    return tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()
