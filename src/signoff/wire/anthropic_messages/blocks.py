"""One block of content as a part, and the turn that the blocks make."""

from collections.abc import Iterable, Mapping, Sequence

from signoff.core.model.ending import Finish
from signoff.core.model.parts import CallPart, OpaquePart, Part, ReasoningPart, RefusalPart, TextPart
from signoff.wire.anthropic_messages.words import FINISHES, SERVER_CALLS
from signoff.wire.json_text import JSON, list_of, load, object_of, text_of
from signoff.wire.slices import members_of, object_text


def kind_of(members: Mapping[str, str]) -> str:
    """The type of a block; empty where there is none."""
    return text_in(members, "type")


def text_in(members: Mapping[str, str], name: str) -> str:
    """The string that a member is, or an empty one."""
    return text_of(load(members.get(name, "null")))


def part_of(members: Mapping[str, str], *, closed: bool = True) -> Part:
    """The part that a block is. The raw text of a call's input is taken as it stands, whatever it is."""
    kind = kind_of(members)
    match kind:
        case "text":
            citations = members.get("citations", "")
            return TextPart(text=text_in(members, "text"), citations=citations if list_of(load(citations)) else "")
        case "thinking":
            return ReasoningPart(text=text_in(members, "thinking"))
        case "redacted_thinking":
            return ReasoningPart(redacted=True)
        case "tool_use":
            call_id, name = text_in(members, "id"), text_in(members, "name")
            return CallPart(call_id=call_id, name=name, arguments=members.get("input", ""), closed=closed)
        case _:
            return OpaquePart(kind=kind, native=object_text(members))


def parts_in(blocks: Iterable[str]) -> list[Part]:
    """The parts of a whole content; what is no object is kept as an opaque part without a kind."""
    parts: list[Part] = []
    for text in blocks:
        members = members_of(text)
        part = part_of(members)
        if isinstance(part, OpaquePart):
            part = OpaquePart(kind=part.kind, native=text)
        parts.append(part)
    return parts


def refusal_in(details: JSON) -> RefusalPart | None:
    """The refusal that `stop_details` describe; None where they say nothing."""
    fields = object_of(details)
    text, category = text_of(fields.get("explanation")), text_of(fields.get("category"))
    return RefusalPart(text=text, category=category) if text or category else None


def finish_of(reason: str | None, parts: Sequence[Part]) -> Finish | None:
    """What a stop reason says. With server calls alone, `tool_use` is a pause: their results come in a later one."""
    if not reason:
        return None
    if reason == "tool_use" and not any(isinstance(part, CallPart) for part in parts) and _awaits_server(parts):
        return Finish.PAUSE
    return FINISHES.get(reason, Finish.UNKNOWN)


def _awaits_server(parts: Sequence[Part]) -> bool:
    """Whether a call that the provider runs itself has no result yet."""
    asked: set[str] = set()
    answered: set[str] = set()
    for part in parts:
        if not isinstance(part, OpaquePart):
            continue
        fields = object_of(load(part.native))
        if part.kind in SERVER_CALLS:
            asked.add(text_of(fields.get("id")))
        else:
            answered.add(text_of(fields.get("tool_use_id")))
    return bool(asked - answered)
