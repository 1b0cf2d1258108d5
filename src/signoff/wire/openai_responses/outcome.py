"""What a Responses object says of its own end: status, reason, error and usage.

The words of the protocol stand here and nowhere else. Where an event and the response in it, or two fields of one
response, say different things, the worse is taken: a relay that dresses a cut answer as completed is not believed.
"""

from typing import Final

import msgspec

from signoff.core.model.ending import Exchange, Finish
from signoff.core.model.response import Failure, FailureKind, TokenUsage
from signoff.wire.failures import failure_of
from signoff.wire.json_text import JSON, count_of, load, object_of, text_of

PROMISED: Final = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
"""The events that end a stream, and the status that each promises."""
REASONS: Final = {
    "max_output_tokens": Finish.LIMIT,
    "max_messages": Finish.LIMIT,
    "content_filter": Finish.FILTER,
    "steered": Finish.PAUSE,
}
"""The reasons of an incomplete response."""

_STILL_RUNNING: Final = {"queued", "in_progress"}
_RANKS: Final = {"completed": 0, "incomplete": 1, "cancelled": 3, "failed": 4}
_RANK_OF_UNKNOWN: Final = 2
_LONGEST_WORD: Final = 100


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a response ended, in its own words and in ours."""

    finish: Finish | None = None
    raw_reason: str | None = None
    failure: Failure | None = None
    items_are_whole: bool = False
    """Whether this end lets the provider close its last item; some servers close a cut one too."""


def outcome_of(response: dict[str, JSON], exchange: Exchange, *, oddities: set[str], event: str = "") -> Outcome:
    """Read the end of a response; `event` is the type of the event that carried it, empty for a whole body."""
    reason = text_of(object_of(response.get("incomplete_details")).get("reason"))[:_LONGEST_WORD]
    status = _status(response, reason, event=event, oddities=oddities)
    match status:
        case "":
            return Outcome()
        case "completed":
            return Outcome(finish=Finish.STOP, raw_reason=status, items_are_whole=True)
        case "incomplete":
            finish = REASONS.get(reason, Finish.UNKNOWN)
            words = f"incomplete/{reason}" if reason else "incomplete"
            return Outcome(finish=finish, raw_reason=words, items_are_whole=finish is Finish.PAUSE)
        case "failed":
            failure = failure_of({"error": response.get("error")}, exchange, where="stream")
            words = f"failed/{failure.code}" if failure.code else "failed"
            return Outcome(finish=Finish.ERROR, raw_reason=words, failure=failure)
        case "cancelled":
            failure = Failure(kind=FailureKind.CANCELLED, where="stream")
            return Outcome(finish=Finish.ERROR, raw_reason=status, failure=failure)
        case _:
            return Outcome(finish=Finish.UNKNOWN, raw_reason=status[:_LONGEST_WORD])


def _status(response: dict[str, JSON], reason: str, *, event: str, oddities: set[str]) -> str:
    """The worst of what the response, its error, its details and its event say; empty when it has not ended."""
    said, promised = text_of(response.get("status")), PROMISED.get(event, "")
    if said in _STILL_RUNNING:
        oddities.add(f"status_{said}")
        said = ""
    elif not said:
        oddities.add("status_missing")
    elif promised and said != promised:
        oddities.add("status_differs")
    status = max(said, promised, key=lambda word: _RANKS.get(word, _RANK_OF_UNKNOWN) if word else -1)
    if status != "failed" and is_error(response.get("error")):
        oddities.add("error_beside_status")
        return "failed"
    if status == "completed" and reason:
        oddities.add("reason_beside_completed")
        return "incomplete"
    return status


def is_error(value: JSON) -> bool:
    """Whether a field called `error` holds one; it is null where all is well."""
    return isinstance(value, dict | list | str) and bool(value)


def usage_of(text: str | None) -> TokenUsage | None:
    """Read the JSON text of a usage object; None when there is none."""
    usage = load(text) if text is not None else None
    if not isinstance(usage, dict) or text is None:
        return None
    cached = object_of(usage.get("input_tokens_details"))
    return TokenUsage(
        input=count_of(usage.get("input_tokens")),
        cached_read=count_of(cached.get("cached_tokens")),
        cache_write=count_of(cached.get("cache_write_tokens")),
        output=count_of(usage.get("output_tokens")),
        reasoning=count_of(object_of(usage.get("output_tokens_details")).get("reasoning_tokens")),
        total=count_of(usage.get("total_tokens")),
        native=text,
    )
