"""The way to a model's server: which certificates are believed, and which proxy is taken."""

from pathlib import Path

import pytest

from signoff.core.model.response import FailureKind, ModelResponse
from signoff.errors import ConfigError
from signoff.models import open_model
from signoff.models.http import HttpModel
from signoff.testing import ScriptedServer, reply
from tests.models.asking import KEY, model_at, run
from tests.models.proxying import Authority, authority_in, proxying


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that no system knows."""
    return authority_in(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a test's own variables name a proxy or a file of certificates."""
    for name in ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "request_method"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def failed_as(response: ModelResponse) -> FailureKind | None:
    """How a response failed, if it did."""
    return None if response.failure is None else response.failure.kind


def test_a_certificate_that_nobody_vouches_for_is_refused(authority: Authority) -> None:
    """By default an unknown authority is no connection, and the request never reaches its server."""

    async def ask() -> None:
        async with ScriptedServer(tls=authority.server) as server, model_at(server) as model:
            assert failed_as(await model.respond("Hi.")) is FailureKind.CONNECTION
            assert server.requests == []

    run(ask)


def test_a_context_of_the_callers_is_used(authority: Authority) -> None:
    """It decides whom to believe; a name that the certificate does not hold is refused with it too."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hi.")], tls=authority.server) as server:
            for url, kind in (
                (server.url, None),
                (server.url.replace("127.0.0.1", "localhost"), FailureKind.CONNECTION),
            ):
                async with open_model("openai:demo", base_url=url, key=lambda: KEY, ssl=authority.client) as model:
                    assert failed_as(await model.respond("Hi.")) is kind

    run(ask)


def test_a_file_of_certificates_is_used(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL_CERT_FILE counts also when it is set after the program began."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def ask() -> None:
        async with ScriptedServer([reply("Hi.")], tls=authority.server) as server, model_at(server) as model:
            assert (await model.respond("Hi.")).complete

    run(ask)


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_of_certificates_that_cannot_be_used_is_an_error(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is not passed by in silence for the system's certificates."""
    file = tmp_path / "certificates.pem"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    async def ask() -> None:
        async with open_model("openai:demo", key=lambda: KEY) as model:
            with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
                await model.respond("Hi.")

    run(ask)


def test_a_proxy_passes_plain_requests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP_PROXY gets the request with the whole address, and the credentials of its own address."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hi.")]) as server, proxying() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//me:pass%20word@"))
            async with model_at(server) as model:
                assert (await model.respond("Hi.")).complete
                assert "word" not in repr(vars(model))
            (head,) = proxy.heads
            assert head.startswith(f"POST {server.url}/chat/completions HTTP/1.1")
            assert "Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk" in head

    run(ask)


def test_a_proxy_tunnels_to_a_server_with_tls(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS_PROXY sees the address only: neither the model's key nor the request."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hi.")], tls=authority.server) as server, proxying() as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:word@"))
            async with open_model("openai:demo", base_url=server.url, key=lambda: KEY, ssl=authority.client) as model:
                assert (await model.respond("Hi.")).complete
            (head,) = proxy.heads
            assert head.startswith("CONNECT 127.0.0.1:")
            assert "Proxy-Authorization: Basic bWU6d29yZA==" in head
            assert KEY not in head
            assert "proxy-authorization" not in server.requests[0].headers

    run(ask)


def test_a_host_that_is_excepted_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_PROXY keeps a request away from the proxy."""

    async def ask() -> None:
        async with ScriptedServer([reply("Hi.")]) as server, proxying() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.0/8")
            async with model_at(server) as model:
                assert (await model.respond("Hi.")).complete
            assert proxy.heads == []

    run(ask)


def test_a_proxy_that_refuses_is_no_connection(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a proxy answers to CONNECT is not read as the model's answer."""

    async def ask() -> None:
        async with ScriptedServer(tls=authority.server) as server, proxying(refuses=True) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            model = open_model("openai:demo", base_url=server.url, key=lambda: KEY, ssl=authority.client)
            assert isinstance(model, HttpModel)
            async with model:
                response = await model.respond("Hi.")
            assert failed_as(response) is FailureKind.CONNECTION
            assert (len(proxy.heads), server.requests) == (1, [])

    run(ask)


def test_a_proxy_that_cannot_be_used_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that should go through a proxy never goes without it."""
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1")

    async def ask() -> None:
        async with open_model("openai:demo", key=lambda: KEY) as model:
            with pytest.raises(ConfigError, match="HTTPS_PROXY"):
                await model.respond("Hi.")

    run(ask)
