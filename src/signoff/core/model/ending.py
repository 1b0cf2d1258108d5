"""How a response ended, from the facts that a codec gathered. The one place that decides it, for all protocols.

Each codec knows its protocol's words and maps them to a `Finish`; what follows from them is the same for all. The order
of the questions is fixed: error, end missing, filter and refusal, limit and pause, unknown reason, calls, normal. So an
error beats the reason beside it, and a cut call beats a reason that promises calls.

What must never be put here: words of a provider, repair, anything about retrying.
"""

from enum import StrEnum

import msgspec

from signoff.core.model.arguments import are_whole
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, RefusalPart
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse, TokenUsage


class Finish(StrEnum):
    """What the provider's reason says, read as the protocol defines it."""

    STOP = "stop"
    CALLS = "calls"
    LIMIT = "limit"
    CONTEXT_FULL = "context_full"
    FILTER = "filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CONTINUATION = "continuation"
    MALFORMED_CALL = "malformed_call"
    ERROR = "error"
    UNKNOWN = "unknown"


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """What the host knows of an exchange and a body cannot tell."""

    status: int = 200
    content_type: str = ""
    request_id: str = ""
    retry_after: float | None = None
    """Seconds, from the response's headers."""
    max_output_tokens: int | None = None
    """What the request asked for: a response that used it up was cut, whatever its reason says."""


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """What a codec gathered of one response."""

    api: Api
    finish: Finish | None = None
    raw_reason: str | None = None
    saw_terminal: bool = False
    body_end: BodyEnd = BodyEnd.CLEAN
    streamed: bool = False
    parts: tuple[Part, ...] = ()
    usage: TokenUsage | None = None
    response_id: str = ""
    model: str = ""
    failure: Failure | None = None
    native: str = ""
    envelope: str = "{}"
    oddities: frozenset[str] = frozenset()


_FAILED_AS = {
    FailureKind.CONTEXT_FULL: End.CONTEXT_FULL,
    FailureKind.CONTENT_FILTER: End.CONTENT_FILTER,
    FailureKind.CONNECTION: End.TRANSPORT,
    FailureKind.CUT: End.TRANSPORT,
    FailureKind.PROVIDER_TIMEOUT: End.TRANSPORT,
    FailureKind.DEADLINE: End.TRANSPORT,
    FailureKind.CANCELLED: End.TRANSPORT,
}
_WITHOUT_CALLS = {
    Finish.FILTER: End.CONTENT_FILTER,
    Finish.REFUSAL: End.REFUSAL,
    Finish.LIMIT: End.LIMIT,
    Finish.CONTEXT_FULL: End.CONTEXT_FULL,
    Finish.PAUSE: End.PAUSED,
    Finish.CONTINUATION: End.CONTINUATION,
    Finish.MALFORMED_CALL: End.MALFORMED_CALL,
    Finish.ERROR: End.PROVIDER_ERROR,
    Finish.UNKNOWN: End.UNKNOWN,
}


def conclude(facts: Gathered, exchange: Exchange) -> ModelResponse:
    """Make the record of one response; `end` is decided here and nowhere else."""
    oddities = set(facts.oddities)
    end = _end(facts, exchange, oddities)
    whole = end is not End.TRANSPORT and facts.finish is not None and _at_its_end(facts)
    failure = None if whole and facts.failure is not None and _only_transport(facts.failure) else facts.failure
    return ModelResponse(
        api=facts.api,
        end=end,
        raw_reason=facts.raw_reason,
        saw_reason=facts.finish is not None,
        saw_terminal=facts.saw_terminal,
        body_end=facts.body_end,
        streamed=facts.streamed,
        parts=facts.parts,
        usage=facts.usage,
        response_id=facts.response_id,
        request_id=exchange.request_id,
        model=facts.model,
        failure=failure,
        native=facts.native,
        envelope=facts.envelope,
        oddities=tuple(sorted(oddities)),
    )


def _end(facts: Gathered, exchange: Exchange, oddities: set[str]) -> End:
    """Ask the questions in their order; the first that applies decides."""
    failure, finish = facts.failure, facts.finish
    if failure is not None and not (_only_transport(failure) and finish is not None and _at_its_end(facts)):
        return _FAILED_AS.get(failure.kind, End.PROVIDER_ERROR)
    if finish is Finish.ERROR:
        return End.PROVIDER_ERROR
    if finish is None or not _at_its_end(facts):
        return End.TRANSPORT
    if facts.streamed and facts.api is Api.OPENAI_CHAT and not facts.saw_terminal:
        oddities.add("no_done" if facts.body_end is BodyEnd.CLEAN else "cut_after_reason")
    if finish is Finish.FILTER:
        return End.CONTENT_FILTER
    if any(isinstance(part, RefusalPart) and part.text.strip() for part in facts.parts):
        return End.REFUSAL
    if finish is Finish.STOP or finish is Finish.CALLS:
        return _finished(facts, exchange, oddities)
    return _WITHOUT_CALLS[finish]


def _finished(facts: Gathered, exchange: Exchange, oddities: set[str]) -> End:
    """Whether a response whose reason says that it is whole is so, and leaves calls to be run."""
    usage, cap = facts.usage, exchange.max_output_tokens
    if usage is not None and usage.output is not None and cap is not None and usage.output >= cap:
        oddities.add("cap_reached")
        return End.LIMIT
    calls = [part for part in facts.parts if isinstance(part, CallPart)]
    if not all(are_whole(call) for call in calls) or (calls and "invalid_utf8" in oddities):
        # Bytes that are no text were replaced somewhere: the arguments may not be those that were sent.
        return End.MALFORMED_CALL
    if calls or any(isinstance(part, OpaquePart) and part.awaits_result for part in facts.parts):
        return End.TOOL_CALLS
    if facts.finish is Finish.CALLS:
        oddities.add("calls_missing")
        return End.MALFORMED_CALL
    return End.NORMAL


def _at_its_end(facts: Gathered) -> bool:
    """Whether the protocol's proof of a whole answer was seen, given that a reason was.

    Chat puts its reason on the last chunk of content, and many servers send no `[DONE]`: the reason is the proof, even
    when the connection breaks behind it. Responses and Anthropic end with an event of their own. Gemini has no marker,
    so its end is the proper end of the body. Of any other provider, whoever reached it must have seen an end.
    """
    if facts.api is Api.OPENAI_CHAT:
        return True
    if facts.api is Api.GEMINI:
        return facts.body_end is BodyEnd.CLEAN
    return facts.saw_terminal


def _only_transport(failure: Failure) -> bool:
    """Whether a failure speaks of the connection or of us, and not of the answer."""
    return failure.where in {"transport", "host"} and failure.kind is not FailureKind.TOO_LARGE
