"""The words of Chat Completions: finish reasons, shapes of errors, and usage, in both directions."""

from typing import Final

from signoff.core.model.ending import Finish
from signoff.core.model.parts import Api
from signoff.core.model.response import TokenUsage
from signoff.wire.json_text import JSON, count_of, dump, list_of, object_of

API: Final = Api.OPENAI_CHAT

_FINISHES: Final = {
    "stop": Finish.STOP,
    "tool_calls": Finish.CALLS,
    "function_call": Finish.CALLS,
    "length": Finish.LIMIT,
    "content_filter": Finish.FILTER,
    "error": Finish.ERROR,
    "insufficient_system_resource": Finish.ERROR,
}
WHOLE: Final = frozenset({Finish.STOP, Finish.CALLS})
"""The reasons that say that every call is closed; with any other, the last one may have been cut."""
LOST: Final = frozenset({"unread_choice", "unread_delta", "unread_content", "unread_refusal", "unread_call"})
"""The oddities that say that a piece of the answer came and could not be read: what is left of it is not whole."""
_ERROR_KEYS: Final = ("error_type", "error_message")


def finish_of(reason: str) -> Finish:
    """What a finish reason says; a word of a compatible server that is not listed is never taken for a normal end."""
    return _FINISHES.get(reason, Finish.UNKNOWN)


def is_error(value: dict[str, JSON]) -> bool:
    """Whether a body or a chunk is an error, in one of the shapes that servers give it."""
    if value.get("error"):
        return True
    return "choices" not in value and (value.get("object") == "error" or any(key in value for key in _ERROR_KEYS))


def error_in(choices: JSON) -> dict[str, JSON] | None:
    """The error that stands inside a choice, where a relay puts it; None when there is none."""
    for choice in list_of(choices):
        if error := object_of(choice).get("error"):
            return {"error": error}
    return None


def usage_of(value: dict[str, JSON]) -> TokenUsage:
    """The usage as the provider counted it; what it did not say is None."""
    into, out = object_of(value.get("prompt_tokens_details")), object_of(value.get("completion_tokens_details"))
    cached = count_of(into.get("cached_tokens"))
    return TokenUsage(
        input=count_of(value.get("prompt_tokens")),
        cached_read=count_of(value.get("prompt_cache_hit_tokens")) if cached is None else cached,
        cache_write=count_of(into.get("cache_write_tokens")),
        output=count_of(value.get("completion_tokens")),
        reasoning=count_of(out.get("reasoning_tokens")),
        total=count_of(value.get("total_tokens")),
        native=dump(value),
    )


def usage_object(usage: TokenUsage) -> dict[str, JSON]:
    """The usage in the provider's form; what is not known is left out, and never written as zero."""
    total = usage.total
    if total is None and usage.input is not None and usage.output is not None:
        total = usage.input + usage.output
    counts = {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total}
    into = {"cached_tokens": usage.cached_read, "cache_write_tokens": usage.cache_write}
    written: dict[str, JSON] = _known(counts)
    if known := _known(into):
        written["prompt_tokens_details"] = known
    if known := _known({"reasoning_tokens": usage.reasoning}):
        written["completion_tokens_details"] = known
    return written


def _known(counts: dict[str, int | None]) -> dict[str, JSON]:
    return {name: count for name, count in counts.items() if count is not None}
