"""The way to one server: an HTTP session that sends a request once, follows no redirect and keeps no cookie.

What must never be put here: a second attempt, credentials from a file of the user's, a check of certificates that can
be switched off.
"""

import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import aiohttp
import anyio.lowlevel
from yarl import URL

from signoff.models.proxies import proxy_for
from signoff.models.timeouts import Timeouts
from signoff.models.trust import default_context

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

LONGEST_HEADER: Final = 16 * 1024
MOST_HEADERS: Final = 200
_AT_ONCE = 1024 * 1024
_PIECE = 256 * 1024
_OWN_HEADERS = {"User-Agent": "signoff", "Accept-Encoding": "gzip, deflate"}


class Reply(NamedTuple):
    """The head of a response and the way to its body; not the client's own object, which holds the request's key."""

    status: int
    headers: Mapping[str, str]
    content: aiohttp.StreamReader
    close: Callable[[], None]
    """Let go of the connection: for the next request where the body was read to its end, else by closing it."""


class Post(Protocol):
    """Sends a body to an address, exactly once, and returns when the head of the response has come."""

    async def __call__(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> Reply:
        """Raise what the HTTP client raises."""
        ...


class Line(NamedTuple):
    """An open session, and how to post over it."""

    session: aiohttp.ClientSession
    post: Post


def dial(base_url: str, timeouts: Timeouts, *, context: ssl.SSLContext | None) -> Line:
    """Make the way to a server, in the running event loop; nothing is sent yet. Raises `ConfigError`."""
    # The proxy's address may hold a password, so it is kept in the function and in no attribute.
    proxy = proxy_for(base_url, os.environ)
    if context is None and base_url.startswith("https:"):
        context = default_context()
    session = aiohttp.ClientSession(
        # Requests never wait for each other: how many there are is for the caller to bound.
        connector=_Connector(limit=0, ssl=True if context is None else context),
        timeout=aiohttp.ClientTimeout(total=None, connect=timeouts.connect, sock_read=timeouts.idle),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=_OWN_HEADERS,
        trust_env=False,
        auto_decompress=False,
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
        max_headers=MOST_HEADERS,
    )

    async def post(url: str, body: bytes, *, headers: Mapping[str, str]) -> Reply:
        length = {"Content-Length": str(len(body))}
        data = body if len(body) <= _AT_ONCE else _pieces(body)
        reply = await session.post(
            URL(url), data=data, headers={**headers, **length}, allow_redirects=False, proxy=proxy
        )
        return Reply(reply.status, reply.headers, reply.content, reply.close)

    return Line(session, post)


class _Connector(aiohttp.TCPConnector):
    """Uses a connection again only if its server has sent nothing since the last answer.

    HTTP tells an answer by its place on the connection alone, so bytes that came unasked would be taken for the next
    answer: a late 408, or worse.
    """

    async def _get(self, key: "ConnectionKey", traces: "list[Trace]") -> "Connection | None":
        waiting = self._conns.get(key)
        if waiting:
            await anyio.lowlevel.checkpoint()  # what has come by now is read
            for kept in list(waiting):
                protocol = kept[0]
                if protocol.should_close or len(protocol):
                    waiting.remove(kept)
                    protocol.close()
        return await super()._get(key, traces)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """A large body, in pieces between which others get their turn."""
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]
