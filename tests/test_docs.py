"""The pages keep their word: every fenced block runs or loads, every link leads somewhere, every option exists."""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from signoff.cli.main import COMMANDS
from signoff.cli.result import EXIT_CODES, result_schema
from signoff.config import CommandLine, resolve, settings_schema
from signoff.core.completion.reasons import CONSEQUENCES
from signoff.core.values import Reason
from tests.cli.door import PATIENCE, run_signoff
from tests.shells import ROOT, typed

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, *sorted(DOCS.glob("*.md")))
SET_UP = (
    "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/signoff run --cwd examples/quickstart",
    ".venv/bin/pip install -q -r requirements.lock && .venv/bin/python -m pytest -q",
)
FOREIGN = frozenset({"--junitxml", "--print"})
"""Options of other programs that the pages name."""

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(msgspec.Struct, frozen=True):
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """The page and the line that it begins at."""
        return f"{self.page.name}:{self.line}"


class Step(msgspec.Struct, frozen=True):
    """One command that a page has its reader type, and the exit code that it names."""

    command: str
    code: int


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield Block(page, text[: found.start()].count("\n") + 1, found[1], found[2])


BLOCKS = tuple(block for page in PAGES for block in blocks_of(page))


def blocks_in(language: str) -> list[object]:
    """The blocks of one language, as parameters."""
    return [pytest.param(block, id=block.name) for block in BLOCKS if block.language == language]


def steps_of(page: Path) -> list[Step]:
    """The commands of a page in order; a block of them holds nothing but commands and `# exit N`."""
    steps: list[Step] = []
    for block in blocks_of(page):
        for line in block.text.splitlines() if block.language == "console" else ():
            code = re.fullmatch(r"# exit (\d+)", line)
            if code is not None:
                steps[-1] = Step(steps[-1].command, int(code[1]))
            else:
                assert line.startswith("$ "), f"{block.name}: neither a command nor an exit code: {line!r}"
                steps.append(Step(line[2:], 0))
    return steps


def test_every_block_is_of_a_kind_that_is_tried() -> None:
    """No fenced block is left out here because of its language; the diagram is drawn by a script of its own."""
    assert {block.language for block in BLOCKS} == {"python", "console", "toml", "mermaid"}
    fences = sum(page.read_text(encoding="utf-8").count("```") for page in PAGES)
    assert fences == 2 * len(BLOCKS)


@pytest.mark.parametrize("block", blocks_in("python"))
def test_python_runs_as_it_stands(block: Block, tmp_path: Path) -> None:
    """Each block is a program of its own: it ends well and warns of nothing."""
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", block.text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("block", blocks_in("toml"))
def test_toml_is_a_configuration(block: Block, tmp_path: Path) -> None:
    """Each block is a signoff.toml that is accepted, and declares something to decide by."""
    (tmp_path / "signoff.toml").write_text(block.text, encoding="utf-8")
    assert resolve(CommandLine(), environment={}, cwd=str(tmp_path)).contract.decides


def test_only_the_tutorial_has_commands_to_type() -> None:
    """Console blocks stand in the tutorial, where each is typed in order, and in README, where each is looked at."""
    assert {block.page.name for block in BLOCKS if block.language == "console"} == {"README.md", "tutorial.md"}


def test_the_tutorial_can_be_followed(tmp_path: Path) -> None:
    """Its commands, typed in order in one empty folder, end with the exit codes and the verdicts that it names."""
    page = DOCS / "tutorial.md"
    verdicts = {
        0: ("not_completed: self_check_failed, ended by validation_repair_exhausted", "3 attempts, 2 repairs"),
        1: ("completed", "2 attempts"),
        -1: ("not_completed: nothing_changed",),
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    steps = steps_of(page)
    seen = [(step.command, typed(step.command, cwd=folder)) for step in steps]
    assert [(command, done.code) for command, done in seen] == [(step.command, step.code) for step in steps]
    for place, words in verdicts.items():
        assert [word for word in words if word not in seen[place][1].out] == []
        assert words[0] in page.read_text(encoding="utf-8")


def test_readme_is_short_and_its_set_up_is_two_commands() -> None:
    """Under 150 lines, and what a new user types is exactly what the whole check of the repository runs."""
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150
    console = [block.text.strip() for block in blocks_of(README) if block.language == "console"]
    assert tuple(console[:2]) == SET_UP
    assert [text for text in console[2:] if not text.startswith("signoff ")] == []


def program(path: Path, script: str) -> None:
    """Write a small program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def test_the_usage_of_readme_works(tmp_path: Path) -> None:
    """The command that README shows completes with an agent that mends the code, and blocks none of its own words."""
    (usage,) = [block.text for block in blocks_of(README) if block.language == "console"][2:]
    folder = tmp_path / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == int(open('two').read())\n")
    program(tmp_path / "claude", '[ "$1" = -p ] && [ -n "$2" ] && echo 2 >two')
    program(folder / ".venv" / "bin" / "python", f'exec "{sys.executable}" "$@"')
    done = typed(f"PATH='{tmp_path}':$PATH\n{usage}", cwd=folder)
    assert (done.code, done.out.split(" ")[0]) == (0, "completed"), done.err


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link, and every `docs/…` and `examples/…` in code, names a file or folder that is there."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    missing += [path for path in re.findall(r"`((?:docs|examples)/[^`\s]+)`", text) if not (ROOT / path).exists()]
    assert missing == []


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The options of every command, as its fullest help lists them."""
    work = tmp_path_factory.mktemp("help") / "work"
    work.mkdir()
    found: dict[str, set[str]] = {}
    for name in (*COMMANDS, "receipt verify"):
        done = run_signoff(*name.split(), "--help", cwd=work)
        if "--help-all" in done.out:
            done = run_signoff(*name.split(), "--help-all", cwd=work)
        found[name] = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", done.out, re.MULTILINE))
    return found


def code_of(page: Path) -> list[str]:
    """Every span and block of code of a page."""
    text = page.read_text(encoding="utf-8")
    spans = re.findall(r"`([^`]+)`", FENCE.sub("", text).replace("\n", " "))
    return [*spans, *(block.text.replace("\\\n", " ") for block in blocks_of(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_named_exists(page: Path, options: dict[str, set[str]]) -> None:
    """An option that a page names is one of signoff's; on a command line, it is one of that command's."""
    known = set().union(*options.values()) | {"--help", "--version"} | FOREIGN
    code = code_of(page)
    assert {option for text in code for option in OPTION.findall(text)} - known == set()
    for line in re.findall(r"(?:^|\$ |\bbin/)signoff ([a-z][^\n]*)", "\n".join(code), re.MULTILINE):
        name = next((name for name in ("receipt verify", *COMMANDS) if line == name or line.startswith(f"{name} ")), "")
        assert name, f"there is no command for: signoff {line}"
        own = set(OPTION.findall(line.partition(" -- ")[0])) - FOREIGN
        assert (line, own - options[name] - {"--help"}) == (line, set())


def rows_of(page: Path) -> list[list[str]]:
    """The cells of every row of a page's tables."""
    text = page.read_text(encoding="utf-8")
    return [row.strip("|").split("|") for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]


def test_readme_tells_every_status_with_its_exit_code() -> None:
    """The table of statuses is the code's own."""
    rows = {cells[0].strip(" `"): cells[-1].strip() for cells in rows_of(README)}
    assert {status: rows.get(status) for status in EXIT_CODES} == {key: str(code) for key, code in EXIT_CODES.items()}


def test_the_concepts_tell_every_reason_and_where_it_leads() -> None:
    """Each reason code has a row, and the row says what follows from it."""
    told = {name: cells[2] for cells in rows_of(DOCS / "concepts.md")[1:] for name in re.findall(r"`(\w+)`", cells[0])}
    assert set(Reason) - told.keys() == set()
    for reason, consequence in CONSEQUENCES.items():
        word = "fed back" if consequence.repaired else str(consequence.status)
        assert (reason, word in told[reason]) == (reason, True)


@pytest.mark.parametrize(
    ("name", "schema"), [("result.schema.json", result_schema()), ("signoff.toml.schema.json", settings_schema())]
)
def test_the_published_schemas_are_the_codes_own(name: str, schema: dict[str, object]) -> None:
    """Both files are what the code says now; `python docs/make_schemas.py` writes them when this fails."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert json.loads(text) == schema
    assert text == runpy.run_path(str(DOCS / "make_schemas.py"))["text_of"](name)
