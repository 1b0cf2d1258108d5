"""The evidence record of one response of a model: how it ended, and everything that was seen of it.

A codec of `signoff.wire` gathers the facts, `ending.conclude` makes the record of them. Nothing in it is inferred from
the meaning of a text, nothing is repaired, and what was absent stays absent: no usage is None and not zero.
"""

from enum import StrEnum

import msgspec

from signoff.core.model.parts import Api, CallPart, Part, ReasoningPart, RefusalPart, TextPart


class End(StrEnum):
    """How a response ended."""

    NORMAL = "normal"
    TOOL_CALLS = "tool_calls"
    LIMIT = "limit"
    CONTEXT_FULL = "context_full"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSED = "paused"
    CONTINUATION = "continuation"
    MALFORMED_CALL = "malformed_call"
    PROVIDER_ERROR = "provider_error"
    TRANSPORT = "transport"
    UNKNOWN = "unknown"


class BodyEnd(StrEnum):
    """How the bytes of a response ended."""

    CLEAN = "clean"
    """Its framing said that nothing follows, or a terminal event did and the host stopped reading."""
    CUT = "cut"
    """The connection broke, a deadline fell or the caller cancelled: more was to come."""


class FailureKind(StrEnum):
    """What went wrong, where no answer came or the provider said that it failed."""

    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    INVALID_REQUEST = "invalid_request"
    CONTEXT_FULL = "context_full"
    CONTENT_FILTER = "content_filter"
    QUOTA = "quota"
    """No credit or a spending limit: waiting does not help."""
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    PROVIDER_TIMEOUT = "provider_timeout"
    """The provider, or the client library in its name, gave up waiting."""
    CONNECTION = "connection"
    """No connection, or one that broke before the first byte of a response."""
    CUT = "cut"
    """The connection broke inside the response."""
    NOT_THE_PROTOCOL = "not_the_protocol"
    """A web page, broken JSON or another format stands where the answer should."""
    TOO_LARGE = "too_large"
    """The response is over a bound of the host; the rest was not read."""
    DEADLINE = "deadline"
    """A deadline of the host fell."""
    CANCELLED = "cancelled"
    """The caller, or the provider in its place, cancelled."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error, without its text: providers repeat keys and prompts in their messages."""

    kind: FailureKind
    where: str
    """`http` for a status, `stream` for an error inside a response, `transport` for the connection, `host` for us."""
    status: int | None = None
    """The HTTP status, or the code inside an error that came with status 200."""
    type: str = ""
    """The provider's own type, at most 100 characters."""
    code: str = ""
    """The provider's own code, at most 100 characters."""
    message_length: int = 0
    retry_after: float | None = None
    """Seconds to wait, as the provider asked; None when it did not."""


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them; a number that it did not give is None."""

    input: int | None = None
    """All input, cached input included."""
    cached_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    """All output, reasoning included."""
    reasoning: int | None = None
    total: int | None = None
    native: str = "{}"
    """JSON text of the provider's own usage object."""


class ModelResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What one response was worth as evidence."""

    api: Api
    end: End
    raw_reason: str | None = None
    """The provider's own word or words for the end, as they came."""
    saw_reason: bool = False
    """Whether a reason (finish reason, stop reason, status) was seen."""
    saw_terminal: bool = False
    """Whether the end marker of the protocol was seen, or a body that is not streamed was whole."""
    body_end: BodyEnd = BodyEnd.CLEAN
    streamed: bool = False
    parts: tuple[Part, ...] = ()
    usage: TokenUsage | None = None
    response_id: str = ""
    request_id: str = ""
    """From the response's headers, for the provider's support."""
    model: str = ""
    """The model that answered, in the provider's words."""
    failure: Failure | None = None
    native: str = ""
    """JSON text of the assistant's turn in the provider's format, to be sent back unchanged."""
    envelope: str = "{}"
    """JSON text of the other top-level fields of the response."""
    oddities: tuple[str, ...] = ()
    """Codes of what deviates from the protocol and was understood all the same, sorted, without repeats."""

    @property
    def complete(self) -> bool:
        """Whether the provider finished this response, whole, as an answer or as calls."""
        return self.end is End.NORMAL or self.end is End.TOOL_CALLS

    @property
    def text(self) -> str:
        """The visible text, its parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The reasoning that can be read, its parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def refusal(self) -> str | None:
        """The text of the refusal, or None."""
        texts = [part.text for part in self.parts if isinstance(part, RefusalPart)]
        return "".join(texts) if texts else None

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """The calls as they came, cut ones included. What of them may run is for `signoff.core.boundary` to say."""
        return tuple(part for part in self.parts if isinstance(part, CallPart))
