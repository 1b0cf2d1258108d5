"""Cases of the kind `sse_stream`: the lines of streamed responses and how their bodies ended.

They are played over a socket by the scripted server, read by the model client, and judged by the boundary.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio

from signoff.core.boundary import Accepted, AnswerPolicy, AskAgain, Take, Worth, decide, worth
from signoff.core.model.arguments import FaultCode
from signoff.core.model.calls import ToolCall
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import End, ModelResponse
from signoff.models import Timeouts, open_model, prompt
from signoff.testing import Fault, Play, ScriptedServer
from tests.streaming import streamed

PROVIDERS: Final = {
    "chat_completions": "openai",
    "responses": "openai-responses",
    "messages": "anthropic",
    "anthropic_messages": "anthropic",
    "generate_content": "google",
    "gemini": "google",
}
FAULTS: Final = {"eof": Fault.CLOSE, "reset": Fault.RESET, "cut": Fault.CUT, "stall": Fault.STALL}
NAMED: Final = {
    End.TRANSPORT: "interrupted",
    End.LIMIT: "incomplete",
    End.CONTEXT_FULL: "incomplete",
    End.PAUSED: "incomplete",
    End.CONTINUATION: "incomplete",
    End.CONTENT_FILTER: "refused",
    End.REFUSAL: "refused",
    End.PROVIDER_ERROR: "failed",
    End.UNKNOWN: "incomplete",
    End.MALFORMED_CALL: "incomplete",
    End.NORMAL: "incomplete",
    End.TOOL_CALLS: "incomplete",
}
"""How a response is called that is not accepted."""
IDLE: Final = 0.3
"""Seconds without a byte after which a stalled body is given up."""


def play(case: Mapping[str, Any]) -> dict[str, Any]:
    """How the last attempt ended, in the words of the cases."""
    attempts: Sequence[Mapping[str, Any]] = case.get("attempts") or [case]
    wire = str(case.get("wire", "chat_completions"))
    response, judged, retryable = anyio.run(_asked, PROVIDERS[wire], attempts)
    calls = judged.calls if isinstance(judged, Accepted) else ()
    return {
        "status": "complete" if isinstance(judged, Accepted) else NAMED[response.end],
        "text": response.text,
        "calls": [[call.name, json.loads(call.arguments)] for call in calls if _fits(call)],
        "executable_tool_calls": len(calls),
        "retryable": retryable,
        "end": str(response.end),
    }


def _fits(call: ToolCall) -> bool:
    """Whether nothing speaks against a call but that the case says nothing of tools."""
    return call.fault is None or call.fault.code is FaultCode.UNKNOWN_TOOL


async def _asked(provider: str, attempts: Sequence[Mapping[str, Any]]) -> tuple[ModelResponse, Worth, bool]:
    """Ask as often as there are attempts, or until a response is taken."""
    policy = AnswerPolicy(max_model_attempts=len(attempts) + 1, retry_delay=0.0)
    request = prompt("Do the task.")
    async with (
        ScriptedServer([_play_of(attempt) for attempt in attempts]) as server,
        open_model(f"{provider}:demo", base_url=server.url, key=lambda: "none", timeouts=Timeouts(idle=IDLE)) as model,
    ):
        for number in range(1, len(attempts) + 1):
            response = await streamed(model, request)
            judged = worth(response, request)
            following = decide(judged, response, request=request, attempt=number, policy=policy)
            if isinstance(following, Take) or number == len(attempts):
                return response, judged, isinstance(following, AskAgain)
            request = _next(following, request)
    raise AssertionError("a case without an attempt; nothing was played")


def _next(following: object, request: ModelRequest) -> ModelRequest:
    return following.request if isinstance(following, AskAgain) else request


def _play_of(attempt: Mapping[str, Any]) -> Play:
    """The body that the lines make. Lines without any blank one between them are frames, one a data line."""
    lines: Sequence[str] = attempt["lines"]
    if "" in lines:
        text = "".join(f"{line}\n" for line in lines)
    else:
        text = "".join(f"{line}\n\n" if line.startswith("data") else f"{line}\n" for line in lines)
    return Play(body=text.encode(), content_type="text/event-stream", fault=FAULTS[attempt["ended_by"]])
