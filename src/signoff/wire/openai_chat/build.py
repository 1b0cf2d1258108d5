"""Writes responses, streams and errors, in the strict form that every official client reads.

What this protocol has no word for is refused: a paused turn, a part without a neutral form, a whole body for an answer
that was cut. A word of the provider is kept where it says the same as the record, and never where it says more.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import orjson

from signoff.core.model.arguments import are_whole
from signoff.core.model.ending import Finish
from signoff.core.model.parts import CallKind, CallPart, OpaquePart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.errors import PolicyError
from signoff.wire.failure_words import KINDS
from signoff.wire.json_text import JSON, count_of, load, object_of, write
from signoff.wire.openai_chat.forms import call_of, calls_of
from signoff.wire.openai_chat.words import API, finish_of, usage_object
from signoff.wire.sse import encode_frame

_DONE: Final = b"data: [DONE]\n\n"
_WHOLE_CALLS: Final = (Finish.STOP, Finish.CALLS)
_SAYS: Final[Mapping[End, tuple[Finish, ...]]] = {
    End.NORMAL: (Finish.STOP,),
    End.TOOL_CALLS: _WHOLE_CALLS,
    End.MALFORMED_CALL: _WHOLE_CALLS,
    End.LIMIT: (Finish.LIMIT,),
    End.CONTENT_FILTER: (Finish.FILTER,),
    End.REFUSAL: (Finish.STOP, Finish.CALLS, Finish.LIMIT, Finish.UNKNOWN),
    End.PROVIDER_ERROR: (Finish.ERROR,),
    End.UNKNOWN: (Finish.UNKNOWN,),
}
_WORDS: Final[Mapping[End, str]] = {
    End.NORMAL: "stop",
    End.TOOL_CALLS: "tool_calls",
    End.MALFORMED_CALL: "tool_calls",
    End.LIMIT: "length",
    End.CONTEXT_FULL: "length",
    End.CONTENT_FILTER: "content_filter",
}
_ERRORS: Final[Mapping[FailureKind, tuple[str, str | None]]] = {
    FailureKind.AUTHENTICATION: ("invalid_request_error", "invalid_api_key"),
    FailureKind.PERMISSION: ("invalid_request_error", "permission_denied"),
    FailureKind.NOT_FOUND: ("invalid_request_error", "model_not_found"),
    FailureKind.INVALID_REQUEST: ("invalid_request_error", None),
    FailureKind.CONTEXT_FULL: ("invalid_request_error", "context_length_exceeded"),
    FailureKind.CONTENT_FILTER: ("invalid_request_error", "content_filter"),
    FailureKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    FailureKind.RATE_LIMITED: ("requests", "rate_limit_exceeded"),
    FailureKind.OVERLOADED: ("server_error", "slow_down"),
    FailureKind.SERVER_ERROR: ("server_error", "server_error"),
    FailureKind.PROVIDER_TIMEOUT: ("server_error", "timeout"),
    FailureKind.CANCELLED: ("server_error", "cancelled"),
}


def build_response(response: ModelResponse) -> bytes:
    """Write a whole response from its parts, reason and usage. Raises `PolicyError`."""
    reason = _reason(response)
    if reason is None:
        raise _unsaid(f"a response that ended with {response.end} in one body; write an error instead")
    choice: dict[str, object] = {"index": 0, "message": _message(response), "logprobs": None, "finish_reason": reason}
    body: dict[str, object] = {**_head(response, kind="chat.completion"), "choices": [choice]}
    if response.usage is not None:
        body["usage"] = usage_object(response.usage)
    return write(body)


def build_stream(response: ModelResponse) -> Iterator[bytes]:
    """Write a response as a stream, one frame at a time. Raises `PolicyError` before the first.

    An answer that was cut ends without a reason and without `[DONE]`: it is for the caller to cut the connection, or
    to send an error.
    """
    reason = _reason(response)
    deltas = _deltas(response)
    return _frames(response, deltas, reason)


def build_error(failure: Failure, *, message: str, in_stream: bool) -> bytes:
    """Write an error: the body beside an HTTP error status, or the frame inside a stream."""
    kind, code = _ERRORS.get(failure.kind, ("server_error", failure.kind.value))
    if failure.code and (failure.kind is FailureKind.INVALID_REQUEST or _says(failure.code, failure.kind)):
        code = failure.code
    if failure.type and _says(failure.type, failure.kind):
        kind = failure.type
    body = write({"error": {"message": message, "type": kind, "param": None, "code": code}})
    return encode_frame(body) if in_stream else body


def _says(word: str, kind: FailureKind) -> bool:
    return KINDS.get(word.lower()) is kind


def _unsaid(what: str) -> PolicyError:
    return PolicyError(f"Chat Completions cannot say {what}; nothing was written")


def _reason(response: ModelResponse) -> str | None:
    """The finish reason to write; None where the answer has no proper end, or an error stands in its place."""
    end, raw = response.end, response.raw_reason
    if end is End.TRANSPORT or response.failure is not None:
        return None
    if end is End.MALFORMED_CALL:
        _require_visible_fault(response)
    if response.api is API and raw is not None and finish_of(raw) in _SAYS.get(end, ()):
        return raw
    if end is End.REFUSAL:
        return "stop" if (response.refusal or "").strip() else "content_filter"
    if end is End.PROVIDER_ERROR:
        return None
    if end not in _WORDS:
        raise _unsaid(f"a response that ended with {end}")
    return _WORDS[end]


def _require_visible_fault(response: ModelResponse) -> None:
    """Refuse calls that are known to be cut when their text does not show it: a client would run them."""
    calls = [msgspec.structs.replace(call, closed=True) for call in response.calls]
    if calls and all(are_whole(call) for call in calls):
        raise _unsaid("that a call was cut whose arguments are one whole object")


def _head(response: ModelResponse, *, kind: str) -> dict[str, object]:
    """The top level: identity, and the other fields if they are this protocol's own."""
    others = object_of(load(response.envelope)) if response.api is API else {}
    head: dict[str, object] = {"id": response.response_id, "object": kind}
    head["created"] = count_of(others.get("created")) or 0
    head["model"] = response.model
    head.update((key, value) for key, value in others.items() if key not in head and key not in {"choices", "usage"})
    return head


def _message(response: ModelResponse) -> dict[str, object]:
    """The message of a whole response: texts of one kind in one field, as the protocol has it."""
    texts: dict[str, str] = {}
    calls: list[CallPart] = []
    message: dict[str, object] = {"role": "assistant", "content": None, "refusal": None}
    for part in response.parts:
        match part:
            case CallPart():
                calls.append(part)
            case OpaquePart():
                raise _unsaid(f"a part of type {part.kind[:40]!r}")
            case TextPart() | ReasoningPart() | RefusalPart():
                name = _FIELDS[type(part)]
                texts[name] = texts.get(name, "") + part.text
                message.update(_annotations(response, part))
    message.update(texts)
    return {**message, **calls_of(calls)}


_FIELDS: Final[Mapping[type, str]] = {
    TextPart: "content",
    ReasoningPart: "reasoning_content",
    RefusalPart: "refusal",
}


def _annotations(response: ModelResponse, part: TextPart | ReasoningPart | RefusalPart) -> dict[str, object]:
    """A text's citations, where they are this protocol's own."""
    if not isinstance(part, TextPart) or not part.citations:
        return {}
    if response.api is not API:
        raise _unsaid(f"the citations of {response.api}")
    return {"annotations": orjson.Fragment(part.citations)}


def _deltas(response: ModelResponse) -> list[dict[str, object]]:
    """The deltas of a stream, in the order of the parts; the names of a call come before its arguments."""
    old_form = calls_of(list(response.calls)).get("function_call")
    deltas: list[dict[str, object]] = []
    calls = 0
    for part in response.parts:
        match part:
            case CallPart() if old_form:
                deltas.append({"function_call": {"name": part.name, "arguments": ""}})
                deltas.append({"function_call": {"arguments": part.arguments}})
            case CallPart():
                deltas.extend({"tool_calls": [fragment]} for fragment in _fragments(part, calls))
                calls += 1
            case OpaquePart():
                raise _unsaid(f"a part of type {part.kind[:40]!r}")
            case TextPart() | ReasoningPart() | RefusalPart():
                deltas.append({_FIELDS[type(part)]: part.text, **_annotations(response, part)})
    return deltas


def _fragments(call: CallPart, index: int) -> list[dict[str, object]]:
    whole = call_of(msgspec.structs.replace(call, arguments=""))
    field, name = ("custom", "input") if call.kind is CallKind.CUSTOM else ("function", "arguments")
    first = {"index": index, **whole}
    return [first, {"index": index, field: {name: call.arguments}}] if call.arguments else [first]


def _frames(response: ModelResponse, deltas: list[dict[str, object]], reason: str | None) -> Iterator[bytes]:
    """The frames: the role, the deltas, and the reason, or an error, or nothing."""
    head = _head(response, kind="chat.completion.chunk")
    tail: dict[str, JSON] = {} if response.usage is None else {"usage": None}

    def chunk(delta: Mapping[str, object], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return encode_frame(write({**head, "choices": [choice], **tail}))

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for delta in deltas:
        yield chunk(delta)
    if response.end is End.TRANSPORT:
        return
    if reason is None:
        failure = response.failure or Failure(kind=FailureKind.SERVER_ERROR, where="stream")
        yield build_error(failure, message=f"the provider failed: {failure.kind}", in_stream=True)
        return
    yield chunk({}, reason)
    if response.usage is not None:
        yield encode_frame(write({**head, "choices": [], "usage": usage_object(response.usage)}))
    yield _DONE
