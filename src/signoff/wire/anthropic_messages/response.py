"""Reads a response that is not streamed. The content stays as it came; an error under status 200 is a failure."""

from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.parts import Part, TextPart
from signoff.core.model.response import Failure, ModelResponse
from signoff.wire.anthropic_messages.blocks import finish_of, parts_in, refusal_in
from signoff.wire.anthropic_messages.tokens import usage_of
from signoff.wire.anthropic_messages.words import API, PLACED
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import JSON, dump, load, text_of
from signoff.wire.slices import elements_of, members_of, object_text


def parse_response(body: bytes, exchange: Exchange) -> ModelResponse:
    """Read a body that is not streamed, with status 200; never raises for its content."""
    value = load(body)
    failure = _failure_in(value, len(body), exchange)
    if failure is not None or not isinstance(value, dict):
        return conclude(Gathered(api=API, failure=failure), exchange)
    members = members_of(body.decode())
    oddities = set()
    if value.get("error"):  # the content beside it is kept, and is no answer
        oddities.add("error_shape")
        failure = failure_of(value, exchange, where="stream")
        del members["error"]
    if value.get("type") != "message":
        oddities.add("type_missing")
    content = value.get("content")
    if isinstance(content, list):
        parts = parts_in(elements_of(members["content"]))
    else:
        oddities.add("content_not_a_list")
        parts = _without_list(content, members.get("content", ""))
    reason = value.get("stop_reason")
    if reason is not None and not isinstance(reason, str):
        oddities.add("reason_not_text")
        reason = dump(reason)
    reason = text_of(reason) or None
    refusal = refusal_in(value.get("stop_details"))
    facts = Gathered(
        api=API,
        finish=finish_of(reason, parts),
        raw_reason=reason,
        saw_terminal=True,
        parts=(*parts, refusal) if refusal else tuple(parts),
        usage=usage_of(members_of(members["usage"])) if isinstance(value.get("usage"), dict) else None,
        response_id=text_of(value.get("id")),
        model=text_of(value.get("model")),
        failure=failure,
        native=members["content"] if isinstance(content, list) else "",
        envelope=object_text({name: text for name, text in members.items() if name not in PLACED}),
        oddities=frozenset(oddities),
    )
    return conclude(facts, exchange)


def _without_list(content: JSON, text: str) -> list[Part]:
    """The parts of a content that is no list: a bare text, a single block, or nothing."""
    if isinstance(content, str):
        return [TextPart(text=text_of(content))] if content else []
    return [] if content is None else parts_in([text])


def _failure_in(value: JSON, length: int, exchange: Exchange) -> Failure | None:
    """What of a body is an error, or no message at all."""
    if isinstance(value, list):  # some front ends wrap an error in a list of one
        inner = value[0] if len(value) == 1 else None
        wrapped = isinstance(inner, dict) and "error" in inner
        return failure_of(value, exchange, where="stream") if wrapped else not_the_protocol(exchange, length=length)
    if not isinstance(value, dict):
        return not_the_protocol(exchange, length=length)
    is_error = value.get("type") == "error" or value.get("object") == "error" or "error_type" in value
    if is_error or (value.get("error") and "content" not in value):
        return failure_of(value, exchange, where="stream")
    if value.get("type") == "message" or isinstance(value.get("content"), list):
        return None
    return not_the_protocol(exchange, length=length)
