"""Streams of the Responses protocol as its vendor sends them, written by hand and not by our own encoder."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.wire import openai_responses
from signoff.wire.sse import SseDecoder

Fields: TypeAlias = dict[str, Any]

USAGE: Fields = {
    "input_tokens": 36,
    "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 4},
    "output_tokens": 87,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 123,
}
CITATION: Fields = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 5,
    "url": "https://example.org",
    "title": "E",
}


def response(status: str = "in_progress", output: Iterable[Fields] = (), **fields: object) -> Fields:
    """Return a response object; what it is not given is as the vendor has it."""
    whole: Fields = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "gpt-test",
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None if status == "in_progress" else USAGE,
        "future_field": {"big": 12345678901234567890, "x": 1.50},
    }
    return {**whole, **fields}


def message(text: str = "Hello wörld", *, number: int = 0, **fields: object) -> Fields:
    """Return a message item with one text."""
    content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]
    item = {"id": f"msg_{number}", "type": "message", "status": "completed", "content": content, "role": "assistant"}
    return {**item, **fields}


def refusal(text: str = "I can't.") -> Fields:
    """Return a message item that refuses."""
    return message(content=[{"type": "refusal", "refusal": text}])


def function_call(arguments: str = '{"path":"a"}', *, number: int = 0, **fields: object) -> Fields:
    """Return a call of a function."""
    item = {"id": f"fc_{number}", "type": "function_call", "status": "completed", "arguments": arguments}
    return {**item, "call_id": f"call_{number}", "name": "read", **fields}


def custom_call(text: str = "*** free", *, number: int = 0) -> Fields:
    """Return a call with free text."""
    item = {"id": f"ctc_{number}", "type": "custom_tool_call", "status": "completed", "input": text}
    return {**item, "call_id": f"call_c{number}", "name": "patch"}


def reasoning(summary: str = "Thinking", encrypted: str | None = "gAAA==", *, number: int = 0) -> Fields:
    """Return a reasoning item."""
    texts = [{"type": "summary_text", "text": summary}] if summary else []
    return {"id": f"rs_{number}", "type": "reasoning", "summary": texts, "encrypted_content": encrypted}


def search(number: int = 0) -> Fields:
    """Return a hosted call."""
    return {"id": f"ws_{number}", "type": "web_search_call", "status": "completed", "action": {"type": "search"}}


def events_of(item: Fields, index: int, *, cut: int = 5) -> list[Fields]:
    """Return the events of one item, its texts in pieces of `cut` characters."""
    at = {"output_index": index, "item_id": item["id"]}
    inner: list[Fields] = []
    begun = dict(item)
    match item["type"]:
        case "message":
            begun |= {"content": [], "status": "in_progress"}
            for place, part in enumerate(item["content"]):
                inner += _content(part, {**at, "content_index": place}, cut)
        case "reasoning":
            begun |= {"summary": [], "encrypted_content": "unfinished"}
            for place, part in enumerate(item["summary"]):
                spot, empty = {**at, "summary_index": place}, {"type": "summary_text", "text": ""}
                inner.append({"type": "response.reasoning_summary_part.added", **spot, "part": empty})
                inner += _pieces("response.reasoning_summary_text", part["text"], spot, cut, "text")
                inner.append({"type": "response.reasoning_summary_part.done", **spot, "part": part})
        case "function_call":
            begun |= {"arguments": "", "status": "in_progress"}
            inner = _pieces("response.function_call_arguments", item["arguments"], at, cut, "arguments")
        case "custom_tool_call":
            begun |= {"input": "", "status": "in_progress"}
            inner = _pieces("response.custom_tool_call_input", item["input"], at, cut, "input")
        case "web_search_call":
            begun |= {"status": "in_progress"}
            inner = [{"type": f"response.web_search_call.{word}", **at} for word in ("in_progress", "completed")]
    added = {"type": "response.output_item.added", "output_index": index, "item": begun}
    return [added, *inner, {"type": "response.output_item.done", "output_index": index, "item": item}]


def _content(part: Fields, at: Fields, cut: int) -> list[Fields]:
    if part["type"] == "refusal":
        inner = _pieces("response.refusal", part["refusal"], at, cut, "refusal")
        empty: Fields = {"type": "refusal", "refusal": ""}
    else:
        inner = [{**each, "logprobs": []} for each in _pieces("response.output_text", part["text"], at, cut, "text")]
        notes = [
            {"type": "response.output_text.annotation.added", **at, "annotation_index": place, "annotation": each}
            for place, each in enumerate(part["annotations"])
        ]
        inner[-1:-1] = notes
        empty = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    added = {"type": "response.content_part.added", **at, "part": empty}
    return [added, *inner, {"type": "response.content_part.done", **at, "part": part}]


def _pieces(kind: str, text: str, at: Fields, cut: int, last: str) -> list[Fields]:
    pieces = [text[start : start + cut] for start in range(0, len(text), cut)]
    return [
        *({"type": f"{kind}.delta", **at, "delta": piece} for piece in pieces),
        {"type": f"{kind}.done", **at, last: text},
    ]


def opening() -> list[Fields]:
    """Return the two events that every stream begins with."""
    return [{"type": kind, "response": response()} for kind in ("response.created", "response.in_progress")]


def terminal(status: str, output: Iterable[Fields], **fields: object) -> Fields:
    """Return the event that ends a stream, with the whole response in it."""
    return {"type": f"response.{status}", "response": response(status, output, **fields)}


def stream_of(items: Iterable[Fields], status: str = "completed", **fields: object) -> list[Fields]:
    """Return the events of a whole stream, its items one after the other."""
    output = list(items)
    inner = [event for index, item in enumerate(output) for event in events_of(item, index)]
    return [*opening(), *inner, terminal(status, output, **fields)]


def overlapping() -> list[Fields]:
    """Return a stream whose reasoning closes after a later call, and whose two calls mix their pieces."""
    output = [reasoning(), function_call(number=1), function_call('{"path":"b"}', number=2)]
    first, second, third = (events_of(item, index) for index, item in enumerate(output))
    mixed = [event for pair in zip(second[1:-1], third[1:-1], strict=True) for event in pair]
    inner = [*first[:-1], second[0], third[0], *mixed, third[-1], second[-1], first[-1]]
    return [*opening(), *inner, terminal("completed", output)]


def data_of(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Write events as the vendor does: named frames, numbered from 0 unless they have numbers."""
    frames = []
    for number, event in enumerate(events):
        text = json.dumps({"sequence_number": number, **event}, ensure_ascii=False, separators=(",", ":"))
        frames.append(f"event: {event['type']}\ndata: {text}\n\n")
    return "".join(frames).encode()


def read(
    data: bytes, exchange: Exchange | None = None, *, body_end: BodyEnd = BodyEnd.CLEAN, piece: int = 1 << 30
) -> tuple[ModelResponse, list[Delta]]:
    """Read the bytes of a stream, `piece` by `piece`; return the record and all deltas."""
    decoder = openai_responses.decoder(exchange or Exchange())
    frames = SseDecoder()
    pieces = [data[start : start + piece] for start in range(0, len(data), piece)]
    given = [frame for each in pieces for frame in frames.feed(each)]
    given += frames.end(clean=body_end is BodyEnd.CLEAN)
    deltas = [delta for frame in given for delta in decoder.feed(frame)]
    return decoder.end(body_end), deltas


def record_of(events: Iterable[Mapping[str, Any]], exchange: Exchange | None = None) -> ModelResponse:
    """Read a stream of events; return the record."""
    return read(data_of(events), exchange)[0]


CUT_CALL = function_call('{"path":"a', status="incomplete")
LEGAL: dict[str, list[Fields]] = {
    "text": stream_of([message()]),
    "cited": stream_of([message(content=[{**message()["content"][0], "annotations": [CITATION]}])]),
    "empty": stream_of([]),
    "reasoning and text": stream_of([reasoning(), message(number=1)]),
    "text and call": stream_of([message(), function_call(number=1)]),
    "overlapping": overlapping(),
    "custom": stream_of([custom_call()]),
    "hosted": stream_of([search(), message(number=1)]),
    "refusal": stream_of([refusal()]),
    "limit in text": stream_of(
        [message(status="incomplete")], "incomplete", incomplete_details={"reason": "max_output_tokens"}
    ),
    "limit in a call": stream_of([CUT_CALL], "incomplete", incomplete_details={"reason": "max_output_tokens"}),
    "filter": stream_of([message()], "incomplete", incomplete_details={"reason": "content_filter"}),
    "steered": stream_of([message()], "incomplete", incomplete_details={"reason": "steered"}),
    "failed": stream_of([message()], "failed", error={"code": "server_error", "message": "It broke."}),
    "error": [*stream_of([message()])[:-1], {"type": "error", "code": "server_error", "message": "x", "param": None}],
    "keepalive": [*opening(), {"type": "keepalive"}, *stream_of([message()])[2:]],
}
"""Every kind of legal stream, by name."""
