"""The events of a stream in the strict form, one small function each, and their numbering.

An event is made without its number, so that whoever joins two streams numbers them anew. Only the order and the form
of events belong here, never what a response is worth.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from signoff.wire.json_text import JSON, dump, list_of, object_of, text_of
from signoff.wire.openai_responses.items import CALLS, Item
from signoff.wire.slices import object_text
from signoff.wire.sse import encode_frame


class Event(NamedTuple):
    """One event that has no number yet."""

    kind: str
    fields: dict[str, str]
    """Its other fields, as JSON texts."""


def numbered(events: Iterable[Event], *, start: int = 0) -> Iterator[bytes]:
    """Write events as frames, numbered one by one."""
    for number, event in enumerate(events, start):
        fields = {"type": dump(event.kind), **event.fields, "sequence_number": str(number)}
        yield encode_frame(object_text(fields), event=event.kind)


def lifecycle(kind: str, response: str) -> Event:
    """An event that carries the response as a whole, given its JSON text."""
    return Event(kind, {"response": response})


def item_events(item: Item, output_index: int) -> Iterator[Event]:
    """Everything that one item adds to a stream, from its beginning to its end."""
    index = str(output_index)
    yield Event("response.output_item.added", {"output_index": index, "item": _beginning(item)})
    places = {"item_id": dump(text_of(item.value.get("id"))), "output_index": index}
    match item.kind:
        case "message":
            for place, part in enumerate(list_of(item.value.get("content"))):
                yield from _content_events(object_of(part), {**places, "content_index": str(place)})
        case "reasoning":
            yield from _reasoning_events(item.value, places)
        case "function_call":
            yield from _call_events("response.function_call_arguments", item, places)
        case "custom_tool_call":
            yield from _call_events("response.custom_tool_call_input", item, places)
        case _:
            pass
    yield Event("response.output_item.done", {"output_index": index, "item": item.text})


def _beginning(item: Item) -> str:
    """The item as it begins: its identity, and nothing of what follows in events of its own."""
    value = dict(item.value)
    match item.kind:
        case "message":
            value |= {"content": [], "status": "in_progress"}
        case "reasoning":
            value.pop("encrypted_content", None)  # what stands in the beginning may be unfinished
            value |= {"summary": [], **({"content": []} if value.get("content") else {})}
        case "function_call" | "custom_tool_call" as kind:
            value |= {CALLS[kind]: "", "status": "in_progress"}
        case _:
            return item.text
    return dump(value)


def _content_events(part: dict[str, JSON], places: dict[str, str]) -> Iterator[Event]:
    """One part of a message; a type that has no events of its own is only added and done."""
    match part.get("type"):
        case "output_text":
            empty: dict[str, JSON] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            inner = _text_events(part, places)
        case "refusal":
            empty = {"type": "refusal", "refusal": ""}
            text = text_of(part.get("refusal"))
            inner = _two_events("response.refusal", text, {**places}, last="refusal")
        case _:
            empty, inner = part, iter(())
    yield Event("response.content_part.added", {**places, "part": dump(empty)})
    yield from inner
    yield Event("response.content_part.done", {**places, "part": dump(part)})


def _text_events(part: dict[str, JSON], places: dict[str, str]) -> Iterator[Event]:
    text, kind = text_of(part.get("text")), "response.output_text"
    if text:
        yield Event(f"{kind}.delta", {**places, "delta": dump(text), "logprobs": "[]"})
    for place, annotation in enumerate(list_of(part.get("annotations"))):
        yield Event(
            f"{kind}.annotation.added", {**places, "annotation_index": str(place), "annotation": dump(annotation)}
        )
    yield Event(f"{kind}.done", {**places, "text": dump(text), "logprobs": dump(list_of(part.get("logprobs")))})


def _reasoning_events(value: dict[str, JSON], places: dict[str, str]) -> Iterator[Event]:
    for place, part in enumerate(list_of(value.get("summary"))):
        at = {**places, "summary_index": str(place)}
        text = text_of(object_of(part).get("text"))
        empty = dump({"type": "summary_text", "text": ""})
        yield Event("response.reasoning_summary_part.added", {**at, "part": empty})
        yield from _two_events("response.reasoning_summary_text", text, at, last="text")
        yield Event("response.reasoning_summary_part.done", {**at, "part": dump(part)})
    for place, part in enumerate(list_of(value.get("content"))):
        at = {**places, "content_index": str(place)}
        text = text_of(object_of(part).get("text"))
        empty = dump({"type": "reasoning_text", "text": ""})
        yield Event("response.content_part.added", {**at, "part": empty})
        yield from _two_events("response.reasoning_text", text, at, last="text")
        yield Event("response.content_part.done", {**at, "part": dump(part)})


def _call_events(kind: str, item: Item, places: dict[str, str]) -> Iterator[Event]:
    field = CALLS[item.kind]
    return _two_events(kind, text_of(item.value.get(field)), places, last=field)


def _two_events(kind: str, text: str, places: dict[str, str], *, last: str) -> Iterator[Event]:
    """The text as one delta, if there is any, and the event that repeats it whole."""
    if text:
        yield Event(f"{kind}.delta", {**places, "delta": dump(text)})
    yield Event(f"{kind}.done", {**places, last: dump(text)})
