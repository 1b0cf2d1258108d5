"""From a check to what it starts: scripts behind scripts, folders that are entered, settings that are named."""

import os
import time
from pathlib import Path

import pytest

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.verifiers import unguarded_programs
from signoff.verifiers.starts import MOST_FILES, MOST_FOLDERS, Started, follow
from tests.verifiers.looking import Bench, contract, steered


def shell(text: str, **env: str) -> ValidationCommand:
    """Return a check that is a shell string."""
    return ValidationCommand(id="check", shell=text, env=env)


def started(root: Path, files: dict[str, str], text: str) -> Started:
    """Write files and follow a shell string."""
    b = Bench(root)
    b.write(dict(files))
    return follow([shell(text)], str(b.root))


@pytest.mark.parametrize(
    ("files", "text", "planted"),
    [
        ({"sub/t.sh": "exec pytest"}, "cd sub && ./t.sh", "sub/conftest.py"),
        ({"sub/deep/t.sh": "exec pytest"}, "cd sub; cd deep; ./t.sh", "sub/deep/conftest.py"),
        ({"a.sh": "sh b.sh", "b.sh": "sh c.sh", "c.sh": "pytest"}, "bash a.sh", "conftest.py"),
        ({"a.sh": ". ./b.sh", "b.sh": "bash a.sh; pytest"}, "bash a.sh", "conftest.py"),
        ({"ci/a.sh": '"$(dirname "$0")/b.sh"', "ci/b.sh": "pytest"}, "ci/a.sh", "conftest.py"),
        ({"ci/a.sh": "$HERE/b.sh", "ci/b.sh": "pytest"}, "ci/a.sh", "conftest.py"),
        ({"ci/a.sh": "./b.sh", "ci/b.sh": "pytest"}, "ci/a.sh", "conftest.py"),
        ({"a.py": 'run(["sh", "b.sh"])', "b.sh": "make"}, "python a.py", "Makefile"),
        ({"tools/check.py": "import os; os.system('make')"}, "python -m tools.check", "Makefile"),
        ({"sub/Makefile": "x:\n\t@./t.sh\n", "sub/t.sh": "pytest"}, "make -C sub", "conftest.py"),
        ({"sub/package.json": '{"scripts": {"test": "tox"}}'}, "npm --prefix sub test", "conftest.py"),
        ({"sub/x": ""}, "cd sub && python -m pytest", "sub/pytest.py"),
        ({"sub/run.py": "import unittest"}, "python sub/run.py", "sub/unittest.py"),
        ({"t.sh": "(cd sub && python -m pytest)", "sub/x": ""}, "sh t.sh", "sub/pytest.py"),
        ({"t.sh": 'cd "$(dirname "$0")/sub"; python -m pytest', "sub/x": ""}, "sh t.sh", "sub/pytest.py"),
        ({"lib/x": ""}, "PYTHONPATH=lib python -m pytest", "lib/pluggy.py"),
        ({"prog": "\0"}, "./prog", "sitecustomize.py"),
        ({"ci.mk": "all:\n\ttrue\n"}, "make -f ci.mk", "ci.mk"),
        ({}, "make --file=ci.mk all", "ci.mk"),
        ({"sub/x": ""}, "make -C sub -fci.mk", "sub/ci.mk"),
        ({"Makefile": "include rules.mk\nall:\n"}, "make", "rules.mk"),
        ({"Makefile": "-include local.mk\n"}, "make", "local.mk"),
        ({"ci.mk": "include a/b\n", "a/b": "sinclude a/c\n"}, "make -f ci.mk", "a/c"),
        ({"justfile": "import 'more.just'\n"}, "just", "more.just"),
        ({}, "pytest -q -c ci.ini", "ci.ini"),
        ({}, "python -m pytest --config-file ci.ini", "ci.ini"),
        ({"a.py": 'run(["pytest", "-c", "ci.ini"])'}, "python a.py", "ci.ini"),
        ({}, "npx jest --config=ci.js", "ci.js"),
        ({}, "coverage run --rcfile=cov.ini -m pytest", "cov.ini"),
    ],
)
def test_what_a_check_depends_on_is_seen(files: dict[str, str], text: str, planted: str, tmp_path: Path) -> None:
    """Behind any number of steps, what the agent plants for the runner to read is a change of a control file."""
    b = Bench(tmp_path, contract(commands=(shell(text),)))
    b.write(dict(files))
    for name in files:
        (tmp_path / name).chmod(0o755)
    b.baseline()
    assert planted in steered(b.after_agent({planted: "other"}))


@pytest.mark.parametrize(
    ("files", "text", "made"),
    [
        ({"t.sh": "pytest; test -f out.txt"}, "./t.sh", "out.txt"),
        ({"t.sh": "python app.py -f out.txt --config settings.json"}, "sh t.sh", "settings.json"),
        ({"t.sh": "# make sure that all is well\n./prog README.md\n", "README.md": "run make"}, "sh t.sh", "Makefile"),
        ({"a.test.js": "import './product.js'\n"}, "node a.test.js", "product.js"),
        ({"src/app.py": "x = 1\n"}, "python src/app.py", "src/helper.py"),
        ({"t.sh": "cat src/x; pytest", "src/x": ""}, "sh t.sh", "src/json.py"),
    ],
)
def test_a_product_is_left_alone(files: dict[str, str], text: str, made: str, tmp_path: Path) -> None:
    """What a check merely reads, tests or talks about is no control file."""
    b = Bench(tmp_path, contract(commands=(shell(text),)))
    b.write(dict(files))
    b.baseline()
    assert steered(b.after_agent({made: "other"})) == {}


def test_a_variable_of_the_check_names_a_folder_too(tmp_path: Path) -> None:
    """PYTHONPATH in a check's own environment is a folder of modules."""
    (tmp_path / "lib").mkdir()
    b = Bench(tmp_path, contract(commands=(shell("pytest", PYTHONPATH="lib:other"),)))
    b.baseline()
    assert steered(b.after_agent({"lib/pytest.py": ""})) == {"lib/pytest.py": "new"}


def test_nothing_outside_is_followed(tmp_path: Path) -> None:
    """A folder, a script and a link that lead out of the workspace end the trail."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "t.sh").write_text("pytest")
    (root / "up").symlink_to("..")
    found = started(root, {}, "cd ..; ./t.sh; up/t.sh; cd up")
    assert (found.files, found.folders, found.runners) == ((), frozenset({""}), ())


def test_scripts_in_a_circle_and_in_thousands_end(tmp_path: Path) -> None:
    """The number of files, of folders and of looks is bounded, and so is the time."""
    files = {f"d{n}/s{n}.sh": f"cd ../d{n + 1}; ./s{n + 1}.sh; d0/s0.sh" for n in range(500)}
    names = " ".join(f"{path}; cd {path.partition('/')[0]};" for path in files)
    begun = time.monotonic()
    found = started(tmp_path, {**files, "big.sh": "x y " * 200_000 + " ".join(f"w{n}" for n in range(50_000))}, names)
    assert len(found.files) <= MOST_FILES
    assert len(found.folders) <= MOST_FOLDERS
    assert time.monotonic() - begun < 20


def test_a_fifo_and_a_folder_named_like_a_script_are_passed_over(tmp_path: Path) -> None:
    """Nothing is waited for."""
    os.mkfifo(tmp_path / "t.sh")
    assert started(tmp_path, {"d.sh/x": ""}, "sh t.sh d.sh").files == ()


def test_the_note_names_what_is_started_in_another_folder_and_in_turn(tmp_path: Path) -> None:
    """A script behind `cd`, and one that a script starts, can be edited just as well."""
    b = Bench(tmp_path)
    b.write({"sub/check.sh": "./more.sh\n", "sub/more.sh": "true\n"})
    [note] = unguarded_programs(str(b.root), Contract(commands=(shell("cd sub && ./check.sh"),)))
    assert "--immutable sub/check.sh --immutable sub/more.sh" in note
