"""Sizes are kept: a file, a class, a function, its parameters and its nesting stay small enough to be read at once."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = {"file": 400, "class": 200, "function": 60, "parameters": 6, "positional parameters": 2, "nesting": 3}
OTHER = {"file": 400, "function": 60, "nesting": 3}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def test_source_keeps_its_sizes() -> None:
    """No file, class or function of the package is larger than the house rules allow."""
    found = [fault for path in sorted((ROOT / "src").rglob("*.py")) for fault in faults_in(path, SOURCE)]
    assert found == []


@pytest.mark.parametrize("folder", ["tests", "bench", "examples", "."])
def test_other_programs_keep_their_sizes(folder: str) -> None:
    """Tests, benches, examples and the programs of the root are bound in file, function and nesting."""
    paths = (ROOT / folder).glob("*.py") if folder == "." else (ROOT / folder).rglob("*.py")
    assert [fault for path in sorted(paths) for fault in faults_in(path, OTHER)] == []


def faults_in(path: Path, limits: Mapping[str, int]) -> list[str]:
    """Every measure of a file that is over its limit, each as one line that names the place."""
    try:
        shown = path.relative_to(ROOT)
    except ValueError:
        shown = path
    return [
        f"{shown}:{line} {name}: {measure} {size}, at most {limits[measure]}"
        for line, name, measure, size in measures_of(path.read_text(encoding="utf-8"))
        if size > limits.get(measure, size)
    ]


def measures_of(text: str) -> Iterator[tuple[int, str, str, int]]:
    """Line, name, measure and size of everything in a program that has a limit."""
    tree = ast.parse(text)
    yield 1, "file", "file", len(text.splitlines())
    yield 1, "file", "nesting", nesting_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, "class", lines_of(node)
        elif isinstance(node, FUNCTIONS):
            yield node.lineno, node.name, "function", lines_of(node)
            yield node.lineno, node.name, "nesting", nesting_of(node)
            yield node.lineno, node.name, "parameters", len(parameters_of(node))
            # Private functions may choose; the language sets the parameters of its own methods, such as __exit__.
            if not node.name.startswith("_"):
                keyword_only = len(node.args.kwonlyargs) + (node.args.kwarg is not None)
                yield node.lineno, node.name, "positional parameters", len(parameters_of(node)) - keyword_only


def lines_of(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the definition to its last statement, decorators aside."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names of all parameters but the object itself."""
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [one.arg for place, one in enumerate([*named, *rest]) if not (place == 0 and one.arg in {"self", "cls"})]


def nesting_of(node: ast.AST, depth: int = 0) -> int:
    """The deepest chain of blocks within a node; a function or class inside it counts for itself."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            continue
        opens = isinstance(child, BLOCKS) and not is_elif(child, node)
        deepest = max(deepest, nesting_of(child, depth + opens))
    return deepest


def is_elif(child: ast.AST, parent: ast.AST) -> bool:
    """An `elif` is a block of its parent's own depth; an `if` alone under `else` is one level deeper."""
    return (
        isinstance(parent, ast.If)
        and isinstance(child, ast.If)
        and child in parent.orelse
        and child.col_offset == parent.col_offset
    )


DEEP = """
def deep():
    for a in b:
        if a:
            pass
        elif b:
            with c:
                {}
"""
TOO_LARGE = {
    "file": "x = 1\n" * 401,
    "class": "class C:\n" + "    x = 1\n" * 200,
    "function": "def f():\n" + "    x = 1\n" * 60,
    "parameters": "def f(a, b, *, c, d, e, f, g): ...",
    "positional parameters": "class C:\n    def f(self, a, b, c): ...",
    "nesting": DEEP.format("match d:\n                    case e: pass"),
}
JUST_RIGHT = {
    "file": "x = 1\n" * 400,
    "class": "class C:\n" + "    x = 1\n" * 199,
    "function": "def f():\n" + "    x = 1\n" * 59,
    "parameters": "class C:\n    def f(self, a, b, *, c, d, e, **f): ...",
    "positional parameters": "class C:\n    def __exit__(self, a, b, c): ...",
    "nesting": DEEP.format("def inner():\n                    if d: pass"),
}


@pytest.mark.parametrize("measure", SOURCE)
def test_a_limit_is_noticed(measure: str, tmp_path: Path) -> None:
    """One more than the limit is named, with the measure; the limit itself is not."""
    over, within = tmp_path / "over.py", tmp_path / "within.py"
    over.write_text(TOO_LARGE[measure], encoding="utf-8")
    within.write_text(JUST_RIGHT[measure], encoding="utf-8")
    assert [f"{measure} {SOURCE[measure] + 1}, at most {SOURCE[measure]}"] == [
        fault.split(": ")[1] for fault in faults_in(over, SOURCE)
    ]
    assert faults_in(within, SOURCE) == []
