"""What one response of a model is worth: the questions in their fixed order, and the first answer that applies.

Failure, end missing, filter, refusal, limit, full context, pause, unknown reason, the batch of calls, the answer. One
bad call rejects its whole batch. A call of a tool that was not offered, or whose arguments its schema refuses, is no
fault of the boundary: the loop answers it.

What must never be put here: repair, attempts, waiting, what a text means, words of a provider.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

from signoff.core.boundary.reasons import BoundaryReason
from signoff.core.model.arguments import Fault, FaultCode, FaultLevel, read
from signoff.core.model.calls import ToolCall
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart, ReasoningPart, RefusalPart
from signoff.core.model.request import ModelRequest, Tool
from signoff.core.model.response import BodyEnd, End, Failure, FailureKind, ModelResponse
from signoff.core.model.texts import is_blank
from signoff.core.model.turns import identified

StrictFinish: TypeAlias = Literal["on", "off"]
"""Whether a response whose end carries no reason is discarded."""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer, or a whole batch of calls."""

    calls: tuple[ToolCall, ...]
    text: str


class Discarded(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing of it may be used; the model may be asked again."""

    reason: BoundaryReason
    end: End
    """How it ended, so that a filter stays a filter whatever the reason is called."""
    tried_tool: bool
    """Whether it had begun or announced a call."""
    fault: Fault | None = None
    """What was wrong with the arguments of the first bad call."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The provider marked it as a refusal."""

    category: str
    """The provider's own word; empty when it gave none."""


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """The provider paused its turn: no answer yet."""

    kind: str
    """The provider's own word."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """No answer came, or the provider said that it failed."""

    reason: BoundaryReason
    failure: Failure | None
    """None where the context was full and the provider sent no error."""
    retryable: bool
    """Whether the same request may succeed later."""
    wait_seconds: float | None = None
    """How long the provider asked to wait; None when it did not."""


Worth: TypeAlias = Accepted | Discarded | Refused | Paused | Failed

_RETRYABLE: Final = frozenset(
    {
        FailureKind.RATE_LIMITED,
        FailureKind.OVERLOADED,
        FailureKind.SERVER_ERROR,
        FailureKind.PROVIDER_TIMEOUT,
        FailureKind.CONNECTION,
        FailureKind.CUT,
        FailureKind.NOT_THE_PROTOCOL,  # a proxy's page or a corrupted body: gone a moment later, or a second refusal
    }
)
_FAILED_BECAUSE: Final = {
    FailureKind.CONTEXT_FULL: BoundaryReason.CONTEXT_WINDOW_EXCEEDED,
    FailureKind.CONTENT_FILTER: BoundaryReason.PROVIDER_REFUSAL,
    FailureKind.PROVIDER_TIMEOUT: BoundaryReason.PROVIDER_TIMEOUT,
    FailureKind.DEADLINE: BoundaryReason.CALL_DEADLINE_EXCEEDED,
}
_NOT_OFFERED: Final = Fault(code=FaultCode.UNKNOWN_TOOL, level=FaultLevel.SCHEMA)
_NOT_JSON: Final = frozenset(
    {
        FaultCode.TRUNCATED,
        FaultCode.INVALID_JSON,
        FaultCode.CONCATENATED,
        FaultCode.CONTROL_CHARACTER,
        FaultCode.FENCED,
    }
)


def worth(response: ModelResponse, request: ModelRequest, *, strict_finish: StrictFinish = "on") -> Worth:
    """Say what a response to this request is worth."""
    if response.failure is not None:
        return _failed(response.failure)
    end = _end_of(response, request, strict_finish)
    match end:
        case End.CONTEXT_FULL:
            return Failed(reason=BoundaryReason.CONTEXT_WINDOW_EXCEEDED, failure=None, retryable=False)
        case End.REFUSAL:
            return Refused(category=_category_of(response))
        case End.PAUSED | End.CONTINUATION:
            return Paused(kind=response.raw_reason or end.value)
        case End.LIMIT:
            reason = BoundaryReason.REASONING_ONLY_RESPONSE if _is_reasoning_only(response) else None
            return _discarded(response, reason or BoundaryReason.OUTPUT_TRUNCATED)
        case End.NORMAL | End.TOOL_CALLS | End.MALFORMED_CALL:
            return _of_content(response, request, end)
        case End.CONTENT_FILTER | End.PROVIDER_ERROR | End.UNKNOWN:
            return _discarded(response, BoundaryReason.OUTPUT_INTERRUPTED)
        case End.TRANSPORT:
            return _discarded(response, BoundaryReason.STREAM_ENDED_WITHOUT_FINISH_REASON)
        case _:
            assert_never(end)


def _failed(failure: Failure) -> Failed:
    reason = _FAILED_BECAUSE.get(failure.kind, BoundaryReason.PROVIDER_FAILED)
    if failure.kind is FailureKind.CANCELLED:
        ours = failure.where == "host"
        reason = BoundaryReason.CALLER_CANCELLED if ours else BoundaryReason.PROVIDER_CANCELLED
    return Failed(
        reason=reason, failure=failure, retryable=failure.kind in _RETRYABLE, wait_seconds=failure.retry_after
    )


def _end_of(response: ModelResponse, request: ModelRequest, strict_finish: StrictFinish) -> End:
    """How the response ended; by choice of the host, one that ended properly but without a reason counts as whole.

    A reason that was seen without the end marker behind it is not excused: it may have been that of a cut.
    """
    lacks_only_reason = response.end is End.TRANSPORT and not response.saw_reason
    if strict_finish == "on" or not lacks_only_reason or response.body_end is not BodyEnd.CLEAN:
        return response.end
    if response.refusal is not None and not is_blank(response.refusal):
        return End.REFUSAL
    used, cap = response.usage.output if response.usage else None, request.max_output_tokens
    return End.LIMIT if used is not None and cap is not None and used >= cap else End.NORMAL


def _of_content(response: ModelResponse, request: ModelRequest, end: End) -> Worth:
    """Judge a response by its calls, or by its text when there are none."""
    tools = {tool.name: tool for tool in request.tools}
    accepted: list[ToolCall] = []
    ids: set[str] = set()
    for part in identified(response, request.messages):
        if isinstance(part, OpaquePart) and part.awaits_result:
            return _discarded(response, BoundaryReason.MALFORMED_TOOL_CALL_BATCH)
        if not isinstance(part, CallPart):
            continue
        taken = _taken(_closed_by_the_body(part, response), tools, ids)
        if not isinstance(taken, ToolCall):
            return _discarded(response, *taken)
        accepted.append(taken)
    if end is End.MALFORMED_CALL or (end is End.TOOL_CALLS and not accepted):
        return _discarded(response, BoundaryReason.MALFORMED_TOOL_CALL_BATCH)
    if accepted or not is_blank(response.text):
        return Accepted(calls=tuple(accepted), text=response.text)
    if _is_reasoning_only(response):
        return _discarded(response, BoundaryReason.REASONING_ONLY_RESPONSE)
    return _discarded(response, BoundaryReason.EMPTY_MODEL_RESPONSE)


def _taken(part: CallPart, tools: Mapping[str, Tool], ids: set[str]) -> ToolCall | tuple[BoundaryReason, Fault | None]:
    """One call as it may be admitted, or why its batch is rejected."""
    if is_blank(part.call_id) or is_blank(part.name) or part.call_id in ids:
        return BoundaryReason.MALFORMED_TOOL_CALL_BATCH, None
    ids.add(part.call_id)
    given = read(part, tools.get(part.name))
    if isinstance(given, Fault):
        broken = given.code in _NOT_JSON
        reason = BoundaryReason.INCOMPLETE_TOOL_ARGUMENTS if broken else BoundaryReason.INVALID_TOOL_ARGUMENTS
        return reason, given
    fault = given.fault if part.name in tools else _NOT_OFFERED
    return ToolCall(call_id=part.call_id, name=part.name, arguments=given.data, kind=part.kind, fault=fault)


def _closed_by_the_body(part: CallPart, response: ModelResponse) -> CallPart:
    """A call that only the end of an accepted body closed: of all arguments a JSON object alone shows its own end."""
    lacks_close = response.api is Api.OPENAI_CHAT and response.end is End.TRANSPORT  # the others close calls in words
    if part.closed or not lacks_close or part.kind is CallKind.CUSTOM:
        return part
    return msgspec.structs.replace(part, closed=part.arguments.lstrip().startswith("{"))


def _discarded(response: ModelResponse, reason: BoundaryReason, fault: Fault | None = None) -> Discarded:
    return Discarded(reason=reason, end=response.end, tried_tool=_tried_tool(response), fault=fault)


def _tried_tool(response: ModelResponse) -> bool:
    if response.end is End.MALFORMED_CALL or response.end is End.TOOL_CALLS:
        return True
    return any(isinstance(p, CallPart) or (isinstance(p, OpaquePart) and p.awaits_result) for p in response.parts)


def _is_reasoning_only(response: ModelResponse) -> bool:
    """Whether there is reasoning and no text at all, not even a blank one, and no call.

    A part of reasoning without text is reasoning that cannot be read: redacted, encrypted or not shown.
    """
    if response.text or any(isinstance(part, CallPart) for part in response.parts):
        return False
    return any(isinstance(p, ReasoningPart) and not (p.text and is_blank(p.text)) for p in response.parts)


def _category_of(response: ModelResponse) -> str:
    return next((p.category for p in response.parts if isinstance(p, RefusalPart) and p.category), "")
