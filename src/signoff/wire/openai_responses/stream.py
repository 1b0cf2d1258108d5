"""Reading a streamed response, frame by frame.

What the terminal event says is the record; what was streamed before it is the record only where the terminal says
nothing, and is compared with it everywhere.
"""

from typing import Final

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.response import BodyEnd, Failure, ModelResponse
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import JSON, load, text_of
from signoff.wire.openai_responses.items import Item, array_of, content_of, parts_of
from signoff.wire.openai_responses.outcome import PROMISED, Outcome, is_error
from signoff.wire.openai_responses.response import Reply, holds_error, read_reply
from signoff.wire.openai_responses.streamed import StreamedOutput
from signoff.wire.openai_responses.words import API
from signoff.wire.slices import members_of
from signoff.wire.sse import Frame

_ERRORS: Final = {"error", "response.error"}
_LIFECYCLE: Final = {"response.created", "response.queued", "response.in_progress"}
_NOTHING: Final = Reply(outcome=Outcome())


class Decoder:
    """Reads the frames of one streamed response."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._oddities: set[str] = set()
        self._output = StreamedOutput(self._oddities)
        self._begun = _NOTHING
        self._ended: Reply | None = None
        self._failure: Failure | None = None
        self._finished = False
        self._saw_terminal = False
        self._sequence = -1
        self._typed = False
        self._untyped = 0

    @property
    def finished(self) -> bool:
        """Whether the end marker or an error was seen, so that nothing behind it can matter."""
        return self._finished

    def feed(self, frame: Frame) -> tuple[Delta, ...]:
        """Take in one frame; never raises for its content. What it adds is returned for showing."""
        self._oddities.update(frame.oddities)
        if self._finished:
            if frame.error or not frame.data.startswith("[DONE]"):
                self._oddities.add("frame_after_end")
            return ()
        if frame.error:
            self._oddities.add("error_field")
            return self._fail({"error": load(frame.error) or frame.error})
        if not frame.data:
            return ()
        if frame.data.startswith("[DONE]"):
            self._finished = True
            return ()
        event = load(frame.data)
        if isinstance(event, dict):
            return self._event(event, frame)
        if holds_error(event):
            return self._fail(event)
        if "unterminated_frame" in frame.oddities:
            return ()  # the body ended inside of it: that is a cut, and no other format
        self._failure = not_the_protocol(self._exchange, length=len(frame.data))
        self._finished = True
        return ()

    def end(self, body_end: BodyEnd, failure: Failure | None = None) -> ModelResponse:
        """Make the record; `failure` is what the transport or the host says, the decoder's own failure beats it."""
        ended = self._ended or Reply(outcome=Outcome(items_are_whole=True))
        items = self._items(ended)
        parts = parts_of(items, self._oddities, last_is_whole=ended.outcome.items_are_whole)
        foreign = bool(self._untyped) and not self._typed
        own = self._failure or (not_the_protocol(self._exchange, length=self._untyped) if foreign else None)
        facts = Gathered(
            api=API,
            finish=ended.outcome.finish,
            raw_reason=ended.outcome.raw_reason,
            saw_terminal=self._saw_terminal,
            body_end=body_end,
            streamed=True,
            parts=parts,
            usage=ended.usage or self._begun.usage,
            response_id=ended.response_id or self._begun.response_id,
            model=ended.model or self._begun.model,
            failure=own or ended.outcome.failure or failure,
            native=array_of(items) if items or self._ended else "",
            envelope=(self._begun if self._ended is None else ended).envelope,
            oddities=frozenset(self._oddities | ended.oddities),
        )
        return conclude(facts, self._exchange)

    def _items(self, ended: Reply) -> tuple[Item, ...]:
        """The items of the record, after comparing both accounts of them."""
        streamed = self._output.items
        if self._ended is None or not ended.items:
            if self._ended is not None and streamed:
                self._oddities.add("output_missing")
            return streamed
        if not streamed:
            self._oddities.add("output_not_streamed")
        elif content_of(parts_of(streamed, set())) != content_of(parts_of(ended.items, set())):
            self._oddities.add("output_differs")
        return ended.items

    def _event(self, event: dict[str, JSON], frame: Frame) -> tuple[Delta, ...]:
        kind = text_of(event.get("type"))
        if not kind:
            self._oddities.add("event_without_type")
            kind = frame.event
        elif frame.event and frame.event != kind:
            self._oddities.add("event_name_differs")
        if kind in PROMISED and isinstance(event.get("response"), dict):
            return self._terminate(kind, event, frame.data)
        if kind in _ERRORS or is_error(event.get("error")) or (not kind and holds_error(event)):
            return self._fail(event)
        if not kind:
            self._untyped += len(frame.data)
            return ()
        self._typed = True
        self._check_sequence(event)
        if kind in PROMISED:
            self._oddities.add("response_missing")
            return ()
        if kind in _LIFECYCLE:
            self._begin(event, frame.data)
            return ()
        return self._output.take(kind, event, text=frame.data)

    def _check_sequence(self, event: dict[str, JSON]) -> None:
        number = event.get("sequence_number")
        if type(number) is not int:
            self._oddities.add("sequence_missing")
        elif number <= self._sequence:
            self._oddities.add("sequence_not_increasing")
        else:
            self._sequence = number

    def _begin(self, event: dict[str, JSON], text: str) -> None:
        """Take the identity from the first event that has one."""
        response = event.get("response")
        if not isinstance(response, dict):
            self._oddities.add("response_missing")
        elif not self._begun.response_id:
            self._begun = read_reply(members_of(text)["response"], response, exchange=self._exchange)
        elif text_of(response.get("id")) != self._begun.response_id:
            self._oddities.add("response_id_changed")

    def _terminate(self, kind: str, event: dict[str, JSON], text: str) -> tuple[Delta, ...]:
        response = event["response"]
        if not isinstance(response, dict):
            return ()
        self._check_sequence(event)
        self._typed = self._finished = self._saw_terminal = True
        self._ended = read_reply(members_of(text)["response"], response, exchange=self._exchange, event=kind)
        if is_error(event.get("error")):
            self._oddities.add("error_beside_status")
            self._failure = failure_of(event, self._exchange, where="stream")
        if self._begun.response_id and self._begun.response_id != self._ended.response_id:
            self._oddities.add("response_id_changed")
        return () if self._output else self._output.show(parts_of(self._ended.items, set()))

    def _fail(self, payload: JSON) -> tuple[Delta, ...]:
        self._typed = self._finished = self._saw_terminal = True
        self._failure = failure_of(payload, self._exchange, where="stream")
        return ()


def decoder(exchange: Exchange) -> Decoder:
    """A decoder for one streamed response with status 200."""
    return Decoder(exchange)
