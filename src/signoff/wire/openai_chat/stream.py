"""Reads a streamed response: chunks, then `[DONE]`. Whatever stands in a chunk, nothing is raised."""

from signoff.core.model.deltas import Delta, ReasoningDelta
from signoff.core.model.ending import Exchange, Gathered, conclude
from signoff.core.model.response import BodyEnd, Failure, ModelResponse
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.json_text import JSON, load, object_of
from signoff.wire.openai_chat.exact import ExactChoice, ExactChoices
from signoff.wire.openai_chat.facts import Facts
from signoff.wire.openai_chat.turn import Turn
from signoff.wire.openai_chat.words import API, error_in, is_error
from signoff.wire.sse import Frame

_DONE = "[DONE]"


class ChatDecoder:
    """Takes the frames of one streamed response as they come."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._oddities: set[str] = set()
        self._turn = Turn(self._oddities)
        self._facts = Facts(self._oddities)
        self._failure: Failure | None = None
        self._saw_done = False
        self._reasoned = 0  # calls that a reason came after
        self._strange = 0  # length of frames that are no chunks

    @property
    def finished(self) -> bool:
        """Whether `[DONE]` or an error was seen."""
        return self._saw_done or self._failure is not None

    def feed(self, frame: Frame) -> tuple[Delta, ...]:
        """Take in one frame; what it adds is returned for showing."""
        if self.finished:
            return ()
        if frame.oddities:
            self._oddities.update(frame.oddities)
        if frame.error:
            self._oddities.add("error_field")
            self._fail({"error": load(frame.error) or frame.error})
            return ()
        data = frame.data
        if not data:
            self._oddities.add("empty_frame")
            return ()
        if data.startswith(_DONE):
            self._saw_done = True
            return ()
        value = load(data)
        if isinstance(value, dict):
            return self._chunk(value, data)
        if isinstance(value, list) and value and is_error(object_of(value[0])):
            self._fail(value)
        else:
            self._failure = not_the_protocol(self._exchange, length=len(data))
        return ()

    def end(self, body_end: BodyEnd, failure: Failure | None = None) -> ModelResponse:
        """Make the record; an error inside the stream beats what the transport or the host says."""
        facts, own = self._facts, self._failure
        if own is None and self._strange and not facts.chunks:
            own = not_the_protocol(self._exchange, length=self._strange)
        if facts.chunks and not facts.saw_choice:
            self._oddities.add("no_choices")
        clean = body_end is BodyEnd.CLEAN and failure is None
        finish, raw_reason = facts.reason(at_end=self._saw_done or clean)
        gathered = Gathered(
            api=API,
            finish=finish,
            raw_reason=raw_reason,
            saw_terminal=self._saw_done,
            body_end=body_end,
            streamed=True,
            parts=self._turn.parts(finish, reasoned=None if facts.finish is None else self._reasoned),
            usage=facts.usage,
            response_id=facts.response_id,
            model=facts.model,
            failure=own or failure,
            native="" if self._turn.is_empty else self._turn.native(),
            envelope=facts.envelope(),
            oddities=frozenset(self._oddities),
        )
        return conclude(gathered, self._exchange)

    def _fail(self, payload: JSON) -> None:
        self._failure = failure_of(payload, self._exchange, where="stream")

    def _chunk(self, value: dict[str, JSON], data: str) -> tuple[Delta, ...]:
        """One chunk; an error in it beats what stands beside, which is read all the same."""
        facts = self._facts
        choices = value.get("choices")
        shown: list[Delta] = []
        if isinstance(choices, list):
            exact = ExactChoices(data)
            for place, choice in enumerate(choices):
                if isinstance(choice, dict) and facts.is_first(choice):
                    shown.extend(self._choice(choice, exact, place))
                elif choice and not isinstance(choice, dict):
                    self._oddities.add("unread_choice")
            facts.top(value)
            if facts.finish is None and value.get("usage"):
                self._oddities.add("usage_early")
        elif "usage" in value and not is_error(value):
            facts.top(value)
        if choices and not isinstance(choices, list):
            self._oddities.add("unread_choice")
        if error := value if is_error(value) else error_in(choices):
            self._fail(error)
        elif not isinstance(choices, list) and "usage" not in value:
            self._oddities.add("unknown_frame")
            self._strange += len(data)
        return tuple(shown)

    def _choice(self, choice: dict[str, JSON], exact: ExactChoices, place: int) -> list[Delta]:
        """Choice 0 of a chunk: its delta, its reason, and what else stands in it."""
        facts = self._facts
        delta, name = choice.get("delta"), "delta"
        if delta is None and "message" in choice:
            self._oddities.add("message_in_stream")
            delta, name = choice["message"], "message"
        shown: list[Delta] = []
        if isinstance(delta, dict):
            shown = self._turn.take(delta, ExactChoice(exact, place, name=name), whole=False)
        else:
            self._oddities.add("unread_delta" if delta else "no_delta")
        if any(not isinstance(each, ReasoningDelta) for each in shown):
            facts.content()
        if facts.choice(choice):
            self._reasoned = self._turn.calls
        return shown
