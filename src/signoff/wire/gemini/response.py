"""Reads a body that is not streamed: one response, or the array that a stream is when it was not asked for events."""

from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.wire.failures import not_the_protocol
from signoff.wire.gemini.turn import Turn

_BOM = "\ufeff"


def parse_response(body: bytes, exchange: Exchange) -> ModelResponse:
    """Read a body with status 200; never raises for its content."""
    turn = Turn(exchange)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        turn.failure = not_the_protocol(exchange, length=len(body))
    else:
        if text.startswith(_BOM):
            turn.oddities.add("bom")
        turn.take(text.removeprefix(_BOM))
    return turn.record(BodyEnd.CLEAN, None, streamed=False)
