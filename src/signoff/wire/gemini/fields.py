"""Objects of a request, whose fields are named in either of two ways: maxOutputTokens or max_output_tokens.

Each value keeps its exact text beside it. A schema, and whatever else the user names, is never renamed.
"""

from collections.abc import Mapping
from typing import NamedTuple

from signoff.wire.gemini.exact import Source
from signoff.wire.json_text import JSON, load
from signoff.wire.slices import object_text


class Node(NamedTuple):
    """A JSON value and its text."""

    value: JSON
    text: str


def node_of(text: str) -> Node:
    """A JSON text as a node; of what is not JSON the value is None."""
    return Node(load(text), text)


def fields_of(node: Node | None) -> dict[str, Node]:
    """The members of an object by their names in camel case; none of anything else. Raises `Unreadable`."""
    if node is None or not isinstance(node.value, dict):
        return {}
    source = Source(node.text)
    return {_camel(key): Node(value, source.at(key)) for key, value in node.value.items()}


def items_of(node: Node | None) -> list[Node]:
    """The items of an array; none of anything else. Raises `Unreadable`."""
    if node is None or not isinstance(node.value, list):
        return []
    source = Source(node.text)
    return [Node(value, source.at(place)) for place, value in enumerate(node.value)]


def renamed(node: Node, *, inside: str = "") -> Node:
    """An object with its fields, and those of one member, named in camel case; anything else as it is."""
    if not isinstance(node.value, dict) or not _has_other_names(node, inside):
        return node
    members = {key: renamed(member) if key == inside else member for key, member in fields_of(node).items()}
    return node_of(written(members))


def written(fields: Mapping[str, Node]) -> str:
    """The text of an object with these fields."""
    return object_text({key: node.text for key, node in fields.items()})


def _has_other_names(node: Node, inside: str) -> bool:
    fields = fields_of(node)
    return isinstance(node.value, dict) and (
        fields.keys() != node.value.keys() or (inside in fields and _has_other_names(fields[inside], ""))
    )


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others) if first else name
