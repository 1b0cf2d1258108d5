"""Writes the body of a request. An assistant's turn of this protocol goes back as it came, unknown fields included.

Left out are reasoning and citations of other providers, and texts that are blank, which the provider refuses. What else
the protocol cannot say is refused.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from signoff.core.model.request import (
    AssistantMessage,
    Message,
    ModelRequest,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from signoff.errors import PolicyError
from signoff.wire.anthropic_messages.offers import choice_of, tools_of
from signoff.wire.anthropic_messages.turns import Turn, assistant_blocks, result_blocks, turns_of, user_blocks
from signoff.wire.anthropic_messages.words import API, DEFAULT_MAX_TOKENS, VERSION
from signoff.wire.json_text import dump, load
from signoff.wire.memo import Encoded, Memo
from signoff.wire.slices import array_text, members_of, object_text, pasted

_OURS: Final = ("model", "messages", "system", "stream")
_OFFERS: Final = frozenset({"tools", "tool_choice", "max_tokens"})
_USER, _RESULTS, _ASSISTANT, _AS_IT_CAME = "user", "results", "assistant", "as it came"
Written: TypeAlias = dict[str, str]


def path(model: str, *, stream: bool) -> str:  # noqa: ARG001 - one signature for all protocols
    """The path behind the base address."""
    return "/v1/messages"


def headers(key: str) -> dict[str, str]:
    """The headers that a request needs."""
    fixed = {"content-type": "application/json", "anthropic-version": VERSION}
    return {**fixed, "x-api-key": key} if key else fixed


def build_request(request: ModelRequest, *, model: str, stream: bool, memo: Memo) -> bytes:
    """Write the body of a request. Raises `PolicyError` for what this protocol cannot say.

    Of `extra`, `tools` says more of the tools with those names or adds the provider's own, `tool_choice` adds to the
    choice, and `max_tokens` counts where the request sets no bound; all other fields are sent as they are.
    """
    extra = members_of(request.extra)
    if not isinstance(load(request.extra), dict) or any(name in extra for name in _OURS):
        raise PolicyError(f"`extra` is no JSON object, or names one of {', '.join(_OURS)}; nothing was sent; change it")
    leading = _leading(request.messages)
    body: Written = {"model": dump(model), "max_tokens": _most(request, extra)}
    if system := _system(leading):
        body["system"] = system
    if tools := tools_of(request, extra):
        body["tools"] = tools
    if choice := choice_of(request, extra, offered=bool(tools)):
        body["tool_choice"] = choice
    if stream:
        body["stream"] = "true"
    body.update((name, text) for name, text in extra.items() if name not in _OFFERS)
    messages = _messages(request.messages[len(leading) :], memo)
    return b'%b,"messages":[%b]}' % (object_text(body)[:-1].encode(), b",".join(messages))


def _most(request: ModelRequest, extra: Written) -> str:
    """The bound of the output, which the protocol requires."""
    if request.max_output_tokens is not None:
        return str(request.max_output_tokens)
    return extra.get("max_tokens", str(DEFAULT_MAX_TOKENS))


# ── Instructions ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _leading(messages: Sequence[Message]) -> list[SystemMessage]:
    """The instructions before the conversation."""
    leading: list[SystemMessage] = []
    for message in messages:
        if not isinstance(message, SystemMessage) or _is_message(message):
            break
        leading.append(message)
    return leading


def _is_message(message: SystemMessage) -> bool:
    """Whether a client sent these instructions as a message among the others, as newer versions allow."""
    return message.api is API and "role" in members_of(message.native)


def _system(leading: Sequence[SystemMessage]) -> str:
    """A text, or blocks where there are several or one that says more than its text."""
    own = [pasted(message.native, dict) if message.api is API and message.native else "" for message in leading]
    blocks = [
        native or object_text({"type": '"text"', "text": dump(message.text)})
        for message, native in zip(leading, own, strict=True)
        if native or message.text.strip()
    ]
    if len(leading) == 1 and blocks and not own[0]:
        return dump(leading[0].text)
    return array_text(blocks) if blocks else ""


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _messages(messages: Sequence[Message], memo: Memo) -> list[bytes]:
    """The messages; neighbours of one role are one message, in which results stand first, as the provider demands."""
    turns = turns_of(messages)
    encoded = memo.encode(messages, lambda message: _encode(message, turns[id(message)]))
    written: list[bytes] = []
    for role, group in groupby(filter(_says_something, encoded), _role_of):
        items = [each.items for each in sorted(group, key=_follows_results)]
        if role == _AS_IT_CAME:
            written += items
        else:
            written.append(b'{"role":"%b","content":[%b]}' % (role.encode(), b",".join(items)))
    if not written:
        raise PolicyError("a request holds no message that says anything; nothing was sent; give a user's message")
    return written


def _says_something(encoded: Encoded) -> bool:
    return bool(encoded.items)


def _role_of(encoded: Encoded) -> str:
    return _USER if encoded.role == _RESULTS else encoded.role


def _follows_results(encoded: Encoded) -> bool:
    return encoded.role == _USER


def _encode(message: Message, turn: Turn) -> Encoded:
    """One message as its blocks; none for an assistant's turn in which nothing is left to send."""
    match message:
        case UserMessage():
            return _encoded(_USER, user_blocks(message))
        case ToolMessage():
            return _encoded(_RESULTS, result_blocks(message, turn))
        case AssistantMessage():
            return _encoded(_ASSISTANT, assistant_blocks(message, turn))
        case SystemMessage() if _is_message(message):
            return _encoded(_AS_IT_CAME, [pasted(message.native, dict)])
        case SystemMessage():
            raise PolicyError(
                "instructions stand after the conversation has begun; older versions of the Messages API refuse that, "
                "so nothing was sent; put them first, or say them in a user's message"
            )


def _encoded(role: str, blocks: Iterable[str]) -> Encoded:
    return Encoded(role, ",".join(blocks).encode())
