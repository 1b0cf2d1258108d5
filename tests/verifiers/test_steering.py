"""The part of a file that steers a check: a change of it is seen, a change beside it is not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.verifiers.runners import Part
from signoff.verifiers.steering import MOST_PARSED, steering_digest

PYPROJECT = """
[project]
name = "x"
dependencies = ["a"]
[tool.pytest.ini_options]
addopts = "-q"
[tool.ruff]
line-length = 100
"""
SETUP_CFG = """
[metadata]
name = x
# comment
[tool:pytest]
addopts = -q
[options]
install_requires = a
"""
PACKAGE_JSON = '{"name": "x", "scripts": {"test": "jest"}, "dependencies": {"a": "1"}}'
GO_MOD = """module x
require a v1.0.0
replace a => ./a // local
replace (
    b v1 => c v2
)
require d v1.0.0
"""


@pytest.mark.parametrize(
    ("part", "text", "old", "new", "alarm"),
    [
        (Part.PYPROJECT, PYPROJECT, '"a"', '"a", "b"', False),
        (Part.PYPROJECT, PYPROJECT, "100", "120", False),
        (Part.PYPROJECT, PYPROJECT, '"-q"', '"-q" # comment', False),
        (Part.PYPROJECT, PYPROJECT, '"-q"', '"--collect-only"', True),
        (Part.PYPROJECT, PYPROJECT, "[tool.pytest.ini_options]", "[tool.other]", True),
        (Part.PYPROJECT, PYPROJECT, "[tool.ruff]", '[tool.pytest]\naddopts = ["--co"]\n[tool.ruff]', True),
        (Part.PYPROJECT, PYPROJECT, "[tool.ruff]", "[tool.coverage.report]\nfail_under = 1\n[tool.ruff]", True),
        (Part.PYPROJECT, PYPROJECT, "[tool.ruff]", '[project.entry-points.pytest11]\nx = "x"\n[tool.ruff]', True),
        (Part.PYPROJECT, PYPROJECT, "[project]", "[project", True),
        (Part.SETUP_CFG, SETUP_CFG, "install_requires = a", "install_requires = b", False),
        (Part.SETUP_CFG, SETUP_CFG, "# comment", "# another", False),
        (Part.SETUP_CFG, SETUP_CFG, "addopts = -q", "; said\naddopts = -q", False),
        (Part.SETUP_CFG, SETUP_CFG, "-q", "--collect-only", True),
        (Part.SETUP_CFG, SETUP_CFG, "name = x", "name = x\x0c[tool:pytest]\x0caddopts = --co", True),
        (Part.SETUP_CFG, SETUP_CFG, "name = x", "name = x\n [tool:pytest]\n addopts = --co", True),
        (Part.PACKAGE_JSON, PACKAGE_JSON, '"a": "1"', '"a": "1", "b": "2"', False),
        (Part.PACKAGE_JSON, PACKAGE_JSON, '"test": "jest"', '"test" : "jest"', False),
        (Part.PACKAGE_JSON, PACKAGE_JSON, '"jest"', '"true"', True),
        (Part.PACKAGE_JSON, PACKAGE_JSON, '"name": "x"', '"jest": {"testMatch": []}', True),
        (Part.PACKAGE_JSON, PACKAGE_JSON, "{", "[", True),
        (Part.GO_REPLACE, GO_MOD, "require d v1.0.0", "require d v2.0.0", False),
        (Part.GO_REPLACE, GO_MOD, "// local", "// here", False),
        (Part.GO_REPLACE, GO_MOD, "./a", "./fake", True),
        (Part.GO_REPLACE, GO_MOD, "c v2", "c v3", True),
        (Part.GO_REPLACE, GO_MOD, "require d v1.0.0", "replace d => ./d", True),
        (Part.WHOLE, "all:\n\ttrue\n", "true", "true # x", True),
    ],
)
def test_an_alarm_where_the_check_is_steered_and_nowhere_else(
    part: Part,
    text: str,
    old: str,
    new: str,
    alarm: bool,  # noqa: FBT001
) -> None:
    """A dependency, a comment or a foreign table raises none; the runner's own table, also a hidden one, does."""
    assert old in text
    edited = text.replace(old, new, 1)
    assert (steering_digest(part, text.encode()) != steering_digest(part, edited.encode())) is alarm


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Part.PYPROJECT, ""),
        (Part.PYPROJECT, "[project]\nname = 'x'\n[tool.black]\n"),
        (Part.SETUP_CFG, "[metadata]\nname = x\n"),
        (Part.PACKAGE_JSON, '{"dependencies": {}}'),
        (Part.GO_REPLACE, "module x\n"),
    ],
)
def test_a_file_without_that_part_steers_nothing(part: Part, text: str) -> None:
    """A new project file without a runner's table is as if it were not there."""
    assert steering_digest(part, text.encode()) is None


@pytest.mark.parametrize("part", [part for part in Part if part is not Part.WHOLE])
@pytest.mark.parametrize("data", [b"[" * 100_000, b"\xff\xfe", b'{"a": ' * 50_000, b"\0", b"a = " + b"9" * 10_000])
def test_what_cannot_be_parsed_counts_whole(part: Part, data: bytes) -> None:
    """Hostile content makes no error; where the parser gives up, any change of the bytes is seen."""
    steering_digest(part, data)
    if part is Part.PACKAGE_JSON:
        assert steering_digest(part, data) != steering_digest(part, data + b" ")


def test_dates_and_odd_numbers_in_a_table_are_compared() -> None:
    """What TOML can say and JSON cannot is compared all the same."""
    texts = ["[tool.pytest]\nx = 2030-01-01\n", "[tool.pytest]\nx = 2030-01-02\n", "[tool.pytest]\nx = inf\n"]
    assert len({steering_digest(Part.PYPROJECT, text.encode()) for text in texts}) == 3


def test_a_long_file_is_not_parsed() -> None:
    """Above the bound the whole content counts, so that nothing can be hidden behind it."""
    text = PYPROJECT.encode() + b"#" * MOST_PARSED
    assert steering_digest(Part.PYPROJECT, text) != steering_digest(Part.PYPROJECT, text + b"#")


@given(st.sampled_from(Part), st.binary(max_size=200))
def test_any_bytes_are_read(part: Part, data: bytes) -> None:
    """No content makes it raise."""
    steering_digest(part, data)


@given(st.sampled_from(Part), st.text(alphabet='[]{}"=:.,\n toolpytesreplac>()#', max_size=60))
def test_any_text_is_read(part: Part, text: str) -> None:
    """No text near to one of the forms makes it raise."""
    steering_digest(part, text.encode())


@pytest.mark.parametrize(
    "text",
    [
        f"{'.'.join('a' * 60_000)} = 1\n",
        f"[{'.'.join('a' * 60_000)}]\n",
        "x = " + "{a = " * 5000 + "1" + "}" * 5000,
        "".join(f"{'.'.join('abcdefgh' * 5)}{n} = 1\n" for n in range(5000)),
    ],
)
def test_cunning_keys_take_no_time(text: str) -> None:
    """Keys on which a parser takes minutes are not given to it: then the whole file counts."""
    begun = time.monotonic()
    for part in (Part.PYPROJECT, Part.CARGO_TOML):
        assert steering_digest(part, text.encode()) != steering_digest(part, f"{text}\n# x".encode())
    assert time.monotonic() - begun < 10
