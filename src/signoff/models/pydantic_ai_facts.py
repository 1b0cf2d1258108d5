"""What a response was worth, from what pydantic-ai says of it.

A response counts as whole only with both proofs: its stream ended without an exception and as complete, and the
provider's own finish reason, or a refusal, came with it and behind all content. The library's own word for the end is
not enough: for Chat it says `stop` where the provider said nothing, and it ends every part itself. So a call counts as
closed when the protocol's own end closed it, or when its arguments are a JSON text that nothing can follow; where
neither is so, it is open. Raw texts are taken, never the library's readings of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_ai import messages
from pydantic_core import from_json, to_json

from signoff.core.model.deltas import CallDelta, CallStarted, Delta, ReasoningDelta, TextDelta
from signoff.core.model.ending import Finish, Gathered
from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import BodyEnd, Failure, TokenUsage
from signoff.models.pydantic_ai_course import Course

_FINISHES = {
    "stop": Finish.STOP,
    "tool_call": Finish.CALLS,
    "length": Finish.LIMIT,
    "content_filter": Finish.FILTER,
    "error": Finish.ERROR,
}


class Seen(NamedTuple):
    """What was seen of one exchange."""

    response: messages.ModelResponse | None
    """Theirs, as far as it came; None when no stream began."""
    ended: bool
    """Whether the iteration came to its own end."""
    failure: Failure | None
    course: Course = Course()


def gathered(seen: Seen) -> Gathered:
    """The facts of a response, for `conclude`."""
    response, failure = seen.response, seen.failure
    body_end = BodyEnd.CLEAN if seen.ended else BodyEnd.CUT
    if response is None:
        return Gathered(api=Api.OTHER, body_end=body_end, streamed=True, failure=failure)
    details = response.provider_details or {}
    raw, course = details.get("finish_reason"), seen.course
    finish = None if course.after_reason else _finish(response)
    whole = seen.ended and finish is not None and response.state in {"complete", "suspended"}
    oddities: set[str] = set()
    if course.after_reason:
        oddities.add("content_after_reason")
    if whole and not course.end_visible:
        oddities.add("end_marker_not_visible")
    closing = _Closing(course=course, cut=not whole or finish is Finish.LIMIT)
    parts = _parts(response, closing, oddities)
    return Gathered(
        api=Api.OTHER,
        finish=finish,
        raw_reason=None if raw is None else str(raw),
        saw_terminal=whole,
        body_end=body_end,
        streamed=True,
        parts=parts,
        usage=_usage(response),
        response_id=response.provider_response_id or "",
        model=response.model_name or "",
        failure=failure,
        native=messages.ModelMessagesTypeAdapter.dump_json([response]).decode(),
        envelope=_json({"provider": response.provider_name, "state": response.state, "details": details}),
        oddities=frozenset(oddities),
    )


def deltas_of(event: object, calls: dict[int, int]) -> Iterator[Delta]:
    """What an event of the stream adds; `calls` numbers the calls by their places among the parts."""
    match event:
        case messages.PartStartEvent(index=place, part=messages.ToolCallPart() as call):
            calls[place] = len(calls)
            yield CallStarted(index=calls[place], call_id=call.tool_call_id, name=call.tool_name)
            yield from _call_delta(calls[place], call.args)
        case messages.PartStartEvent(part=messages.TextPart(content=text)) if text:
            yield TextDelta(text=text)
        case messages.PartStartEvent(part=messages.ThinkingPart(content=text)) if text:
            yield ReasoningDelta(text=text)
        case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)) if text:
            yield TextDelta(text=text)
        case messages.PartDeltaEvent(delta=messages.ThinkingPartDelta(content_delta=str(text))) if text:
            yield ReasoningDelta(text=text)
        case messages.PartDeltaEvent(index=place, delta=messages.ToolCallPartDelta(args_delta=more)) if place in calls:
            yield from _call_delta(calls[place], more)
        case _:
            pass


def _call_delta(index: int, arguments: str | Mapping[str, Any] | None) -> Iterator[Delta]:
    text = _raw(arguments)
    if text:
        yield CallDelta(index=index, text=text)


def _finish(response: messages.ModelResponse) -> Finish | None:
    """The provider's reason, by the library's reading of it where there is one; None where the provider gave none."""
    details = response.provider_details or {}
    raw, refused = details.get("finish_reason"), isinstance(details.get("refusal"), str)
    if response.state == "suspended":
        return Finish.PAUSE
    if refused or raw == "refusal":
        return Finish.REFUSAL
    if raw is None:
        return None
    if raw in {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}:
        return Finish.MALFORMED_CALL
    return Finish.UNKNOWN if response.finish_reason is None else _FINISHES[response.finish_reason]


class _Closing(NamedTuple):
    """What closes calls in one response."""

    course: Course
    cut: bool
    """Whether the response stopped before its own end, so that nothing says that its last part is whole."""

    def of(self, texts: Sequence[str | None]) -> tuple[bool, ...]:
        """Which parts are closed, by the texts of their arguments."""
        by_end = self.course.end_visible and not self.cut
        ended = list(self.course.are_ended(len(texts)))
        if self.cut and ended:
            ended[-1] = False
        return tuple(one and (by_end or _is_delimited(text)) for one, text in zip(ended, texts, strict=True))


def _is_delimited(text: str | None) -> bool:
    """Whether a text is JSON that ends itself, so that nothing of it can be missing; read for its end and no more."""
    try:
        return isinstance(from_json(text or ""), dict | list | str)
    except ValueError:
        return False


def _parts(response: messages.ModelResponse, closing: _Closing, oddities: set[str]) -> tuple[Part, ...]:
    theirs = response.parts
    texts = [_raw(part.args) if isinstance(part, messages.ToolCallPart) else None for part in theirs]
    parts = [_part(part, oddities, closed=closed) for part, closed in zip(theirs, closing.of(texts), strict=True)]
    refusal = (response.provider_details or {}).get("refusal")
    if isinstance(refusal, str):
        parts.append(RefusalPart(text=refusal))
    return tuple(parts)


def _part(part: messages.ModelResponsePart, oddities: set[str], *, closed: bool) -> Part:
    match part:
        case messages.TextPart():
            return TextPart(text=part.content)
        case messages.ThinkingPart():
            return ReasoningPart(text=part.content, redacted=not part.content)
        case messages.ToolCallPart(args=arguments):
            if not isinstance(arguments, str | None):
                oddities.add("arguments_rewritten")
            return CallPart(call_id=part.tool_call_id, name=part.tool_name, arguments=_raw(arguments), closed=closed)
        case _:
            return OpaquePart(kind=part.part_kind, native=_json(part))


def _raw(arguments: str | Mapping[str, Any] | None) -> str:
    """The text of arguments; those that the library gives as a value are written, and NaN stays NaN."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _usage(response: messages.ModelResponse) -> TokenUsage | None:
    """The tokens; the library writes 0 for what the provider did not say, so 0 says nothing."""
    usage = response.usage
    if usage.unmeasured_requests or not usage.has_values():
        return None
    total = usage.input_tokens + usage.output_tokens
    return TokenUsage(
        input=usage.input_tokens or None,
        cached_read=usage.cache_read_tokens or None,
        cache_write=usage.cache_write_tokens or None,
        output=usage.output_tokens or None,
        reasoning=usage.output_reasoning_tokens or None,
        total=total if usage.input_tokens and usage.output_tokens else None,
        native=_json(usage),
    )


def _json(value: object) -> str:
    """The JSON text of what the library holds; what has none is named by its type."""
    return to_json(value, fallback=lambda one: type(one).__name__).decode()
