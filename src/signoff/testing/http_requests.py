"""Reads one HTTP/1.1 request from a stream, strictly: what a careful client would never send is refused.

Only requests are read here, and only for the scripted server; nothing in this file knows a provider's protocol.
"""

import asyncio
import re
from typing import NamedTuple

LONGEST_BODY = 64 * 1024 * 1024
LONGEST_HEAD = 256 * 1024

_REQUEST_LINE = re.compile(rb"([A-Z]+) ([!-~]+) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[^\r\n\0]*[^\r\n\0 \t])?)[ \t]*")
_LENGTH = re.compile(r"[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})(?:;[^\r\n]*)?\r\n")


class BadRequest(Exception):
    """The bytes are no HTTP/1.1 request that this server takes."""


class HttpRequest(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    """The target with its query, as the request line has it."""
    headers: dict[str, str]
    """By lower-case name; repeated ones are joined by commas."""
    body: bytes
    keeps_alive: bool


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Read the next request, or None when the client has left between two. Raises `BadRequest`."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].split(b"\r\n")
        line = _REQUEST_LINE.fullmatch(first)
        if line is None:
            raise BadRequest("the first line is not METHOD TARGET HTTP/1.1")
        headers = _headers(lines)
        body = await _body(reader, headers)
    except asyncio.IncompleteReadError as error:
        if error.expected is None and not error.partial:
            return None
        raise BadRequest("the client left inside a request") from None
    except asyncio.LimitOverrunError:
        raise BadRequest("a head or a chunk's size is longer than any should be") from None
    keeps_alive = line[3] == b"1" and headers.get("connection", "").lower() != "close"
    return HttpRequest(line[1].decode(), line[2].decode(), headers, body, keeps_alive)


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise BadRequest("a header is not `name: value`")
        name, value = field[1].decode().lower(), field[2].decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if "host" not in headers:
        raise BadRequest("there is no Host header")
    return headers


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None and length is not None:
        raise BadRequest("both a length and a transfer coding are named")
    if coding is not None:
        if coding.lower() != "chunked":
            raise BadRequest("the transfer coding is not `chunked`")
        return await _chunks(reader)
    if length is None:
        return b""
    if not _LENGTH.fullmatch(length) or int(length) > LONGEST_BODY:
        raise BadRequest("the content length is no number, or too large")
    return await reader.readexactly(int(length))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    chunks: list[bytes] = []
    left = LONGEST_BODY
    while True:
        line = _CHUNK.fullmatch(await reader.readuntil(b"\r\n"))
        if line is None or (size := int(line[1], 16)) > left:
            raise BadRequest("a chunk's size is no hexadecimal number, or too large")
        if size == 0:
            break
        left -= size
        chunks.append(await reader.readexactly(size))
        if await reader.readexactly(2) != b"\r\n":
            raise BadRequest("a chunk is longer than it says")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(chunks)
