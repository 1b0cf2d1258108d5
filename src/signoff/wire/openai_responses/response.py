"""Reading a whole Responses object: the body of an answer that is not streamed, and what ends a stream."""

from typing import Final

import msgspec

from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.response import ModelResponse, TokenUsage
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import JSON, load, text_of
from signoff.wire.openai_responses.items import Item, array_of, items_of, parts_of
from signoff.wire.openai_responses.outcome import Outcome, is_error, outcome_of, usage_of
from signoff.wire.openai_responses.words import API
from signoff.wire.slices import members_of, object_text

ELSEWHERE: Final = frozenset({"id", "model", "status", "error", "incomplete_details", "output", "usage"})
"""Fields of a response that the record holds in fields of its own."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What one Responses object says."""

    outcome: Outcome
    items: tuple[Item, ...] = ()
    usage: TokenUsage | None = None
    response_id: str = ""
    model: str = ""
    envelope: str = "{}"
    oddities: frozenset[str] = frozenset()


def read_reply(text: str, value: dict[str, JSON], *, exchange: Exchange, event: str = "") -> Reply:
    """Read a response from its JSON text and its value; `event` is the type of the event that carried it."""
    oddities: set[str] = set()
    fields = members_of(text)
    if value.get("output") is not None and not isinstance(value["output"], list):
        oddities.add("output_not_list")
    return Reply(
        outcome=outcome_of(value, exchange, event=event, oddities=oddities),
        items=items_of(fields.get("output", ""), oddities),
        usage=usage_of(fields.get("usage")),
        response_id=text_of(value.get("id")),
        model=text_of(value.get("model")),
        envelope=object_text({name: raw for name, raw in fields.items() if name not in ELSEWHERE}),
        oddities=frozenset(oddities),
    )


def parse_response(body: bytes, exchange: Exchange) -> ModelResponse:
    """Read a body that is not streamed, with status 200; never raises for its content."""
    value = load(body)
    if isinstance(value, dict) and _is_response(value):
        return _record(read_reply(body.decode(), value, exchange=exchange), exchange)
    if holds_error(value):
        failure = failure_of(value, exchange, where="stream")
    else:
        failure = not_the_protocol(exchange, length=len(body))
    return conclude(Gathered(api=API, failure=failure), exchange)


def _is_response(value: dict[str, JSON]) -> bool:
    """Whether an object is a response, and not an error in its place."""
    if value.get("object") == "response" or isinstance(value.get("output"), list):
        return True
    return isinstance(value.get("status"), str) and not is_error(value.get("error"))


def holds_error(value: JSON) -> bool:
    """Whether a value is an error in one of the shapes that compatible servers give it."""
    if isinstance(value, list):
        return any(holds_error(each) for each in value if isinstance(each, dict))
    if not isinstance(value, dict):
        return False
    return is_error(value.get("error")) or value.get("object") == "error" or "error_type" in value


def _record(reply: Reply, exchange: Exchange) -> ModelResponse:
    oddities = set(reply.oddities)
    parts = parts_of(reply.items, oddities, last_is_whole=reply.outcome.items_are_whole)
    facts = Gathered(
        api=API,
        finish=reply.outcome.finish,
        raw_reason=reply.outcome.raw_reason,
        saw_terminal=True,
        parts=parts,
        usage=reply.usage,
        response_id=reply.response_id,
        model=reply.model,
        failure=reply.outcome.failure,
        native=array_of(reply.items),
        envelope=reply.envelope,
        oddities=frozenset(oddities),
    )
    return conclude(facts, exchange)
