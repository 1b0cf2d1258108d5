"""The calls of a turn in the protocol's form, for requests and responses alike."""

from collections.abc import Sequence

from signoff.core.model.parts import CallKind, CallPart
from signoff.errors import PolicyError


def calls_of(calls: Sequence[CallPart]) -> dict[str, object]:
    """The field that holds the calls; a single one without an id is the old `function_call`. Raises `PolicyError`."""
    if not calls:
        return {}
    if all(call.call_id for call in calls):
        return {"tool_calls": [call_of(call) for call in calls]}
    if len(calls) > 1 or calls[0].kind is CallKind.CUSTOM:
        raise PolicyError("Chat Completions cannot say a call without an id beside others; give each an id")
    return {"function_call": {"name": calls[0].name, "arguments": calls[0].arguments}}


def call_of(call: CallPart) -> dict[str, object]:
    """One entry of `tool_calls`."""
    if call.kind is CallKind.CUSTOM:
        return {"id": call.call_id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
