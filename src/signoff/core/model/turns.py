"""How a conversation goes on: a response becomes a turn of it, in the provider's own form where it gave one."""

from collections.abc import Sequence
from typing import Final

import msgspec

from signoff.core.model.parts import Api, CallPart, Part, TextPart
from signoff.core.model.request import AssistantMessage, Message, ModelRequest, ToolMessage
from signoff.core.model.response import ModelResponse
from signoff.core.model.texts import is_blank

CALL_ID: Final = "signoff-call-"
"""Begins the id of a call to which the provider gave none; no provider is sent such an id that never saw it."""


def append(request: ModelRequest, response: ModelResponse) -> ModelRequest:
    """The request with an accepted or paused response as its newest turn; results of calls are added by the caller."""
    turn = assistant_message(response, after=request.messages)
    return msgspec.structs.replace(request, messages=(*request.messages, turn))


def assistant_message(response: ModelResponse, *, after: Sequence[Message] = ()) -> AssistantMessage:
    """A response as a turn behind these messages; its calls carry the ids that their results must name."""
    return AssistantMessage(parts=identified(response, after), native=response.native, api=response.api)


def identified(response: ModelResponse, after: Sequence[Message]) -> tuple[Part, ...]:
    """The parts of a response, where calls that the protocol leaves without ids have ids of ours.

    An id counts the calls of the conversation, so that the same response behind the same messages gets the same ids.
    """
    parts = response.parts
    if response.api is not Api.GEMINI or not any(isinstance(part, CallPart) and not part.call_id for part in parts):
        return parts
    number, used = _used_before(after)
    used.update(part.call_id for part in parts if isinstance(part, CallPart))
    named: list[Part] = []
    for part in parts:
        if not isinstance(part, CallPart):
            named.append(part)
            continue
        number += 1
        while not part.call_id and f"{CALL_ID}{number}" in used:
            number += 1
        named.append(part if part.call_id else msgspec.structs.replace(part, call_id=f"{CALL_ID}{number}"))
    return tuple(named)


def latest_text(messages: Sequence[Message]) -> str:
    """The newest text of the model in these messages of which anything can be seen; empty when there is none."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
            if not is_blank(text):
                return text
    return ""


def _used_before(messages: Sequence[Message]) -> tuple[int, set[str]]:
    """How many calls there were, and the ids that calls and results have."""
    number, used = 0, set[str]()
    for message in messages:
        if isinstance(message, AssistantMessage):
            ids = [part.call_id for part in message.parts if isinstance(part, CallPart)]
            number += len(ids)
            used.update(ids)
        elif isinstance(message, ToolMessage):
            used.update(result.call_id for result in message.results)
    return number, used
