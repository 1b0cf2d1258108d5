"""The published list: which files steer the programs that run checks. Data only, and what recognises a program's name.

A file belongs here when a change of it can make a failing check pass without touching what is checked. Files that a
runner merely reads as input do not.
"""

import re
import sys
from enum import StrEnum
from typing import Final

import msgspec


class Part(StrEnum):
    """How much of a file steers."""

    WHOLE = "whole"
    PYPROJECT = "pyproject"
    """The tables of PYPROJECT_TABLES."""
    SETUP_CFG = "setup_cfg"
    """The sections of SETUP_CFG_SECTIONS."""
    PACKAGE_JSON = "package_json"
    """The members of PACKAGE_JSON_MEMBERS."""
    GO_REPLACE = "go_replace"
    """The `replace` lines."""


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of program that runs checks."""

    name: str
    words: str
    """A regular expression for the names of its programs."""
    files: tuple[tuple[str, Part], ...]
    """Names of files that steer it, anywhere in the workspace; a `*` at the end stands for any end, `a/b` is b in a."""
    modules: bool = False
    """Whether modules of certain names steer it: see `is_module_of_runner`."""
    wrapper: bool = False
    """Whether its files say which other runners are started."""


PYPROJECT_TABLES: Final = (
    ("project", "entry-points", "pytest11"),
    ("tool", "coverage"),
    ("tool", "hatch", "envs"),
    ("tool", "nox"),
    ("tool", "pdm", "scripts"),
    ("tool", "poe"),
    ("tool", "pytest"),
    ("tool", "taskipy"),
    ("tool", "tox"),
)
SETUP_CFG_SECTIONS: Final = ("coverage", "pytest", "tool:pytest", "tox")
"""Beginnings of the names of sections."""
PACKAGE_JSON_MEMBERS: Final = ("ava", "jest", "mocha", "nyc", "scripts", "tap", "vitest")

PYTHON: Final = Runner(
    name="python",
    words=(
        r"python[\d.]*|pypy[\d.]*|pytest(?:-[\d.]+)?|py\.test|tox|nox|unittest|nose2|coverage[\d.]*"
        r"|hatch|pdm|pipenv|poe|poetry|uvx?"
    ),
    files=(
        (".coveragerc", Part.WHOLE),
        (".pytest.ini", Part.WHOLE),
        (".pytest.toml", Part.WHOLE),
        ("conftest.py", Part.WHOLE),
        ("hatch.toml", Part.WHOLE),
        ("noxfile.py", Part.WHOLE),
        ("pyproject.toml", Part.PYPROJECT),
        ("pytest.ini", Part.WHOLE),
        ("pytest.toml", Part.WHOLE),
        ("sitecustomize.*", Part.WHOLE),
        ("setup.cfg", Part.SETUP_CFG),
        ("tox.ini", Part.WHOLE),
        ("tox.toml", Part.WHOLE),
        ("usercustomize.*", Part.WHOLE),
    ),
    modules=True,
    wrapper=True,
)
NODE: Final = Runner(
    name="node",
    words=r"npm|npx|yarn|pnpm|pnpx|bun|bunx|node|nodejs|jest|vitest|mocha|ava|tap|playwright",
    files=(
        (".mocharc.*", Part.WHOLE),
        (".npmrc", Part.WHOLE),
        (".nycrc*", Part.WHOLE),
        (".pnpmfile.cjs", Part.WHOLE),
        (".taprc", Part.WHOLE),
        (".yarnrc*", Part.WHOLE),
        ("ava.config.*", Part.WHOLE),
        ("bunfig.toml", Part.WHOLE),
        ("jest.config.*", Part.WHOLE),
        ("package.json", Part.PACKAGE_JSON),
        ("playwright.config.*", Part.WHOLE),
    ),
    wrapper=True,
)
VITEST: Final = Runner(
    name="vitest",
    words="vitest",
    files=(
        ("vite.config.*", Part.WHOLE),  # read by vitest when there is no file of its own
        ("vitest.config.*", Part.WHOLE),
        ("vitest.workspace.*", Part.WHOLE),
    ),
)
MAKE: Final = Runner(
    name="make",
    words=r"g?make",
    files=(("GNUmakefile", Part.WHOLE), ("Makefile", Part.WHOLE), ("makefile", Part.WHOLE)),
    wrapper=True,
)
JUST: Final = Runner(
    name="just",
    words="just",
    files=((".justfile", Part.WHOLE), ("Justfile", Part.WHOLE), ("justfile", Part.WHOLE)),
    wrapper=True,
)
CARGO: Final = Runner(
    name="cargo",
    words=r"cargo|cargo-nextest",
    files=((".cargo/config", Part.WHOLE), (".cargo/config.toml", Part.WHOLE), ("build.rs", Part.WHOLE)),
)
GO: Final = Runner(
    name="go",
    words=r"go|gotestsum|ginkgo",
    files=(("go.mod", Part.GO_REPLACE), ("go.work", Part.GO_REPLACE)),
)

RUNNERS: Final = (PYTHON, NODE, VITEST, MAKE, JUST, CARGO, GO)
"""All that are recognised."""

DEPENDENCY_FOLDERS: Final = ("node_modules", "site-packages")
"""Folders of installed packages: what is in them is no control file, but for Python's start-up modules."""

START_UP_MODULES: Final = ("sitecustomize", "usercustomize")

RUNNER_MODULES: Final = frozenset(
    {
        *START_UP_MODULES,
        "_pytest",
        "coverage",
        "execnet",
        "hypothesis",
        "iniconfig",
        "nox",
        "packaging",
        "pluggy",
        "py",
        "pytest",
        "tox",
        "xdist",
    }
)
"""Modules that a Python runner loads and that no project is expected to have at its top."""

_NAMED = {runner.name: re.compile(rf"(?<![\w.-])(?:{runner.words})(?![\w-])") for runner in RUNNERS}


def named_in(text: str) -> tuple[Runner, ...]:
    """Return the runners whose programs a text names, by path or by bare name; a word too many does no harm."""
    return tuple(runner for runner in RUNNERS if _NAMED[runner.name].search(text))


def is_module_of_runner(module: str) -> bool:
    """Whether a top-level module of this name would stand in for the runner, a plugin or the standard library."""
    return module in RUNNER_MODULES or module in sys.stdlib_module_names or module.startswith("pytest_")
