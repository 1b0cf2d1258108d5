"""Writes responses, streams and errors as Gemini's clients need them.

Their client dies of comments and event names, takes an error for an empty chunk unless `error` is the first key, and
its chats drop a turn when one chunk of it has no parts. So there are data frames and nothing else, one line each, and
every chunk has parts. What must never be put here: native text of a turn; a response is written from its parts.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from signoff.core.model.parts import Api, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import Failure, FailureKind, ModelResponse, TokenUsage
from signoff.errors import PolicyError
from signoff.wire.gemini.parts import NOTHING, call_text, opaque_text, text_part, thought_part
from signoff.wire.gemini.reasons import block_of, reason_of
from signoff.wire.gemini.tokens import usage_text
from signoff.wire.json_text import dump
from signoff.wire.slices import array_text, object_text
from signoff.wire.sse import encode_frame

_LINE_ENDS: Final = str.maketrans("\r\n", "  ")
_STATUSES: Final = {
    FailureKind.AUTHENTICATION: (401, "UNAUTHENTICATED"),
    FailureKind.PERMISSION: (403, "PERMISSION_DENIED"),
    FailureKind.NOT_FOUND: (404, "NOT_FOUND"),
    FailureKind.INVALID_REQUEST: (400, "INVALID_ARGUMENT"),
    FailureKind.CONTEXT_FULL: (400, "INVALID_ARGUMENT"),
    FailureKind.CONTENT_FILTER: (400, "INVALID_ARGUMENT"),
    FailureKind.QUOTA: (429, "RESOURCE_EXHAUSTED"),
    FailureKind.RATE_LIMITED: (429, "RESOURCE_EXHAUSTED"),
    FailureKind.OVERLOADED: (503, "UNAVAILABLE"),
    FailureKind.CONNECTION: (503, "UNAVAILABLE"),
    FailureKind.CUT: (503, "UNAVAILABLE"),
    FailureKind.PROVIDER_TIMEOUT: (504, "DEADLINE_EXCEEDED"),
    FailureKind.DEADLINE: (504, "DEADLINE_EXCEEDED"),
    FailureKind.CANCELLED: (499, "CANCELLED"),
}
_INTERNAL: Final = (500, "INTERNAL")
_FIRST_ERROR: Final = 400


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What every chunk of a response repeats."""

    model: str = ""
    response_id: str = ""


def build_response(response: ModelResponse) -> bytes:
    """Write a response that is not streamed. Raises `PolicyError` for what the protocol cannot say."""
    parts = [part_text(part, response.api) for part in response.parts]
    return _last_chunk(response, parts).encode()


def build_stream(response: ModelResponse) -> Iterator[bytes]:
    """Write a response as a stream, one part a frame and its end in a frame of its own. Raises `PolicyError`."""
    identity = Identity(model=response.model, response_id=response.response_id)
    parts = [part_text(part, response.api) for part in response.parts]
    cut = reason_of(response) is None and not block_of(response)
    for part in parts[:-1] if cut else parts:
        yield frame(chunk((part,), identity))
    if parts or not cut:
        yield frame(_last_chunk(response, parts[-1:] if cut else [NOTHING]))


def build_error(failure: Failure, *, message: str, in_stream: bool) -> bytes:
    """Write an error, with `error` as its first key; in a stream it is a frame."""
    code, status = _STATUSES.get(failure.kind, _INTERNAL)
    given = failure.status if failure.status is not None and failure.status >= _FIRST_ERROR else None
    members = {"code": str(given or code), "message": dump(message), "status": dump(status)}
    if failure.retry_after is not None:
        delay = dump(f"{failure.retry_after:.9f}".rstrip("0").rstrip(".") + "s")
        kind = '"type.googleapis.com/google.rpc.RetryInfo"'
        members["details"] = array_text((object_text({"@type": kind, "retryDelay": delay}),))
    text = object_text({"error": object_text(members)})
    return frame(text) if in_stream else text.encode()


def frame(text: str) -> bytes:
    """One frame of a stream, on one line: line ends can stand only between the words of a JSON text."""
    return encode_frame(text.translate(_LINE_ENDS))


def chunk(
    parts: Sequence[str], identity: Identity, *, reason: str | None = None, usage: TokenUsage | None = None
) -> str:
    """One response object with the first candidate; `parts` are JSON texts."""
    candidate = {"content": object_text({"parts": array_text(parts), "role": '"model"'})}
    if reason is not None:
        candidate["finishReason"] = dump(reason)
    candidate["index"] = "0"
    return object_text({"candidates": array_text((object_text(candidate),)), **about(identity, usage)})


def about(identity: Identity, usage: TokenUsage | None) -> dict[str, str]:
    """The fields of a chunk beside its candidates."""
    fields = {} if usage is None else {"usageMetadata": usage_text(usage)}
    if identity.model:
        fields["modelVersion"] = dump(identity.model)
    if identity.response_id:
        fields["responseId"] = dump(identity.response_id)
    return fields


def part_text(part: Part, api: Api | None) -> str:
    """One part as JSON text; `api` says whose form its native text is in. Raises `PolicyError`."""
    match part:
        case TextPart():
            if part.citations:
                raise PolicyError("citations of a text cannot be written for Gemini; nothing was. Leave them out.")
            return text_part(part.text)
        case ReasoningPart():
            return thought_part(part.text)
        case CallPart():
            return call_text(part, blank="")
        case OpaquePart():
            return opaque_text(part, api)
        case RefusalPart():
            raise PolicyError("Gemini has no refusals, only filters; nothing was written. Send the refusal as text.")


def _last_chunk(response: ModelResponse, parts: Sequence[str]) -> str:
    """The chunk that ends a response, or the whole of one."""
    identity = Identity(model=response.model, response_id=response.response_id)
    blocked = block_of(response)
    if blocked:
        feedback = object_text({"blockReason": dump(blocked)})
        return object_text({"promptFeedback": feedback, **about(identity, response.usage)})
    return chunk(parts or (NOTHING,), identity, reason=reason_of(response), usage=response.usage)
