"""The matrix's cells for Anthropic Messages."""

from collections.abc import Mapping

from signoff.core.model.response import BodyEnd, End, FailureKind
from signoff.testing import Fault, Play
from tests.wire.matrix.faults import broken_bodies, broken_connections, foreign_bodies, http_errors, other_forms
from tests.wire.matrix.table import Expected, Fields, Table, change, event, joined, json

STARTED = {"input_tokens": 12, "output_tokens": 1}
USAGE = {"input_tokens": 12, "output_tokens": 5}
NONE: Mapping[str, object] = {}
TABLE = Table()


def named(kind: str, **fields: object) -> bytes:
    """One event."""
    return event(kind, {"type": kind, **fields})


def whole(stop_reason: str | None, *content: Fields, usage: Fields | None = USAGE, **fields: object) -> Fields:
    """A message object."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": list(content)}
    counted = {} if usage is None else {"usage": usage}
    return {**head, "stop_reason": stop_reason, "stop_sequence": None, **counted, **fields}


def body(stop_reason: str | None, *content: Fields, usage: Fields | None = USAGE, **fields: object) -> bytes:
    """A body that is not streamed."""
    return json(whole(stop_reason, *content, usage=usage, **fields))


def text(value: str) -> Fields:
    """A text block."""
    return {"type": "text", "text": value}


def tool(place: int, value: Fields) -> Fields:
    """A call: the first writes, the second reads."""
    name, letter = (("write", "a"), ("read", "b"))[place]
    return {"type": "tool_use", "id": f"toolu_{letter}", "name": name, "input": value}


def block(index: int, start: Fields, *deltas: Fields, closed: bool = True) -> list[bytes]:
    """The events of one block."""
    frames = [named("content_block_start", index=index, content_block=start)]
    frames += [named("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [*frames, named("content_block_stop", index=index)] if closed else frames


def spoken(*pieces: str, closed: bool = True) -> list[bytes]:
    """The events of a text block."""
    return block(0, text(""), *({"type": "text_delta", "text": piece} for piece in pieces), closed=closed)


def called(place: int, *pieces: str, index: int, closed: bool = True) -> list[bytes]:
    """The events of a call."""
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, tool(place, {}), *deltas, closed=closed)


def stopped(reason: str | None, *, usage: Fields | None = USAGE, details: Mapping[str, object] = NONE) -> bytes:
    """The event that has the reason."""
    counted = {} if usage is None else {"usage": usage}
    return named("message_delta", delta={"stop_reason": reason, "stop_sequence": None, **details}, **counted)


OPEN = named("message_start", message=whole(None, usage=STARTED)) + named("ping")
STOP = named("message_stop")


def ended(*frames: bytes, reason: str, details: Fields | None = None) -> bytes:
    """A regular stream."""
    return joined(OPEN, frames, stopped(reason, details=details or {}), STOP)


def expected(end: End, raw_reason: str | None, **facts: object) -> Expected:
    """What must be seen of a response that came with its usage."""
    return change(Expected(end=end, raw_reason=raw_reason, usage=(12, 5)), **facts)


TEXT = spoken("Hello", ", world.")
HELLO = text("Hello, world.")
CALLS = [*called(0, '{"path":', '"a"}', index=0), *called(1, '{"path":"b"}', index=1)]
HALF_CALL = called(0, '{"path":', index=0, closed=False)
TWO_CALLS = [tool(0, {"path": "a"}), tool(1, {"path": "b"})]
PARTIAL = Expected(end=End.TRANSPORT, text="Hello", usage=(12, None))
NORMAL = expected(End.NORMAL, "end_turn", text="Hello, world.")

TABLE.both("finish", stream=ended(*TEXT, reason="end_turn"), whole=body("end_turn", HELLO), expected=NORMAL)
TABLE.both(
    "calls",
    stream=ended(*CALLS, reason="tool_use"),
    whole=body("tool_use", *TWO_CALLS),
    expected=expected(End.TOOL_CALLS, "tool_use", calls=2),
)
TABLE.both(
    "calls under the reason for text",
    stream=ended(*CALLS, reason="end_turn"),
    whole=body("end_turn", *TWO_CALLS),
    expected=expected(End.TOOL_CALLS, "end_turn", calls=2),
)
TABLE.both(
    "calls promised and none given",
    stream=ended(*TEXT, reason="tool_use"),
    whole=body("tool_use", HELLO),
    expected=expected(End.MALFORMED_CALL, "tool_use", text="Hello, world."),
)
TABLE.both(
    "limit",
    stream=ended(*spoken("Hello"), reason="max_tokens"),
    whole=body("max_tokens", text("Hello")),
    expected=expected(End.LIMIT, "max_tokens", text="Hello"),
)
TABLE.both(
    "limit inside a call",
    stream=ended(*called(0, '{"path":', index=0), reason="max_tokens"),
    whole=body("max_tokens", tool(0, {"path": "a"})),
    expected=expected(End.LIMIT, "max_tokens", calls=1),
)
TABLE.both(
    "context full",
    stream=ended(*spoken("Hello"), reason="model_context_window_exceeded"),
    whole=body("model_context_window_exceeded", text("Hello")),
    expected=expected(End.CONTEXT_FULL, "model_context_window_exceeded", text="Hello"),
)
TABLE.absent("filter", "a classifier's stop is called `refusal`: see that row")
TABLE.absent("filtered prompt", "a classifier's stop is called `refusal`: see that row")
DETAILS: Fields = {"stop_details": {"type": "refusal", "category": "cyber", "explanation": "I will not."}}
TABLE.both(
    "refusal",
    stream=ended(*spoken("Hello"), reason="refusal", details=DETAILS),
    whole=body("refusal", text("Hello"), **DETAILS),
    expected=expected(End.REFUSAL, "refusal", text="Hello", refusal="I will not."),
)
TABLE.both(
    "pause",
    stream=ended(*TEXT, reason="pause_turn"),
    whole=body("pause_turn", HELLO),
    expected=expected(End.PAUSED, "pause_turn", text="Hello, world."),
)
TABLE.absent("continuation", "its word for it is `pause_turn`: see the row of pauses")
TABLE.streamed(
    "malformed call",
    ended(*called(0, '{"path":"a",', '"content":"ab', index=0), reason="tool_use"),
    expected(End.MALFORMED_CALL, "tool_use", calls=1),
)
TABLE.whole(
    "malformed call",
    body("tool_use", tool(0, {"path": "a"})).replace(b'{"path":"a"}', b'{"path":"a","path":"b"}'),
    expected(End.MALFORMED_CALL, "tool_use", calls=1),
)
THOUGHT = {"type": "thinking", "thinking": "Let me think.", "signature": "c2lnbmVk"}
THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Let me "},
    {"type": "thinking_delta", "thinking": "think."},
    {"type": "signature_delta", "signature": "c2lnbmVk"},
)
TABLE.both(
    "reasoning only",
    stream=ended(
        *THINKING,
        reason="end_turn",
    ),
    whole=body("end_turn", THOUGHT),
    expected=expected(End.NORMAL, "end_turn", reasoning="Let me think."),
)
TABLE.both("empty", stream=ended(reason="end_turn"), whole=body("end_turn"), expected=expected(End.NORMAL, "end_turn"))
broken_connections(
    TABLE,
    mid_text=(joined(OPEN, spoken("Hello", closed=False)), joined(TEXT[2:], stopped("end_turn"), STOP)),
    mid_call=(joined(OPEN, HALF_CALL), joined(CALLS[2:], stopped("tool_use"), STOP)),
    partial=PARTIAL,
)
broken_bodies(TABLE, text=body("end_turn", HELLO), call=body("tool_use", *TWO_CALLS), at=(b"Hello", b"path"))
UNMARKED = change(NORMAL, end=End.TRANSPORT)
TABLE.streamed("finish without end marker", joined(OPEN, TEXT, stopped("end_turn")), UNMARKED)
TABLE.absent_whole("finish without end marker", "a body that is not streamed has no marker")
TABLE.streamed(
    "cut behind the finish",
    Play(
        body=ended(*TEXT, reason="end_turn"),
        fault=Fault.CUT,
        cut_after=len(joined(OPEN, TEXT, stopped("end_turn"))),
    ),
    change(UNMARKED, failure=FailureKind.CUT, where="transport", body_end=BodyEnd.CUT),
)
TABLE.absent_whole("cut behind the finish", "a body that is not streamed is whole or no JSON")
TABLE.streamed("end marker without finish", joined(OPEN, TEXT, STOP), change(PARTIAL, text="Hello, world."))
TABLE.whole("end marker without finish", body(None, HELLO), expected(End.TRANSPORT, None, text="Hello, world."))
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Too busy."}, "request_id": "req_1"}
TABLE.streamed(
    "error event",
    joined(OPEN, spoken("Hello", closed=False), event("error", OVERLOADED)),
    change(PARTIAL, end=End.PROVIDER_ERROR, failure=FailureKind.OVERLOADED, where="stream"),
)
TABLE.absent_whole("error event", "events exist in streams only; see the error under status 200")
TABLE.both(
    "error under status 200",
    stream=Play(body=json(OVERLOADED), content_type="application/json"),
    whole=json(OVERLOADED),
    expected=Expected(end=End.PROVIDER_ERROR, failure=FailureKind.OVERLOADED, where="stream"),
)
TABLE.absent("failed status", "there is no status: what fails is an error event, or an error's body")
LIMITED = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}}
FAILED = {"type": "error", "error": {"type": "api_error", "message": "It broke."}}
http_errors(TABLE, limited=json(LIMITED), failed=json(FAILED))
other_forms(TABLE, stream=ended(*TEXT, reason="end_turn"), whole=body("end_turn", HELLO), expected=NORMAL)
foreign_bodies(
    TABLE, opening=OPEN, broken=b'event: content_block_delta\ndata: {"type":}\n\n', seen=change(PARTIAL, text="")
)
TABLE.absent("empty choices", "there are no choices, and empty content is the row of empty responses")
TABLE.both(
    "unknown finish",
    stream=ended(*TEXT, reason="moon_phase"),
    whole=body("moon_phase", HELLO),
    expected=expected(End.UNKNOWN, "moon_phase", text="Hello, world."),
)
TABLE.both(
    "usage missing",
    stream=joined(named("message_start", message=whole(None, usage=None)), TEXT, stopped("end_turn", usage=None), STOP),
    whole=body("end_turn", HELLO, usage=None),
    expected=change(NORMAL, usage=None),
)
CAPPED = change(NORMAL, end=End.LIMIT)
TABLE.streamed("cap reached though labelled otherwise", ended(*TEXT, reason="end_turn"), CAPPED, cap=5)
TABLE.whole("cap reached though labelled otherwise", body("end_turn", HELLO), CAPPED, cap=5)
