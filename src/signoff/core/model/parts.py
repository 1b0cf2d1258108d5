"""The parts that messages and responses are made of, in the order in which the provider gave them.

Neutral words only. What a provider said beyond them stays in the `native` text of the message or response, so that it
can be sent back byte for byte. Nothing here is inferred from the meaning of a text.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec


class Api(StrEnum):
    """A provider protocol."""

    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC_MESSAGES = "anthropic_messages"
    GEMINI = "gemini"
    OTHER = "other"
    """None that signoff speaks itself: a provider that another library reaches, with facts as that library has them."""


class CallKind(StrEnum):
    """Whether a call's arguments are JSON or free text."""

    FUNCTION = "function"
    CUSTOM = "custom"


class TextPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="part", tag="text"):
    """Visible text."""

    text: str
    citations: str = ""
    """JSON text of the provider's citations, whose offsets count in this part's text; empty when there are none."""


class ReasoningPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="part", tag="reasoning"):
    """Reasoning of the model: never an answer. Its signature or encrypted bytes are in the message's native text."""

    text: str = ""
    redacted: bool = False


class RefusalPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="part", tag="refusal"):
    """A refusal that the provider marked as one."""

    text: str
    category: str = ""


class CallPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="part", tag="call"):
    """A call that the client is to run, as it came: neither repaired nor completed."""

    call_id: str
    """The id that its result must name; empty when the provider gave none."""
    name: str
    arguments: str
    """The raw text of the arguments; for Gemini, which sends an object, that object as JSON text."""
    kind: CallKind = CallKind.FUNCTION
    closed: bool = True
    """Whether the provider said that nothing more of this call follows."""


class OpaquePart(msgspec.Struct, frozen=True, kw_only=True, tag_field="part", tag="opaque"):
    """What has no neutral form: a picture, a hosted tool's call or result, a type that is not known yet."""

    kind: str
    """The provider's own word for it."""
    native: str
    """Its JSON text, complete."""
    awaits_result: bool = False
    """Whether the provider waits for the client's result of it."""


Part: TypeAlias = TextPart | ReasoningPart | RefusalPart | CallPart | OpaquePart
UserPart: TypeAlias = TextPart | OpaquePart
