"""Short ways to write down a response for a scripted server or a scripted model to give, in any protocol.

A reply names what the model says; the codec of the protocol that it is played in finds the protocol's own words for it.
Nothing here is checked: a script may say what no provider would.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

import msgspec
import orjson

from signoff.core.model.parts import Api, CallKind, CallPart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, ModelResponse, TokenUsage


class Facts(TypedDict, total=False):
    """What else a reply may say."""

    end: End
    """How it ends; by default as its calls, its refusal, or neither of them imply."""
    raw_reason: str
    """The provider's word for the end; by default the protocol's usual one."""
    api: Api
    """OpenAI Chat unless said otherwise; a scripted server replaces it with the protocol of the request."""
    parts: tuple[Part, ...]
    """All parts in their order, in place of the others."""
    response_id: str
    model: str


def reply(
    text: str = "",
    *,
    calls: Sequence[CallPart] = (),
    reasoning: str = "",
    refusal: str = "",
    usage: tuple[int, int] | None = (10, 5),
    **facts: Unpack[Facts],
) -> ModelResponse:
    """Return a whole response: reasoning, text, refusal and calls in this order; `usage` is input and output tokens.

    Without usage none is sent, but by Anthropic's protocol, which needs numbers and gets zeros. Calls without an id get
    `call_1`, `call_2` and so on; give them their own where a conversation has several replies.
    """
    parts: list[Part] = []
    if reasoning:
        parts.append(ReasoningPart(text=reasoning))
    if text:
        parts.append(TextPart(text=text))
    if refusal:
        parts.append(RefusalPart(text=refusal))
    for place, each in enumerate(calls, start=1):
        parts.append(each if each.call_id else msgspec.structs.replace(each, call_id=f"call_{place}"))
    end = End.REFUSAL if refusal else End.TOOL_CALLS if calls else End.NORMAL
    whole = ModelResponse(
        api=Api.OPENAI_CHAT, end=end, saw_reason=True, saw_terminal=True, parts=tuple(parts), usage=_tokens(usage)
    )
    return msgspec.structs.replace(whole, **facts)


def call(
    name: str,
    arguments: Mapping[str, object] | str = "{}",
    *,
    call_id: str = "",
    kind: CallKind = CallKind.FUNCTION,
    closed: bool = True,
) -> CallPart:
    """Return a call; arguments given as text are taken as they are, also when they are cut or no JSON."""
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return CallPart(call_id=call_id, name=name, arguments=text, kind=kind, closed=closed)


def _tokens(usage: tuple[int, int] | None) -> TokenUsage | None:
    return None if usage is None else TokenUsage(input=usage[0], output=usage[1], total=sum(usage))
