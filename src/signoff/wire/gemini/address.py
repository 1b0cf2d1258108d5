"""Where requests go, and their headers. The key is in a header and never in the address, which gets logged."""

import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._~-]")
_KINDS: Final = ("models/", "tunedModels/")


def path(model: str, *, stream: bool) -> str:
    """The path behind the base address; a stream is asked for as events, or it would be one array."""
    kind = next((kind for kind in _KINDS if model.startswith(kind)), _KINDS[0])
    name = _UNSAFE.sub(_escaped, model.removeprefix(kind))
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/{kind}{name}:{method}"


def headers(key: str) -> dict[str, str]:
    """The headers of a request."""
    return {"content-type": "application/json", **({"x-goog-api-key": key} if key else {})}


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace"))
