"""Which proxy the environment names for an address: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in small letters or capitals.

Read here and not by the HTTP client, whose own reading of the environment includes the credentials of ~/.netrc. Pure.
What must never be put here: a message that repeats an address, which may hold a password.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from signoff.errors import ConfigError


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The address of the proxy that serves an address; None when it is reached directly. Raises `ConfigError`."""
    parts = urlsplit(url)
    variable, proxy = _variable(f"{parts.scheme}_proxy", environment)
    if not proxy or _is_excepted(parts.hostname or "", parts.port, _variable("no_proxy", environment)[1]):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not _is_usable(proxy):
        raise ConfigError(
            f"the variable {variable} names a proxy that cannot be used; nothing was sent; write "
            "http://host:port, or put the model's host into NO_PROXY"
        )
    return proxy


def _variable(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The variable that is set, and its value. Small letters come first, and alone count where a web server runs us.

    A web server hands a client's header `Proxy:` to its programs as HTTP_PROXY.
    """
    names = [name, name.upper()]
    if name == "http_proxy" and "REQUEST_METHOD" in environment:
        names.pop()
    for one in names:
        if environment.get(one, "").strip():
            return one, environment[one].strip()
    return name, ""


def _is_usable(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_excepted(host: str, port: int | None, exceptions: str) -> bool:
    """Whether a list such as `localhost, .corp.example, 10.0.0.0/8, build:8080` holds a host."""
    for word in exceptions.lower().replace(",", " ").split():
        name, colon, at = word.rpartition(":")
        if word == "*" or _names(word, host) or (colon and at == str(port) and _names(name, host)):
            return True
    return False


def _names(word: str, host: str) -> bool:
    """Whether one word of the list is a host, a domain above it, or a network that holds it."""
    word = word.strip("[]")
    domain = word.removeprefix("*").lstrip(".")
    if domain and (host == domain or host.endswith(f".{domain}")):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(word, strict=False)
    except ValueError:
        return False
