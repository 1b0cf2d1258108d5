"""Models of pydantic-ai as a port: which calls count as closed, and what content behind the reason means.

The library ends every part itself and reads on behind a reason; its clients speak to a scripted server.
"""

import json

import pytest

from signoff.core.model.response import End, ModelResponse
from signoff.testing import Fault, call, reply
from tests.models.providers import ALL, CHAT, CLAUDE, GEMINI, Point
from tests.models.test_pydantic_ai import DONE, HALF, chunk, heard, sse

NOT_VISIBLE, AFTER_REASON = "end_marker_not_visible", "content_after_reason"


def event(kind: str, **fields: object) -> bytes:
    """An event of an Anthropic stream."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps({"type": kind, **fields}).encode())


def block(index: int, arguments: str = "", *, stopped: bool = True) -> bytes:
    """A block with a call."""
    begun = {"type": "tool_use", "id": f"call_{index}", "name": f"f{index}", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": arguments}
    return b"".join(
        [
            event("content_block_start", index=index, content_block=begun),
            event("content_block_delta", index=index, delta=delta) if arguments else b"",
            event("content_block_stop", index=index) if stopped else b"",
        ]
    )


def gemini(*parts: object, reason: str | None = None, **fields: object) -> bytes:
    """A chunk of a Gemini stream."""
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **fields}
    if reason is not None:
        candidate["finishReason"] = reason
    return b"data: %b\n\n" % json.dumps({"candidates": [candidate]}).encode()


USAGE = {"input_tokens": 10, "output_tokens": 1}
BEGUN = event(
    "message_start",
    message={
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    },
)
REASON = event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 9})
STOPPED = event("message_stop")
TEXT, CALL = {"text": "One."}, {"functionCall": {"name": "f", "args": {"a": 1}}}
BEGUN_CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}


def closed(response: ModelResponse) -> list[bool]:
    """Which calls of a response are closed."""
    return [one.closed for one in response.calls]


@pytest.mark.parametrize("end", [REASON, REASON + STOPPED])
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (block(0, stopped=False), [False]),
        (block(0, '{"a": 1}') + block(1, stopped=False), [True, False]),
        (block(0, stopped=False) + block(1, '{"a": 1}'), [False, True]),
        (block(0, '{"a": ', stopped=False), [False]),
    ],
)
def test_a_call_whose_arguments_may_be_lost_is_open(calls: bytes, expected: list[bool], end: bytes, at: Point) -> None:
    """The library ends a part whose own end never came; that makes no whole call of it."""
    _, response = heard(sse(BEGUN, calls, end), at, CLAUDE)
    assert (response.end, response.complete, closed(response)) == (End.MALFORMED_CALL, False, expected)
    assert NOT_VISIBLE in response.oddities


@pytest.mark.parametrize("name", ALL)
def test_an_end_that_cannot_be_seen_is_noted(name: str, at: Point) -> None:
    """Anthropic's end marker does not come through the library; a whole call is believed there, with that note."""
    _, response = heard(reply(calls=[call("f", {"a": 1})]), at, name)
    assert (response.end, closed(response)) == (End.TOOL_CALLS, [True])
    assert (NOT_VISIBLE in response.oddities) is (name == CLAUDE)


def test_a_reason_closes_a_call_without_arguments(at: Point) -> None:
    """Chat has no other end of a call than its reason."""
    _, response = heard(sse(chunk({"tool_calls": [BEGUN_CALL]}), chunk({}, "tool_calls"), DONE), at)
    assert (response.end, closed(response), response.oddities) == (End.TOOL_CALLS, [True], ())


def test_a_limit_leaves_the_last_call_open(at: Point) -> None:
    """Even where the library ended it, and its arguments look whole."""
    _, response = heard(reply(calls=[call("f", {"a": 1}), call("g", {"a": 2})], end=End.LIMIT), at)
    assert (response.end, closed(response)) == (End.LIMIT, [True, False])


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.CUT])
def test_a_call_in_a_stream_without_its_end_is_open(fault: Fault, at: Point) -> None:
    """Also where the stream ended properly and the library ended the part, but no reason came."""
    begun = {**BEGUN_CALL, "function": {"name": "f", "arguments": "{}"}}
    _, response = heard(sse(HALF, chunk({"tool_calls": [begun]}), fault=fault), at)
    assert (response.end, closed(response)) == (End.TRANSPORT, [False])


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        (GEMINI, [gemini(TEXT, reason="STOP"), gemini(CALL)]),
        (GEMINI, [gemini(TEXT, reason="STOP"), gemini({"text": " Two."})]),
        (GEMINI, [gemini(TEXT), gemini(reason="STOP"), gemini(CALL)]),
        (CHAT, [HALF, chunk({}, "stop"), chunk({"content": " more"}), DONE]),
        (CHAT, [HALF, chunk({}, "stop"), chunk({"tool_calls": [BEGUN_CALL]}), DONE]),
        (CLAUDE, [BEGUN, block(0, "{}"), REASON, block(1, "{}"), STOPPED]),
    ],
)
def test_content_behind_the_reason_leaves_the_end_unproven(name: str, frames: list[bytes], at: Point) -> None:
    """The reason spoke of less than came, so nothing says that this is all."""
    _, response = heard(sse(*frames), at, name)
    assert (response.end, response.complete, AFTER_REASON in response.oddities) == (End.TRANSPORT, False, True)


@pytest.mark.parametrize(
    ("name", "frames", "end"),
    [
        (GEMINI, [gemini(TEXT, CALL, CALL, reason="STOP")], End.TOOL_CALLS),
        (GEMINI, [gemini(TEXT, reason="STOP"), gemini(CALL, reason="STOP")], End.TOOL_CALLS),
        (GEMINI, [gemini(TEXT, reason="STOP"), gemini({"text": "Two"}), gemini(reason="STOP")], End.NORMAL),
        (GEMINI, [gemini(TEXT, reason="STOP"), gemini()], End.NORMAL),
        (CHAT, [chunk({"role": "assistant", "content": "One."}, "stop"), DONE], End.NORMAL),
        (CHAT, [HALF, chunk({}, "stop"), chunk({"content": ""}), DONE], End.NORMAL),
    ],
)
def test_content_beside_a_reason_is_proven_by_it(name: str, frames: list[bytes], end: End, at: Point) -> None:
    """A reason proves what its own chunk holds and what came before; one without content behind it changes nothing."""
    _, response = heard(sse(*frames), at, name)
    assert (response.end, response.complete, AFTER_REASON in response.oddities) == (end, True, False)


def test_what_the_library_adds_behind_the_last_chunk_is_not_late(at: Point) -> None:
    """Google's sources become parts when the stream has ended."""
    sources = {
        "webSearchQueries": ["fog"],
        "groundingChunks": [{"web": {"uri": "https://example.org/fog", "title": "Fog"}}],
        "groundingSupports": [{"segment": {"startIndex": 0, "endIndex": 4}, "groundingChunkIndices": [0]}],
    }
    _, response = heard(sse(gemini(TEXT), gemini(reason="STOP", groundingMetadata=sources), gemini()), at, GEMINI)
    assert (response.end, response.text, AFTER_REASON in response.oddities) == (End.NORMAL, "One.", False)
    assert len(response.parts) > 1
