"""The public names: sorted, present, documented, typed, and brought in without touching anything."""

import ast
import importlib
import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pytest

import signoff

HERE = Path(__file__).resolve().parent

# What the public names may bring in besides the standard library, and which rooms of the package they live in.
# (msgspec takes typing_extensions where it is installed.)
LIBRARIES = {"msgspec", "orjson", "typing_extensions"}
ROOMS = {"core", "errors"}
# Parts of the standard library that cost time or open doors, and that no public name needs.
NOT_NEEDED = {"asyncio", "logging", "multiprocessing", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "unittest"}
# What the import machinery itself does, and what making classes and functions raises.
HARMLESS = {
    "builtins.id",
    "code.__new__",
    "compile",
    "exec",
    "import",
    "marshal.loads",
    "object.__getattr__",
    "object.__setattr__",
    "sys._getframe",
    "sys._getframemodulename",
}

PROBE = '''
import importlib.util, json, os, sys

events, names = [], []

class Spy(dict):
    """An environment that notes what is asked of it, by whatever way."""
    def note(self, key="*"):
        names.append(key if isinstance(key, str) else repr(key))
    def __getitem__(self, key):
        self.note(key)
        return super().__getitem__(key)
    def __contains__(self, key):
        self.note(key)
        return super().__contains__(key)
    def get(self, key, default=None):
        self.note(key)
        return super().get(key, default)
    def __iter__(self):
        self.note()
        return super().__iter__()
    def copy(self):
        self.note()
        return super().copy()
    def keys(self):
        self.note()
        return super().keys()
    def items(self):
        self.note()
        return super().items()
    def values(self):
        self.note()
        return super().values()

known = set(sys.modules)
os.environ, os.environb = Spy(os.environ), Spy(os.environb)
watching = True
sys.addaudithook(lambda event, given: watching and events.append((event, [str(one) for one in given[:2]])))
import signoff
{after}
watching = False
new = sorted(set(sys.modules) - known)
files = [getattr(sys.modules[name], "__file__", None) for name in new]
files += [getattr(sys.modules[name], "__cached__", None) for name in new]
folders = [folder for module in sys.modules.values() for folder in getattr(module, "__path__", [])] + sys.path
with open(sys.argv[1], "w") as report:
    json.dump({{"events": events, "names": names, "new": new, "files": files, "folders": folders}}, report)
'''


USING_EVERY_NAME = "[getattr(signoff, name) for name in signoff.__all__]"


class Seen:
    """What an import did, as a process of its own saw it."""

    def __init__(self, folder: Path, *, after: str = "") -> None:
        report = folder / "report.json"
        self.process = subprocess.run(
            [sys.executable, "-I", "-B", "-W", "error", "-c", PROBE.format(after=after), report],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert self.process.returncode == 0, self.process.stderr
        found = json.loads(report.read_text(encoding="utf-8"))
        self.environment: list[str] = found["names"]
        self.modules: set[str] = set(found["new"])
        self.printed = self.process.stdout + self.process.stderr
        self.touched = [
            f"{event} {given}"
            for event, given in found["events"]
            if event not in HARMLESS
            and not (event == "open" and (given[0] in found["files"] or is_of_the_library(given)))
            and not (event == "os.listdir" and given[0] in found["folders"])
        ]


def is_of_the_library(given: list[str]) -> bool:
    """Whether a module of the standard library is read: one that puts another in its place does not show its file."""
    path, mode = given
    return path.startswith(sysconfig.get_path("stdlib")) and path.endswith((".py", ".pyc")) and mode == "r"


def tops(names: Iterable[str]) -> set[str]:
    """The first parts of dotted names."""
    return {name.split(".")[0] for name in names}


@pytest.mark.scenario("CL-021")
@pytest.mark.parametrize("after", ["", USING_EVERY_NAME], ids=["imported", "every name used"])
def test_importing_touches_nothing(after: str, tmp_path: Path) -> None:
    """`import signoff` reads no environment, opens nothing but the modules it loads, and prints nothing."""
    seen = Seen(tmp_path, after=after)
    assert seen.environment == []
    assert seen.touched == []
    assert seen.printed == ""


@pytest.mark.scenario("CL-021")
def test_importing_brings_in_nothing_before_a_name_is_used(tmp_path: Path) -> None:
    """`import signoff` alone loads the package and none of its rooms."""
    seen = Seen(tmp_path)
    assert {name for name in seen.modules if tops([name]) - sys.stdlib_module_names} == {"signoff"}
    assert tops(seen.modules) & NOT_NEEDED == set()


@pytest.mark.scenario("CL-021")
def test_the_names_bring_in_only_what_they_need(tmp_path: Path) -> None:
    """All names together load the rooms they live in, the libraries of values, and no slow standard module."""
    seen = Seen(tmp_path, after=USING_EVERY_NAME)
    assert tops(seen.modules) - LIBRARIES - sys.stdlib_module_names == {"signoff"}
    rooms = {name.split(".")[1] for name in seen.modules if name.startswith("signoff.")}
    assert rooms - ROOMS == set()
    assert tops(seen.modules) & NOT_NEEDED == set()


@pytest.mark.parametrize(
    ("act", "noticed"),
    [
        ("os.getenv('HOME')", "environment"),
        ("os.environ.get('HOME')", "environment"),
        ("'HOME' in os.environ", "environment"),
        ("dict(os.environ)", "environment"),
        ("list(os.environ.items())", "environment"),
        ("open(os.devnull).close()", "touched"),
        ("os.listdir('/')", "touched"),
        ("os.scandir('/').close()", "touched"),
        ("os.mkdir(sys.argv[1] + '.d')", "touched"),
        ("import socket; socket.socket().close()", "touched"),
        ("print('hello')", "printed"),
    ],
)
def test_the_probe_notices(act: str, noticed: str, tmp_path: Path) -> None:
    """Each kind of act that an import must not commit is seen by the probe when it is committed."""
    assert getattr(Seen(tmp_path, after=act), noticed)


def in_order(names: Iterable[str]) -> list[str]:
    """Each name once: constants, then classes, then the rest, each group by the alphabet, as the linter wants them."""
    return sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_the_names_are_sorted_and_present() -> None:
    """The package names exactly what it makes public, each name once, in order."""
    assert in_order(signoff.__all__) == list(signoff.__all__)
    assert dir(signoff) == list(signoff.__all__)
    assert [name for name in signoff.__all__ if not hasattr(signoff, name)] == []
    unknown = "no_such_name"
    with pytest.raises(AttributeError, match=unknown):
        getattr(signoff, unknown)


def test_a_type_checker_sees_the_homes_that_a_program_gets() -> None:
    """The imports written for type checkers name the same modules as those that are made at run time."""
    tree = ast.parse(Path(signoff.__file__).read_text(encoding="utf-8"))
    written = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    assert written == {name: getattr(signoff, name).__module__ for name in signoff.__all__ if name != "__version__"}


def test_every_module_can_be_imported_first() -> None:
    """No module depends on another having been imported before it."""
    package = Path(signoff.__file__).parent
    paths = [path.relative_to(package.parent).with_suffix("") for path in sorted(package.rglob("*.py"))]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__"]
    command = [sys.executable, "-I", "-W", "error", "-c", IMPORT_EACH, *names]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (result.stdout, result.stderr) == (f"{len(names)} imported", "")


IMPORT_EACH = """
import importlib, os, sys
imported = 0
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        importlib.import_module(name)
        os._exit(0)
    imported += os.waitpid(child, 0)[1] == 0
    if "signoff" in sys.modules:
        sys.exit("the parent imported it, so the children were not fresh")
print(imported, "imported", end="")
"""


@pytest.mark.parametrize("name", signoff.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    """Every public class and function says in a docstring of its own what it is."""
    value = getattr(signoff, name)
    if isinstance(value, type) or callable(value):
        assert (vars(value).get("__doc__") or "").strip() if isinstance(value, type) else value.__doc__


def test_the_test_kit_names_what_it_exports() -> None:
    """The test kit's list of names is sorted, and each of them is there."""
    kit = importlib.import_module("signoff.testing")
    assert in_order(kit.__all__) == list(kit.__all__)
    assert [name for name in kit.__all__ if not hasattr(kit, name)] == []


def test_every_public_name_is_typed() -> None:
    """The program that the type checkers read uses every public name."""
    tree = ast.parse((HERE / "typing" / "api.py").read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert set(signoff.__all__) - used == set()
