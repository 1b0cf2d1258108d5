"""Output items and the parts that they are made of.

An item is read the same way wherever it stands: in a body, in an event, in a client's request. What has no neutral form
stays whole in an `OpaquePart`, whose native text is always a complete item.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from signoff.core.model.parts import CallKind, CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.wire.json_text import JSON, dump, is_exact, list_of, load, object_of, text_of
from signoff.wire.slices import elements_of

AWAITING: Final = frozenset(
    {"computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"}
)
"""Items without a neutral form that the client is to answer."""
CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that are calls, and the field that holds what they are called with."""
UNFINISHED: Final = frozenset({"incomplete", "in_progress"})
"""Statuses of an item that was not finished."""


class Item(NamedTuple):
    """One item."""

    value: dict[str, JSON]
    text: str
    """Its JSON text, as it came."""
    closed: bool = True
    """Whether the provider said that nothing more of it follows."""

    @property
    def kind(self) -> str:
        """Its type; empty when it names none."""
        return text_of(self.value.get("type"))

    @property
    def call_id(self) -> str:
        """The id that a result of it must name; empty when it has none."""
        return text_of(self.value.get("call_id"))


def items_of(text: str, oddities: set[str]) -> tuple[Item, ...]:
    """Read the JSON text of an array of items."""
    items = []
    for each in elements_of(text):
        value = load(each)
        if isinstance(value, dict):
            items.append(Item(value, each))
        else:
            oddities.add("item_not_object")
    return tuple(items)


def array_of(items: Iterable[Item]) -> str:
    """The JSON text of an array of items. Reasoning that was cut off is left out: nobody takes it back unfinished."""
    return "[" + ",".join(item.text for item in items if item.closed or item.kind != "reasoning") + "]"


def parts_of(items: Sequence[Item], oddities: set[str], *, last_is_whole: bool = True) -> tuple[Part, ...]:
    """The parts of items in their order; with `last_is_whole` false the last item counts as cut, whatever it says."""
    answered = {item.call_id for item in items if item.kind.endswith("_output")}
    parts: list[Part] = []
    for place, item in enumerate(items, start=1):
        if not last_is_whole and place == len(items):
            item = item._replace(closed=False)  # noqa: PLW2901 - the same item, seen as its response says
        parts.extend(_parts_of_item(item, answered, oddities))
    return tuple(parts)


def content_of(parts: Iterable[Part]) -> tuple[str, str, list[tuple[str, str, str]]]:
    """What two accounts of one answer must agree in: its text, its refusal and its calls."""
    text, refusal, calls = [], [], []
    for part in parts:
        match part:
            case TextPart():
                text.append(part.text)
            case RefusalPart():
                refusal.append(part.text)
            case CallPart():
                calls.append((part.call_id, part.name, part.arguments))
            case ReasoningPart() | OpaquePart():
                pass
    return "".join(text), "".join(refusal), calls


def _parts_of_item(item: Item, answered: set[str], oddities: set[str]) -> Iterable[Part]:
    match item.kind:
        case "message":
            return _parts_of_message(item, oddities)
        case "reasoning":
            return _parts_of_reasoning(item.value)
        case "function_call" | "custom_tool_call":
            return (_call_of(item, oddities),)
        case kind:
            for_client = kind in AWAITING or (kind == "tool_search_call" and item.value.get("execution") == "client")
            awaits = for_client and item.call_id not in answered - {""}
            return (OpaquePart(kind=kind, native=item.text, awaits_result=awaits),)


def _parts_of_message(item: Item, oddities: set[str]) -> Iterator[Part]:
    content = item.value.get("content")
    if isinstance(content, str):
        yield TextPart(text=text_of(content))
    elif content is not None and not isinstance(content, list):
        oddities.add("content_not_list")
    for part in map(object_of, list_of(content)):
        match part:
            case {"type": "output_text" | "text", "text": str(text)}:
                citations = part.get("annotations")
                yield TextPart(text=text_of(text), citations=dump(citations) if citations else "")
            case {"type": "reasoning_text", "text": str(text)}:
                yield ReasoningPart(text=text_of(text))
            case {"type": "refusal", "refusal": str(text)}:
                yield RefusalPart(text=text_of(text))
            case {"type": str(kind)}:
                yield OpaquePart(kind=text_of(kind), native=dump({**item.value, "content": [part]}))
            case _:
                oddities.add("part_without_type")
                yield OpaquePart(kind="", native=dump({**item.value, "content": [part]}))


def _parts_of_reasoning(value: dict[str, JSON]) -> Iterable[ReasoningPart]:
    pieces = [*list_of(value.get("summary")), *list_of(value.get("content"))]
    texts = [text_of(object_of(piece).get("text")) for piece in pieces]
    parts = tuple(ReasoningPart(text=text) for text in texts if text)
    return parts or (ReasoningPart(redacted=value.get("encrypted_content") is not None),)


def _is_finished(status: JSON) -> bool:
    return status is None or (isinstance(status, str) and status not in UNFINISHED)


def _call_of(item: Item, oddities: set[str]) -> CallPart:
    value, field = item.value, CALLS[item.kind]
    arguments = value.get(field)
    text_as_sent = arguments if isinstance(arguments, str) else ""
    if arguments is not None and not isinstance(arguments, str):
        oddities.add("arguments_not_string")
    if not item.call_id:
        oddities.add("call_id_missing")
    return CallPart(
        call_id=item.call_id,
        name=text_of(value.get("name")),
        arguments=text_of(arguments) if isinstance(arguments, str) else "" if arguments is None else dump(arguments),
        kind=CallKind.FUNCTION if field == "arguments" else CallKind.CUSTOM,
        # a status of another type says nothing that could be believed
        closed=item.closed and _is_finished(value.get("status")) and is_exact(text_as_sent),
    )
