"""What the tests of models share."""

import pytest

from signoff.testing import ScriptedServer
from tests.models.providers import KEY, Point


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Point:
    """Point every provider's own variables at a server."""

    def point(server: ScriptedServer) -> None:
        for provider in ("OPENAI", "ANTHROPIC", "GOOGLE"):
            monkeypatch.setenv(f"{provider}_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)

    return point
