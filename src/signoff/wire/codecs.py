"""Finds the codec of a protocol."""

from collections.abc import Mapping
from typing import Final

from signoff.core.model.parts import Api
from signoff.errors import PolicyError
from signoff.wire import anthropic_messages, gemini, openai_chat, openai_responses
from signoff.wire.codec import Codec

CODECS: Final[Mapping[Api, Codec]] = {
    Api.OPENAI_CHAT: openai_chat,
    Api.OPENAI_RESPONSES: openai_responses,
    Api.ANTHROPIC_MESSAGES: anthropic_messages,
    Api.GEMINI: gemini,
}
"""Every protocol that signoff speaks itself."""


def codec_of(api: Api) -> Codec:
    """The codec of a protocol; `Api.OTHER` has none, and raises `PolicyError`."""
    if api not in CODECS:
        names = ", ".join(CODECS)
        raise PolicyError(f"there is no codec for {api}: another library reaches it. Name one of {names}.")
    return CODECS[api]
