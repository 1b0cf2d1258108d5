"""Writing responses, streams and errors, always in the strict form that every official client reads.

A response's own words for its end are written where it has them in this protocol; else its `end` is said in them.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from signoff.core.model.parts import RefusalPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse, TokenUsage
from signoff.errors import PolicyError
from signoff.wire.json_text import JSON, dump
from signoff.wire.openai_responses.frames import Event, item_events, lifecycle, numbered
from signoff.wire.openai_responses.items import Item
from signoff.wire.openai_responses.outcome import usage_of
from signoff.wire.openai_responses.response import ELSEWHERE
from signoff.wire.openai_responses.words import API
from signoff.wire.openai_responses.written import items_from, response_id_of
from signoff.wire.slices import members_of, object_text

_EXPECTED: Final = {
    "object": '"response"',
    "created_at": "0",
    "instructions": "null",
    "metadata": "{}",
    "parallel_tool_calls": "true",
    "temperature": "null",
    "tool_choice": '"auto"',
    "tools": "[]",
    "top_p": "null",
}
"""Fields that a client expects and a response need not have kept."""
_UNTOLD: Final = "The text of this error was not kept."
_CODES: Final = {
    FailureKind.AUTHENTICATION: "invalid_api_key",
    FailureKind.PERMISSION: "permission_denied",
    FailureKind.NOT_FOUND: "model_not_found",
    FailureKind.INVALID_REQUEST: "invalid_prompt",
    FailureKind.CONTEXT_FULL: "context_length_exceeded",
    FailureKind.CONTENT_FILTER: "content_filter",
    FailureKind.QUOTA: "insufficient_quota",
    FailureKind.RATE_LIMITED: "rate_limit_exceeded",
    FailureKind.OVERLOADED: "slow_down",
    FailureKind.PROVIDER_TIMEOUT: "timeout",
    FailureKind.CANCELLED: "cancelled",
}
_TYPES: Final = {
    FailureKind.AUTHENTICATION: "authentication_error",
    FailureKind.PERMISSION: "permission_error",
    FailureKind.NOT_FOUND: "invalid_request_error",
    FailureKind.INVALID_REQUEST: "invalid_request_error",
    FailureKind.CONTEXT_FULL: "invalid_request_error",
    FailureKind.CONTENT_FILTER: "invalid_request_error",
    FailureKind.QUOTA: "insufficient_quota",
    FailureKind.RATE_LIMITED: "rate_limit_error",
}
_TERMINALS: Final = {"completed": "response.completed", "failed": "response.failed"}
_STATUSES: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
_SAID_AS: Final = {
    End.NORMAL: ("completed", ""),
    End.TOOL_CALLS: ("completed", ""),
    End.MALFORMED_CALL: ("completed", ""),
    End.LIMIT: ("incomplete", "max_output_tokens"),
    End.CONTENT_FILTER: ("incomplete", "content_filter"),
    End.PAUSED: ("incomplete", "steered"),
    End.CONTEXT_FULL: ("failed", "context_length_exceeded"),
    End.PROVIDER_ERROR: ("failed", "server_error"),
}


class _Ending(NamedTuple):
    """The end of a response in the protocol's words."""

    status: str
    reason: str

    @property
    def whole(self) -> bool:
        """Whether the last item is finished as well."""
        return self.status == "completed" or self == ("incomplete", "steered")


def build_response(response: ModelResponse) -> bytes:
    """Write a response that is not streamed, from its parts, reason and usage. Raises `PolicyError`."""
    ending = _ending_of(response)
    items = items_from(response, whole=ending.whole)
    return _ended(response, ending, items).encode()


def build_stream(response: ModelResponse) -> Iterator[bytes]:
    """Write a response as a stream, one frame at a time, in the strict form. Raises `PolicyError`."""
    ending = _ending_of(response)
    return numbered(_events(response, ending, items_from(response, whole=ending.whole)))


def build_error(failure: Failure, *, message: str, in_stream: bool) -> bytes:
    """Write an error: the body beside an HTTP error status, or the frame inside a stream."""
    if in_stream:
        return next(numbered([error_event(failure, message=message)]))
    code = failure.code or _CODES.get(failure.kind)
    kind = failure.type or _TYPES.get(failure.kind, "server_error")
    return dump({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def error_event(failure: Failure, *, message: str) -> Event:
    """The event that ends a stream with an error."""
    code = failure.code or _CODES.get(failure.kind, "server_error")
    return Event("error", {"code": dump(code), "message": dump(message), "param": "null"})


def _events(response: ModelResponse, ending: _Ending, items: tuple[Item, ...]) -> Iterator[Event]:
    for kind in ("response.created", "response.in_progress"):
        yield lifecycle(kind, begun(response))
    for index, item in enumerate(items):
        yield from item_events(item, index)
    yield lifecycle(_TERMINALS.get(ending.status, "response.incomplete"), _ended(response, ending, items))


def begun(response: ModelResponse) -> str:
    """The JSON text of a response that has only begun."""
    fields = {**_common(response), "status": '"in_progress"', "output": "[]"}
    fields.pop("completed_at", None)
    return object_text(fields)


def _ended(response: ModelResponse, ending: _Ending, items: tuple[Item, ...]) -> str:
    """The JSON text of a response as it ended."""
    details: JSON = {"reason": ending.reason} if ending.status == "incomplete" and ending.reason else None
    fields = {
        **_common(response),
        "status": dump(ending.status),
        "error": dump(_error_in(response, ending)),
        "incomplete_details": dump(details),
        "output": "[" + ",".join(item.text for item in items) + "]",
        "usage": _usage(response.usage),
    }
    return object_text(fields)


def _common(response: ModelResponse) -> dict[str, str]:
    """The fields that every account of a response has, those that its provider echoed among them."""
    echoed = members_of(response.envelope) if response.api is API else {}
    return {
        "id": dump(response_id_of(response)),
        **_EXPECTED,
        "status": "null",
        "error": "null",
        "incomplete_details": "null",
        "model": dump(response.model),
        "output": "[]",
        "usage": "null",
        **{name: text for name, text in echoed.items() if name not in ELSEWHERE},
    }


def _ending_of(response: ModelResponse) -> _Ending:
    status, _, reason = (response.raw_reason or "").partition("/")
    if status in _STATUSES:
        return _Ending(status, reason)
    if response.end is End.UNKNOWN and response.raw_reason:
        return _Ending(response.raw_reason, "")
    if response.failure is not None and response.end is not End.TRANSPORT:
        return _Ending("failed", response.failure.code)
    if response.end is End.REFUSAL and any(isinstance(part, RefusalPart) for part in response.parts):
        return _Ending("completed", "")
    if response.end not in _SAID_AS:
        message = (
            f"{API} has no words for a response that ended as {response.end}; it was not written. Cut a whole one."
        )
        raise PolicyError(message)
    return _Ending(*_SAID_AS[response.end])


def _error_in(response: ModelResponse, ending: _Ending) -> JSON:
    if ending.status != "failed":
        return None
    kind = response.failure.kind if response.failure is not None else FailureKind.SERVER_ERROR
    error: dict[str, JSON] = {"code": ending.reason or _CODES.get(kind, "server_error"), "message": _UNTOLD}
    if response.failure is not None and response.failure.type:
        error["type"] = response.failure.type
    return error


def _usage(usage: TokenUsage | None) -> str:
    """The usage object; the provider's own, if it says the same, else one with a number in every place."""
    if usage is None:
        return "null"
    if usage_of(usage.native) == usage and usage.native != "{}":
        return usage.native
    given, made = usage.input or 0, usage.output or 0
    return dump(
        {
            "input_tokens": given,
            "input_tokens_details": {
                "cached_tokens": usage.cached_read or 0,
                "cache_write_tokens": usage.cache_write or 0,
            },
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
            "total_tokens": given + made if usage.total is None else usage.total,
        }
    )
