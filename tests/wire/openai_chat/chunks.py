"""Chat Completions on the wire, for tests: chunks as servers send them, and what the reader makes of bytes."""

from collections.abc import Iterable

import msgspec

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.wire import openai_chat
from signoff.wire.reader import ResponseReader

DONE = b"data: [DONE]\n\n"
USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def frame(value: object) -> bytes:
    """One frame."""
    return b"data: %b\n\n" % msgspec.json.encode(value)


def chunk(*choices: object, **fields: object) -> bytes:
    """One chunk with these choices."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
    return frame({**head, "choices": choices, **fields})


def delta(finish: object = None, **fields: object) -> bytes:
    """One chunk of choice 0."""
    return chunk({"index": 0, "delta": fields, "finish_reason": finish})


def fragment(index: object, arguments: object = None, *, call_id: str = "", name: str = "") -> bytes:
    """One fragment of a call; id and name as far as they are given."""
    entry: dict[str, object] = {} if index is None else {"index": index}
    function: dict[str, object] = {"name": name} if name else {}
    if arguments is not None:
        function["arguments"] = arguments
    if call_id:
        entry.update(id=call_id, type="function")
    return delta(tool_calls=[{**entry, "function": function}])


def whole(message: object, finish: object = "stop", **fields: object) -> bytes:
    """A body that is not streamed."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1"}
    return msgspec.json.encode({**head, "choices": [choice], **fields})


START = delta(role="assistant", content="", refusal=None)
COUNTED = chunk(usage=USAGE)
CALL_A = [fragment(0, "", call_id="call_a", name="write"), fragment(0, '{"path":'), fragment(0, '"a"}')]
CALL_B = [fragment(1, "", call_id="call_b", name="read"), fragment(1, '{"path":"b"}')]
TEXT = [delta(content="Hel"), delta(content="lo é😀.")]

LEGAL = {
    "text": [START, *TEXT, delta("stop"), COUNTED, DONE],
    "text without usage": [START, *TEXT, delta("stop"), DONE],
    "text without end marker": [START, *TEXT, delta("stop")],
    "calls": [START, *CALL_A, *CALL_B, delta("tool_calls"), COUNTED, DONE],
    "text and a call": [START, *TEXT, *CALL_A, delta("stop"), DONE],
    "a call without arguments": [START, fragment(0, "", call_id="call_a", name="now"), delta("tool_calls"), DONE],
    "a call whose reason came beside its last piece": [
        START,
        *CALL_A[:2],
        chunk(
            {
                "index": 0,
                "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"a"}'}}]},
                "finish_reason": "tool_calls",
            }
        ),
        DONE,
    ],
    "the old call": [
        START,
        delta(function_call={"name": "write", "arguments": ""}),
        delta(function_call={"arguments": '{"path":"a"}'}),
        delta("function_call"),
        DONE,
    ],
    "a refusal": [START, delta(refusal="I can"), delta(refusal="not."), delta("stop"), DONE],
    "reasoning and text": [
        START,
        delta(reasoning_content="Hm"),
        delta(reasoning_content="."),
        *TEXT,
        delta("stop"),
        DONE,
    ],
    "the limit": [START, *TEXT, delta("length"), COUNTED, DONE],
    "the limit inside a call": [START, *CALL_A, *CALL_B[:1], fragment(1, '{"pa'), delta("length"), DONE],
    "a filter": [START, *TEXT, delta("content_filter"), DONE],
    "comments": [b": OPENROUTER PROCESSING\n\n", START, *TEXT, b": x\n\n", delta("stop"), DONE],
}
"""Streams as they may be; the reason is in the first frame that holds one."""


def reader(*, streamed: bool = True, cap: int | None = None) -> ResponseReader:
    """A reader for Chat Completions."""
    return ResponseReader(openai_chat, Exchange(max_output_tokens=cap), streamed=streamed)


def read(*frames: bytes, body_end: BodyEnd = BodyEnd.CLEAN, cap: int | None = None) -> ModelResponse:
    """What the reader makes of a stream."""
    reading = reader(cap=cap)
    reading.feed(b"".join(frames))
    return reading.end(BodyEnd.CLEAN if reading.finished else body_end)


def read_whole(body: bytes) -> ModelResponse:
    """What the reader makes of a body that is not streamed."""
    reading = reader(streamed=False)
    reading.feed(body)
    return reading.end(BodyEnd.CLEAN)


def shown(frames: Iterable[bytes]) -> list[Delta]:
    """What a stream shows while it comes."""
    reading = reader()
    return [each for frame_ in frames for each in reading.feed(frame_)]
