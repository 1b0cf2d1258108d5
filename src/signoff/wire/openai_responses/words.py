"""Which protocol this package speaks, and where."""

from typing import Final

from signoff.core.model.parts import Api

API: Final = Api.OPENAI_RESPONSES
"""Which protocol this is."""


def path(model: str, *, stream: bool) -> str:
    """The path behind the base address; the same for every model, streamed or not."""
    del model, stream
    return "/responses"


def headers(key: str) -> dict[str, str]:
    """The headers that a request needs, the key among them when it is not empty."""
    fields = {"content-type": "application/json"}
    if key:
        fields["authorization"] = f"Bearer {key}"
    return fields
