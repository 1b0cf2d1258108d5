"""What the wire costs: decoding against bare parsing and the vendors' clients, encoding against sending the same bytes.

Decoding is measured in process: a recorded response of each protocol goes through signoff's reader, through the barest
loop that parses its JSON, and through the vendor's own client, whose HTTP transport is replaced by one that gives the
same bytes. Encoding is the body of each turn of a conversation that grows to 200 turns, against writing the whole body
anew with orjson and against copying the finished bytes. All sides are timed in turn, and the best round counts.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any, Final

import anthropic
import httpx2
import openai
import orjson
from google import genai

from signoff.core.model.ending import Exchange
from signoff.core.model.parts import Api, CallPart, TextPart
from signoff.core.model.request import (
    AssistantMessage,
    Message,
    ModelRequest,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from signoff.core.model.response import BodyEnd, End, ModelResponse, TokenUsage
from signoff.wire.codecs import CODECS, codec_of
from signoff.wire.memo import Memo
from signoff.wire.reader import ResponseReader

ROUNDS: Final = 15
PIECES: Final = 400
PIECE: Final = "The invoice was checked. "
TURNS: Final = 200
"""Of the conversation: each is one answer with a call, and the call's result."""

Read = Callable[[], object]


def recorded(api: Api) -> ModelResponse:
    """A response of one short text and two calls."""
    return ModelResponse(
        api=api,
        end=End.TOOL_CALLS,
        parts=(
            TextPart(text=PIECE),
            CallPart(call_id="call_1", name="read", arguments='{"path":"src/shop/invoice.py"}'),
            CallPart(call_id="call_2", name="write", arguments='{"path":"out.txt","content":"%s"}' % ("x" * 400)),
        ),
        usage=TokenUsage(input=1200, output=800, total=2000),
        response_id="r1",
        model="demo",
    )


def as_read(api: Api, response: ModelResponse, *, streamed: bool) -> bytes:
    """The bytes of a response as its provider would send them; a stream gives its text PIECES times."""
    codec = codec_of(api)
    if not streamed:
        return codec.build_response(response)
    frames = list(codec.build_stream(response))
    delta = next(frame for frame in frames if PIECE.encode() in frame)
    place = frames.index(delta)
    return b"".join([*frames[:place], *[delta] * PIECES, *frames[place + 1 :]])


def own(api: Api, body: bytes, *, streamed: bool) -> Read:
    """What signoff does: bytes to evidence, fed as a socket would give them."""
    codec = codec_of(api)
    kind = "text/event-stream" if streamed else "application/json"
    pieces = [body[at : at + 16_384] for at in range(0, len(body), 16_384)]

    def read() -> ModelResponse:
        reader = ResponseReader(codec, Exchange(content_type=kind), streamed=streamed)
        for piece in pieces:
            reader.feed(piece)
        return reader.end(BodyEnd.CLEAN)

    return read


def bare(body: bytes, *, streamed: bool) -> Read:
    """The barest reading: split into frames, parse their JSON, keep nothing."""

    def read() -> object:
        if not streamed:
            return orjson.loads(body)
        lines = (line for frame in body.split(b"\n\n") for line in frame.split(b"\n"))
        return [orjson.loads(line[6:]) for line in lines if line.startswith(b"data: {")]

    return read


def vendor(api: Api, body: bytes, *, streamed: bool) -> Read:
    """The vendor's own client, whose transport gives the same bytes at once."""
    kind = "text/event-stream" if streamed else "application/json"

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": kind}, content=body)

    web = httpx2.Client(transport=httpx2.MockTransport(answer))
    given: Any = {"api_key": "none", "base_url": "http://localhost", "http_client": web, "max_retries": 0}
    turn: Any = [{"role": "user", "content": "?"}]
    if api is Api.OPENAI_CHAT:
        chat = openai.OpenAI(**given).chat.completions
        return lambda: drained(chat.create(model="m", messages=turn, stream=streamed))
    if api is Api.OPENAI_RESPONSES:
        responses = openai.OpenAI(**given).responses
        return lambda: drained(responses.create(model="m", input="?", stream=streamed))
    if api is Api.ANTHROPIC_MESSAGES:
        messages = anthropic.Anthropic(**given).messages
        return lambda: drained(messages.create(model="m", max_tokens=9, messages=turn, stream=streamed))
    options = genai.types.HttpOptions(base_url="http://localhost", httpx_client=web)
    models = genai.Client(api_key="none", http_options=options).models
    ask = models.generate_content_stream if streamed else models.generate_content
    return lambda: drained(ask(model="m", contents="?"))


def drained(result: object) -> object:
    """Everything that a client gives for one request."""
    return list(result) if isinstance(result, Iterator | openai.Stream | anthropic.Stream) else result


def microseconds(call: Read) -> float:
    """The time of one call."""
    began = perf_counter()
    call()
    return (perf_counter() - began) * 1e6


def best(calls: Mapping[str, Read]) -> dict[str, float]:
    """The best round of each, timed in turn."""
    rounds = [{name: microseconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
    return {name: min(one[name] for one in rounds) for name in calls}


def decoding(api: Api, *, streamed: bool) -> dict[str, object]:
    """Microseconds for one response, and for one event where it is streamed."""
    body = as_read(api, recorded(api), streamed=streamed)
    events = body.count(b"data: ") if streamed else 1
    check = own(api, body, streamed=streamed)()
    if not (isinstance(check, ModelResponse) and check.complete and PIECE in check.text and len(check.calls) == 2):  # noqa: PLR2004 - as recorded
        sys.exit(f"{api}: the recorded response was not read whole; nothing was measured.")
    took = best(
        {
            "bare": bare(body, streamed=streamed),
            "signoff": own(api, body, streamed=streamed),
            "vendor": vendor(api, body, streamed=streamed),
        }
    )
    return {
        "api": str(api),
        "streamed": streamed,
        "events": events,
        "bytes": len(body),
        **{f"us_each_{name}": round(time / events, 2) for name, time in took.items()},
        "times_bare": round(took["signoff"] / took["bare"], 2),
        "vendor_times_signoff": round(took["vendor"] / took["signoff"], 1),
    }


def conversation(turns: int) -> tuple[Message, ...]:
    """A history of calls and their results, as the loop of an agent makes it."""
    said: list[Message] = [UserMessage(parts=(TextPart(text="Mend the failing test."),))]
    for turn in range(turns):
        call = CallPart(
            call_id=f"call_{turn}", name="read", arguments=f'{{"path":"src/shop/invoice.py","line":{turn}}}'
        )
        said.append(AssistantMessage(parts=(TextPart(text="I look at the next place."), call)))
        result = ToolResult(
            call_id=call.call_id, name="read", text="def total(self):\n    return sum(self.lines)\n" * 4
        )
        said.append(ToolMessage(results=(result,)))
    return tuple(said)


def encoding(api: Api) -> dict[str, object]:
    """Microseconds to write the body of the last turn: with what was written before, anew, and merely copied."""
    codec, history = codec_of(api), conversation(TURNS)
    tools = tuple(Tool(name=f"tool_{number}", description="A tool.") for number in range(10))
    request = ModelRequest(messages=history, tools=tools, max_output_tokens=4096)
    memo = Memo()
    body = codec.build_request(request, model="m", stream=True, memo=memo)
    value = orjson.loads(body)
    longer = ModelRequest(messages=conversation(TURNS + 1)[-2:], tools=tools, max_output_tokens=4096)
    grown = ModelRequest(messages=(*history, *longer.messages), tools=tools, max_output_tokens=4096)

    def next_turn() -> bytes:
        codec.build_request(request, model="m", stream=True, memo=memo)
        return codec.build_request(grown, model="m", stream=True, memo=memo)

    took = best(
        {
            "signoff": next_turn,
            "anew": lambda: codec.build_request(grown, model="m", stream=True, memo=Memo()),
            "orjson": lambda: orjson.dumps(value),
            "copy": lambda: bytes(bytearray(body)),
        }
    )
    took["signoff"] /= 2
    return {
        "api": str(api),
        "turns": TURNS,
        "bytes": len(body),
        **{f"us_{name}": round(time, 1) for name, time in took.items()},
        "times_orjson": round(took["signoff"] / took["orjson"], 2),
    }


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    as_json = parser.parse_args().json
    read = [decoding(api, streamed=streamed) for api in CODECS for streamed in (True, False)]
    written = [encoding(api) for api in CODECS]
    if as_json:
        print(json.dumps({"decoding": read, "encoding": written}))
        return 0
    for line in (*read, *written):
        print("  ".join(f"{name} {value}" for name, value in line.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
