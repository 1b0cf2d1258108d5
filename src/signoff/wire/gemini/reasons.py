"""The protocol's words for the end of a response, in both directions. A word that is not listed is unknown."""

from typing import Final

from signoff.core.model.ending import Finish
from signoff.core.model.response import End, ModelResponse
from signoff.errors import PolicyError

_FILTERS: Final = (
    "SAFETY PROHIBITED_CONTENT BLOCKLIST SPII RECITATION LANGUAGE MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED "
    "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
)
_BAD_CALLS: Final = (
    "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE TOO_MANY_TOOL_CALLS"
)
_FINISHES: Final = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LIMIT,
    "CONTINUATION": Finish.CONTINUATION,
    **dict.fromkeys(_FILTERS.split(), Finish.FILTER),
    **dict.fromkeys(_BAD_CALLS.split(), Finish.MALFORMED_CALL),
}
_FROM_BEST: Final = (
    Finish.STOP,
    Finish.CONTINUATION,
    Finish.LIMIT,
    Finish.UNKNOWN,
    Finish.MALFORMED_CALL,
    Finish.FILTER,
)
_WORDS: Final = {
    End.NORMAL: "STOP",
    End.TOOL_CALLS: "STOP",
    End.LIMIT: "MAX_TOKENS",
    End.CONTINUATION: "CONTINUATION",
    End.CONTENT_FILTER: "SAFETY",
    End.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
    End.UNKNOWN: "OTHER",
}
_PROMPT: Final = "prompt/"


def finish_of(word: str) -> Finish:
    """What a finish reason says."""
    return _FINISHES.get(word, Finish.UNKNOWN)


def severity_of(finish: Finish) -> int:
    """How bad an end is: of several reasons in one response the worst counts."""
    return _FROM_BEST.index(finish)


def blocked_prompt(reason: str) -> str:
    """The raw reason of a prompt that was blocked."""
    return _PROMPT + reason


def block_of(response: ModelResponse) -> str:
    """The block reason of a response whose prompt was blocked; else empty."""
    raw = response.raw_reason or ""
    blocked = response.end is End.CONTENT_FILTER and raw.startswith(_PROMPT) and not response.parts
    return raw.removeprefix(_PROMPT) if blocked else ""


def reason_of(response: ModelResponse) -> str | None:
    """The finish reason to write: the response's own where it says the same end, or None for one that was cut."""
    if response.end is End.TRANSPORT:
        return None
    word = _WORDS.get(response.end)
    if word is None:
        message = (
            f"a response that ended with {response.end} cannot be written for Gemini, which has no word for it; "
            "nothing was written. Write an error instead."
        )
        raise PolicyError(message)
    raw = response.raw_reason
    return raw if raw and finish_of(raw) is finish_of(word) else word
