"""What the tests of this folder share: a workspace with a contract file, and what is made or said of it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from signoff.config import CommandLine, Configuration, resolve
from signoff.core.budget import DEFAULT_MAX_REPAIRS
from signoff.core.completion.contract import ReportFormat, ValidationCommand
from signoff.errors import ConfigError

any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
"""What a property is tried with: a busy machine is no fault, and a folder may serve all examples."""

NOTHING = CommandLine()
DIGEST = "sha256:" + "a" * 64
OTHER_DIGEST = "sha256:" + "b" * 64

ARTIFACTS = "SIGNOFF_REQUIRED_ARTIFACTS_JSON"
COMMANDS = "SIGNOFF_VALIDATION_COMMANDS_JSON"
MODE = "SIGNOFF_COMPLETION_MODE"

EVERYTHING = f"""
[contract]
mode = "observe"
max_repairs = 2
no_progress = 3
max_age_seconds = 60
ignore = ["*.log", "./tmp/"]
allow_change = ["conftest.py"]
parallel = true
allow_no_change = true

[[contract.artifact]]
path = "./out/../report.md"
id = "report"
sha256 = "{DIGEST}"
min_bytes = 10
allow_empty = true
fresh = "any"
required = false

[[contract.artifact]]
path = "dist/*.whl"
glob = true
min_count = 2
fresh = "changed"

[[contract.artifact]]
path = "/elsewhere/x"
allow_outside = true
directory = true

[[contract.command]]
id = "tests"
argv = ["pytest", "--junitxml={{report}}"]
cwd = "./sub/"
timeout_seconds = 30
env = {{ A = "b" }}
pass_env = ["C"]
report = "junit"
min_tests = 4
before = "failed"

[[contract.command]]
shell = "make | cat"
cwd = "/"
allow_outside = true

[[contract.immutable]]
glob = "tests/"

[[contract.immutable]]
glob = "data/*.csv"
id = "data"
allow_no_match = true

[agent]
command = ["agent", "{{prompt}}"]
goal = "mend it"
stdin = true
timeout = "2h"
attempt_timeout = 90
strict_exit = true
"""
"""A contract file with every key there is."""


def resolved(
    folder: Path,
    line: CommandLine = NOTHING,
    *,
    toml: str | None = None,
    env: Mapping[str, str] | None = None,
    default_repairs: int | None = DEFAULT_MAX_REPAIRS,
) -> Configuration:
    """Return the configuration of a workspace whose signoff.toml has this text, if any."""
    if toml is not None:
        (folder / "signoff.toml").write_text(toml, encoding="utf-8")
    return resolve(line, environment=env or {}, cwd=str(folder), default_repairs=default_repairs)


def refusal(act: Callable[[], object]) -> str:
    """Return the message of the `ConfigError` that an act ends in."""
    with pytest.raises(ConfigError) as caught:
        act()
    return str(caught.value)


def complaint(act: Callable[[], object]) -> str | None:
    """Return the message of the `ConfigError` that an act ends in; None when it ends well."""
    try:
        act()
    except ConfigError as error:
        return str(error)
    return None


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {
        str(Path(place, name).relative_to(folder)): Path(place, name).read_bytes()
        for place, _, names in os.walk(folder)
        for name in names
    }


def shell_check(name: str, text: str, **rest: ReportFormat | str | bool) -> ValidationCommand:
    """Return a check that is a shell string."""
    return msgspec.convert({"id": name, "shell": text, **rest}, ValidationCommand)
