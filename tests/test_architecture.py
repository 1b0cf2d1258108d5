"""The layers hold: imports point downwards, the core stays pure, and every import stands at the top of its file.

The contracts are written in pyproject.toml; here they are run, on the package and on copies with a planted fault.
"""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "signoff"

THIRD_PARTIES_OF_THE_CORE = {"immutables", "msgspec", "orjson"}
# What the core may take from the standard library: values and pure functions. Add a name here only if it neither reads
# nor changes anything outside its arguments.
PURE = {
    "base64",
    "binascii",
    "bisect",
    "collections",
    "contextlib",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "types",
    "typing",
    "unicodedata",
}
# Modules of which the core may take these parts only: words about the machine, or about text.
PURE_PARTS = {"posixpath": {"basename", "commonpath", "dirname", "join", "normpath", "split"}, "sys": {"maxsize"}}
WORLDLY_BUILTINS = {"__import__", "breakpoint", "compile", "eval", "exec", "globals", "input", "open", "print"}
ABOVE_THE_NAMES = {"__main__", "cli", "testing"}


def programs(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    """Every program below a folder: its place in the package, and its tree."""
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def modules_named(node: ast.AST) -> list[str]:
    """The modules that an import statement names; none for any other node."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, level=level):
            return ["." * level + (module or "")]
        case _:
            return []


def lint_imports(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the contracts of a folder's pyproject.toml on the package `signoff` that is found from there."""
    program = Path(sysconfig.get_path("scripts")) / "lint-imports"
    return subprocess.run(
        [sys.executable, program, "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_contracts_of_the_layers_are_kept() -> None:
    """No module imports upwards or sideways, and the core reaches nothing of the world, even indirectly."""
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("place", "line", "broken"),
    [
        ("core/planted.py", "import time", "signoff.core.planted -> time"),
        ("core/planted.py", "import signoff.ports", "signoff.core.planted -> signoff.ports"),
        ("errors.py", "import os.path", "signoff.errors -> os"),
        ("ports.py", "import signoff.process", "signoff.ports -> signoff.process"),
        ("wire/planted.py", "import socket", "signoff.wire.planted -> socket"),
        ("wire/planted.py", "import signoff.models", "signoff.wire.planted -> signoff.models"),
        ("models/planted.py", "import signoff.runtime", "signoff.models.planted -> signoff.runtime"),
        ("process/planted.py", "import signoff.config", "signoff.process.planted -> signoff.config"),
        ("config/planted.py", "import signoff.stores", "signoff.config.planted -> signoff.stores"),
        ("stores/planted.py", "import signoff.verifiers", "signoff.stores.planted -> signoff.verifiers"),
        ("runtime/planted.py", "import signoff.testing", "signoff.runtime.planted -> signoff.testing"),
        ("testing/planted.py", "import signoff.cli", "signoff.testing.planted -> signoff.cli"),
        ("helpers.py", "", "signoff.helpers"),
    ],
)
def test_a_planted_import_breaks_a_contract(place: str, line: str, broken: str, tmp_path: Path) -> None:
    """An import upwards, sideways, out of the core, or a room that no layer names is found and named."""
    shutil.copytree(PACKAGE, tmp_path / "signoff", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "signoff" / place).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    assert broken in " ".join(result.stdout.split())


def test_imports_stand_at_the_top() -> None:
    """No function imports anything, but in the command line, where start-up time is a promise."""
    found = [
        f"{place}:{inner.lineno}"
        for place, tree in programs(PACKAGE)
        if not place.startswith("cli/")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert found == []


@pytest.mark.parametrize("room", ["core", "wire"])
def test_a_pure_room_takes_only_pure_modules(room: str) -> None:
    """It imports itself and what is pure below it, three libraries of values, and what is pure in the library."""
    allowed = PURE | PURE_PARTS.keys() | THIRD_PARTIES_OF_THE_CORE
    below = ("signoff.core.", "signoff.errors.", f"signoff.{room}.")
    found = [
        f"{place}: {name}"
        for place, tree in [*programs(PACKAGE / room), *programs_named("errors.py")]
        for node in ast.walk(tree)
        for name in modules_named(node)
        if name.split(".")[0] not in allowed and not f"{name}.".startswith(below)
    ]
    assert found == []


@pytest.mark.parametrize("room", ["core", "wire"])
def test_a_pure_room_calls_nothing_worldly(room: str) -> None:
    """It neither opens, prints, asks nor runs text, and takes of half-pure modules only the pure parts."""
    found = [
        f"{place}: {name}"
        for place, tree in programs(PACKAGE / room)
        for node in ast.walk(tree)
        for name in worldly_names(node)
    ]
    assert found == []


def worldly_names(node: ast.AST) -> list[str]:
    """The names in one node that reach out of the core; none for most nodes."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in WORLDLY_BUILTINS:  # a field may be called `input`
            return [name]
        case ast.Attribute(value=ast.Name(id=module), attr=part) if module in PURE_PARTS:
            return [] if part in PURE_PARTS[module] else [f"{module}.{part}"]
        case ast.ImportFrom(module=str(module), names=names) if module in PURE_PARTS:
            return [f"{module}.{alias.name}" for alias in names if alias.name not in PURE_PARTS[module]]
        case _:
            return []


@pytest.mark.parametrize("line", ["open(a)", "x = eval", "sys.argv", "from sys import argv", "posixpath.exists(a)"])
def test_a_worldly_name_is_noticed(line: str) -> None:
    """Each way to reach out of the core is found in the program's text."""
    assert [name for node in ast.walk(ast.parse(line)) for name in worldly_names(node)] != []


def test_nothing_below_the_names_imports_the_names() -> None:
    """The package's public names are made from its rooms; a room that imported them would close a circle."""
    found = [
        f"{place}: {name}"
        for place, tree in programs(PACKAGE)
        if place.removesuffix(".py").split("/")[0] not in ABOVE_THE_NAMES
        for node in ast.walk(tree)
        for name in modules_named(node)
        if name in {"signoff", "signoff.types"} and place != "__init__.py"
    ]
    assert found == []


def test_the_package_itself_is_light() -> None:
    """The package's own file names neither the command line nor the test kit, and runs nothing when it is imported."""
    ((_, tree),) = programs_named("__init__.py")
    named = {name for node in ast.walk(tree) for name in modules_named(node)}
    named |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert {name for name in named if name.startswith(("signoff.cli", "signoff.testing"))} == set()
    assert [node.lineno for outer in tree.body for node in at_import(outer) if isinstance(node, ast.Call)] == []


def at_import(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What of a statement is carried out when its file is imported: all but the inside of functions."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from at_import(child)


def programs_named(name: str) -> Iterator[tuple[str, ast.Module]]:
    """One program of the package, by its place."""
    yield name, ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
