"""The words of the protocol: stop reasons, kinds of blocks and deltas, types of errors. Tables, and a look into one."""

from typing import Final

from signoff.core.model.ending import Finish
from signoff.core.model.parts import Api
from signoff.core.model.response import End, FailureKind

API: Final = Api.ANTHROPIC_MESSAGES
VERSION: Final = "2023-06-01"
DEFAULT_MAX_TOKENS: Final = 8192
"""The protocol requires a bound; this one is sent when a request sets none."""

FINISHES: Final = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.CALLS,
    "max_tokens": Finish.LIMIT,
    "model_context_window_exceeded": Finish.CONTEXT_FULL,
    "pause_turn": Finish.PAUSE,
    "compaction": Finish.PAUSE,
    "refusal": Finish.REFUSAL,
}
_FROM_BEST: Final = (
    Finish.STOP,
    Finish.CALLS,
    Finish.PAUSE,
    Finish.LIMIT,
    Finish.CONTEXT_FULL,
    Finish.UNKNOWN,
    Finish.REFUSAL,
)
REASONS: Final = {
    End.NORMAL: "end_turn",
    End.TOOL_CALLS: "tool_use",
    End.MALFORMED_CALL: "tool_use",
    End.LIMIT: "max_tokens",
    End.CONTEXT_FULL: "model_context_window_exceeded",
    End.PAUSED: "pause_turn",
    End.REFUSAL: "refusal",
}
"""The usual reason for each end that the protocol can say."""

SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls that the provider runs itself."""
NEUTRAL_BLOCKS: Final = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
"""Blocks with a neutral form; all others are opaque."""

PIECES: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "input"),
}
"""Deltas that add a piece of text: their own field, and the block's field that it belongs to."""
HOMES: Final = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
    "compaction_delta": "compaction",
}
"""The kind of block that each delta belongs to; opaque blocks take any."""

PLACED: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})
"""The fields of a message that have a place of their own in the record; the others are its envelope."""

ERRORS: Final = {
    FailureKind.AUTHENTICATION: "authentication_error",
    FailureKind.PERMISSION: "permission_error",
    FailureKind.NOT_FOUND: "not_found_error",
    FailureKind.INVALID_REQUEST: "invalid_request_error",
    FailureKind.CONTEXT_FULL: "invalid_request_error",
    FailureKind.CONTENT_FILTER: "invalid_request_error",
    FailureKind.QUOTA: "billing_error",
    FailureKind.RATE_LIMITED: "rate_limit_error",
    FailureKind.OVERLOADED: "overloaded_error",
    FailureKind.PROVIDER_TIMEOUT: "timeout_error",
    FailureKind.DEADLINE: "timeout_error",
}
"""The type of the error for each kind; for all others it is `api_error`."""
ERROR_TYPES: Final = frozenset({*ERRORS.values(), "api_error", "conflict_error", "request_too_large"})


def severity_of(reason: str | None) -> int:
    """How bad a stop reason is: of several in one response the worst counts. Below all of them where there is none."""
    return -1 if reason is None else _FROM_BEST.index(FINISHES.get(reason, Finish.UNKNOWN))
