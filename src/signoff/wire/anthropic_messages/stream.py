"""Reads a streamed response, event by event, as its `type` says; the name of the frame is only compared with it.

Nothing is executable here: a call is closed by its stop event, and the response is worth something only after
`message_stop`. An error ends the reading, whatever reason was seen before it.
"""

from collections.abc import Callable
from typing import TypeAlias

from signoff.core.model.deltas import Delta, RefusalDelta
from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.response import BodyEnd, Failure, ModelResponse
from signoff.wire.anthropic_messages.blocks import finish_of, refusal_in, text_in
from signoff.wire.anthropic_messages.content import Content
from signoff.wire.anthropic_messages.tokens import merge, usage_of
from signoff.wire.anthropic_messages.words import API, PLACED, severity_of
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import JSON, dump, load, object_of, text_of
from signoff.wire.slices import elements_of, members_of, object_text
from signoff.wire.sse import Frame

Event: TypeAlias = dict[str, JSON]


class Decoder:
    """Reads the frames of one streamed response."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._oddities: set[str] = set()
        self._content = Content(self._oddities)
        self._head: dict[str, str] | None = None
        self._changed: dict[str, str] = {}
        self._model = ""
        self._usage: dict[str, str] | None = None
        self._has_output = False
        self._reason: str | None = None
        self._worst: str | None = None
        self._glued = False
        self._failure: Failure | None = None
        self._recognised = False
        self._stopped = False
        self._foreign = 0
        self._events: dict[str, Callable[[Event, str], tuple[Delta, ...]]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._content.add,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "ping": lambda _data, _text: (),
            "error": self._error,
        }

    @property
    def finished(self) -> bool:
        """Whether the end marker or an error was seen, so that nothing behind it can matter."""
        return self._stopped or self._failure is not None

    def feed(self, frame: Frame) -> tuple[Delta, ...]:
        """Take in one frame; what it adds is returned for showing."""
        if self.finished:
            return ()
        self._oddities.update(frame.oddities)
        data = load(frame.data)
        if isinstance(data, dict) and not frame.error:
            return self._take(self._kind_of(frame, data), data, frame.data)
        if frame.error or (frame.event == "error" and frame.data):
            self._oddities.add("error_shape")
            said = frame.error or frame.data
            self._failure = failure_of(load(said) or {"error": {"message": said}}, self._exchange, where="stream")
        elif not frame.data or frame.data.startswith("[DONE]"):
            self._oddities.add("done_marker" if frame.data else "empty_frame")
        else:
            self._failure = not_the_protocol(self._exchange, length=len(frame.data))
        return ()

    def end(self, body_end: BodyEnd, failure: Failure | None = None) -> ModelResponse:
        """Make the record; the decoder's own failure beats the one that is given."""
        own = self._failure
        if own is None and self._foreign and not self._recognised and body_end is BodyEnd.CLEAN:
            own = not_the_protocol(self._exchange, length=self._foreign)
        parts = self._content.parts
        finish = None if self._glued or self._content.lost else finish_of(self._reason, parts)
        head = {**(self._head or {}), **self._changed}
        refusal = refusal_in(load(head.get("stop_details", "null")))
        if self._stopped:
            unclosed = set() if self._content.all_stopped else {"block_unclosed"}
            self._oddities |= unclosed if self._head is not None else {*unclosed, "message_start_missing"}
        facts = Gathered(
            api=API,
            finish=finish,
            raw_reason=self._reason,
            saw_terminal=self._stopped,
            body_end=body_end,
            streamed=True,
            parts=(*parts, refusal) if refusal else tuple(parts),
            usage=None if self._usage is None else usage_of(self._usage, has_output=self._has_output),
            response_id=text_in(head, "id"),
            model=self._model,
            failure=own or failure,
            native=self._content.native if self._recognised else "",
            envelope=object_text({name: text for name, text in head.items() if name not in PLACED}),
            oddities=frozenset(self._oddities),
        )
        return conclude(facts, self._exchange)

    def _kind_of(self, frame: Frame, data: Event) -> str:
        """The type of an event. An error is one in whatever form a server gives it."""
        kind = text_of(data.get("type"))
        if kind != "error" and (data.get("error") or frame.event == "error"):
            self._oddities.add("error_shape")
            return "error"
        if not kind:
            self._oddities.add("type_missing")
            return frame.event
        if frame.event != kind:
            self._oddities.add("event_name_differs" if frame.event else "event_name_missing")
        return kind

    def _take(self, kind: str, data: Event, text: str) -> tuple[Delta, ...]:
        """Take in one event by its type; what nobody here knows is noted."""
        event = self._events.get(kind)
        if event is None:
            self._oddities.add("unknown_event")
            self._foreign += len(text)
            return ()
        self._recognised = self._recognised or kind not in {"ping", "error"}
        return event(data, text)

    def _error(self, data: Event, _text: str) -> tuple[Delta, ...]:
        self._failure = failure_of(data, self._exchange, where="stream")
        return ()

    def _message_start(self, data: Event, text: str) -> tuple[Delta, ...]:
        head = members_of(members_of(text).get("message", ""))
        if self._head is not None:
            self._oddities.add("second_message_start")
            self._glued = self._glued or text_in(head, "id") != text_in(self._head, "id")
            return ()
        self._head = head
        self._model = self._model or text_in(self._head, "model")
        message = object_of(data.get("message"))
        self._count(message.get("usage"), self._head.get("usage", ""))
        if message.get("stop_reason") is not None:
            self._oddities.add("reason_in_start")
        return self._content.take_whole(elements_of(self._head.get("content", "")))

    def _block_start(self, data: Event, text: str) -> tuple[Delta, ...]:
        block = object_of(data.get("content_block"))
        if block.get("type") == "fallback":  # from here on another model answers
            self._model = text_of(object_of(block.get("to")).get("model")) or self._model
        if self._head is None:
            self._oddities.add("block_before_start")
        return self._content.start(data, text)

    def _block_stop(self, data: Event, _text: str) -> tuple[Delta, ...]:
        self._content.stop(data)
        return ()

    def _message_delta(self, data: Event, text: str) -> tuple[Delta, ...]:
        members = members_of(text)
        self._count(data.get("usage"), members.get("usage", ""))
        self._has_output = self._has_output or object_of(data.get("usage")).get("output_tokens") is not None
        changed = members_of(members.get("delta", ""))
        beside = {name: value for name, value in members.items() if name not in {"delta", "usage"}}
        self._changed.update((name, value) for name, value in {**beside, **changed}.items() if name not in PLACED)
        delta = object_of(data.get("delta"))
        if "stop_reason" in delta:
            self._take_reason(delta["stop_reason"])
        refusal = refusal_in(delta.get("stop_details"))
        return (RefusalDelta(refusal.text),) if refusal and refusal.text else ()

    def _take_reason(self, value: JSON) -> None:
        """Take the reason; the worst one counts, and null takes back all that came before it."""
        if value is not None and not isinstance(value, str):
            self._oddities.add("reason_not_text")
            value = dump(value)
        reason = text_of(value) or None
        if self._reason not in {None, reason}:
            self._oddities.add("reason_changed")
        if reason is not None and severity_of(reason) >= severity_of(self._worst):
            self._worst = reason
        self._reason = reason and self._worst

    def _message_stop(self, _data: Event, _text: str) -> tuple[Delta, ...]:
        self._stopped = True
        return ()

    def _count(self, usage: JSON, text: str) -> None:
        if isinstance(usage, dict):
            self._usage = self._usage or {}
            merge(self._usage, members_of(text))
