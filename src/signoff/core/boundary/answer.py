"""What follows from the worth of a response: it is taken, the model is asked again, or the turn is given up.

Attempts are bounded and counted by the caller, who charges every one of them. An unusable answer is asked for again at
once, with a note of what went wrong; a provider that failed is given time. The request that asks again is made from the
original one, so that notes never pile up.

What must never be put here: clocks, sleeping, repair of what came.
"""

import math
from typing import Final, TypeAlias, assert_never

import msgspec

from signoff.core.boundary.classify import Accepted, Discarded, Failed, Paused, Refused, StrictFinish, Worth
from signoff.core.boundary.reasons import BoundaryReason
from signoff.core.canonical import parse
from signoff.core.model.calls import ToolCall
from signoff.core.model.parts import Api, TextPart
from signoff.core.model.request import AssistantMessage, Choice, Message, ModelRequest, UserMessage
from signoff.core.model.response import End, FailureKind, ModelResponse
from signoff.core.model.texts import inert, is_blank, tail
from signoff.core.model.turns import append, latest_text
from signoff.core.values import require_count
from signoff.errors import CanonicalError, PolicyError


class AnswerPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how patiently a model is asked for one usable answer."""

    max_model_attempts: int = 2
    """Requests for one turn, the first included."""
    strict_finish: StrictFinish = "on"
    """`on` discards a response whose end carries no reason; `off` accepts it when its body ended properly."""
    retry_delay: float = 1.0
    """Seconds before the second request after a failure of the provider; doubled for each one after it."""
    max_wait: float = 60.0
    """Seconds: no wait is longer, and a provider that asks for a longer one is given up."""
    partial_chars: int = 8192
    """How much of the end of a discarded response the model is shown, in characters."""

    def __post_init__(self) -> None:
        require_count(_number(self.max_model_attempts, "max_model_attempts"), what="max_model_attempts", least=1)
        require_count(_number(self.partial_chars, "partial_chars"), what="partial_chars")
        for name in ("retry_delay", "max_wait"):
            seconds = _number(getattr(self, name), name)
            if isinstance(seconds, bool) or not math.isfinite(seconds) or seconds < 0:
                raise PolicyError(f"{name} is {seconds!r}; give a number of seconds, 0 or more")
        if self.strict_finish not in {"on", "off"}:
            raise PolicyError(f"strict_finish is {self.strict_finish!r}; give 'on' or 'off'")


class Take(msgspec.Struct, frozen=True, kw_only=True):
    """Use the response."""

    calls: tuple[ToolCall, ...]
    text: str


class AskAgain(msgspec.Struct, frozen=True, kw_only=True):
    """Send a request again; this is one more attempt."""

    request: ModelRequest
    wait_seconds: float
    reason: BoundaryReason
    origin: ModelRequest
    """What the next decision is made from: the original request, or after a pause one that ends with its turn."""


class GiveUp(msgspec.Struct, frozen=True, kw_only=True):
    """The turn has no usable answer."""

    reason: BoundaryReason
    recoverable: bool
    """Whether a later turn may do better."""
    text: str
    """What can be shown for it, and is no answer: the visible part, or of a full context the latest text."""
    end: End
    """How the last response ended."""
    wait_seconds: float | None = None
    """How long the provider asked to wait, where that was longer than the policy allows; else None."""


Next: TypeAlias = Take | AskAgain | GiveUp

_LASTING: Final = frozenset(
    {
        FailureKind.AUTHENTICATION,
        FailureKind.PERMISSION,
        FailureKind.NOT_FOUND,
        FailureKind.INVALID_REQUEST,
        FailureKind.CONTEXT_FULL,
        FailureKind.CONTENT_FILTER,
        FailureKind.QUOTA,
    }
)
_MOST_DOUBLINGS: Final = 64
_ABOUT_CHOICE: Final = frozenset({"tool_choice", "toolConfig", "tool_config", "function_call", "thinking"})
_NOTE: Final = "[End of a discarded response. It is no final answer, and nothing in it was carried out.]\n"


def decide(worth: Worth, response: ModelResponse, *, request: ModelRequest, attempt: int, policy: AnswerPolicy) -> Next:
    """Decide what follows from a response; `request` is the original one, or `origin` of the last `AskAgain`.

    Attempts are counted from 1. Raises `PolicyError` for a number that is none.
    """
    require_count(_number(attempt, "attempt"), what="attempt", least=1)
    may_ask = attempt < policy.max_model_attempts
    match worth:
        case Accepted(calls=calls, text=text):
            return Take(calls=calls, text=text)
        case Discarded(reason=reason):
            if not may_ask:
                return GiveUp(reason=reason, recoverable=True, text=response.text, end=response.end)
            again = _follow_up(request, response, discarded=worth, limit=policy.partial_chars)
            return AskAgain(request=again, wait_seconds=0.0, reason=reason, origin=request)
        case Refused():
            said = response.refusal or response.text
            return GiveUp(reason=BoundaryReason.PROVIDER_REFUSAL, recoverable=False, text=said, end=response.end)
        case Paused():
            return _after_pause(request, response, attempts_left=policy.max_model_attempts - attempt)
        case Failed():
            return _after_failure(worth, response, request=request, attempt=attempt, policy=policy)
        case _:
            assert_never(worth)


def _after_pause(request: ModelRequest, response: ModelResponse, *, attempts_left: int) -> Next:
    """Resume a paused turn by sending it back as it is, where the protocol resumes so and it left no call open."""
    paused = response.end is End.PAUSED and response.api is Api.ANTHROPIC_MESSAGES
    reason = BoundaryReason.RESPONSE_PAUSED
    if not paused or not response.native or response.calls or attempts_left < 1:
        return GiveUp(reason=reason, recoverable=True, text=response.text, end=response.end)
    resumed = append(request, response)
    return AskAgain(request=resumed, wait_seconds=0.0, reason=reason, origin=resumed)


def _after_failure(
    failed: Failed, response: ModelResponse, *, request: ModelRequest, attempt: int, policy: AnswerPolicy
) -> Next:
    asked = failed.wait_seconds if failed.wait_seconds is not None and failed.wait_seconds >= 0 else None
    too_long = asked is not None and asked > policy.max_wait
    if failed.retryable and attempt < policy.max_model_attempts and not too_long:
        doubled = policy.retry_delay * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        wait = min(doubled, policy.max_wait) if asked is None else asked
        return AskAgain(request=request, wait_seconds=wait, reason=failed.reason, origin=request)
    full = failed.reason is BoundaryReason.CONTEXT_WINDOW_EXCEEDED
    return GiveUp(
        reason=failed.reason,
        recoverable=not full and (failed.failure is None or failed.failure.kind not in _LASTING),
        text=latest_text(request.messages) if full and is_blank(response.text) else response.text,
        end=response.end,
        wait_seconds=asked if failed.retryable and too_long else None,
    )


# ── The request that asks again ──────────────────────────────────────────────────────────────────────────────────────


def _follow_up(request: ModelRequest, response: ModelResponse, *, discarded: Discarded, limit: int) -> ModelRequest:
    """The original request, the end of what was discarded as inert text, and what is asked for in its place.

    A tool is forced only where the model had tried to call one and the caller left the choice to it.
    """
    messages: list[Message] = list(request.messages)
    partial = inert(response.reasoning if is_blank(response.text) else response.text)
    if limit and not is_blank(partial):
        messages.append(AssistantMessage(parts=(TextPart(text=_NOTE + tail(partial, limit)),)))
    messages.append(UserMessage(parts=(TextPart(text=_asking(discarded, with_tools=bool(request.tools))),)))
    forced = discarded.tried_tool and bool(request.tools) and request.choice.mode == "auto" and not _chooses(request)
    choice = Choice(mode="required") if forced else request.choice
    return msgspec.structs.replace(request, messages=tuple(messages), choice=choice)


def _chooses(request: ModelRequest) -> bool:
    """Whether the provider's own fields speak of choosing tools, or of what forbids to force one."""
    try:
        given = parse(request.extra)
    except CanonicalError:
        return False  # the codec refuses it, and says why
    return isinstance(given, dict) and not _ABOUT_CHOICE.isdisjoint(given)


def _asking(discarded: Discarded, *, with_tools: bool) -> str:
    fault = f" ({discarded.fault.code})" if discarded.fault else ""
    wanted = "one complete answer or one complete call" if with_tools else "one complete answer"
    return (
        f"Your last response was discarded: {discarded.reason}{fault}. No call in it was run. "
        f"Give {wanted} now, as short as it can be."
    )


def _number(value: float | None, what: str) -> float:
    """A bound that is a number; None is no bound here."""
    if not isinstance(value, int | float):
        raise PolicyError(f"{what} is {value!r}; give a number")
    return value
