"""A request that is one sentence of the user, for scripts and for trying things."""

from signoff.core.model.parts import TextPart
from signoff.core.model.request import ModelRequest, UserMessage


def prompt(text: str, *, max_output_tokens: int | None = None) -> ModelRequest:
    """A request that holds one message of the user."""
    said = UserMessage(parts=(TextPart(text=text),))
    return ModelRequest(messages=(said,), max_output_tokens=max_output_tokens)


def request_of(asked: ModelRequest | str) -> ModelRequest:
    """The request itself, or the one that a text makes."""
    return prompt(asked) if isinstance(asked, str) else asked
