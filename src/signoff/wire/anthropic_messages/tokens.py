"""Usage, from the protocol's object and back."""

from collections.abc import Mapping
from typing import Final

from signoff.core.model.response import TokenUsage
from signoff.wire.json_text import count_of, load, object_of
from signoff.wire.slices import members_of, object_text

_INPUTS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CUMULATIVE: Final = (*_INPUTS, "output_tokens", "output_tokens_details", "server_tool_use")
_LATE: Final = frozenset({"output_tokens", "output_tokens_details", "server_tool_use"})


def usage_of(members: Mapping[str, str], *, has_output: bool = True) -> TokenUsage:
    """The usage that an object's members tell; all input is the uncached, the written and the read together.

    Without `has_output` they come from the start of a stream, whose output is a placeholder and no count.
    """
    late = members if has_output else {}
    uncached, written, read = (count_of(load(members.get(name, "null"))) for name in _INPUTS)
    output = count_of(load(late.get("output_tokens", "null")))
    counted = [count for count in (uncached, written, read) if count is not None]
    details = object_of(load(late.get("output_tokens_details", "null")))
    return TokenUsage(
        input=count_of(sum(counted)) if counted else None,
        cached_read=read,
        cache_write=written,
        output=output,
        reasoning=count_of(details.get("thinking_tokens")),
        native=object_text(members),
    )


def merge(usage: dict[str, str], more: Mapping[str, str]) -> None:
    """Take in a later count: what it names counts from there on, what it does not name stays."""
    usage.update((name, text) for name, text in more.items() if text != "null" or name not in usage)


def members_for(usage: TokenUsage | None) -> dict[str, str]:
    """The members of a usage object; clients die of a missing one, so that absent counts are written as 0."""
    if usage is None:
        return {"input_tokens": "0", "output_tokens": "0"}
    members = members_of(usage.native)
    if "input_tokens" in members and "output_tokens" in members and usage_of(members) == usage:
        return members
    cached = {"cache_creation_input_tokens": usage.cache_write, "cache_read_input_tokens": usage.cached_read}
    counts = {name: count for name, count in cached.items() if count is not None}
    uncached = max((usage.input or 0) - sum(counts.values()), 0)
    counts = {"input_tokens": uncached, **counts, "output_tokens": usage.output or 0}
    written = {name: str(count) for name, count in counts.items()}
    if usage.reasoning is not None:
        written["output_tokens_details"] = f'{{"thinking_tokens":{usage.reasoning}}}'
    return written


def at_start(members: Mapping[str, str]) -> dict[str, str]:
    """What of a usage is known when a stream begins."""
    known = {name: text for name, text in members.items() if name not in _LATE}
    return {**known, "output_tokens": "0"}


def at_end(members: Mapping[str, str]) -> dict[str, str]:
    """What of a usage the end of a stream repeats: the counts that take the place of the first ones."""
    return {name: members[name] for name in _CUMULATIVE if name in members}
