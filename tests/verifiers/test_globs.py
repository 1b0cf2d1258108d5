"""Patterns of the gitignore dialect: what they mean, and that no odd name slips through them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from signoff.errors import ConfigError
from signoff.verifiers.globs import matcher


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("tests/", "tests/test_a.py", True),
        ("tests/", "tests/deep/er/data.bin", True),
        ("tests/", "pkg/tests/test_a.py", True),
        ("/tests/", "pkg/tests/test_a.py", False),
        ("./tests/", "tests/test_a.py", True),
        ("./tests/", "pkg/tests/test_a.py", False),
        ("tests", "tests/test_a.py", True),
        ("tests", "tests", True),
        ("tests/", "tests", False),
        ("tests", "tests2/test_a.py", False),
        ("*.py", "a/b/c.py", True),
        ("*.py", "a/b/c.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/deep/er/a.py", True),
        ("src/**", "src/deep/er/a.py", True),
        ("**", "anything/at all", True),
        ("*/", "folder/file", True),
        ("*/", "file", False),
        ("**/", "folder/file", True),
        ("data?.json", "data1.json", True),
        ("data[12].json", "data3.json", False),
        ("ümlaut/", "ümlaut/x", True),
        ("with space/", "with space/x", True),
        ("!tests/", "tests/test_a.py", False),
        ("# comment", "# comment", False),
        ("/", "x", False),
    ],
)
def test_a_pattern_means_what_git_means_by_it(pattern: str, path: str, meant: bool) -> None:  # noqa: FBT001
    """A folder means all below it; a slash anchors; stars stop at a slash; one pattern that negates means nothing."""
    assert matcher([pattern], what="x")(path) is meant
    assert matcher([pattern, "never-there"], what="x")(path) is meant


@pytest.mark.parametrize("folder", ["a\nb", "\n", "a\n", "\nb", "a\r\nb", "a\u2028b"])
def test_a_folder_named_with_a_newline_hides_nothing(folder: str) -> None:
    """What lies below such a folder is under the same patterns as below any other."""
    for pattern in ("tests/", "*.py", "**", "**/tests/**"):
        for patterns in ([pattern], [pattern, "never-there"]):
            assert matcher(patterns, what="x")(f"{folder}/tests/test_a.py"), (pattern, folder)
    assert not matcher(["*.py"], what="x")("a.py\n")
    assert matcher(["a\nb"], what="x")("a\nb")


def test_a_later_pattern_wins() -> None:
    """A pattern that negates takes out what an earlier one meant."""
    matches = matcher(["logs/", "!logs/keep.txt"], what="x")
    assert (matches("logs/a.txt"), matches("logs/keep.txt"), matches("keep.txt")) == (True, False, False)


def test_no_pattern_means_nothing() -> None:
    """An empty list matches no path."""
    assert not matcher([], what="x")("a")


@pytest.mark.parametrize("pattern", ["!", "\\", "a\\", "nul\0"])
def test_what_is_no_pattern_is_refused_by_name(pattern: str) -> None:
    """A pattern that cannot be read names the option it stands in, and says that nothing was started."""
    with pytest.raises(ConfigError, match=r"immutable input tests .*nothing was started"):
        matcher([pattern], what="immutable input tests")


@given(st.lists(st.text(alphabet="ab*?[]!\\/. #-^\n", max_size=8), max_size=3), st.text(alphabet="ab/.\n ", max_size=8))
def test_any_text_is_a_pattern_or_refused(patterns: list[str], path: str) -> None:
    """No text makes anything but a match or a `ConfigError`."""
    try:
        matches = matcher(patterns, what="x")
    except ConfigError:
        return
    assert isinstance(matches(path), bool)


@given(st.text(alphabet="ab*?[]!/.", min_size=1, max_size=8), st.text(alphabet="ab/.", min_size=1, max_size=8))
def test_the_short_way_for_one_pattern_agrees_with_the_long_one(pattern: str, path: str) -> None:
    """One pattern alone means the same as beside another that never matches."""
    path = path.strip("/.")
    try:
        alone, beside = matcher([pattern], what="x"), matcher([pattern, "never-there"], what="x")
    except ConfigError:
        return
    assert alone(path) is beside(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 7 + "*b", "a" * 250),
        ("*a*?*a*?*a*?*b", "a" * 250),
        ("*a*a*a*b/*a*a*a*c", "a" * 200 + "b/" + "a" * 250),
        ("**/a/**/a/b", "a/" * 1000 + "a"),
        ("*[a]*[a]*b", "a" * 250),
    ],
)
def test_no_name_takes_long(pattern: str, path: str) -> None:
    """An allowed pattern is tried in no time on the most cunning name."""
    matches = matcher([pattern], what="x")
    begun = time.monotonic()
    assert not matches(path)
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize("pattern", ["*a" * 9, "x/" + "*a" * 9 + "/y", "*[a]*[a]*[a]*", "**/a/**/a/**/b"])
def test_a_pattern_that_could_take_for_ever_is_refused(pattern: str) -> None:
    """More asterisks than anybody needs are an error of the author's."""
    with pytest.raises(ConfigError, match=r"asterisks in one name .*nothing was started; make it simpler"):
        matcher([pattern], what="x")


@given(
    st.text(alphabet="ab*?/.", min_size=1, max_size=9).filter(lambda text: text.split("/").count("**") < 3),
    st.text(alphabet="ab/.\n", min_size=1, max_size=9).filter(lambda text: not text.startswith(("/", "./"))),
)
def test_what_is_matched_does_not_depend_on_how(pattern: str, path: str) -> None:
    """The quick way finds what the plain translation of the pattern finds."""
    try:
        plain = GitIgnoreSpec.from_lines([pattern.removeprefix("./")], backend="simple")
    except ValueError:
        return
    assert matcher([pattern], what="x")(path) is plain.match_file(path.replace("\n", "\0"))
