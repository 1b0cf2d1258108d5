"""Streams written by hand, as the protocol's documentation has them, and the ways to read them."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import orjson

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.wire import anthropic_messages
from signoff.wire.reader import ResponseReader

Fields: TypeAlias = Mapping[str, Any]
STREAMED = Exchange(content_type="text/event-stream")
USAGE: Fields = {"input_tokens": 12, "output_tokens": 1}


def event(kind: str, /, **fields: object) -> bytes:
    """One event, with the name that its type asks for."""
    return frame({"type": kind, **fields}, name=kind)


def frame(data: object, *, name: str = "") -> bytes:
    """One frame with any data; bytes are written as they are."""
    text = data if isinstance(data, bytes) else orjson.dumps(data)
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % text


def start(usage: Fields | None = USAGE, **fields: object) -> bytes:
    """The start of a message."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-1", "content": []}
    counted = {} if usage is None else {"usage": usage}
    return event("message_start", message={**head, "stop_reason": None, "stop_sequence": None, **counted, **fields})


def block(index: int, content: Fields, *deltas: Fields, stop: bool = True) -> bytes:
    """A block with its deltas."""
    first = event("content_block_start", index=index, content_block=content)
    return b"".join([first, *(delta(index, each) for each in deltas), *([stopped(index)] if stop else [])])


def delta(index: int, fields: Fields) -> bytes:
    """One delta of a block."""
    return event("content_block_delta", index=index, delta=fields)


def stopped(index: int) -> bytes:
    """The stop of a block."""
    return event("content_block_stop", index=index)


def text(index: int, *pieces: str, stop: bool = True) -> bytes:
    """A text block."""
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return block(index, {"type": "text", "text": ""}, *deltas, stop=stop)


def tool(index: int, *pieces: str, stop: bool = True, **fields: object) -> bytes:
    """A call of the client's tool `write`."""
    content = {"type": "tool_use", "id": f"toolu_{index}", "name": "write", "input": {}, **fields}
    return block(index, content, *json_pieces(*pieces), stop=stop)


def json_pieces(*pieces: str) -> list[Fields]:
    """Deltas of an input."""
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def finish(reason: object, usage: Fields | None = None, **fields: object) -> bytes:
    """The reason; `usage` of None leaves it out."""
    counted = {} if usage is None else {"usage": usage}
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None, **fields}, **counted)


STOP = event("message_stop")
PING = event("ping")


def whole(*frames: bytes, reason: object = "end_turn", **fields: object) -> bytes:
    """A regular stream around some blocks."""
    return b"".join([start(), PING, *frames, finish(reason, {"output_tokens": 7}, **fields), STOP])


THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Let me "},
    {"type": "thinking_delta", "thinking": "see."},
    {"type": "signature_delta", "signature": "c2ln/+bmVk=="},
)
SEARCH = block(
    1,
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    *json_pieces("", '{"query":', '"x"}'),
)
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://example.org", "encrypted_content": "eA==", "later": 1.0}],
}
CITED = block(
    3,
    {"type": "text", "text": "", "citations": []},
    {"type": "text_delta", "text": "It is so."},
    {"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "https://example.org"}},
    {"type": "citations_delta", "citation": {"type": "char_location", "start_char_index": 0}},
)
LEGAL: Mapping[str, bytes] = {
    "text": whole(text(0, "Hello", ", wörld \U0001f600.")),
    "empty": whole(),
    "call": whole(text(0, "I write."), tool(1, "", '{"path":', ' "a.txt"}'), reason="tool_use"),
    "two calls": whole(tool(0, '{"path":"a"}'), PING, tool(1, '{"path":"b"}'), reason="tool_use"),
    "call without input": whole(tool(0), reason="tool_use"),
    "limit in a call": whole(tool(0, '{"path":"x","content":"ab'), reason="max_tokens"),
    "search": whole(THINKING, SEARCH, block(2, FOUND), CITED),
    "refusal": whole(
        text(0, "I"),
        reason="refusal",
        stop_details={"type": "refusal", "category": "cyber", "explanation": "I will not."},
    ),
    "unknown": whole(event("later", more=[1]), block(0, {"type": "hologram", "data": {"x": 1}}), reason="moon_phase"),
}
"""Streams that keep to the grammar."""


def read(
    body: bytes, *, pieces: Iterable[int] = (), body_end: BodyEnd = BodyEnd.CLEAN, exchange: Exchange = STREAMED
) -> ModelResponse:
    """The record of a stream, read in pieces that end at the given places."""
    return watch(body, pieces=pieces, body_end=body_end, exchange=exchange)[0]


def watch(
    body: bytes, *, pieces: Iterable[int] = (), body_end: BodyEnd = BodyEnd.CLEAN, exchange: Exchange = STREAMED
) -> tuple[ModelResponse, list[Delta]]:
    """The record of a stream, and what it showed on the way."""
    reader = ResponseReader(anthropic_messages, exchange, streamed=True)
    shown: list[Delta] = []
    for begin, end in pairwise([0, *pieces, len(body)]):
        shown += reader.feed(body[begin:end])
    return reader.end(body_end), shown
