"""Opening a model by its string: what is imported for it, and what is said when a library is missing."""

import json
import subprocess
import sys

import pytest

from signoff.errors import ConfigError
from signoff.models import open_model
from signoff.models.http import HttpModel
from signoff.models.pydantic_ai import PydanticAIModel

HEAVY = ("aiohttp", "asyncio", "openai", "pydantic_ai", "socket", "ssl")


def said_by(program: str) -> str:
    """What a program prints, run by itself."""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_the_models_brings_no_client_in() -> None:
    """The names alone neither import an HTTP client, an event loop, nor a provider's library."""
    program = "import json, sys, signoff.models; print(json.dumps(sorted(sys.modules)))"
    assert set(json.loads(said_by(program))) & set(HEAVY) == set()


@pytest.mark.parametrize(
    ("missing", "name", "said"),
    [
        ("aiohttp", "openai:m", "pip install 'signoff[models]'"),
        ("pydantic_ai", "pydantic-ai:groq:m", "pip install 'signoff[pydantic-ai]'"),
    ],
)
def test_a_missing_library_is_named(missing: str, name: str, said: str) -> None:
    """Without its optional library a model cannot be opened, and the message says what to install."""
    program = f"""
import sys
sys.modules[{missing!r}] = None
from signoff.errors import ConfigError
from signoff.models import open_model
try:
    open_model({name!r}, key=None if "pydantic" in {name!r} else lambda: "k")
except ConfigError as error:
    print(error)
"""
    assert said in said_by(program)


def test_a_string_opens_its_kind_of_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What signoff speaks itself goes over HTTP, the rest over pydantic-ai, and both show their name."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    http, adapted = open_model("openai:m"), open_model("pydantic-ai:openai-chat:m")
    assert isinstance(http, HttpModel)
    assert isinstance(adapted, PydanticAIModel)
    assert (repr(http), repr(adapted)) == ("<HttpModel openai:m>", "<PydanticAIModel pydantic-ai:openai-chat:m>")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pydantic-ai:nobody:m", "pydantic-ai cannot open pydantic-ai:nobody:m"),
        ("pydantic-ai:openai-chat:m", "OPENAI_API_KEY"),
        ("pydantic-ai:groq:m", "pip install 'pydantic-ai-slim[groq]'"),
    ],
)
def test_what_pydantic_ai_cannot_open_is_an_error(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown provider, a missing key and a missing library each have a message of their own."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="nothing was started") as caught:
        open_model(name)
    assert said in str(caught.value)


def test_a_key_is_not_for_pydantic_ai() -> None:
    """Its providers have variables of their own, so that a key given here would be lost."""
    with pytest.raises(ConfigError, match="key or ssl was given"):
        open_model("pydantic-ai:groq:m", key=lambda: "k")
