"""Arguments that come in pieces: each names a place in the object and gives one value, or more of a text.

They are put together only where every piece says without doubt where it belongs. A path in another notation, a place
that is given twice, a gap in an array, a text that never ended: then nothing is put together at all.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from signoff.wire.gemini.exact import Source, Step
from signoff.wire.json_text import JSON, dump, load
from signoff.wire.slices import array_text, object_text

_STEP: Final = re.compile(
    r"""\.(?P<name>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)"""
    r"""|\[(?P<place>0|[1-9][0-9]{0,8})\]"""
    r"""|\["(?P<double>(?:[^"\\]|\\.)*+)"\]"""
    r"""|\['(?P<single>(?:[^'\\]|\\.)*+)'\]"""
)
_QUOTES: Final = re.compile(r"""\\.|\"""")
_MOST_STEPS: Final = 64
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


class _Text:
    """A text that may have more pieces."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.open = True


Node: TypeAlias = "dict[str, Node] | list[Node] | _Text | str"
"""A place in the object: more places, a text, or the JSON text of another value."""


def assembled(pieces: Sequence[str]) -> str | None:
    """The object that the pieces make, as JSON text, or None when they do not say it without doubt."""
    root: dict[str, Node] = {}
    for piece in pieces:
        fields = load(piece)
        if not isinstance(fields, dict) or not _placed(root, fields, piece):
            return None
    return _written(root)


def steps_of(path: JSON) -> tuple[Step, ...] | None:
    """The keys and places of a JSON path that names one value, or None for any other."""
    if not isinstance(path, str) or not path.startswith("$"):
        return None
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        step = _step(found) if found else None
        if found is None or step is None or len(steps) == _MOST_STEPS:
            return None
        steps.append(step)
        at = found.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def _step(found: re.Match[str]) -> Step | None:
    match found.lastgroup:
        case "name":
            return found["name"]
        case "place":
            return int(found["place"])
        case "double":
            name = load(f'"{found["double"]}"')
        case _:
            name = load(f'"{_QUOTES.sub(_requoted, found["single"])}"')
    return name if isinstance(name, str) else None


def _requoted(found: re.Match[str]) -> str:
    """What stands between single quotes, as it stands between double ones."""
    return {"\\'": "'", '"': '\\"'}.get(found[0], found[0])


def _placed(root: dict[str, Node], piece: dict[str, JSON], text: str) -> bool:
    """Put one piece where it belongs; False when that is in doubt."""
    steps = steps_of(piece.get("jsonPath"))
    more = piece.get("willContinue")
    if steps is None or not (more is None or isinstance(more, bool)):
        return False
    node: Node = root
    for step, following in pairwise(steps):
        below = _below(node, step)
        if below is None:
            below = {} if isinstance(following, str) else []
            if not _put(node, step, below):
                return False
        node = below
    present = _below(node, steps[-1])
    kinds = [kind for kind in _VALUES if kind in piece]
    if isinstance(present, _Text):
        return _continued(present, piece, kinds, more=bool(more))
    if present is not None or len(kinds) != 1:
        return False
    value = _leaf(kinds[0], piece[kinds[0]], text, more=bool(more))
    return value is not None and _put(node, steps[-1], value)


def _below(node: Node, step: Step) -> "Node | None":
    if isinstance(node, dict) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return None


def _put(node: Node, step: Step, value: Node) -> bool:
    """Put a value in a place that is free; an array has only one, behind its last item."""
    if isinstance(node, dict) and isinstance(step, str):
        node[step] = value
        return True
    if isinstance(node, list) and step == len(node):
        node.append(value)
        return True
    return False


def _continued(text: _Text, piece: dict[str, JSON], kinds: Sequence[str], *, more: bool) -> bool:
    """Add to a text that goes on; a piece without a value only says whether it still does."""
    added = piece.get("stringValue", "")
    if not text.open or set(kinds) - {"stringValue"} or not isinstance(added, str):
        return False
    text.pieces.append(added)
    text.open = more
    return True


def _leaf(kind: str, value: JSON, text: str, *, more: bool) -> "Node | None":
    """One typed value, or None when it is not of its type. Only a text can go on."""
    if kind == "stringValue":
        if not isinstance(value, str):
            return None
        leaf = _Text()
        leaf.pieces.append(value)
        leaf.open = more
        return leaf
    if more:
        return None
    if kind == "numberValue":
        return Source(text).at(kind) if type(value) is int or type(value) is float else None
    if kind == "boolValue":
        return dump(value) if isinstance(value, bool) else None
    return "null" if value is None or value == "NULL_VALUE" else None


def _written(node: Node) -> str | None:
    """The text of what was put together, or None when a text in it goes on."""
    if isinstance(node, str):
        return node
    if isinstance(node, _Text):
        return None if node.open else dump("".join(node.pieces))
    if isinstance(node, dict):
        members = {key: _written(below) for key, below in node.items()}
        whole = {key: text for key, text in members.items() if text is not None}
        return object_text(whole) if len(whole) == len(members) else None
    items = [_written(below) for below in node]
    texts = [text for text in items if text is not None]
    return array_text(texts) if len(texts) == len(items) else None
