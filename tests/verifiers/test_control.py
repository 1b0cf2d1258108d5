"""Control files: what steers a check is watched anywhere in the workspace, and what does not is left alone."""

import os
from pathlib import Path

import pytest

from signoff.core.completion.contract import ValidationCommand
from signoff.verifiers.control import control_of
from signoff.verifiers.runners import RUNNERS, Part, named_in
from tests.verifiers.looking import PYTEST, Bench, contract, steered, the_input, touched


def running(*argv: str, cwd: str = ".") -> ValidationCommand:
    """Return a check that runs a program."""
    return ValidationCommand(id=f"check-{argv[0].replace('/', '.')}", argv=argv, cwd=cwd)


def in_bash(text: str) -> ValidationCommand:
    """Return a check that is a shell string."""
    return ValidationCommand(id="check", shell=text)


def test_the_list_can_be_matched_quickly() -> None:
    """An open end stands at the end of a file's name only, and then the whole file steers."""
    for runner in RUNNERS:
        for pattern, part in runner.files:
            assert "*" not in pattern[:-1]
            assert not pattern.endswith("*") or ("/" not in pattern and part is Part.WHOLE), pattern


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pytest -q", {"python"}),
        ("/usr/bin/pytest-3 x", {"python"}),
        ("python3.11 -m unittest", {"python"}),
        (".venv/bin/python -m pytest", {"python"}),
        ("cd sub && npm test", {"node"}),
        ("npx vitest run", {"node", "vitest"}),
        ("make -C sub check", {"make"}),
        ("just test", {"just"}),
        ("cargo test", {"cargo"}),
        ("go test ./...", {"go"}),
        ("FOO=1 timeout 60 tox -e py;", {"python"}),
        ("test -s out.txt", set()),
        ("./cargo-like-thing my_pytest remake going python-config", set()),
    ],
)
def test_a_runner_is_recognised_by_its_name(text: str, names: set[str]) -> None:
    """By path, with a version, in a shell string; a longer word that holds the name is another word."""
    assert {runner.name for runner in named_in(text)} == names


@pytest.mark.parametrize(
    ("program", "path"),
    [
        ("pytest", "conftest.py"),
        ("pytest", "tests/deep/conftest.py"),
        ("pytest", "pytest.ini"),
        ("pytest", "tests/pytest.ini"),
        ("pytest", ".pytest.ini"),
        ("pytest", "pytest.toml"),
        ("pytest", "tox.ini"),
        ("pytest", ".coveragerc"),
        ("pytest", "src/sitecustomize.py"),
        ("pytest", "usercustomize.py"),
        ("pytest", ".venv/lib/python3.11/site-packages/sitecustomize.py"),
        ("nox", "noxfile.py"),
        ("jest", "jest.config.js"),
        ("jest", "packages/a/jest.config.ts"),
        ("npm", ".npmrc"),
        ("vitest", "vitest.config.mts"),
        ("vitest", "vite.config.ts"),
        ("make", "Makefile"),
        ("make", "sub/GNUmakefile"),
        ("just", "justfile"),
        ("cargo", "build.rs"),
        ("cargo", ".cargo/config.toml"),
        ("cargo", "crates/a/.cargo/config"),
    ],
)
def test_a_new_a_changed_and_a_deleted_file_are_seen(program: str, path: str, tmp_path: Path) -> None:
    """Every file of the list is watched where it may lie, whatever happens to it."""
    b = Bench(tmp_path, contract(commands=(running(program),)))
    before = b.baseline()
    new = b.after_agent({path: "1"})
    assert steered(new) == {path: "new"}
    assert new.control_digest != before.control_digest
    b.baseline()
    assert steered(b.after_agent({path: "2"})) == {path: "changed"}
    assert steered(b.after_agent({path: None})) == {path: "deleted"}


@pytest.mark.parametrize(
    ("program", "path"),
    [
        ("pytest", "jest.config.js"),
        ("pytest", "Makefile"),
        ("pytest", "tests/test_new.py"),
        ("pytest", "src/json.py"),
        ("pytest", "node_modules/x/conftest.py"),
        ("pytest", ".venv/lib/python3.11/site-packages/x/conftest.py"),
        ("pytest", "resource"),
        ("pytest", "html/index.html"),
        ("pytest", "pyproject.toml"),
        ("npm", "conftest.py"),
        ("npm", "node_modules/x/jest.config.js"),
        ("npm", "vite.config.ts"),
        ("cargo", "config.toml"),
        ("test", "conftest.py"),
    ],
)
def test_what_does_not_steer_is_left_alone(program: str, path: str, tmp_path: Path) -> None:
    """Another runner's file, an installed package's, a module below the top, a file that is no module: no alarm."""
    b = Bench(tmp_path, contract(commands=(running(program),)))
    b.baseline()
    assert steered(b.after_agent({path: "x = 1\n"})) == {}


@pytest.mark.parametrize(
    "path",
    [
        "pytest.py",
        "json.py",
        "json/__init__.py",
        "_pytest/__init__.py",
        "pytest_anything.py",
        "pluggy.pyc",
        "random.cpython-311-x86_64-linux-gnu.so",
        "sub/json.py",
        "sub/enum/__init__.pyc",
    ],
)
@pytest.mark.parametrize("program", ["pytest", "python3"])
def test_a_module_that_would_be_imported_in_anothers_place_is_seen(program: str, path: str, tmp_path: Path) -> None:
    """Beside the workspace's root or a check's folder, a module named like the runner's or a standard one steers."""
    (tmp_path / "sub").mkdir()
    b = Bench(tmp_path, contract(commands=(running(program, "-m", "pytest", cwd="sub"),)))
    b.baseline()
    assert steered(b.after_agent({path: "x = 1\n"})) == {path: "new"}


def test_a_link_to_a_package_is_seen(tmp_path: Path) -> None:
    """A link named like a standard module may lead to a package."""
    b = Bench(tmp_path, contract(commands=(PYTEST,)))
    b.write({"elsewhere/__init__.py": ""})
    b.baseline()
    (tmp_path / "json").symlink_to("elsewhere")
    assert steered(b.after_agent()) == {"json": "new"}


def test_a_module_that_was_there_is_seen_only_when_it_changes(tmp_path: Path) -> None:
    """A project that has such a module from the start raises no alarm by having it."""
    b = Bench(tmp_path, contract(commands=(PYTEST,)))
    b.write({"json.py": "1"})
    b.baseline()
    assert steered(b.after_agent({"other.py": "1"})) == {}
    assert steered(b.after_agent({"json.py": "2"})) == {"json.py": "changed"}


def test_only_the_runners_table_counts(tmp_path: Path) -> None:
    """Adding a dependency raises no alarm; adding to the runner's table does, and taking the table away too."""
    b = Bench(tmp_path, contract(commands=(PYTEST,)))
    table = '[tool.pytest.ini_options]\naddopts = "-q"\n'
    b.write({"pyproject.toml": f"[project]\nname = 'x'\n{table}"})
    b.baseline()
    assert steered(b.after_agent({"pyproject.toml": f"[project]\nname = 'x'\ndependencies = ['a']\n{table}"})) == {}
    picture = b.after_agent({"pyproject.toml": f"[project]\nname = 'x'\n{table}testpaths = ['none']\n"})
    assert steered(picture) == {"pyproject.toml": "changed"}
    assert steered(b.after_agent({"pyproject.toml": "[project]\nname = 'x'\n"})) == {"pyproject.toml": "deleted"}


def test_a_link_counts_by_what_it_leads_to_as_well(tmp_path: Path) -> None:
    """Editing the file that a control file is a link to is a change of the control file."""
    b = Bench(tmp_path, contract(commands=(PYTEST,)))
    b.write({"shared.py": "1", "big.py": "#" * 2_000_000})
    (tmp_path / "conftest.py").symlink_to("shared.py")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "conftest.py").symlink_to("../big.py")
    b.baseline()
    assert steered(b.after_agent()) == {}
    assert steered(b.after_agent({"shared.py": "2"})) == {"conftest.py": "changed"}
    assert steered(b.after_agent({"shared.py": "1", "big.py": "#" * 2_000_001})) == {"sub/conftest.py": "changed"}


def test_a_fifo_as_a_control_file_is_not_waited_for(tmp_path: Path) -> None:
    """A FIFO in a control file's place, or behind its link, is a change like any other."""
    b = Bench(tmp_path, contract(commands=(PYTEST,)))
    b.baseline()
    os.mkfifo(tmp_path / "pyproject.toml")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "conftest.py").symlink_to("fifo")
    assert steered(b.after_agent()) == {"conftest.py": "new", "pyproject.toml": "new"}


def test_the_contract_may_allow_a_change(tmp_path: Path) -> None:
    """An allowed control file raises no alarm; its digest follows it all the same."""
    b = Bench(tmp_path, contract(commands=(PYTEST,), allow_change=("/conftest.py",)))
    before = b.baseline()
    after = b.after_agent({"conftest.py": "1", "tests/conftest.py": "1"})
    assert steered(after) == {"tests/conftest.py": "new"}
    assert before.control_digest != after.control_digest


def test_an_immutable_file_is_not_told_twice(tmp_path: Path) -> None:
    """A control file under an immutable glob is the immutable input's."""
    b = Bench(tmp_path, contract(commands=(PYTEST,), immutable=("tests/",)))
    b.write({"tests/test_a.py": "1"})
    b.baseline()
    picture = b.after_agent({"tests/conftest.py": "1", "conftest.py": "1"})
    assert steered(picture) == {"conftest.py": "new"}
    assert touched(the_input(picture)) == {"tests/conftest.py": "new"}


def test_an_ignored_control_file_still_steers(tmp_path: Path) -> None:
    """That changes of a file do not count as work does not make it harmless."""
    b = Bench(tmp_path, contract(commands=(PYTEST,), ignore=("conftest.py",)))
    b.baseline()
    picture = b.after_agent({"conftest.py": "1"})
    assert (picture.change_count, steered(picture)) == (0, {"conftest.py": "new"})


@pytest.mark.parametrize(
    ("files", "command", "seen"),
    [
        ({"Makefile": "check:\n\tpytest -q\n"}, running("make", "check"), True),
        ({"check.sh": "#!/bin/sh\nexec pytest\n"}, running("./check.sh"), True),
        ({"check.sh": "#!/bin/sh\nmake\n", "Makefile": "all:\n\tpytest\n"}, running("sh", "check.sh"), True),
        ({"sub/check.sh": "pytest"}, running("sh", "check.sh", cwd="sub"), True),
        ({"package.json": '{"scripts": {"test": "tox"}}'}, running("npm", "test"), True),
        ({"check.sh": "pytest"}, in_bash("(cd .; 'sh' ./check.sh)|cat"), True),
        ({"check.sh": "exec ./prog --self-test"}, running("./check.sh"), False),
        ({"check.sh": "pytest\0"}, running("./check.sh"), False),
    ],
)
def test_a_runner_behind_a_script_is_recognised(
    files: dict[str, str],
    command: ValidationCommand,
    seen: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """What a makefile or a script starts counts as the command's own, as it stood at the beginning."""
    b = Bench(tmp_path, contract(commands=(command,)))
    b.write(dict(files))
    b.baseline()
    assert ("conftest.py" in steered(b.after_agent({"conftest.py": "1"}))) is seen


def test_a_script_outside_is_not_read(tmp_path: Path) -> None:
    """A word that leads out of the workspace is not opened, and neither is a folder or a FIFO."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "check.sh").write_text("make")
    (root / "link.sh").symlink_to("../check.sh")
    os.mkfifo(root / "fifo")
    command = running("sh", "../check.sh", "link.sh", str(tmp_path / "check.sh"), "fifo", ".", "x" * 5000)
    assert "Makefile" not in control_of([command], str(root)).names
    inside = running("sh", str(root / "check.sh"))
    (root / "check.sh").write_text("make")
    assert "Makefile" in control_of([inside], str(root)).names


@pytest.mark.parametrize(
    ("program", "path", "text"),
    [
        ("ruff", "ruff.toml", "x"),
        ("ruff", "sub/.ruff.toml", "x"),
        ("ruff", "pyproject.toml", "[tool.ruff]\nline-length = 1\n"),
        ("mypy", "mypy.ini", "x"),
        ("mypy", ".mypy.ini", "x"),
        ("mypy", "pyproject.toml", "[tool.mypy]\nstrict = false\n"),
        ("mypy", "setup.cfg", "[mypy-a.*]\nignore_errors = true\n"),
        ("pyright", "pyrightconfig.json", "{}"),
        ("pyright", "pyproject.toml", "[tool.pyright]\nexclude = ['src']\n"),
        ("flake8", ".flake8", "x"),
        ("flake8", "setup.cfg", "[flake8]\nexclude = src\n"),
        ("flake8", "tox.ini", "[flake8]\nexclude = src\n"),
        ("pylint", ".pylintrc", "x"),
        ("pylint", "pylintrc", "x"),
        ("pylint", "pyproject.toml", "[tool.pylint.main]\nignore = 'src'\n"),
        ("eslint", ".eslintrc.json", "{}"),
        ("eslint", "eslint.config.mjs", "x"),
        ("eslint", "package.json", '{"eslintConfig": {}}'),
        ("tsc", "tsconfig.build.json", "{}"),
        ("jest", "babel.config.js", "x"),
        ("jest", ".babelrc", "{}"),
        ("cargo", "Cargo.toml", "[package]\nname = 'a'\nautotests = false\n"),
        ("cargo", "Cargo.toml", "[[test]]\nname = 'a'\nharness = false\n"),
        ("cargo", "Cargo.toml", "[lib]\ntest = false\n"),
        ("cargo", "Cargo.toml", "[[bin]]\nname = 'a'\ntest = false\n"),
        ("cargo", "Cargo.toml", "[patch.crates-io]\na = { path = 'fake' }\n"),
        ("cargo", "Cargo.toml", "[profile.test]\ndebug-assertions = false\n"),
        ("cargo", "rust-toolchain.toml", "x"),
        ("uv", "uv.toml", "x"),
        ("uv", "pyproject.toml", "[tool.uv.sources]\na = { path = 'fake' }\n"),
        ("poetry", "poetry.toml", "x"),
        ("poetry", "pyproject.toml", "[tool.poetry.requires-plugins]\na = '1'\n"),
        ("pytest", "pygments.py", "x"),
        ("pytest", "anyio/__init__.py", "x"),
        ("python", "mypy.py", "x"),
    ],
)
def test_every_named_program_has_its_settings_watched(program: str, path: str, text: str, tmp_path: Path) -> None:
    """Linters, compilers and package managers are steered by files of their own when a check names them."""
    b = Bench(tmp_path, contract(commands=(running(program, "x"),)))
    b.baseline()
    assert steered(b.after_agent({path: text})) == {path: "new"}
    other = Bench(tmp_path, contract(commands=(running("test"),)))
    other.baseline()
    assert steered(other.after_agent({path: f"{text}\n"})) == {}


@pytest.mark.parametrize(
    ("program", "path", "text"),
    [
        ("cargo", "Cargo.toml", "[package]\nname = 'a'\n[dependencies]\na = '1'\n[[bin]]\nname = 'a'\n"),
        ("ruff", "pyproject.toml", "[tool.mypy]\nstrict = true\n[project]\nname = 'x'\n"),
        ("pytest", "pyproject.toml", "[tool.ruff]\nx = 1\n[tool.mypy]\nx = 1\n[tool.uv]\nx = 1\n"),
        ("pytest", "ruff.toml", "x"),
        ("npm", "tsconfig.json", "{}"),
    ],
)
def test_another_programs_settings_are_left_alone(program: str, path: str, text: str, tmp_path: Path) -> None:
    """Dependencies, and what only a program that no check names would read, raise no alarm."""
    b = Bench(tmp_path, contract(commands=(running(program, "x"),)))
    b.write({"pyproject.toml": "[dependency-groups]\ndev = ['ruff', 'mypy']\n"})
    b.write({"package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"eslint": "9", "tsc": "5"}}'})
    b.baseline()
    assert steered(b.after_agent({path: text})) == {}


def test_parts_of_one_file_are_watched_together(tmp_path: Path) -> None:
    """When two programs read one file, a change of either part is seen."""
    b = Bench(tmp_path, contract(commands=(running("ruff"), running("mypy"), PYTEST)))
    b.write({"pyproject.toml": "[tool.ruff]\nx = 1\n[tool.mypy]\nx = 1\n"})
    b.baseline()
    assert steered(b.after_agent({"pyproject.toml": "[tool.ruff]\nx = 1\n[tool.mypy]\nx = 1\n[tool.x]\n"})) == {}
    for text in ("[tool.ruff]\nx = 2\n[tool.mypy]\nx = 1\n", "[tool.ruff]\nx = 1\n[tool.mypy]\nx = 2\n"):
        assert steered(b.after_agent({"pyproject.toml": text})) == {"pyproject.toml": "changed"}


@pytest.mark.parametrize(("program", "seen"), [("pytest", True), ("npm", True), ("test", False)])
def test_a_link_to_a_folder_that_is_not_seen_steers(
    program: str,
    seen: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """Python's and Node's runners follow a link out of the workspace, or into a cache, and the walk does not."""
    root = tmp_path / "root"
    (root / ".pytest_cache" / "evil").mkdir(parents=True)
    (tmp_path / "evil").mkdir()
    (root / "old").symlink_to(tmp_path / "evil")
    b = Bench(root, contract(commands=(running(program),)))
    b.baseline()
    (root / "zz").symlink_to(tmp_path / "evil")
    (root / "yy").symlink_to(".pytest_cache/evil")
    (root / "xx").symlink_to(tmp_path / "not-yet")
    assert set(steered(b.after_agent())) == ({"xx", "yy", "zz"} if seen else set())


def test_a_link_to_what_is_seen_steers_nothing(tmp_path: Path) -> None:
    """A link to a folder or file of the workspace, to a file outside, or among installed packages raises no alarm."""
    root = tmp_path / "root"
    (root / "docs" / "v2").mkdir(parents=True)
    (root / "node_modules").mkdir()
    (tmp_path / "data.csv").touch()
    b = Bench(root, contract(commands=(PYTEST,)))
    b.baseline()
    (root / "docs" / "latest").symlink_to("v2")
    (root / "data.csv").symlink_to(tmp_path / "data.csv")
    (root / "node_modules" / "x").symlink_to(tmp_path)
    assert steered(b.after_agent()) == {}
