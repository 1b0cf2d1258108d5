"""The rules of the strictest client: what its accumulator throws at, or silently loses, is a fault here."""

import json
from typing import Any

from signoff.wire.sse import SseDecoder


def faults_of(body: bytes) -> list[str]:
    """Every break of the grammar in a stream, each as one line; none for a stream in the strict form."""
    sse = SseDecoder()
    frames = sse.feed(body)
    faults = ["the last frame has no blank line"] if sse.end(clean=True) else []
    events = [json.loads(frame.data) for frame in frames]
    faults += [
        f"{frame.event} names {event['type']}"
        for frame, event in zip(frames, events, strict=True)
        if frame.event != event["type"]
    ]
    kinds = [event["type"] for event in events if event["type"] != "ping"]
    if kinds[:1] != ["message_start"] or kinds.count("message_start") != 1:
        faults.append("message_start is not the first event, or not the only one of its kind")
    if kinds[-1:] != ["message_stop"] or kinds.count("message_stop") != 1:
        faults.append("message_stop is not the last event, or not the only one of its kind")
    if kinds[-2:-1] != ["message_delta"]:
        faults.append("no message_delta stands before the end")
    faults += [fault for event in events for fault in _incomplete(event)]
    return faults + _faults_of_blocks(events)


def _incomplete(event: dict[str, Any]) -> list[str]:
    """What clients read without asking whether it is there."""
    if event["type"] == "message_start":
        message = event["message"]
        wanted = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
        faults = [f"the message has no {name}" for name in sorted(wanted - message.keys())]
        if message.get("content") != [] or message.get("stop_reason") is not None:
            faults.append("the message is not empty at its start")
        return faults + _without_counts(message.get("usage", {}), "input_tokens", "output_tokens")
    if event["type"] == "message_delta":
        faults = [] if isinstance(event["delta"].get("stop_reason"), str) else ["no stop reason"]
        return faults + _without_counts(event.get("usage", {}), "output_tokens")
    return []


def _without_counts(usage: dict[str, Any], *names: str) -> list[str]:
    return [f"usage has no {name}" for name in names if not isinstance(usage.get(name), int)]


def _faults_of_blocks(events: list[dict[str, Any]]) -> list[str]:
    """Blocks open one at a time, with dense indexes, between the start of the message and its end."""
    faults: list[str] = []
    started, is_open, ended = 0, False, False
    for event in events:
        kind = event["type"]
        ended = ended or kind == "message_delta"
        if not kind.startswith("content_block"):
            continue
        if ended:
            faults.append(f"{kind} after message_delta")
        if kind == "content_block_start":
            if is_open or event["index"] != started:
                faults.append(f"block {event['index']} starts out of order")
            started, is_open = started + 1, True
        elif not is_open or event["index"] != started - 1:
            faults.append(f"{kind} of block {event['index']}, which is not open")
        is_open = is_open and kind != "content_block_stop"
    return [*faults, "a block was never stopped"] if is_open else faults
