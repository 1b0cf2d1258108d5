"""Models that pydantic-ai reaches, for tests: their names, and how their clients find a scripted server."""

from collections.abc import Callable
from typing import TypeAlias

from signoff.testing import ScriptedServer

KEY = "sk-test-0123456789"
CHAT, RESPONSES, CLAUDE, GEMINI = (
    "pydantic-ai:openai-chat:gpt-test",
    "pydantic-ai:openai-responses:gpt-test",
    "pydantic-ai:anthropic:claude-test",
    "pydantic-ai:google:gemini-2.5-flash",
)
ALL = (CHAT, RESPONSES, CLAUDE, GEMINI)
Point: TypeAlias = Callable[[ScriptedServer], None]
"""Points every provider's client at a server."""
