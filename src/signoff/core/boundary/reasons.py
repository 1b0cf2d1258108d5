"""Why a response of a model is not used, or why its generation was stopped. One closed set, persisted and shown."""

from enum import StrEnum


class BoundaryReason(StrEnum):
    """Why a response is not used, or a generation stopped."""

    STREAM_ENDED_WITHOUT_FINISH_REASON = "model_stream_ended_without_finish_reason"
    """The end that the protocol promises was not seen: no reason, or no end marker."""
    OUTPUT_TRUNCATED = "model_output_truncated"
    OUTPUT_INTERRUPTED = "model_output_interrupted"
    """A filter, an error or a reason that nobody knows ended it."""
    MALFORMED_TOOL_CALL_BATCH = "malformed_tool_call_batch"
    """A call without an id or name, an id given twice, calls announced and absent, or one nobody here can answer."""
    INCOMPLETE_TOOL_ARGUMENTS = "incomplete_tool_arguments"
    """The arguments of a call are not one JSON value."""
    INVALID_TOOL_ARGUMENTS = "invalid_tool_arguments"
    """The arguments of a call are JSON, and no object that can be used."""
    REASONING_ONLY_RESPONSE = "reasoning_only_response"
    EMPTY_MODEL_RESPONSE = "empty_model_response"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    PROVIDER_TIMEOUT = "provider_timeout"
    PROVIDER_FAILED = "provider_failed"
    PROVIDER_REFUSAL = "provider_refusal"
    RESPONSE_PAUSED = "response_paused"
    """The provider paused the turn for the caller to resume it."""

    CALLER_CANCELLED = "caller_cancelled"
    PROVIDER_CANCELLED = "provider_cancelled"
    IDLE_TIMEOUT = "idle_timeout"
    ACTIVE_STREAM_OVER_BUDGET = "active_stream_over_budget"
    CALL_DEADLINE_EXCEEDED = "call_deadline_exceeded"
    ACTION_REPAIR_TIMEOUT = "action_repair_timeout"
    ACTION_REPAIR_EXHAUSTED = "action_repair_exhausted"
