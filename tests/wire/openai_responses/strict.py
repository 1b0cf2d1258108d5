"""The rules of the strictest known reader of a Responses stream, so that no other runtime is needed to check them.

The official JavaScript client refuses unknown event types, gaps in the indexes, content before its item or part, and a
terminal without output; the Python one refuses identities that change; others need a number and a name on every event.
"""

import json
from typing import Any, get_args

from openai.types.responses import ResponseStreamEvent

KNOWN = {get_args(member.model_fields["type"].annotation)[0] for member in get_args(get_args(ResponseStreamEvent)[0])}
"""Every event type that the official client knows."""
TERMINALS = {"response.completed", "response.incomplete", "response.failed", "error"}
AT = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text"}


class StrictReader:
    """Reads a whole stream and notes every rule that it breaks."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.items: list[dict[str, Any]] = []
        self.done: dict[int, dict[str, Any]] = {}
        self.text: dict[tuple[int, str, int], str] = {}
        self.response_id = ""
        self.ended = False

    def need(self, fact: object, fault: str) -> None:
        """Note a fault unless a fact holds."""
        if not fact:
            self.faults.append(fault)

    def read(self, body: bytes) -> list[str]:
        """Read a stream; return its faults."""
        for number, frame in enumerate(body.decode().removesuffix("\n\n").split("\n\n")):
            lines = frame.split("\n")
            self.need(len(lines) == 2, f"{number}: {len(lines)} lines")
            self.need(lines[0].startswith("event: ") and lines[1].startswith("data: "), f"{number}: form")
            event = json.loads(lines[1].removeprefix("data: "))
            self.need(lines[0] == f"event: {event['type']}", f"{number}: name")
            self.need(event["sequence_number"] == number, f"{number}: sequence")
            self.need(not self.ended, f"{number}: behind the end")
            self.event(event, number)
        self.need(self.ended, "no terminal")
        self.need(body.endswith(b"\n\n"), "no blank line at the end")
        return self.faults

    def event(self, event: dict[str, Any], number: int) -> None:
        """Take in one event."""
        kind = event["type"]
        self.need(kind in KNOWN, f"{number}: unknown {kind}")
        self.need(number or kind == "response.created", "first event")
        self.need(number != 1 or kind == "response.in_progress", "second event")
        if "response" in event:
            self.lifecycle(event, number)
        elif "item" in event:
            self.item(event, number)
        elif kind not in TERMINALS:
            self.content(event, number)
        self.ended = self.ended or kind in TERMINALS

    def lifecycle(self, event: dict[str, Any], number: int) -> None:
        """Check the response that an event carries."""
        response = event["response"]
        self.response_id = self.response_id or response["id"]
        self.need(response["id"] == self.response_id, f"{number}: another response")
        self.need(isinstance(response["output"], list), f"{number}: no output")
        self.need(
            {"created_at", "model", "tools", "error", "incomplete_details"} <= response.keys(), f"{number}: fields"
        )
        if event["type"] in TERMINALS:
            self.need(len(self.done) == len(self.items), f"{number}: open items")
            self.need(response["output"] == [self.done[place] for place in sorted(self.done)], f"{number}: output")
            self.need(response["status"] not in {"in_progress", "queued"}, f"{number}: status")
        else:
            self.need((response["status"], response["usage"]) == ("in_progress", None), f"{number}: begun")

    def item(self, event: dict[str, Any], number: int) -> None:
        """Check the beginning or the end of an item."""
        index, item = event["output_index"], event["item"]
        if event["type"].endswith("added"):
            self.need(index == len(self.items), f"{number}: index {index}")
            self.need(item["id"] not in {each["id"] for each in self.items}, f"{number}: id twice")
            self.items.append(item)
            return
        self.need(index not in self.done, f"{number}: done twice")
        begun = self.items[index] if index < len(self.items) else {}
        for field in ("type", "id", "call_id"):
            self.need(begun.get(field) == item.get(field), f"{number}: {field} changed")
        self.done[index] = item

    def content(self, event: dict[str, Any], number: int) -> None:
        """Check an event inside an item: where it stands, and that its pieces make its whole."""
        index, kind = event.get("output_index", -1), event["type"]
        if not 0 <= index < len(self.items) or index in self.done:
            self.faults.append(f"{number}: outside its item")
            return
        self.need(event["item_id"] == self.items[index]["id"], f"{number}: item id")
        place = event.get("content_index", event.get("summary_index", 0))
        stem, _, last = kind.rpartition(".")
        part = (index, "summary" if "summary" in kind else "content", place)
        if "part" in event:
            self.part(event, part, number)
            return
        if {"delta", "text", "refusal", "annotation"} & event.keys() and "_call" not in kind:
            self.need(part in self.text, f"{number}: before its part")
        self.need(
            "output_text" not in stem or "annotation" in stem or event["logprobs"] is not None, f"{number}: logprobs"
        )
        if last == "delta":
            self.text[part] = self.text.get(part, "") + event["delta"]
        elif last == "done":
            whole = next((event[name] for name in ("text", "refusal", "arguments", "input") if name in event), "")
            self.need(self.text.get(part, "") == whole, f"{number}: pieces")

    def part(self, event: dict[str, Any], part: tuple[int, str, int], number: int) -> None:
        """Check the beginning or the end of a part."""
        if event["type"].endswith("added"):
            seen = sum(1 for index, kind, _ in self.text if (index, kind) == part[:2])
            self.need(part[2] == seen, f"{number}: part index")
            self.text[part] = ""
            return
        field = AT.get(event["part"]["type"], "text")
        self.need(self.text[part] == event["part"].get(field, ""), f"{number}: part text")


def faults_of(body: bytes) -> list[str]:
    """The rules that a stream breaks."""
    return StrictReader().read(body)
