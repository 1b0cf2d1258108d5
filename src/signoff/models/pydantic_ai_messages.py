"""A request in pydantic-ai's words.

An assistant turn that came through it goes back in the form in which it came, signatures included. What it cannot say
is refused; reasoning of another provider is left out, since nobody else can read it.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Choice,
    Message,
    ModelRequest,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from signoff.errors import PolicyError
from signoff.wire.json_text import load


def history_of(messages: Sequence[Message]) -> list[theirs.ModelMessage]:
    """The messages of a request. Raises `PolicyError` for what pydantic-ai has no word for."""
    return [written for message in messages for written in _written(message)]


def parameters_of(request: ModelRequest) -> ModelRequestParameters:
    """The tools of a request."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description or None, parameters_json_schema=tool.schema)
            for tool in request.tools
        ],
        allow_text_output=True,
    )


def settings_of(request: ModelRequest, *, ignored: Collection[str]) -> ModelSettings:
    """The bounds of a request, and further fields of the provider's own body; its client ignores some settings.

    Raises `PolicyError` for further fields that it would ignore.
    """
    settings: dict[str, Any] = {}
    if request.max_output_tokens is not None:
        settings["max_tokens"] = request.max_output_tokens
    if request.choice != Choice():
        settings["tool_choice"] = [request.choice.name] if request.choice.mode == "tool" else request.choice.mode
    extra = load(request.extra)
    if not isinstance(extra, dict):
        raise PolicyError("a request's extra fields are no JSON object; nothing was sent; write one")
    if extra and "extra_body" in ignored:
        raise PolicyError("a request has extra fields, which this provider's client drops; nothing was sent")
    if extra:
        settings["extra_body"] = extra
    return cast("ModelSettings", settings)


def _written(message: Message) -> Iterator[theirs.ModelMessage]:
    match message:
        case SystemMessage():
            yield theirs.ModelRequest(parts=[theirs.SystemPromptPart(content=message.text)])
        case UserMessage():
            texts = [_user_text(part) for part in message.parts]
            yield theirs.ModelRequest(parts=[theirs.UserPromptPart(content=texts[0] if len(texts) == 1 else texts)])
        case AssistantMessage():
            yield _answer(message)
        case ToolMessage():
            yield theirs.ModelRequest(
                parts=[
                    theirs.ToolReturnPart(
                        tool_name=result.name,
                        content=result.text,
                        tool_call_id=result.call_id,
                        outcome="failed" if result.is_error else "success",
                    )
                    for result in message.results
                ]
            )


def _user_text(part: TextPart | OpaquePart) -> str:
    if isinstance(part, OpaquePart):
        raise PolicyError(f"a user message holds a part {part.kind!r}, which pydantic-ai cannot be given in that form")
    return part.text


def _answer(message: AssistantMessage) -> theirs.ModelMessage:
    if message.api is Api.OTHER and message.native:
        return _as_it_came(message.native)
    return theirs.ModelResponse(parts=[part for one in message.parts for part in _their_parts(one)])


def _as_it_came(native: str) -> theirs.ModelMessage:
    try:
        (message,) = theirs.ModelMessagesTypeAdapter.validate_json(native)
    except ValueError:  # also when there is not exactly one
        raise PolicyError("the native text of an assistant message is not pydantic-ai's; nothing was sent") from None
    return message


def _their_parts(part: Part) -> Iterator[theirs.ModelResponsePart]:
    match part:
        case TextPart() | RefusalPart():
            yield theirs.TextPart(content=part.text)
        case CallPart(kind=CallKind.FUNCTION):
            yield theirs.ToolCallPart(tool_name=part.name, args=part.arguments, tool_call_id=part.call_id)
        case CallPart() | OpaquePart():
            kind = part.kind if isinstance(part, OpaquePart) else "custom call"
            raise PolicyError(f"an assistant message holds a part {kind!r}, which pydantic-ai cannot be given")
        case ReasoningPart():
            return
