"""A model by one string: what each form means, and what is wrong with every other."""

import pytest

from signoff.core.model.parts import Api
from signoff.errors import ConfigError, PolicyError
from signoff.models import Timeouts
from signoff.models.headers import exchange_of, retry_after
from signoff.models.names import Adapted, Endpoint, key_fault, key_in, parse_name
from signoff.models.proxies import proxy_for

SECRET = "hunter2"


def read(name: str, *, base_url: str | None = None, **environment: str) -> Endpoint:
    """The endpoint that a string means in an environment."""
    endpoint = parse_name(name, base_url=base_url, environment=environment)
    assert isinstance(endpoint, Endpoint)
    return endpoint


def refused(name: str, *, base_url: str | None = None, **environment: str) -> str:
    """The message with which a string is refused."""
    with pytest.raises(ConfigError) as caught:
        parse_name(name, base_url=base_url, environment=environment)
    assert "nothing was started" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "api", "base", "model", "variables"),
    [
        ("openai:gpt-5", Api.OPENAI_CHAT, "https://api.openai.com/v1", "gpt-5", ("OPENAI_API_KEY",)),
        ("openai-responses:gpt-5", Api.OPENAI_RESPONSES, "https://api.openai.com/v1", "gpt-5", ("OPENAI_API_KEY",)),
        ("openai:ft:gpt-5:me::1", Api.OPENAI_CHAT, "https://api.openai.com/v1", "ft:gpt-5:me::1", ("OPENAI_API_KEY",)),
        ("anthropic:claude", Api.ANTHROPIC_MESSAGES, "https://api.anthropic.com", "claude", ("ANTHROPIC_API_KEY",)),
        (
            "google:gemini",
            Api.GEMINI,
            "https://generativelanguage.googleapis.com",
            "gemini",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        (
            "openai-compatible:http://localhost:8000/v1/#org/model:7b#q4",
            Api.OPENAI_CHAT,
            "http://localhost:8000/v1",
            "org/model:7b#q4",
            ("OPENAI_COMPATIBLE_API_KEY",),
        ),
    ],
)
def test_a_string_names_an_endpoint(name: str, api: Api, base: str, model: str, variables: tuple[str, ...]) -> None:
    """A provider's name stands for its protocol, its address and the variables of its key."""
    endpoint = read(name)
    assert (name, api, base, model, variables) == (
        endpoint.name,
        endpoint.api,
        endpoint.base_url,
        endpoint.model,
        endpoint.key_variables,
    )
    assert endpoint.key_required is not name.startswith("openai-compatible")


def test_any_other_provider_is_pydantic_ais() -> None:
    """The string of a model of pydantic-ai keeps that library's own name for it."""
    name = "pydantic-ai:bedrock:anthropic.claude-v1:0"
    assert Adapted(name=name, provider="bedrock", model="anthropic.claude-v1:0") == parse_name(name, environment={})


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:m", "OPENAI_BASE_URL"),
        ("openai-responses:m", "OPENAI_BASE_URL"),
        ("anthropic:m", "ANTHROPIC_BASE_URL"),
        ("google:m", "GOOGLE_GEMINI_BASE_URL"),
    ],
)
def test_an_address_comes_from_the_argument_then_the_variable(name: str, variable: str) -> None:
    """The argument beats the provider's variable, an empty variable is none, and slashes at the end are dropped."""
    assert read(name, **{variable: "http://proxy:1/a/"}).base_url == "http://proxy:1/a"
    assert read(name, base_url="http://[::1]:2//", **{variable: "http://proxy:1"}).base_url == "http://[::1]:2"
    assert read(name, **{variable: ""}).base_url.startswith("https://")


def test_an_address_in_the_string_gives_way_to_the_argument() -> None:
    """The argument replaces the address of a compatible server too."""
    assert read("openai-compatible:http://a/v1#m", base_url="http://b/v1").base_url == "http://b/v1"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpt-5", "has no provider"),
        ("", "has no provider"),
        ("opnai:gpt-5", "did you mean openai?"),
        ("OpenAI:gpt-5", "did you mean openai?"),
        ("gogle:m", "did you mean google?"),
        ("anthropics:m", "did you mean anthropic?"),
        ("openai-compat:http://a#m", "did you mean openai-compatible?"),
        ("mistral:m", "write one of openai, openai-responses, anthropic, google, openai-compatible, pydantic-ai"),
        ("http://localhost/v1#m", "begins with an address"),
        ("openai:", "ends before a name"),
        ("openai:a b", "holds a blank"),
        ("openai:a\n", "holds a blank"),
        ("google:modèle", "outside ASCII"),
        (f"openai:{'m' * 257}", "more than 256"),
        ("openai-compatible:http://a/v1", "no '#NAME'"),
        ("openai-compatible:http://a/v1#", "ends before a name"),
        ("openai-compatible:localhost:8000#m", "http:// or https://"),
        ("openai-compatible:ftp://a/#m", "http:// or https://"),
        ("openai-compatible:#m", "is empty"),
        ("openai-compatible:http://a b/#m", "holds a blank"),
        ("openai-compatible:http:\\\\a#m", "a backslash"),
        ("openai-compatible:http://#m", "has no host"),
        ("openai-compatible:http://a:0/#m", "port 0"),
        ("openai-compatible:http://a:99999/#m", "cannot be read"),
        ("openai-compatible:http://[::1/#m", "cannot be read"),
        ("openai-compatible:http://a/../b#m", "'..'"),
        ("pydantic-ai:groq", "names no provider"),
        ("pydantic-ai::m", "names no provider"),
        ("pydantic-ai:groq:", "ends before a name"),
    ],
)
def test_a_string_that_cannot_be_used_is_refused(name: str, said: str) -> None:
    """The message names the fault and what to write instead."""
    assert said in refused(name)


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{SECRET}@host/v1",
        f"https://{SECRET}@host",
        f"http://host/v1?key={SECRET}",
        f"{SECRET}://host",
        f"http://host:{SECRET}/",
        f"http://host/{SECRET} /",
    ],
)
def test_a_refused_address_is_not_repeated(url: str) -> None:
    """Whatever is wrong with an address, its message shows none of it, since it may hold a password."""
    for message in (
        refused(f"openai-compatible:{url}#m"),
        refused("openai:m", base_url=url),
        refused("openai:m", OPENAI_BASE_URL=url),
    ):
        assert SECRET not in message


def test_the_argument_and_the_variable_are_named() -> None:
    """A message about an address says where it came from."""
    assert "the argument base_url" in refused("openai:m", base_url="x")
    assert "the variable ANTHROPIC_BASE_URL" in refused("anthropic:m", ANTHROPIC_BASE_URL="x")
    assert "base_url was given" in refused("pydantic-ai:groq:m", base_url="http://a")


def test_a_key_comes_from_the_first_variable_that_is_set() -> None:
    """An empty variable holds no key; a compatible server needs none."""
    google = read("google:m")
    assert key_in(google, {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "b"}) == "b"
    assert key_in(google, {"GEMINI_API_KEY": "a", "GOOGLE_API_KEY": "b"}) == "a"
    assert key_in(read("openai-compatible:http://a#m"), {}) == ""


def test_a_missing_key_is_named_by_its_variables() -> None:
    """The message says which variables were looked at."""
    with pytest.raises(ConfigError, match="GEMINI_API_KEY or GOOGLE_API_KEY is not set"):
        key_in(read("google:m"), {})


@pytest.mark.parametrize("key", [f"{SECRET}\n", f"{SECRET}\r\nX-Evil: 1", f" {SECRET}", f"{SECRET}é", b"x", None])
def test_a_key_that_no_header_may_carry_is_found(key: object) -> None:
    """A line break, a blank, another alphabet or another type is a fault, and its text shows nothing of the key."""
    assert key_fault(key)
    assert SECRET not in key_fault(key)
    assert key_fault("sk-proj_A.b~/+=") == key_fault("") == ""


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_timeout_is_a_time(seconds: float) -> None:
    """Seconds are above 0 and finite; no bound is None."""
    with pytest.raises(PolicyError):
        Timeouts(idle=seconds)
    assert Timeouts(idle=None, connect=None).idle is None


DATE = "Mon, 30 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:01:30 GMT", "date": DATE}, 90.0),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:01:30 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 10:01:30 -0000", "date": DATE}, None),
        ({"retry-after": "999999999"}, 86400.0),
        ({"retry-after": "Mon, 30 Nov 9999 10:01:30 GMT", "date": DATE}, 86400.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "soon", "date": DATE}, None),
    ],
)
def test_a_wait_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds come before seconds, a date counts from the response's own, and no wait is endless."""
    assert retry_after(headers) == seconds


def test_headers_stand_in_a_record_in_a_form_that_can_be_shown() -> None:
    """Names are read in any case, and values are printable and short."""
    exchange = exchange_of(200, {"X-Request-ID": "a\x1b[2J", "Content-Type": "t" * 500}, max_output_tokens=3)
    assert (exchange.request_id, len(exchange.content_type), exchange.max_output_tokens) == ("a?[2J", 200, 3)
    assert exchange_of(200, {"request-id": "r"}, max_output_tokens=None).request_id == "r"


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://a/v1", {}, None),
        ("https://a/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a/v1", {"https_proxy": "http://q:1", "HTTPS_PROXY": "http://p:1"}, "http://q:1"),
        ("https://a/v1", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://a/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a/v1", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("http://a/v1", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, None),
        ("http://a/v1", {"HTTP_PROXY": " "}, None),
        ("http://a/v1", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://a.b.example/", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "x, .b.example"}, None),
        ("http://a.b.example/", {"HTTP_PROXY": "http://p:1", "no_proxy": "b.example"}, None),
        ("http://a.b.example/", {"HTTP_PROXY": "http://p:1", "no_proxy": "*.B.example"}, None),
        ("http://ab.example/", {"HTTP_PROXY": "http://p:1", "no_proxy": "b.example"}, "http://p:1"),
        ("http://10.1.2.3/", {"HTTP_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}, None),
        ("http://11.1.2.3/", {"HTTP_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}, "http://p:1"),
        ("http://[::1]:8/", {"HTTP_PROXY": "http://p:1", "no_proxy": "[::1]"}, None),
        ("http://[::1]:8/", {"HTTP_PROXY": "http://p:1", "no_proxy": "::1"}, None),
        ("http://a:8/", {"HTTP_PROXY": "http://p:1", "no_proxy": "a:8"}, None),
        ("http://a:9/", {"HTTP_PROXY": "http://p:1", "no_proxy": "a:8"}, "http://p:1"),
    ],
)
def test_the_environment_names_a_proxy(url: str, environment: dict[str, str], proxy: str | None) -> None:
    """The variable of the address's scheme names it, and NO_PROXY takes hosts, domains, networks and ports out."""
    assert proxy_for(url, environment) == proxy


@pytest.mark.parametrize("proxy", [f"socks5://u:{SECRET}@p:1", f"https://{SECRET}@p:1", "http://", "http://p:x"])
def test_a_proxy_that_cannot_be_used_is_refused(proxy: str) -> None:
    """A proxy is never passed by in silence, and its address is not repeated."""
    with pytest.raises(ConfigError, match="the variable HTTPS_PROXY") as caught:
        proxy_for("https://a", {"HTTPS_PROXY": proxy})
    assert SECRET not in str(caught.value)
