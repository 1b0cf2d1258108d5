"""Reads a whole response. Whatever stands in the body, nothing is raised."""

from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.response import Failure, ModelResponse
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import JSON, list_of, load, object_of
from signoff.wire.openai_chat.exact import ExactChoice, ExactChoices
from signoff.wire.openai_chat.facts import Facts
from signoff.wire.openai_chat.turn import Turn
from signoff.wire.openai_chat.words import API, error_in, is_error


def parse_response(body: bytes, exchange: Exchange) -> ModelResponse:
    """Read a body that is not streamed, with status 200; never raises for its content."""
    value = load(body)
    if isinstance(value, list) and value and is_error(object_of(value[0])):
        return _failed(failure_of(value, exchange, where="stream"), exchange)
    if not isinstance(value, dict):
        return _failed(not_the_protocol(exchange, length=len(body)), exchange)
    failure = failure_of(value, exchange, where="stream") if is_error(value) else None
    if not isinstance(value.get("choices"), list):
        return _failed(failure or not_the_protocol(exchange, length=len(body)), exchange)
    if failure is None and (inside := error_in(value["choices"])):
        failure = failure_of(inside, exchange, where="stream")
    return conclude(_gathered(value, body, failure), exchange)


def _failed(failure: Failure, exchange: Exchange) -> ModelResponse:
    return conclude(Gathered(api=API, saw_terminal=True, failure=failure), exchange)


def _gathered(value: dict[str, JSON], body: bytes, failure: Failure | None) -> Gathered:
    """A body that has choices, if only an empty list of them; an error beside them beats them."""
    oddities: set[str] = set()
    turn, facts, native = Turn(oddities), Facts(oddities), ""
    facts.top(value)
    for place, choice in enumerate(list_of(value["choices"])):
        if choice and not isinstance(choice, dict):
            oddities.add("unread_choice")
        if not isinstance(choice, dict) or not facts.is_first(choice) or native:
            continue
        facts.choice(choice)
        message = choice.get("message")
        if isinstance(message, dict):
            exact = ExactChoice(ExactChoices(body.decode()), place, name="message")
            turn.take(message, exact, whole=True)
            native = exact.message() or turn.native()
        else:
            oddities.add("unread_delta" if message else "no_message")
    if not facts.saw_choice:
        oddities.add("no_choices")
    finish, raw_reason = facts.reason()
    return Gathered(
        api=API,
        finish=finish,
        raw_reason=raw_reason,
        saw_terminal=True,
        parts=turn.parts(finish),
        usage=facts.usage,
        response_id=facts.response_id,
        model=facts.model,
        failure=failure,
        native=native,
        envelope=facts.envelope(),
        oddities=frozenset(oddities),
    )
