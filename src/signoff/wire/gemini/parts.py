"""Neutral parts as the protocol writes them, for requests and responses alike."""

from typing import Final

from signoff.core.canonical import parse
from signoff.core.model.parts import Api, CallKind, CallPart, OpaquePart
from signoff.core.model.turns import CALL_ID
from signoff.errors import CanonicalError, PolicyError
from signoff.wire.json_text import dump, load
from signoff.wire.slices import object_text

NOTHING: Final = '{"text":""}'
"""A part that says nothing, for a chunk that would have none."""
_SHOWN: Final = 40


def text_part(text: str) -> str:
    """A part of plain text."""
    return object_text({"text": dump(text)})


def thought_part(text: str) -> str:
    """A part of reasoning."""
    return object_text({"text": dump(text), "thought": "true"})


def id_of(call_id: str) -> dict[str, str]:
    """The member for the id of a call, or none where the provider gave none: it does not know signoff's own."""
    return {"id": dump(call_id)} if call_id and not call_id.startswith(CALL_ID) else {}


def call_text(call: CallPart, *, blank: str) -> str:
    """A call; `blank` stands for arguments that are not there, and may be empty. Raises `PolicyError`."""
    if not call.closed:
        raise PolicyError("a call is cut, which cannot be written for Gemini; nothing was written. Leave the call out.")
    if call.kind is CallKind.CUSTOM:
        raise PolicyError("Gemini has no calls with free text; nothing was written. Leave the call out.")
    said = call.arguments.strip()
    # in a history `null` was accepted as no arguments; to a client it is not passed off as anything else
    args = blank if not said or (blank and said == "null") else _object_in(call.arguments)
    members = {**id_of(call.call_id), "name": dump(call.name)}
    return object_text({"functionCall": object_text({**members, "args": args} if args else members)})


def opaque_text(part: OpaquePart, api: Api | None) -> str:
    """A part of Gemini's own as it came; `api` says whose form it has. Raises `PolicyError`."""
    kind = repr(part.kind[:_SHOWN])
    if api is not Api.GEMINI:
        raise PolicyError(f"a part {kind} of another protocol cannot be written for Gemini; nothing was. Leave it out.")
    if not isinstance(load(part.native), dict):
        raise PolicyError(f"the native text of a part {kind} is no JSON object; nothing was written. Leave it out.")
    return part.native


def _object_in(arguments: str) -> str:
    """Arguments as they are, once they were read strictly as one object."""
    try:
        value = parse(arguments)
    except CanonicalError as error:
        raise PolicyError(f"the arguments of a call cannot be written for Gemini: {error}") from None
    if not isinstance(value, dict):
        raise PolicyError("the arguments of a call are no JSON object, and Gemini has no others; nothing was written.")
    return arguments
