"""The port `Model` over HTTP and the codecs of `signoff.wire`: one request a call, one record a response.

What must never be put here: a second attempt, a judgement of a response, or a key in an attribute.
"""

import asyncio
import ssl
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from signoff.core.model.ending import Exchange
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import ModelResponse
from signoff.errors import ConfigError, ProtocolViolation
from signoff.models.http_stream import Call, HttpStream
from signoff.models.keys import Key, current, from_environment, without_key
from signoff.models.line import Line, Reply, dial
from signoff.models.names import Endpoint
from signoff.models.prompts import request_of
from signoff.models.timeouts import Timeouts
from signoff.wire.codecs import codec_of
from signoff.wire.memo import Memo
from signoff.wire.reader import ResponseReader


class HttpModel:
    """A model behind an HTTP address. It serves one event loop and may be asked many things at once.

    `key` is called once a request; without it the key comes from the endpoint's variables. Connections are made when
    they are needed and kept until `close`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        key: Key | None = None,
        timeouts: Timeouts | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if tls is not None and not isinstance(tls, ssl.SSLContext):
            raise ConfigError(f"the argument ssl is {tls!r}; nothing was started; give an ssl.SSLContext or nothing")
        if key is not None and not callable(key):
            raise ConfigError(
                "the argument key is no function; nothing was started; give a function that returns the key"
            )
        if timeouts is not None and not isinstance(timeouts, Timeouts):
            raise ConfigError(
                f"the argument timeouts is a {type(timeouts).__name__}; nothing was started; give Timeouts(…)"
            )
        self._live: set[HttpStream] = set()
        self._endpoint = endpoint
        self._key = from_environment(endpoint) if key is None else key
        self._timeouts = timeouts or Timeouts()
        self._tls = tls
        self._codec = codec_of(endpoint.api)
        self._memo = Memo()
        self._line: Line | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The model as the user named it."""
        return self._endpoint.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def stream(self, request: ModelRequest | str) -> AbstractAsyncContextManager[HttpStream]:
        """Send a request, or a text of the user, and read its response as it comes; leaving early ends the connection.

        Entering raises `PolicyError` for what the protocol cannot say and `ConfigError` for a key that cannot be used.
        The request is sent when the iteration begins.
        """
        return self._asked(request, streamed=True)

    async def respond(self, request: ModelRequest | str) -> ModelResponse:
        """Send a request, or a text of the user, and read its response at once, without streaming."""
        async with self._asked(request, streamed=False) as stream:
            async for _ in stream:
                pass
        return stream.response

    async def close(self) -> None:
        """Let go of connections; a second call does nothing."""
        self._closed = True
        line, self._line = self._line, None
        for stream in tuple(self._live):
            stream.let_go()
        if line is not None:
            await line.session.close()

    def _asked(self, asked: ModelRequest | str, *, streamed: bool) -> HttpStream:
        request = request_of(asked)
        return HttpStream(lambda: self._prepared(request, streamed=streamed))

    async def _prepared(self, request: ModelRequest, *, streamed: bool) -> Call:
        """Write a request's body, fetch the key, and put both where only the sending sees them."""
        line, codec, model = self._dialled(), self._codec, self._endpoint.model
        body = codec.build_request(request, model=model, stream=streamed, memo=self._memo)
        url = self._endpoint.base_url + codec.path(model, stream=streamed)
        key = await current(self._key)
        if not key and self._endpoint.key_required:
            raise ConfigError(f"the function for the key of {self.name} gave an empty one; nothing was sent; mend it")
        headers = codec.headers(key)

        async def send() -> Reply:
            if self._closed:
                raise self._is_closed()
            return await line.post(url, body, headers=headers)

        def reading(exchange: Exchange) -> ResponseReader:
            return ResponseReader(codec, exchange, streamed=streamed)

        return Call(
            send=send,
            reading=reading,
            censored=lambda response: without_key(response, key),
            max_output_tokens=request.max_output_tokens,
            head_seconds=self._timeouts.head,
            live=self._live,
        )

    def _dialled(self) -> Line:
        """The way to the server, made in the event loop that first uses it."""
        if self._closed:
            raise self._is_closed()
        loop = asyncio.get_running_loop()
        if self._line is None:
            try:
                self._line, self._loop = dial(self._endpoint.base_url, self._timeouts, context=self._tls), loop
            except ConfigError as error:  # the frames below hold the environment and a proxy's password
                raise error.with_traceback(None) from None
        if self._loop is not loop:
            raise ProtocolViolation(
                f"the model {self.name} was used in another event loop before; nothing was sent; open one in each loop"
            )
        return self._line

    def _is_closed(self) -> ProtocolViolation:
        return ProtocolViolation(f"the model {self.name} is closed; nothing was sent; open it anew")
