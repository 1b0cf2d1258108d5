"""The one short call that asks a model to act, after a stream with tools that went on and on without a call.

It is made from the original request and the end of what was cut, as inert text. Whatever comes of it, no other follows.

What must never be put here: retries, clocks, repair of arguments.
"""

from typing import Final

import msgspec

from signoff.core.boundary import (
    AnswerPolicy,
    BoundaryReason,
    Discarded,
    Failed,
    GiveUp,
    Paused,
    Take,
    Worth,
    decide,
)
from signoff.core.generation.limits import GenerationLimits
from signoff.core.model.parts import TextPart
from signoff.core.model.request import AssistantMessage, Message, ModelRequest, UserMessage
from signoff.core.model.response import Failure, FailureKind, ModelResponse
from signoff.core.model.texts import inert, is_blank, tail

_NOTE: Final = "[End of a response that was stopped. It is no final answer, and nothing in it was carried out.]\n"
_ASKING: Final = (
    "Your last response went on without an action and was stopped. No call in it was run. Take the next concrete "
    "action now with one complete tool call, or give a final answer that is short."
)


def repair_request(request: ModelRequest, cut: ModelResponse, *, limits: GenerationLimits) -> ModelRequest:
    """The request of an action repair; `request` is the original one, `cut` the response that was stopped."""
    messages: list[Message] = list(request.messages)
    partial = inert(cut.reasoning if is_blank(cut.text) else cut.text)
    if limits.partial_chars and not is_blank(partial):
        shown = _NOTE + tail(partial, limits.partial_chars)
        messages.append(AssistantMessage(parts=(TextPart(text=shown),)))
    messages.append(UserMessage(parts=(TextPart(text=_ASKING),)))
    asked, bound = request.max_output_tokens, limits.repair_output_tokens
    return msgspec.structs.replace(
        request, messages=tuple(messages), max_output_tokens=bound if asked is None else min(asked, bound)
    )


def worth_of_stop(reason: BoundaryReason) -> Failed:
    """What a response is worth that the host stopped: nothing. After silence alone the same request may do better."""
    by_caller = reason is BoundaryReason.CALLER_CANCELLED
    kind = FailureKind.CANCELLED if by_caller else FailureKind.DEADLINE
    failure = Failure(kind=kind, where="host")
    return Failed(reason=reason, failure=failure, retryable=reason is BoundaryReason.IDLE_TIMEOUT)


def after_repair(
    worth: Worth, response: ModelResponse, *, request: ModelRequest, cut: ModelResponse, policy: AnswerPolicy
) -> Take | GiveUp:
    """What follows from an action repair; `request` is the original one, `cut` the response that it was made for.

    Any unusable response is the end of the repair. What failed or was refused keeps its own name.
    """
    following = decide(worth, response, request=request, attempt=policy.max_model_attempts, policy=policy)
    if isinstance(following, Take):
        return following
    # No attempt was left, so that it never asks again.
    latest = following.text if isinstance(following, GiveUp) else ""
    texts = (response.refusal or response.text, cut.text, latest)
    return GiveUp(
        reason=BoundaryReason.ACTION_REPAIR_EXHAUSTED if isinstance(worth, Discarded | Paused) else following.reason,
        recoverable=not isinstance(following, GiveUp) or following.recoverable,
        text=next((text for text in texts if not is_blank(text)), ""),
        end=response.end,
        wait_seconds=following.wait_seconds,
    )
