"""Tokens as the protocol counts them: thoughts beside the candidates' tokens, cached input inside the prompt's."""

from signoff.core.model.response import TokenUsage
from signoff.wire.json_text import JSON, count_of
from signoff.wire.slices import object_text


def usage_of(counts: dict[str, JSON], native: str) -> TokenUsage:
    """Read a usage object; `native` is its text."""
    candidates, thoughts = count_of(counts.get("candidatesTokenCount")), count_of(counts.get("thoughtsTokenCount"))
    given = [count for count in (candidates, thoughts) if count is not None]
    return TokenUsage(
        input=count_of(counts.get("promptTokenCount")),
        cached_read=count_of(counts.get("cachedContentTokenCount")),
        output=sum(given) if given else None,
        reasoning=thoughts,
        total=count_of(counts.get("totalTokenCount")),
        native=native,
    )


def usage_text(usage: TokenUsage) -> str:
    """Write a usage object from its numbers; what is absent stays absent."""
    counts = {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached_read,
        "candidatesTokenCount": None if usage.output is None else max(0, usage.output - (usage.reasoning or 0)),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.total,
    }
    return object_text({name: str(count) for name, count in counts.items() if count is not None})
