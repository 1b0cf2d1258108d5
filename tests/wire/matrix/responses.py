"""The matrix's cells for OpenAI Responses."""

from signoff.core.model.response import End, FailureKind
from signoff.testing import Fault, Play
from tests.wire.matrix.faults import broken_bodies, broken_connections, foreign_bodies, http_errors, other_forms
from tests.wire.matrix.table import Expected, Fields, Table, change, event, joined, json

USAGE = {
    "input_tokens": 12,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 17,
}
ERROR = {"error": {"message": "It broke.", "type": "server_error", "param": None, "code": "server_error"}}
TABLE = Table()


def response(status: str, output: list[Fields], *, usage: Fields | None = None, **fields: object) -> Fields:
    """A response object."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m-1", "error": None}
    rest = {"incomplete_details": None, "output": output, "usage": usage}
    return {**head, "status": status, **rest, **fields}


def body(status: str, *output: Fields, usage: Fields | None = USAGE, **fields: object) -> bytes:
    """A body that is not streamed."""
    return json(response(status, list(output), usage=usage, **fields))


def stream(*events: Fields) -> bytes:
    """These events behind the opening ones, numbered."""
    opening = [
        {"type": "response.created", "response": response("in_progress", [])},
        {"type": "response.in_progress", "response": response("in_progress", [])},
    ]
    numbered = [{**one, "sequence_number": number} for number, one in enumerate([*opening, *events])]
    return joined([event(one["type"], one) for one in numbered])


def ended(status: str, *output: Fields, usage: Fields | None = USAGE, **fields: object) -> Fields:
    """The terminal event."""
    return {"type": f"response.{status}", "response": response(status, list(output), usage=usage, **fields)}


def message(text: str, status: str = "completed") -> Fields:
    """A message item with one text."""
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}] if text else []
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content}


def function(place: int, arguments: str, status: str = "completed") -> Fields:
    """A function call item: the first writes, the second reads."""
    name, letter = (("write", "a"), ("read", "b"))[place]
    ids = {"id": f"fc_{letter}", "call_id": f"call_{letter}"}
    return {"type": "function_call", **ids, "name": name, "arguments": arguments, "status": status}


def part(kind: str, name: str, **fields: object) -> Fields:
    """An event of the first part of the message."""
    return {"type": f"response.{kind}.{name}", "item_id": "msg_1", "output_index": 0, "content_index": 0, **fields}


def spoken(*pieces: str, closed: bool = True) -> list[Fields]:
    """The events of a message with one text."""
    empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    text = "".join(pieces)
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": message("", "in_progress")},
        part("content_part", "added", part=empty),
        *(part("output_text", "delta", delta=piece, logprobs=[]) for piece in pieces),
    ]
    if not closed:
        return events
    return [
        *events,
        part("output_text", "done", text=text, logprobs=[]),
        part("content_part", "done", part={**empty, "text": text}),
        {"type": "response.output_item.done", "output_index": 0, "item": message(text)},
    ]


def called(place: int, *pieces: str, index: int, closed: bool = True) -> list[Fields]:
    """The events of a function call at an index of the output."""
    item = function(place, "", "in_progress")
    at = {"item_id": item["id"], "output_index": index}
    name = "response.function_call_arguments"
    events = [
        {"type": "response.output_item.added", "output_index": index, "item": item},
        *({"type": f"{name}.delta", **at, "delta": piece} for piece in pieces),
    ]
    if not closed:
        return events
    whole = "".join(pieces)
    return [
        *events,
        {"type": f"{name}.done", **at, "name": item["name"], "arguments": whole},
        {"type": "response.output_item.done", "output_index": index, "item": function(place, whole)},
    ]


def expected(end: End, raw_reason: str | None, **facts: object) -> Expected:
    """What must be seen of a response that came with its usage."""
    return change(Expected(end=end, raw_reason=raw_reason, usage=(12, 5)), **facts)


TEXT = spoken("Hello", ", world.")
HALF_TEXT = spoken("Hello", closed=False)
HELLO = message("Hello, world.")
A, B = function(0, '{"path":"a"}'), function(1, '{"path":"b"}')
CALLS = [*called(0, '{"path":', '"a"}', index=0), *called(1, '{"path":"b"}', index=1)]
HALF_CALL = called(0, '{"path":', index=0, closed=False)
HALF_ITEM = function(0, '{"path":', "incomplete")
NORMAL = expected(End.NORMAL, "completed", text="Hello, world.")


def incomplete(reason: str) -> Fields:
    """The details of an incomplete response."""
    return {"incomplete_details": {"reason": reason}}


TABLE.both("finish", stream=stream(*TEXT, ended("completed", HELLO)), whole=body("completed", HELLO), expected=NORMAL)
TABLE.both(
    "calls",
    stream=stream(*CALLS, ended("completed", A, B)),
    whole=body("completed", A, B),
    expected=expected(End.TOOL_CALLS, "completed", calls=2),
)
TABLE.absent("calls under the reason for text", "there is one status for both: see the row of calls")
TABLE.absent("calls promised and none given", "no status promises calls")
TABLE.both(
    "limit",
    stream=stream(*HALF_TEXT, ended("incomplete", message("Hello", "incomplete"), **incomplete("max_output_tokens"))),
    whole=body("incomplete", message("Hello", "incomplete"), **incomplete("max_output_tokens")),
    expected=expected(End.LIMIT, "incomplete/max_output_tokens", text="Hello"),
)
TABLE.both(
    "limit inside a call",
    stream=stream(
        *HALF_CALL,
        {"type": "response.output_item.done", "output_index": 0, "item": HALF_ITEM},
        ended("incomplete", HALF_ITEM, **incomplete("max_output_tokens")),
    ),
    whole=body("incomplete", HALF_ITEM, **incomplete("max_output_tokens")),
    expected=expected(End.LIMIT, "incomplete/max_output_tokens", calls=1),
)
FULL = {"error": {"message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}}
TABLE.both(
    "context full",
    stream=Play(status=400, body=json(FULL)),
    whole=Play(status=400, body=json(FULL)),
    expected=Expected(end=End.CONTEXT_FULL, failure=FailureKind.CONTEXT_FULL, where="http"),
)
TABLE.both(
    "filter",
    stream=stream(*HALF_TEXT, ended("incomplete", message("Hello", "incomplete"), **incomplete("content_filter"))),
    whole=body("incomplete", message("Hello", "incomplete"), **incomplete("content_filter")),
    expected=expected(End.CONTENT_FILTER, "incomplete/content_filter", text="Hello"),
)
BLOCKED = {"error": {"message": "Filtered.", "type": None, "code": "content_filter"}}
TABLE.both(
    "filtered prompt",
    stream=Play(status=400, body=json(BLOCKED)),
    whole=Play(status=400, body=json(BLOCKED)),
    expected=Expected(end=End.CONTENT_FILTER, failure=FailureKind.CONTENT_FILTER, where="http"),
)
NO = {"type": "refusal", "refusal": "I will not."}
REFUSED = {**HELLO, "content": [NO]}
TABLE.both(
    "refusal",
    stream=stream(
        {"type": "response.output_item.added", "output_index": 0, "item": message("", "in_progress")},
        part("content_part", "added", part={"type": "refusal", "refusal": ""}),
        part("refusal", "delta", delta="I will "),
        part("refusal", "delta", delta="not."),
        part("refusal", "done", refusal="I will not."),
        part("content_part", "done", part=NO),
        {"type": "response.output_item.done", "output_index": 0, "item": REFUSED},
        ended("completed", REFUSED),
    ),
    whole=body("completed", REFUSED),
    expected=expected(End.REFUSAL, "completed", refusal="I will not."),
)
TABLE.both(
    "pause",
    stream=stream(*TEXT, ended("incomplete", HELLO, **incomplete("steered"))),
    whole=body("incomplete", HELLO, **incomplete("steered")),
    expected=expected(End.PAUSED, "incomplete/steered", text="Hello, world."),
)
TABLE.absent("continuation", "its word for it is `steered`: see the row of pauses")
BAD = function(0, '{"path":"a","content":"ab')
TABLE.both(
    "malformed call",
    stream=stream(*called(0, '{"path":"a",', '"content":"ab', index=0), ended("completed", BAD)),
    whole=body("completed", BAD),
    expected=expected(End.MALFORMED_CALL, "completed", calls=1),
)
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Let me think."}]}
SUMMARY = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
THINKING: list[Fields] = [
    {"type": "response.output_item.added", "output_index": 0, "item": {**THOUGHT, "summary": []}},
    {
        "type": "response.reasoning_summary_part.added",
        **SUMMARY,
        "part": {"type": "summary_text", "text": ""},
    },
    {"type": "response.reasoning_summary_text.delta", **SUMMARY, "delta": "Let me "},
    {"type": "response.reasoning_summary_text.delta", **SUMMARY, "delta": "think."},
    {"type": "response.reasoning_summary_text.done", **SUMMARY, "text": "Let me think."},
    {"type": "response.reasoning_summary_part.done", **SUMMARY, "part": THOUGHT["summary"][0]},
    {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
]
TABLE.both(
    "reasoning only",
    stream=stream(*THINKING, ended("completed", THOUGHT)),
    whole=body("completed", THOUGHT),
    expected=expected(End.NORMAL, "completed", reasoning="Let me think."),
)
TABLE.both(
    "empty",
    stream=stream(ended("completed")),
    whole=body("completed"),
    expected=expected(End.NORMAL, "completed"),
)
DONE = ended("completed", HELLO)
broken_connections(
    TABLE,
    mid_text=(stream(*HALF_TEXT), event(DONE["type"], DONE)),
    mid_call=(stream(*HALF_CALL), event(DONE["type"], DONE)),
    partial=Expected(end=End.TRANSPORT, text="Hello"),
)
broken_bodies(TABLE, text=body("completed", HELLO), call=body("completed", A, B), at=(b"Hello", b"path"))
TABLE.streamed("finish without end marker", stream(*TEXT), Expected(end=End.TRANSPORT, text="Hello, world."))
TABLE.absent_whole("finish without end marker", "a body that is not streamed has no marker")
TABLE.streamed(
    "cut behind the finish",
    Play(body=stream(*TEXT, DONE) + b"data: [DONE]\n\n", fault=Fault.CUT, cut_after=len(stream(*TEXT, DONE))),
    NORMAL,
)
TABLE.absent_whole("cut behind the finish", "a body that is not streamed is whole or no JSON")
TABLE.streamed(
    "end marker without finish",
    stream(*TEXT) + b"data: [DONE]\n\n",
    Expected(end=End.TRANSPORT, text="Hello, world."),
)
TABLE.whole(
    "end marker without finish",
    body("in_progress", HELLO, usage=None),
    Expected(end=End.TRANSPORT, text="Hello, world."),
)
FLAT = {"type": "error", "code": "server_error", "message": "It broke.", "param": None}
TABLE.streamed(
    "error event",
    stream(*HALF_TEXT, FLAT),
    Expected(end=End.PROVIDER_ERROR, text="Hello", failure=FailureKind.SERVER_ERROR, where="stream"),
)
TABLE.absent_whole("error event", "events exist in streams only; see the error under status 200")
TABLE.both(
    "error under status 200",
    stream=Play(body=json(ERROR), content_type="application/json"),
    whole=json(ERROR),
    expected=Expected(end=End.PROVIDER_ERROR, failure=FailureKind.SERVER_ERROR, where="stream"),
)
BROKE = {"error": {"code": "server_error", "message": "It broke."}}
TABLE.both(
    "failed status",
    stream=stream(*HALF_TEXT, ended("failed", message("Hello", "incomplete"), usage=None, **BROKE)),
    whole=body("failed", message("Hello", "incomplete"), usage=None, **BROKE),
    expected=Expected(
        end=End.PROVIDER_ERROR,
        raw_reason="failed/server_error",
        text="Hello",
        failure=FailureKind.SERVER_ERROR,
        where="stream",
    ),
)
LIMITED = {"error": {"message": "Slow down.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
http_errors(TABLE, limited=json(LIMITED), failed=json(ERROR))
other_forms(TABLE, stream=stream(*TEXT, DONE), whole=body("completed", HELLO), expected=NORMAL)
foreign_bodies(
    TABLE,
    opening=stream(),
    broken=b'event: response.output_text.delta\ndata: {"type":}\n\n',
    seen=Expected(end=End.TRANSPORT),
)
TABLE.absent("empty choices", "there are no choices, and an empty output is the row of empty responses")
TABLE.both(
    "unknown finish",
    stream=stream(*TEXT, ended("incomplete", HELLO, **incomplete("moon_phase"))),
    whole=body("incomplete", HELLO, **incomplete("moon_phase")),
    expected=expected(End.UNKNOWN, "incomplete/moon_phase", text="Hello, world."),
)
TABLE.both(
    "usage missing",
    stream=stream(*TEXT, ended("completed", HELLO, usage=None)),
    whole=body("completed", HELLO, usage=None),
    expected=change(NORMAL, usage=None),
)
CAPPED = change(NORMAL, end=End.LIMIT)
TABLE.streamed("cap reached though labelled otherwise", stream(*TEXT, DONE), CAPPED, cap=5)
TABLE.whole("cap reached though labelled otherwise", body("completed", HELLO), CAPPED, cap=5)
