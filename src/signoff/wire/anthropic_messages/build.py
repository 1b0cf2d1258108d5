"""Writes responses and errors in the strict form.

Where the native turn says the same as the parts, its blocks are used, so that signatures and unknown fields stay. What
the protocol cannot say is refused.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from signoff.core.model.arguments import are_whole
from signoff.core.model.parts import CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.errors import PolicyError
from signoff.wire.anthropic_messages import frames
from signoff.wire.anthropic_messages.blocks import kind_of, parts_in, refusal_in
from signoff.wire.anthropic_messages.tokens import at_end, at_start, members_for
from signoff.wire.anthropic_messages.words import API, ERROR_TYPES, ERRORS, PLACED, REASONS
from signoff.wire.json_text import dump, load
from signoff.wire.slices import array_text, elements_of, members_of, object_text

Members = dict[str, str]
_UNSAYABLE: Final = frozenset({End.TRANSPORT, End.PROVIDER_ERROR, End.CONTENT_FILTER, End.CONTINUATION})
_AS_CALLS: Final = frozenset({End.NORMAL, End.TOOL_CALLS, End.MALFORMED_CALL})
_OF_THE_END: Final = ("stop_sequence", "stop_details", "container")
_BESIDE_THE_END: Final = ("context_management",)
_TOO_LONG: Final = "prompt is too long"
_DIGITS: Final = 24


def build_response(response: ModelResponse) -> bytes:
    """Write a response that is not streamed. Raises `PolicyError` for what this protocol cannot say."""
    blocks = _blocks(response)
    for block in blocks:
        if kind_of(block) == "tool_use":
            block["input"] = block["input"] if block["input"].strip() else "{}"
            if load(block["input"]) is None and block["input"].strip() != "null":
                raise _unsayable("a call whose arguments are no JSON", "write it as a stream")
    ending = _ending(response)
    usage = object_text(members_for(response.usage))
    content = array_text(map(object_text, blocks))
    return object_text({**_head(response, blocks), "content": content, **ending, "usage": usage}).encode()


def build_stream(response: ModelResponse) -> Iterator[bytes]:
    """Write a response as a stream, one frame at a time. Raises `PolicyError` for what this protocol cannot say."""
    return _frames(response, _blocks(response), _ending(response))


def build_error(failure: Failure, *, message: str, in_stream: bool) -> bytes:
    """Write an error: the body beside an HTTP error status, or the frame inside a stream."""
    kind = failure.type if failure.type in ERROR_TYPES else ERRORS.get(failure.kind, "api_error")
    if failure.kind is FailureKind.CONTEXT_FULL and not message.startswith(_TOO_LONG):
        message = f"{_TOO_LONG}: {message}"  # clients know this error by nothing else
    error = {"type": dump(kind), "message": dump(message)}
    if failure.code:
        error["details"] = object_text({"error_code": dump(failure.code)})
    members = {"error": object_text(error)}
    return frames.event("error", members) if in_stream else object_text({"type": '"error"', **members}).encode()


def _frames(response: ModelResponse, blocks: Sequence[Members], ending: Members) -> Iterator[bytes]:
    usage = members_for(response.usage)
    late: Members = {name: ending.pop(name) for name in ("stop_reason", *_OF_THE_END) if name in ending}
    beside: Members = {name: ending.pop(name) for name in _BESIDE_THE_END if name in ending}
    nothing = {"content": "[]", "stop_reason": "null", "stop_sequence": "null"}
    first = {"usage": object_text(at_start(usage))}
    yield frames.message_start({**_head(response, blocks), **nothing, **ending, **first})
    for index, block in enumerate(blocks):
        yield from frames.block(index, block)
    yield frames.message_delta(late, usage=at_end(usage), beside=beside)
    yield frames.message_stop()


def _unsayable(what: str, remedy: str) -> PolicyError:
    return PolicyError(f"the Messages API cannot say {what}; nothing was written; {remedy}")


def _head(response: ModelResponse, blocks: Sequence[Members]) -> Members:
    """The fields that identify a message; the same response always has the same id."""
    said = array_text(map(object_text, blocks)).encode("utf-8", "surrogatepass")
    message_id = response.response_id or f"msg_{hashlib.sha256(said).hexdigest()[:_DIGITS]}"
    return {"id": dump(message_id), "type": '"message"', "role": '"assistant"', "model": dump(response.model)}


# ── The end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ending(response: ModelResponse) -> Members:
    """The reason and the other fields beside the content."""
    own = members_of(response.envelope) if response.api is API else {}
    kept = {name: text for name, text in own.items() if name not in PLACED and name != "stop_details"}
    ending = {"stop_reason": dump(_reason(response)), "stop_sequence": "null", **kept}
    refusals = [part for part in response.parts if isinstance(part, RefusalPart)]
    said = own.get("stop_details", "")
    if refusals or (said and refusal_in(load(said)) is None):
        ending["stop_details"] = said if [refusal_in(load(said))] == refusals or not refusals else _details(refusals)
    return ending


def _reason(response: ModelResponse) -> str:
    if response.failure is not None or response.end in _UNSAYABLE:
        raise _unsayable(
            f"a message that ended with {response.end}", "write its frames and an error, or an error alone"
        )
    reason = response.raw_reason if response.api is API else None
    reason = reason or REASONS.get(response.end)
    if reason is None:
        raise _unsayable(f"the end {response.end} without a reason", "give a `raw_reason`")
    return reason


def _details(refusals: Sequence[RefusalPart]) -> str:
    category = next((part.category for part in refusals if part.category), "")
    explanation = "".join(part.text for part in refusals)
    return object_text(
        {"type": '"refusal"', "category": dump(category or None), "explanation": dump(explanation or None)}
    )


# ── The content ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _blocks(response: ModelResponse) -> list[Members]:
    """The content, block by block; a call's input is its raw text."""
    parts = [part for part in response.parts if not isinstance(part, RefusalPart)]
    native = elements_of(response.native) if response.api is API else []
    if [_compared(part) for part in parts_in(native)] == [_compared(part) for part in parts]:
        blocks = [members_of(block) for block in native]
    else:
        blocks = [_block(part, place, own=response.api is API) for place, part in enumerate(parts)]
    for part, block in zip(parts, blocks, strict=True):
        if isinstance(part, CallPart):
            _check_call(part, response.end)
            block["input"] = part.arguments
        elif not kind_of(block):
            raise _unsayable("a part without a type", "leave it out")
    return blocks


def _compared(part: Part) -> Part:
    """A part without what its block does not say in the same way in every form."""
    if isinstance(part, CallPart):
        return msgspec.structs.replace(part, arguments=part.arguments.strip() or "{}", closed=True)
    return part


def _check_call(call: CallPart, end: End) -> None:
    if call.kind is CallKind.CUSTOM:
        raise _unsayable("a call with free text", "offer a function in its place")
    if not call.closed and end in _AS_CALLS and are_whole(msgspec.structs.replace(call, closed=True)):
        raise _unsayable("that a call is not whole whose arguments look whole", "give the arguments as they were cut")


def _block(part: Part, place: int, *, own: bool) -> Members:
    match part:
        case TextPart():
            cited = {"citations": part.citations} if part.citations and own else {}
            return {"type": '"text"', "text": dump(part.text), **cited}
        case ReasoningPart(redacted=True):
            return {"type": '"redacted_thinking"', "data": '""'}
        case ReasoningPart():
            return {"type": '"thinking"', "thinking": dump(part.text), "signature": '""'}
        case CallPart():
            call_id = part.call_id or f"toolu_{place}"
            return {"type": '"tool_use"', "id": dump(call_id), "name": dump(part.name), "input": part.arguments}
        case OpaquePart() if own and kind_of(members_of(part.native)):
            return members_of(part.native)
        case _:
            raise _unsayable("a part of another protocol", "leave it out")
