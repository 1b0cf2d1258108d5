"""One response as its chunks come: what they said so far, and the record that follows from it.

A body that is not streamed is one chunk, or an array of them; so both ways of reading end here.
"""

from typing import Final

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange, Finish, Gathered, conclude
from signoff.core.model.parts import Api
from signoff.core.model.response import BodyEnd, Failure, ModelResponse, TokenUsage
from signoff.wire.failures import failure_of, not_the_protocol
from signoff.wire.gemini.content import Content
from signoff.wire.gemini.exact import At, Source, Step, Unreadable
from signoff.wire.gemini.reasons import blocked_prompt, finish_of, severity_of
from signoff.wire.gemini.tokens import usage_of
from signoff.wire.json_text import JSON, dump, load, text_of
from signoff.wire.slices import array_text, object_text

_OWN: Final = frozenset(("candidates", "usageMetadata", "modelVersion", "responseId"))
"""The fields of a chunk that have a place of their own in the record."""
_KNOWN: Final = _OWN | {"promptFeedback"}
_OWN_OF_CANDIDATE: Final = frozenset(("content", "finishReason", "index"))
_OWN_OF_CONTENT: Final = frozenset(("role", "parts"))


class Turn:
    """What the chunks of one response said so far."""

    def __init__(self, exchange: Exchange) -> None:
        self.failure: Failure | None = None
        self.oddities: set[str] = set()
        self._exchange = exchange
        self._content = Content()
        self._finish: Finish | None = None
        self._worst: Finish | None = None
        self._raw_reason: str | None = None
        self._block: str | None = None
        self._usage: tuple[dict[str, JSON], At] | None = None
        self._names = {"modelVersion": "", "responseId": ""}
        self._envelope: dict[str, str] = {}
        self._beside: dict[str, str] = {}  # the candidate's other fields
        self._beside_parts: dict[str, str] = {}  # the content's other fields
        self._contents = 0  # how many were not empty
        self._only_content: At | None = None
        self._known = False
        self._foreign = 0

    def take(self, text: str) -> tuple[Delta, ...]:
        """Take in the JSON text of a chunk, of several, or of an error; return what it adds."""
        value, source = load(text), Source(text)
        try:
            if isinstance(value, list):
                self.oddities.add("list_of_chunks")
                for place, chunk in enumerate(value):
                    self._take_chunk(chunk, source, (place,))
            else:
                self._take_chunk(value, source, ())
        except Unreadable:
            self.failure = not_the_protocol(self._exchange, length=len(text))
        deltas = tuple(self._content.deltas)
        self._content.deltas.clear()
        return deltas

    def fail(self, error: JSON) -> None:
        """Take in an error that stands outside of every chunk."""
        self.failure = failure_of(error, self._exchange, where="stream")

    def record(self, body_end: BodyEnd, failure: Failure | None, *, streamed: bool) -> ModelResponse:
        """The record; `failure` is what others say, our own beats it."""
        own = self.failure
        if own is None and self._foreign and not self._known:
            own = not_the_protocol(self._exchange, length=self._foreign)
        finish, raw_reason = self._finish, self._raw_reason
        if self._block is not None:
            finish, raw_reason = Finish.FILTER, blocked_prompt(self._block)
        parts = self._content.parts
        if self._block is not None and (self._raw_reason is not None or parts):
            self.oddities.add("content_beside_block")
        gathered = Gathered(
            api=Api.GEMINI,
            finish=finish,
            raw_reason=raw_reason,
            saw_terminal=not streamed and own is None,
            body_end=body_end,
            streamed=streamed,
            parts=parts,
            usage=self._tokens(),
            response_id=self._names["responseId"],
            model=self._names["modelVersion"],
            failure=own or failure,
            native=self._native(),
            envelope=self._envelope_text(),
            oddities=frozenset(self.oddities | self._content.oddities),
        )
        return conclude(gathered, self._exchange)

    def _take_chunk(self, chunk: JSON, source: Source, path: tuple[Step, ...]) -> None:
        """Take in one response object; behind an error nothing counts."""
        if self.failure is not None:
            return
        if not isinstance(chunk, dict):
            raise Unreadable
        if chunk.get("error") is not None:
            self.fail(chunk)
            return
        if _KNOWN.isdisjoint(chunk):
            self.oddities.add("chunk_of_nothing_known")
            self._foreign += len(chunk)
        else:
            self._known = True
        self._envelope.update(At(source, path).others(chunk, _OWN))
        self._take_names(chunk, At(source, path))
        candidates = [_object(candidate) for candidate in _list(chunk.get("candidates"))]
        first = next((place for place, one in enumerate(candidates) if _index(one, place) == 0), None)
        if len(candidates) > (first is not None):
            self.oddities.add("more_candidates")
        if first is not None:
            self._take_candidate(candidates[first], At(source, (*path, "candidates", first)))

    def _take_names(self, chunk: dict[str, JSON], at: At) -> None:
        """Take in what speaks of the whole response."""
        for key, known in self._names.items():
            if not known and key in chunk:
                self._names[key] = text_of(chunk[key])
        usage = chunk.get("usageMetadata")
        if isinstance(usage, dict):
            self._usage = (usage, at.below("usageMetadata"))
        feedback = chunk.get("promptFeedback")
        reason = feedback.get("blockReason") if isinstance(feedback, dict) else None
        if reason is not None:
            self._block = _word(reason)

    def _take_candidate(self, candidate: dict[str, JSON], at: At) -> None:
        """Take in what a chunk says of the first candidate."""
        self._beside.update(at.others(candidate, _OWN_OF_CANDIDATE))
        content = candidate.get("content")
        says = content is not None and self._take_content(_object(content), at.below("content"))
        reason = candidate.get("finishReason")
        if reason is not None:
            if self._finish is not None:
                self.oddities.add("reason_repeated")
            self._take_reason(reason)
        elif says and self._finish is not None:
            # the last chunk with content is the one whose reason counts, and it has none
            self.oddities.add("content_after_reason")
            self._finish = None

    def _take_reason(self, reason: JSON) -> None:
        """Take in a reason. Of several the worst counts, also where content between them took one back."""
        word = _word(reason)
        finish = finish_of(word) if isinstance(reason, str) else Finish.UNKNOWN
        if self._worst is None or severity_of(finish) >= severity_of(self._worst):
            self._worst, self._raw_reason = finish, word
        self._finish = self._worst

    def _take_content(self, content: dict[str, JSON], at: At) -> bool:
        """Take in the content of a chunk; return whether it says anything."""
        self._beside_parts.update(at.others(content, _OWN_OF_CONTENT))
        role = content.get("role")
        if role is not None and role != "model":
            self.oddities.add("other_role")
        parts = _list(content.get("parts"))
        if parts:
            self._contents += 1
            self._only_content = at if self._contents == 1 and role == "model" else None
        says = False
        for place, part in enumerate(parts):
            says |= self._content.take(part, At(at.source, (*at.path, "parts", place)))
        return says

    def _tokens(self) -> TokenUsage | None:
        if self._usage is None:
            return None
        counts, at = self._usage
        return usage_of(counts, at.text(dump(counts)))

    def _native(self) -> str:
        """The content as one object: as it came where it came at once, else put together."""
        if not self._contents:
            return ""
        if self._only_content is not None:
            return self._only_content.text("")
        parts = array_text(self._content.natives)
        return object_text({"role": '"model"', "parts": parts, **self._beside_parts})

    def _envelope_text(self) -> str:
        candidate = {"candidates": array_text((object_text(self._beside),))} if self._beside else {}
        return object_text({**self._envelope, **candidate})


def _index(candidate: dict[str, JSON], place: int) -> JSON:
    """Which candidate this is; zero is often left out."""
    index = candidate.get("index")
    return place if index is None else index


def _object(value: JSON) -> dict[str, JSON]:
    """An object; raises `Unreadable` for anything else."""
    if not isinstance(value, dict):
        raise Unreadable
    return value


def _list(value: JSON) -> list[JSON]:
    """An array that may be absent; raises `Unreadable` for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable
    return value


def _word(value: JSON) -> str:
    """A word of an enumeration, or what stands in its place as JSON."""
    return text_of(value) if isinstance(value, str) else dump(value)
