"""The matrix's cells for OpenAI Chat Completions."""

from signoff.core.model.response import BodyEnd, End, FailureKind
from signoff.testing import Fault, Play
from tests.wire.matrix.faults import broken_bodies, broken_connections, foreign_bodies, http_errors, other_forms
from tests.wire.matrix.table import Expected, Fields, Table, change, data, joined, json

USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
DONE = b"data: [DONE]\n\n"
ERROR = {"error": {"message": "It broke.", "type": "server_error", "param": None, "code": "server_error"}}
TABLE = Table()


def chunk(choices: list[Fields], **fields: object) -> bytes:
    """One chunk with these choices."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
    return data({**head, "choices": choices, **fields})


def delta(finish: str | None = None, **fields: object) -> bytes:
    """One chunk of the first choice."""
    return chunk([{"index": 0, "delta": fields, "finish_reason": finish}])


def argument(index: int, piece: str, **first: object) -> bytes:
    """A fragment of a call; the first one also has the id and the name."""
    function = {"arguments": piece} | ({"name": first.pop("name")} if first else {})
    return delta(tool_calls=[{"index": index, **first, "function": function}])


def message(finish: str | None, *, usage: Fields | None = USAGE, **fields: object) -> bytes:
    """A body that is not streamed."""
    said = {"role": "assistant", "content": None, "refusal": None, **fields}
    choice = {"index": 0, "finish_reason": finish, "message": said, "logprobs": None}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]}
    return json(whole if usage is None else {**whole, "usage": usage})


def call(call_id: str, name: str, arguments: str) -> Fields:
    """A call in a body that is not streamed."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


OPEN = delta(role="assistant", content="", refusal=None)
TEXT = [delta(content="Hello"), delta(content=", world.")]
FIRST = argument(0, "", id="call_a", type="function", name="write")
CALLS = [
    FIRST,
    argument(0, '{"path":'),
    argument(0, '"a"}'),
    argument(1, "", id="call_b", type="function", name="read"),
    argument(1, '{"path":"b"}'),
]
COUNTED = chunk([], usage=USAGE)
TWO_CALLS = [call("call_a", "write", '{"path":"a"}'), call("call_b", "read", '{"path":"b"}')]
HALF_CALL = [call("call_a", "write", '{"path":"a","content":"ab')]


def ended(*frames: bytes | list[bytes], reason: str | None) -> bytes:
    """A regular stream: it opens, says something, gives its reason, counts its tokens and ends."""
    return joined(OPEN, *frames, delta(reason), COUNTED, DONE)


def expected(end: End, raw_reason: str | None, **facts: object) -> Expected:
    """What must be seen of a response that came with its usage."""
    return change(Expected(end=end, raw_reason=raw_reason, usage=(12, 5)), **facts)


NORMAL = expected(End.NORMAL, "stop", text="Hello, world.")
TABLE.both(
    "finish", stream=ended(*TEXT, reason="stop"), whole=message("stop", content="Hello, world."), expected=NORMAL
)
TABLE.both(
    "calls",
    stream=ended(*CALLS, reason="tool_calls"),
    whole=message("tool_calls", tool_calls=TWO_CALLS),
    expected=expected(End.TOOL_CALLS, "tool_calls", calls=2),
)
TABLE.both(
    "calls under the reason for text",
    stream=ended(*TEXT, *CALLS, reason="stop"),
    whole=message("stop", content="Hello, world.", tool_calls=TWO_CALLS),
    expected=expected(End.TOOL_CALLS, "stop", calls=2, text="Hello, world."),
)
TABLE.both(
    "calls promised and none given",
    stream=ended(*TEXT, reason="tool_calls"),
    whole=message("tool_calls", content="Hello, world."),
    expected=expected(End.MALFORMED_CALL, "tool_calls", text="Hello, world."),
)
TABLE.both(
    "limit",
    stream=ended(TEXT[0], reason="length"),
    whole=message("length", content="Hello"),
    expected=expected(End.LIMIT, "length", text="Hello"),
)
TABLE.both(
    "limit inside a call",
    stream=ended(*CALLS[:2], reason="length"),
    whole=message("length", tool_calls=HALF_CALL),
    expected=expected(End.LIMIT, "length", calls=1),
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
    stream=ended(TEXT[0], reason="content_filter"),
    whole=message("content_filter", content="Hello"),
    expected=expected(End.CONTENT_FILTER, "content_filter", text="Hello"),
)
BLOCKED = {"error": {"message": "Filtered.", "type": None, "code": "content_filter", "status": 400}}
TABLE.both(
    "filtered prompt",
    stream=Play(status=400, body=json(BLOCKED)),
    whole=Play(status=400, body=json(BLOCKED)),
    expected=Expected(end=End.CONTENT_FILTER, failure=FailureKind.CONTENT_FILTER, where="http"),
)
TABLE.both(
    "refusal",
    stream=ended(delta(refusal="I will "), delta(refusal="not."), reason="stop"),
    whole=message("stop", refusal="I will not."),
    expected=expected(End.REFUSAL, "stop", refusal="I will not."),
)
TABLE.absent("pause", "this protocol has no word for it")
TABLE.absent("continuation", "this protocol has no word for it")
TABLE.both(
    "malformed call",
    stream=ended(FIRST, argument(0, '{"path":"a","content":"ab'), reason="tool_calls"),
    whole=message("tool_calls", tool_calls=HALF_CALL),
    expected=expected(End.MALFORMED_CALL, "tool_calls", calls=1),
)
TABLE.both(
    "reasoning only",
    stream=ended(delta(reasoning_content="Let me "), delta(reasoning_content="think."), reason="stop"),
    whole=message("stop", content="", reasoning_content="Let me think."),
    expected=expected(End.NORMAL, "stop", reasoning="Let me think."),
)
TABLE.both(
    "empty", stream=ended(reason="stop"), whole=message("stop", content=""), expected=expected(End.NORMAL, "stop")
)
broken_connections(
    TABLE,
    mid_text=(joined(OPEN, TEXT[0]), joined(TEXT[1], delta("stop"), COUNTED, DONE)),
    mid_call=(joined(OPEN, CALLS[:2]), joined(CALLS[2:], delta("tool_calls"), COUNTED, DONE)),
    partial=Expected(end=End.TRANSPORT, text="Hello"),
)
broken_bodies(
    TABLE,
    text=message("stop", content="Hello, world."),
    call=message("tool_calls", tool_calls=TWO_CALLS),
    at=(b"Hello", b"path"),
)
TABLE.streamed("finish without end marker", joined(OPEN, TEXT, delta("stop"), COUNTED), NORMAL)
TABLE.absent_whole("finish without end marker", "a body that is not streamed has no marker")
TABLE.streamed(
    "cut behind the finish",
    Play(body=ended(*TEXT, reason="stop"), fault=Fault.CUT, cut_after=len(joined(OPEN, TEXT, delta("stop")))),
    change(NORMAL, usage=None, body_end=BodyEnd.CUT),
)
TABLE.absent_whole("cut behind the finish", "a body that is not streamed is whole or no JSON")
TABLE.streamed("end marker without finish", joined(OPEN, TEXT, DONE), Expected(end=End.TRANSPORT, text="Hello, world."))
TABLE.whole(
    "end marker without finish",
    message(None, content="Hello, world."),
    expected(End.TRANSPORT, None, text="Hello, world."),
)
TABLE.streamed(
    "error event",
    joined(OPEN, TEXT[0], data(ERROR), DONE),
    Expected(end=End.PROVIDER_ERROR, text="Hello", failure=FailureKind.SERVER_ERROR, where="stream"),
)
TABLE.absent_whole("error event", "events exist in streams only; see the error under status 200")
TABLE.both(
    "error under status 200",
    stream=Play(body=json(ERROR), content_type="application/json"),
    whole=json(ERROR),
    expected=Expected(end=End.PROVIDER_ERROR, failure=FailureKind.SERVER_ERROR, where="stream"),
)
TABLE.both(
    "failed status",
    stream=ended(TEXT[0], reason="insufficient_system_resource"),
    whole=message("insufficient_system_resource", content="Hello"),
    expected=expected(End.PROVIDER_ERROR, "insufficient_system_resource", text="Hello"),
)
LIMITED = {"error": {"message": "Slow down.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
http_errors(TABLE, limited=json(LIMITED), failed=json(ERROR))
other_forms(TABLE, stream=ended(*TEXT, reason="stop"), whole=message("stop", content="Hello, world."), expected=NORMAL)
foreign_bodies(TABLE, opening=OPEN, broken=b'data: {"choices":[}\n\n', seen=Expected(end=End.TRANSPORT))
TABLE.both(
    "empty choices",
    stream=joined(chunk([]), COUNTED, DONE),
    whole=json({"id": "chatcmpl-1", "object": "chat.completion", "model": "m-1", "choices": [], "usage": USAGE}),
    expected=expected(End.TRANSPORT, None),
)
TABLE.both(
    "unknown finish",
    stream=ended(*TEXT, reason="eos"),
    whole=message("eos", content="Hello, world."),
    expected=expected(End.UNKNOWN, "eos", text="Hello, world."),
)
TABLE.both(
    "usage missing",
    stream=joined(OPEN, TEXT, delta("stop"), DONE),
    whole=message("stop", usage=None, content="Hello, world."),
    expected=change(NORMAL, usage=None),
)
CAPPED = expected(End.LIMIT, "stop", text="Hello, world.")
TABLE.streamed("cap reached though labelled otherwise", ended(*TEXT, reason="stop"), CAPPED, cap=5)
TABLE.whole("cap reached though labelled otherwise", message("stop", content="Hello, world."), CAPPED, cap=5)
