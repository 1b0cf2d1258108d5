"""A little proxy on the loopback, and certificates of an authority of our own: for tests of the way to a server."""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_REFUSED = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
_FOREVER = dt.datetime(2099, 1, 1, tzinfo=dt.UTC)
_LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


class Proxy(NamedTuple):
    """A running proxy."""

    url: str
    heads: list[str]
    """The head of each request that came to it."""


@asynccontextmanager
async def proxying(*, refuses: bool = False) -> AsyncIterator[Proxy]:
    """Run a proxy that tunnels for CONNECT and passes other requests on, one a connection."""
    heads: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            heads.append(head.decode())
            if refuses:
                writer.write(_REFUSED)
                await writer.drain()
            else:
                await _pass_on(head, reader, writer)
        writer.close()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Proxy(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads)
    finally:
        server.close()
        for task in [*tasks]:
            task.cancel()
        await asyncio.sleep(0)
        await server.wait_closed()


async def _pass_on(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    method, target, _ = head.split(b" ", 2)
    tunnels = method == b"CONNECT"
    host, _, port = (target if tunnels else target.split(b"/")[2]).decode().rpartition(":")
    far_reader, far_writer = await asyncio.open_connection(host, int(port))
    try:
        if tunnels:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            far_writer.write(head)
        async with anyio.create_task_group() as group:
            group.start_soon(_copy, reader, far_writer)
            await _copy(far_reader, writer)
            group.cancel_scope.cancel()
    finally:
        far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


class Authority(NamedTuple):
    """An authority, and a server that it vouches for as 127.0.0.1."""

    file: Path
    """Its certificate."""
    server: ssl.SSLContext
    client: ssl.SSLContext
    """Trusts the authority and nobody else."""


def authority_in(folder: Path) -> Authority:
    """Make an authority and a server's certificate in a folder."""
    key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of the tests")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
    )
    signs = x509.KeyUsage(**usage, digital_signature=True, key_cert_sign=True, crl_sign=True, decipher_only=False)
    authority = (
        _begun(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(signs, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of the tests")])
    certificate = (
        _begun(subject, name, server_key)
        .add_extension(loopback, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, chain = folder / "authority.pem", folder / "server.pem"
    pem.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    private = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain)
    return Authority(pem, server, ssl.create_default_context(cafile=pem))


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=_LONG_AGO,
        not_valid_after=_FOREVER,
    )
