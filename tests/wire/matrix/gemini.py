"""The matrix's cells for Gemini generateContent and streamGenerateContent."""

from signoff.core.model.response import BodyEnd, End, FailureKind
from signoff.testing import Fault, Play
from tests.wire.matrix.faults import broken_bodies, broken_connections, foreign_bodies, http_errors, other_forms
from tests.wire.matrix.table import Expected, Fields, Table, change, data, joined, json

RUNNING = {"promptTokenCount": 12, "candidatesTokenCount": 3, "totalTokenCount": 15}
USAGE = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}
HEAD = {"modelVersion": "m-1", "responseId": "r-1"}
TABLE = Table()


def said(*parts: Fields, finish: str | None = None, usage: Fields | None = None, token: str = "") -> Fields:
    """One response object, or chunk, with one candidate; the usage follows from whether it is the last."""
    content = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    reason = {} if finish is None else {"finishReason": finish}
    more = {"continuationToken": token} if token else {}
    counted = usage if usage is not None else RUNNING if finish is None else USAGE
    return {"candidates": [{**content, **reason, "index": 0, **more}], "usageMetadata": counted, **HEAD}


def call(name: str, path: str) -> Fields:
    """A part with a call."""
    return {"functionCall": {"name": name, "args": {"path": path}}}


def ended(*parts: Fields, finish: str, token: str = "") -> bytes:
    """A regular stream: a chunk for each part, and one with the reason."""
    return joined(
        [data(said(part)) for part in parts],
        data(said(finish=finish, token=token)),
    )


def expected(end: End, raw_reason: str | None, **facts: object) -> Expected:
    """What must be seen of a response that came with its usage."""
    return change(Expected(end=end, raw_reason=raw_reason, usage=(12, 5)), **facts)


HELLO, WORLD = {"text": "Hello"}, {"text": ", world."}
TEXT = [HELLO, WORLD]
WHOLE_TEXT = {"text": "Hello, world."}
CALLS = [call("write", "a"), call("read", "b")]
PARTIAL = Expected(end=End.TRANSPORT, text="Hello", usage=(12, 3))
NORMAL = expected(End.NORMAL, "STOP", text="Hello, world.")

TABLE.both("finish", stream=ended(*TEXT, finish="STOP"), whole=json(said(WHOLE_TEXT, finish="STOP")), expected=NORMAL)
TABLE.both(
    "calls",
    stream=ended(*CALLS, finish="STOP"),
    whole=json(said(*CALLS, finish="STOP")),
    expected=expected(End.TOOL_CALLS, "STOP", calls=2),
)
TABLE.absent("calls under the reason for text", "there is one reason for both: see the row of calls")
TABLE.absent("calls promised and none given", "no reason promises calls")
TABLE.both(
    "limit",
    stream=ended(HELLO, finish="MAX_TOKENS"),
    whole=json(said(HELLO, finish="MAX_TOKENS")),
    expected=expected(End.LIMIT, "MAX_TOKENS", text="Hello"),
)
TABLE.both(
    "limit inside a call",
    stream=ended(CALLS[0], finish="MAX_TOKENS"),
    whole=json(said(CALLS[0], finish="MAX_TOKENS")),
    expected=expected(End.LIMIT, "MAX_TOKENS", calls=1),
)
TABLE.absent("context full", "there is no word for it: it comes as a common 400 or 500")
TABLE.both(
    "filter",
    stream=ended(HELLO, finish="SAFETY"),
    whole=json(said(HELLO, finish="SAFETY")),
    expected=expected(End.CONTENT_FILTER, "SAFETY", text="Hello"),
)
BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}, **HEAD}
TABLE.both(
    "filtered prompt",
    stream=data(BLOCKED),
    whole=json(BLOCKED),
    expected=Expected(end=End.CONTENT_FILTER, raw_reason="prompt/SAFETY"),
)
TABLE.absent("refusal", "a refusal is not marked: it is text, or a filter")
TABLE.absent("pause", "its word for it is `CONTINUATION`: see the row of continuations")
TABLE.both(
    "continuation",
    stream=ended(*TEXT, finish="CONTINUATION", token="t-1"),
    whole=json(said(WHOLE_TEXT, finish="CONTINUATION", token="t-1")),
    expected=expected(End.CONTINUATION, "CONTINUATION", text="Hello, world."),
)
TABLE.both(
    "malformed call",
    stream=ended(HELLO, finish="MALFORMED_FUNCTION_CALL"),
    whole=json(said(HELLO, finish="MALFORMED_FUNCTION_CALL")),
    expected=expected(End.MALFORMED_CALL, "MALFORMED_FUNCTION_CALL", text="Hello"),
)
THOUGHT = {"text": "Let me think.", "thought": True}
TABLE.both(
    "reasoning only",
    stream=ended(THOUGHT, finish="STOP"),
    whole=json(said(THOUGHT, finish="STOP")),
    expected=expected(End.NORMAL, "STOP", reasoning="Let me think."),
)
TABLE.both(
    "empty",
    stream=ended(finish="STOP"),
    whole=json(said(finish="STOP")),
    expected=expected(End.NORMAL, "STOP"),
)
LAST = data(said(finish="STOP"))
broken_connections(
    TABLE,
    mid_text=(data(said(HELLO)), joined(data(said(WORLD)), LAST)),
    # A call comes whole, so that the middle of several is what a stream can be cut in.
    mid_call=(data(said(CALLS[0])), joined(data(said(CALLS[1])), LAST)),
    partial=PARTIAL,
)
broken_bodies(
    TABLE,
    text=json(said(WHOLE_TEXT, finish="STOP")),
    call=json(said(*CALLS, finish="STOP")),
    at=(b"Hello", b"path"),
)
TABLE.absent("finish without end marker", "there is no marker: the body's end is the only one")
WHOLE = ended(*TEXT, finish="STOP")
TABLE.streamed(
    "cut behind the finish",
    Play(body=WHOLE + b"\n", fault=Fault.CUT, cut_after=len(WHOLE)),
    change(NORMAL, end=End.TRANSPORT, failure=FailureKind.CUT, where="transport", body_end=BodyEnd.CUT),
)
TABLE.absent_whole("cut behind the finish", "a body that is not streamed is whole or no JSON")
TABLE.streamed(
    "end marker without finish",
    joined(data(said(HELLO)), data(said(WORLD, usage=USAGE))),
    expected(End.TRANSPORT, None, text="Hello, world."),
)
TABLE.whole(
    "end marker without finish",
    json(said(WHOLE_TEXT, usage=USAGE)),
    expected(End.TRANSPORT, None, text="Hello, world."),
)
BUSY = {"error": {"code": 503, "message": "Too busy.", "status": "UNAVAILABLE"}}
TABLE.streamed(
    "error event",
    joined(data(said(HELLO)), data(BUSY)),
    change(PARTIAL, end=End.PROVIDER_ERROR, failure=FailureKind.OVERLOADED, where="stream"),
)
TABLE.absent_whole("error event", "events exist in streams only; see the error under status 200")
TABLE.both(
    "error under status 200",
    stream=Play(body=json(BUSY), content_type="application/json"),
    whole=json(BUSY),
    expected=Expected(end=End.PROVIDER_ERROR, failure=FailureKind.OVERLOADED, where="stream"),
)
TABLE.absent("failed status", "there is no status: what fails is an error object")
LIMITED = {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}
FAILED = {"error": {"code": 500, "message": "It broke.", "status": "INTERNAL"}}
http_errors(TABLE, limited=json(LIMITED), failed=json(FAILED))
other_forms(TABLE, stream=ended(*TEXT, finish="STOP"), whole=json(said(WHOLE_TEXT, finish="STOP")), expected=NORMAL)
foreign_bodies(TABLE, opening=data(said(HELLO)), broken=b'data: {"candidates":[}\n\n', seen=PARTIAL)
NOBODY = {"candidates": [], "usageMetadata": USAGE, **HEAD}
TABLE.both("empty choices", stream=data(NOBODY), whole=json(NOBODY), expected=expected(End.TRANSPORT, None))
TABLE.both(
    "unknown finish",
    stream=ended(*TEXT, finish="MOON_PHASE"),
    whole=json(said(WHOLE_TEXT, finish="MOON_PHASE")),
    expected=expected(End.UNKNOWN, "MOON_PHASE", text="Hello, world."),
)
UNCOUNTED = {"candidates": [{"content": {"parts": TEXT, "role": "model"}, "finishReason": "STOP", "index": 0}], **HEAD}
TABLE.both("usage missing", stream=data(UNCOUNTED), whole=json(UNCOUNTED), expected=change(NORMAL, usage=None))
CAPPED = change(NORMAL, end=End.LIMIT)
TABLE.streamed("cap reached though labelled otherwise", ended(*TEXT, finish="STOP"), CAPPED, cap=5)
TABLE.whole("cap reached though labelled otherwise", json(said(WHOLE_TEXT, finish="STOP")), CAPPED, cap=5)
