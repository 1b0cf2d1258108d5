"""The strict reading of one call's arguments. Nothing is repaired by guessing."""

from signoff.core.canonical import parse
from signoff.core.model.parts import CallKind, CallPart
from signoff.errors import CanonicalError

_NO_ARGUMENTS = {"", "null"}


def are_whole(call: CallPart) -> bool:
    """Whether the arguments of a call are all there: one JSON object and nothing else, or nothing at all.

    Custom calls carry free text, so that only their close says it.
    """
    if not call.closed:
        return False
    if call.kind is CallKind.CUSTOM or call.arguments.strip() in _NO_ARGUMENTS:
        return True
    try:
        return isinstance(parse(call.arguments), dict)
    except CanonicalError:
        return False
