"""What the course of a pydantic-ai stream proves of its parts and its end.

The library shows the provider's chunks only as events of its own, and ends every part itself: when the next one starts,
and the last one when the stream ends without an exception. So its word for an end is needed, and is no proof. What
came behind the provider's reason is seen only where its chunks are, on their way into the library.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai import messages
from pydantic_ai.models import StreamedResponse

_ENDED_BY_REASON: Final = frozenset(
    {"GeminiStreamedResponse", "OpenAIResponsesStreamedResponse", "OpenAIStreamedResponse"}
)
"""The library's readers of protocols whose reason, with a clean end, closes every call, or that see the end's event."""
_CHUNKS: Final = "_response"
"""Where a reader of the library keeps the provider's chunks."""


class Course(NamedTuple):
    """What was seen on the way."""

    started: frozenset[int] = frozenset()
    """The places of the parts that began."""
    ended: frozenset[int] = frozenset()
    """The places of the parts that the library called ended."""
    after_reason: bool = False
    """Whether content came behind the provider's reason, and no reason behind that."""
    end_visible: bool = False
    """Whether the protocol's own end of parts and response can be seen through the library."""

    def are_ended(self, count: int) -> tuple[bool, ...]:
        """Which of a response's parts were called ended; none where they cannot be told from each other."""
        if len(self.started) != count:
            return (False,) * count
        return tuple(place in self.ended for place in sorted(self.started))


class Watch:
    """Follows one stream of the library. Make it before the first event is read."""

    def __init__(self, theirs: StreamedResponse) -> None:
        self._theirs = theirs
        self._started: set[int] = set()
        self._ended: set[int] = set()
        self._behind = False
        self._after_reason = False
        fields = vars(theirs)
        watched = hasattr(fields.get(_CHUNKS), "__aiter__")
        if watched:
            fields[_CHUNKS] = _Chunks(fields[_CHUNKS], self)
        names = {kind.__name__ for kind in type(theirs).__mro__}
        self._end_visible = watched and not names.isdisjoint(_ENDED_BY_REASON)

    @property
    def course(self) -> Course:
        """What was seen so far."""
        return Course(
            started=frozenset(self._started),
            ended=frozenset(self._ended),
            after_reason=self._after_reason,
            end_visible=self._end_visible,
        )

    @property
    def reason_seen(self) -> bool:
        """Whether the library has read the provider's reason."""
        return (self._theirs.provider_details or {}).get("finish_reason") is not None

    def saw(self, event: object) -> None:
        """Take in an event of the library."""
        match event:
            case messages.PartStartEvent(index=place):
                self._started.add(place)
                self._ended.discard(place)
                self._after_reason |= self._behind
            case messages.PartDeltaEvent():
                self._after_reason |= self._behind
            case messages.PartEndEvent(index=place):
                self._ended.add(place)
            case _:
                pass

    def chunk_came(self, chunk: object, *, behind: bool) -> None:
        """Take in a chunk of the provider; `behind` says that the reason had been read before it."""
        own = _has_reason(chunk)
        self._behind = behind and not own
        self._after_reason = self._after_reason and not own

    def chunks_ended(self) -> None:
        """What the library adds behind the last chunk is its own."""
        self._behind = False


class _Chunks:
    """The provider's chunks, watched while the library takes them; all else is theirs."""

    def __init__(self, theirs: Any, watch: Watch) -> None:  # noqa: ANN401 - a type that the library does not show
        self._theirs = theirs
        self._chunks: AsyncIterator[object] = aiter(theirs)
        self._watch = watch

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever theirs has
        return getattr(self._theirs, name)

    def __aiter__(self) -> AsyncIterator[object]:
        return self

    async def __anext__(self) -> object:
        behind = self._watch.reason_seen
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._watch.chunks_ended()
            raise
        self._watch.chunk_came(chunk, behind=behind)
        return chunk


def _has_reason(chunk: object) -> bool:
    """Whether a chunk of Chat or Gemini carries a reason; those of other protocols carry no content beside theirs."""
    choices = getattr(chunk, "candidates", None) or getattr(chunk, "choices", None)
    return isinstance(choices, Sequence) and any(getattr(one, "finish_reason", None) for one in choices[:1])
