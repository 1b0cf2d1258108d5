"""Cases of the kind `tool_args`: the raw argument text of one call, and whether it may run.

The text travels as it would from a provider: inside the bytes of a Chat Completions answer, read by the codec, judged
by the boundary.
"""

import json
from collections.abc import Mapping
from typing import Any

from signoff.core.boundary import Accepted, AnswerPolicy, AskAgain, BoundaryReason, Discarded, decide, worth
from signoff.core.model.arguments import Fault
from signoff.core.model.calls import ToolCall
from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, TextPart
from signoff.core.model.request import AssistantMessage, ModelRequest, Tool, ToolMessage, UserMessage
from signoff.core.model.response import BodyEnd, ModelResponse
from signoff.wire.codecs import codec_of
from signoff.wire.memo import Memo
from signoff.wire.reader import ResponseReader

CUT_OFF = {BoundaryReason.OUTPUT_TRUNCATED, BoundaryReason.STREAM_ENDED_WITHOUT_FINISH_REASON}


def play(case: Mapping[str, Any]) -> dict[str, Any]:
    """What becomes of the call, in the words of the cases."""
    spec = case["tool"]
    tool = Tool(name=spec["name"], parameters=json.dumps(spec["schema"]))
    asked = UserMessage(parts=(TextPart(text="Do the task."),))
    request = ModelRequest(messages=(asked,), tools=(tool,), max_output_tokens=case.get("max_tokens"))
    response = _response(case)
    judged = worth(response, request)
    following = decide(judged, response, request=request, attempt=1, policy=AnswerPolicy())
    got: dict[str, Any] = {
        "args": None,
        "args_json": None,
        "executions": 0,
        "history_safe": not isinstance(following, AskAgain) or _is_legal(following.request),
        "log": f"{judged!r}\n{following!r}",
    }
    match judged:
        case Accepted(calls=(ToolCall(fault=None) as call,)):
            text = call.arguments.decode()
            ran = {"outcome": "run", "outcome_words": ["run", "run_once"], "executions": 1}
            return got | ran | {"args": json.loads(text), "args_json": text}
        case Accepted(calls=(ToolCall(fault=Fault() as fault),)):
            return got | _rejected(fault, fault.code)
        case Discarded(reason=reason, fault=fault):
            word = "truncated" if reason in CUT_OFF else fault.code if fault else reason
            return got | _rejected(fault, word)
    raise AssertionError(f"one call was sent, and the boundary said {type(judged).__name__}")


def _rejected(fault: Fault | None, reason: str) -> dict[str, Any]:
    """A call that is not run. One text that could mean several calls is also called ambiguous."""
    words = ["reject", "ambiguous"] if reason == "concatenated" else ["reject"]
    values = {"objects": fault.values} if fault and fault.values else {}
    return {
        "outcome": "reject",
        "outcome_words": words,
        "reason": str(reason),
        "field": fault.field if fault else "",
        **values,
    }


def _response(case: Mapping[str, Any]) -> ModelResponse:
    """The call as a provider sends it, read back."""
    call = {"name": case["tool"]["name"], "arguments": case["raw"]}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
    body: dict[str, Any] = {
        "id": "r1",
        "object": "chat.completion",
        "created": 0,
        "model": "demo",
        "choices": [{"index": 0, "message": message, "finish_reason": case.get("finish_reason")}],
    }
    if "completion_tokens" in case:
        tokens = case["completion_tokens"]
        body["usage"] = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
    exchange = Exchange(content_type="application/json", max_output_tokens=case.get("max_tokens"))
    reader = ResponseReader(codec_of(Api.OPENAI_CHAT), exchange, streamed=False)
    reader.feed(json.dumps(body).encode())
    return reader.end(BodyEnd.CLEAN)


def _is_legal(request: ModelRequest) -> bool:
    """Whether every provider can be sent this history, and no call in it lacks its result."""
    for api in Api:
        if api is not Api.OTHER:
            codec_of(api).build_request(request, model="demo", stream=True, memo=Memo())
    calls = [m for m in request.messages if isinstance(m, AssistantMessage) for p in m.parts if hasattr(p, "arguments")]
    return not calls or any(isinstance(message, ToolMessage) for message in request.messages)
