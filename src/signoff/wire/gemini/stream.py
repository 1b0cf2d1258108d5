"""Reads the frames of one streamed response. The protocol has no end marker: only an error ends it before its body."""

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange
from signoff.core.model.response import BodyEnd, Failure, ModelResponse
from signoff.wire.gemini.turn import Turn
from signoff.wire.json_text import load
from signoff.wire.sse import Frame

_DONE = "[DONE]"


class GeminiDecoder:
    """One response, frame by frame."""

    def __init__(self, exchange: Exchange) -> None:
        self._turn = Turn(exchange)

    @property
    def finished(self) -> bool:
        """Whether an error was seen."""
        return self._turn.failure is not None

    def feed(self, frame: Frame) -> tuple[Delta, ...]:
        """Take in one frame and return what it adds."""
        turn = self._turn
        if turn.failure is not None:
            return ()
        turn.oddities.update(frame.oddities)
        if frame.event:
            turn.oddities.add("event_name")
        if frame.error:
            turn.oddities.add("error_field")
            error = load(frame.error)
            turn.fail(error if isinstance(error, dict) and "error" in error else {"error": error or frame.error})
            return ()
        data = frame.data.strip()
        if not data or data.startswith(_DONE):
            turn.oddities.add("done_marker" if data else "empty_frame")
            return ()
        return turn.take(frame.data)

    def end(self, body_end: BodyEnd, failure: Failure | None = None) -> ModelResponse:
        """Make the record."""
        return self._turn.record(body_end, failure, streamed=True)


def decoder(exchange: Exchange) -> GeminiDecoder:
    """A decoder for one streamed response with status 200."""
    return GeminiDecoder(exchange)
