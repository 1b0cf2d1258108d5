"""Which certificates a model client believes. The check of them cannot be switched off here."""

import importlib
import importlib.util
import os
import ssl

from signoff.errors import ConfigError


def default_context() -> ssl.SSLContext:
    """The system's certificates, or SSL_CERT_FILE's; certifi's where the system has none. Raises `ConfigError`."""
    named = os.environ.get("SSL_CERT_FILE")
    if named:
        return _context_of(named)
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath and importlib.util.find_spec("certifi") is not None:
        context.load_verify_locations(importlib.import_module("certifi").where())
    return context


def _context_of(file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=file)
    except (OSError, ValueError) as error:  # a file that holds no certificate is an SSLError, which is an OSError
        raise ConfigError(
            f"the variable SSL_CERT_FILE names a file that cannot be used ({type(error).__name__}); nothing was sent; "
            "name a file of certificates in PEM form, or unset it"
        ) from None
