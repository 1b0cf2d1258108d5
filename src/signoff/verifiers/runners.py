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
    PYPROJECT_MYPY = "pyproject_mypy"
    PYPROJECT_PYLINT = "pyproject_pylint"
    PYPROJECT_PYRIGHT = "pyproject_pyright"
    PYPROJECT_RUFF = "pyproject_ruff"
    PYPROJECT_UV = "pyproject_uv"
    SETUP_CFG = "setup_cfg"
    SETUP_CFG_FLAKE8 = "setup_cfg_flake8"
    SETUP_CFG_MYPY = "setup_cfg_mypy"
    SETUP_CFG_PYLINT = "setup_cfg_pylint"
    PACKAGE_JSON = "package_json"
    PACKAGE_JSON_BABEL = "package_json_babel"
    PACKAGE_JSON_ESLINT = "package_json_eslint"
    GO_REPLACE = "go_replace"
    """The `replace` lines."""
    CARGO_TOML = "cargo_toml"
    """What is built as a test and how, and what stands in for a dependency; no dependency itself."""


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of program that runs checks."""

    name: str
    words: str
    """A regular expression for the names of its programs."""
    files: tuple[tuple[str, Part], ...]
    """Names of files that steer it, anywhere in the workspace; a `*` at the end stands for any end, `a/b` is b in a."""
    modules: bool = False
    """Whether modules of certain names steer it: see `is_module_of_runner`."""
    links: bool = False
    """Whether it looks for its files through links to folders."""
    wrapper: bool = False
    """Whether its files say which other runners are started."""


TABLES: Final = {
    Part.PYPROJECT: (
        ("project", "entry-points", "pytest11"),
        ("tool", "coverage"),
        ("tool", "hatch", "envs"),
        ("tool", "nox"),
        ("tool", "pdm", "scripts"),
        ("tool", "poe"),
        ("tool", "poetry", "plugins", "pytest11"),
        ("tool", "poetry", "requires-plugins"),
        ("tool", "pytest"),
        ("tool", "taskipy"),
        ("tool", "tox"),
    ),
    Part.PYPROJECT_MYPY: (("tool", "mypy"),),
    Part.PYPROJECT_PYLINT: (("tool", "pylint"),),
    Part.PYPROJECT_PYRIGHT: (("tool", "pyright"),),
    Part.PYPROJECT_RUFF: (("tool", "ruff"),),
    Part.PYPROJECT_UV: (("tool", "uv"),),
}
"""Tables of pyproject.toml."""
SECTIONS: Final = {
    Part.SETUP_CFG: ("coverage", "pytest", "tool:pytest", "tox"),
    Part.SETUP_CFG_FLAKE8: ("flake8",),
    Part.SETUP_CFG_MYPY: ("mypy",),
    Part.SETUP_CFG_PYLINT: ("pylint", "MASTER", "MAIN", "MESSAGES"),
}
"""Beginnings of the names of sections of setup.cfg and its like."""
MEMBERS: Final = {
    Part.PACKAGE_JSON: ("ava", "jest", "mocha", "nyc", "scripts", "tap", "vitest"),
    Part.PACKAGE_JSON_BABEL: ("babel",),
    Part.PACKAGE_JSON_ESLINT: ("eslintConfig", "eslintIgnore"),
}
"""Members of package.json."""

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
    links=True,
    wrapper=True,
)
UV: Final = Runner(name="uv", words="uvx?", files=(("pyproject.toml", Part.PYPROJECT_UV), ("uv.toml", Part.WHOLE)))
POETRY: Final = Runner(name="poetry", words="poetry", files=(("poetry.toml", Part.WHOLE),))
RUFF: Final = Runner(
    name="ruff",
    words="ruff",
    files=(
        (".ruff.toml", Part.WHOLE),
        ("pyproject.toml", Part.PYPROJECT_RUFF),
        ("ruff.toml", Part.WHOLE),
    ),
)
MYPY: Final = Runner(
    name="mypy",
    words=r"d?mypy",
    files=(
        (".mypy.ini", Part.WHOLE),
        ("mypy.ini", Part.WHOLE),
        ("pyproject.toml", Part.PYPROJECT_MYPY),
        ("setup.cfg", Part.SETUP_CFG_MYPY),
    ),
)
PYRIGHT: Final = Runner(
    name="pyright",
    words="(?:based)?pyright",
    files=(("pyproject.toml", Part.PYPROJECT_PYRIGHT), ("pyrightconfig.json", Part.WHOLE)),
)
FLAKE8: Final = Runner(
    name="flake8",
    words="flake8",
    files=(
        (".flake8", Part.WHOLE),
        ("setup.cfg", Part.SETUP_CFG_FLAKE8),
        ("tox.ini", Part.SETUP_CFG_FLAKE8),
    ),
)
PYLINT: Final = Runner(
    name="pylint",
    words="pylint",
    files=(
        (".pylintrc*", Part.WHOLE),
        ("pylintrc", Part.WHOLE),
        ("pylintrc.toml", Part.WHOLE),
        ("pyproject.toml", Part.PYPROJECT_PYLINT),
        ("setup.cfg", Part.SETUP_CFG_PYLINT),
        ("tox.ini", Part.SETUP_CFG_PYLINT),
    ),
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
    links=True,
    wrapper=True,
)
BABEL: Final = Runner(
    name="babel",
    words="jest|babel",
    files=(
        (".babelrc*", Part.WHOLE),
        ("babel.config.*", Part.WHOLE),
        ("package.json", Part.PACKAGE_JSON_BABEL),
    ),
)
ESLINT: Final = Runner(
    name="eslint",
    words="eslint",
    files=(
        (".eslintignore", Part.WHOLE),
        (".eslintrc*", Part.WHOLE),
        ("eslint.config.*", Part.WHOLE),
        ("package.json", Part.PACKAGE_JSON_ESLINT),
    ),
)
TSC: Final = Runner(
    name="tsc", words="tsc|vue-tsc|ts-node|tsx", files=(("jsconfig.json", Part.WHOLE), ("tsconfig*", Part.WHOLE))
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
    files=(
        (".cargo/config", Part.WHOLE),
        (".cargo/config.toml", Part.WHOLE),
        (".config/nextest.toml", Part.WHOLE),
        ("Cargo.toml", Part.CARGO_TOML),
        ("build.rs", Part.WHOLE),
        ("rust-toolchain", Part.WHOLE),
        ("rust-toolchain.toml", Part.WHOLE),
    ),
)
CLIPPY: Final = Runner(
    name="clippy",
    words="(?:cargo-)?clippy",
    files=((".clippy.toml", Part.WHOLE), ("clippy.toml", Part.WHOLE)),
)
GO: Final = Runner(
    name="go",
    words=r"go|gotestsum|ginkgo",
    files=(("go.mod", Part.GO_REPLACE), ("go.work", Part.GO_REPLACE)),
)

UNKNOWN: Final = Runner(
    name="unknown",
    words=r"(?!)",
    files=(("sitecustomize.*", Part.WHOLE), ("usercustomize.*", Part.WHOLE)),
)
"""What is watched when a program of the workspace is started that names none of the others: no project needs these."""

RUNNERS: Final = (
    PYTHON,
    UV,
    POETRY,
    RUFF,
    MYPY,
    PYRIGHT,
    FLAKE8,
    PYLINT,
    NODE,
    BABEL,
    ESLINT,
    TSC,
    VITEST,
    MAKE,
    JUST,
    CARGO,
    CLIPPY,
    GO,
)
"""All that are recognised."""

DEPENDENCY_FOLDERS: Final = ("node_modules", "site-packages")
"""Folders of installed packages: what is in them is no control file, but for Python's start-up modules."""

START_UP_MODULES: Final = ("sitecustomize", "usercustomize")

RUNNER_MODULES: Final = frozenset(
    {
        *START_UP_MODULES,
        "_pytest",
        "_hypothesis_pytestplugin",
        "anyio",
        "argcomplete",
        "astroid",
        "attr",
        "attrs",
        "colorama",
        "coverage",
        "exceptiongroup",
        "execnet",
        "flake8",
        "hypothesis",
        "iniconfig",
        "isort",
        "mccabe",
        "mypy",
        "mypy_extensions",
        "nose2",
        "nox",
        "packaging",
        "pathspec",
        "platformdirs",
        "pluggy",
        "psutil",
        "py",
        "pycodestyle",
        "pyflakes",
        "pygments",
        "pylint",
        "pyright",
        "pytest",
        "ruff",
        "setproctitle",
        "sortedcontainers",
        "tomli",
        "tomlkit",
        "tox",
        "typing_extensions",
        "virtualenv",
        "xdist",
    }
)
"""Modules that a Python runner or linter loads and that no project is expected to have at its top."""

_NAMED = {runner.name: re.compile(rf"(?<![\w.-])(?:{runner.words})(?![\w-])") for runner in RUNNERS}


def named_in(text: str) -> tuple[Runner, ...]:
    """Return the runners whose programs a text names, by path or by bare name; a word too many does no harm."""
    return tuple(runner for runner in RUNNERS if _NAMED[runner.name].search(text))


def is_module_of_runner(module: str) -> bool:
    """Whether a top-level module of this name would stand in for the runner, a plugin or the standard library."""
    return module in RUNNER_MODULES or module in sys.stdlib_module_names or module.startswith("pytest_")
