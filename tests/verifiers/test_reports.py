"""Test reports: what is counted, and that no report, however hostile, does anything but be counted or refused."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.completion.evidence import TestReport
from signoff.verifiers.reports import MOST_BYTES, MOST_DEPTH, MOST_NAME_BYTES, MOST_TESTS, parse_report, read_report
from tests.verifiers.looking import PATIENCE


def parsed(text: str | bytes, *, block: int = 65536) -> TestReport | str:
    """Return what is read from a report that comes in blocks."""
    data = text.encode() if isinstance(text, str) else text

    def blocks() -> Iterator[bytes]:
        yield from (data[start : start + block] for start in range(0, len(data), block))
        while True:
            yield b""

    source = blocks()
    return parse_report(lambda: next(source))


def suite(*cases: str) -> str:
    """Return a report of one suite."""
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def case(name: str, inside: str = "", *, attributes: str = "") -> str:
    """Return one test of a report."""
    return f'<testcase classname="m.C" name="{name}" {attributes}>{inside}</testcase>'


def test_outcomes_are_told_apart() -> None:
    """Failures and errors failed, skipped was skipped, all else passed; the text of a test means nothing."""
    text = suite(
        case("a"),
        case("b", "<failure message='x'>trace</failure>"),
        case("c", "<error/>"),
        case("d", "<skipped/>"),
        case("e", "<system-out>FAILED error <![CDATA[<failure/>]]></system-out>"),
        case("f", "<properties><property name='x'><failure/></property></properties>"),
        case("g", attributes='status="notrun"'),
        case("h", attributes='status="run"'),
        case("i", "<skipped/><failure/>"),
        case("j", attributes='status="failed"'),
    )
    assert parsed(text) == TestReport(
        passed=("m.C::a", "m.C::e", "m.C::f", "m.C::h"),
        failed=("m.C::b", "m.C::c", "m.C::i", "m.C::j"),
        skipped=("m.C::d", "m.C::g"),
    )


def test_suites_may_be_nested_or_bare() -> None:
    """One suite as the root, suites in suites, and several beside each other are all read."""
    bare = f"<testsuite>{case('a')}<testsuite>{case('b')}</testsuite></testsuite>"
    several = f"<testsuites><testsuite>{case('a')}</testsuite><testsuite>{case('b')}</testsuite></testsuites>"
    assert parsed(bare) == parsed(several) == TestReport(passed=("m.C::a", "m.C::b"))


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ('classname="m.C" name="a" file="t.py" line="3" time="0.1"', "m.C::a"),
        ('name="a" file="t.py"', "t.py::a"),
        ('name="a"', "a"),
        ('classname="m.C"', "m.C::"),
        ('name="a&#10;b&#x202e;c&lt;"', r"a\x0ab\u202ec<"),
        (f'name="{"x" * 1000}"', "x" * 1000),
    ],
)
def test_a_test_is_known_by_class_and_name(attributes: str, name: str) -> None:
    """No line and no time is part of a test's name; it is bounded, and shown on one line."""
    assert parsed(f"<testsuite><testcase {attributes}/></testsuite>") == TestReport(passed=(name,))


def test_a_name_that_comes_twice_is_two_tests() -> None:
    """They are numbered with the worst outcome first, in whatever order they come; none is lost."""
    one, two, three = case("a"), case("a", "<failure/>"), case("a", "<skipped/>")
    expected = TestReport(failed=("m.C::a",), skipped=("m.C::a [2]",), passed=("m.C::a [3]",))
    assert parsed(suite(one, two, three)) == parsed(suite(three, one, two)) == expected


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("<testsuite><testcase name='a'><Failure/></testcase></testsuite>", True),
        ("<testsuite xmlns:j='u'><testcase name='a'><j:failure/></testcase></testsuite>", True),
        ("<j:testsuite xmlns:j='u'><j:testcase name='a'><j:error/></j:testcase></j:testsuite>", True),
        ("<testsuite><testcase name='a' status='fail'/></testsuite>", True),
        ("<testsuite><testcase name='a' status='run' result='Failed'/></testsuite>", True),
        ("<testsuite><testcase name='a' result='errored'/></testsuite>", True),
        ("<testsuite><testcase name='a' status='run' result='completed'/></testsuite>", False),
        ("<testsuite><testcase name='a' status=' PASSED '/></testsuite>", False),
        ("<testsuite failures='0' errors='00' tests='1'><testcase name='a'/></testsuite>", False),
        ("<testsuite failures=''><system-err><error/></system-err><testcase name='a'/></testsuite>", False),
        ("<testsuite failures='1'><testcase name='a'><failure/></testcase></testsuite>", True),
    ],
)
def test_a_failure_is_seen_in_every_dialect(text: str, failed: bool) -> None:  # noqa: FBT001
    """In any case, with a prefix, as an attribute; counters that agree change nothing."""
    assert parsed(text) == (TestReport(failed=("a",)) if failed else TestReport(passed=("a",)))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<testsuite failures='3' errors='2'><testcase name='a'/></testsuite>", "counts failures or errors"),
        (
            "<testsuites errors='1'><testsuite><testcase name='a'/></testsuite></testsuites>",
            "counts failures or errors",
        ),
        ("<testsuites><testsuite failures='1'/></testsuites>", "counts failures or errors"),
        ("<testsuite failures='many'><testcase name='a'/></testsuite>", "'many', which is no number"),
        ("<testsuite><error/><testcase name='a'/></testsuite>", "tells of 'error' outside of any test"),
        ("<testsuites><testsuite><testcase name='a'/></testsuite><x:Failure/></testsuites>", "outside of any test"),
        ("<testsuite><testcase name='a' status='inconclusive'/></testsuite>", "'inconclusive', which is not known"),
        ("<testsuite><system-out><testcase name='a'/></system-out></testsuite>", "a test within 'system-out'"),
        ("<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>", "a test within 'testcase'"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(text: str, fault: str) -> None:
    """Failures that no test shows, unknown states and tests where none can be are no ground for a verdict."""
    found = parsed(text)
    assert isinstance(found, str)
    assert fault in found


def test_long_names_and_numbered_names_stay_apart() -> None:
    """A name that is cut carries a digest, and the second of two tests takes no name of another."""
    names = [f"{'x' * 2000}{end}" for end in "ab"]
    found = parsed("<testsuite>" + "".join(f'<testcase name="{name}"/>' for name in names) + "</testsuite>")
    assert isinstance(found, TestReport)
    assert len({name.partition(" ")[0] for name in found.passed}) == 2
    assert all(len(name) == 1000 for name in found.passed)
    twice = parsed(suite(case("a"), case("a", "<failure/>"), case("a [2]")))
    assert twice == TestReport(failed=("m.C::a",), passed=("m.C::a [2]", "m.C::a [3]"))


def test_utf16_is_read() -> None:
    """A report in UTF-16 that shows it by its first bytes is read."""
    assert parsed(suite(case("ü")).encode("utf-16")) == TestReport(passed=("m.C::ü",))


def test_a_report_without_tests_is_a_report() -> None:
    """Zero tests were run; whether that is enough is not for the reader to say."""
    assert parsed("<?xml version='1.0' encoding='utf-8'?>\n<testsuites/>") == TestReport()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("PASS", "not well-formed|no well-formed XML"),
        ("<testsuite>", "no well-formed XML"),
        ("<testsuite></testsuites>", "no well-formed XML"),
        ("<testsuite/><testsuite/>", "no well-formed XML"),
        ("<html><testcase name='a'/></html>", "no JUnit report: it begins with 'html'"),
        ("<testsuite><testcase/></testsuite>", "a test without a name"),
        ("<testsuite>&undefined;</testsuite>", "no well-formed XML"),
        (b"<testsuite><testcase name='\xff'/></testsuite>", "no well-formed XML"),
        (b"\0" * 100, "no well-formed XML"),
        ("<a>" * (MOST_DEPTH + 1), "no JUnit report"),
        ("<testsuite>" * (MOST_DEPTH + 1), "deeper than 64 levels"),
        ("<!DOCTYPE testsuite><testsuite/>", "document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuite/>', "document type"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite>&x;</testsuite>', "document type"),
        (suite(*(case(f"{n}" * 1000) for n in range(10))) + "x", "no well-formed XML"),
    ],
)
@pytest.mark.parametrize("block", [7, 65536])
def test_what_is_no_report_is_refused_with_a_reason(text: str | bytes, fault: str, block: int) -> None:
    """Broken, foreign, endless or cunning XML is a sentence that says what is wrong."""
    found = parsed(text, block=block)
    assert isinstance(found, str)
    assert any(each in found for each in fault.split("|")), found


BOMB = (
    '<!DOCTYPE testsuite [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 100}">' for n in range(1, 9))
    + ']><testsuite><testcase name="&a8;"/>&a8;</testsuite>'
)


@pytest.mark.parametrize("padding", ["", "<!-- " + "x" * 100_000 + " -->"])
def test_a_bomb_of_entities_is_refused_at_once(padding: str) -> None:
    """Nothing is expanded (else the test would fill the memory)."""
    assert parsed(padding + BOMB) == "it declares a document type, which no test report needs"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<testsuite><testcase name='" + "x" * 6_000_000 + "'/></testsuite>", "longer than 4 MiB"),
        ("<testsuite>" + case("a") * (MOST_TESTS + 1) + "</testsuite>", "more than 100000 tests"),
        ("<testsuite>" + case("x" * 900) * 4000 + "</testsuite>", "more than 3 MiB together"),
    ],
)
def test_a_report_out_of_bounds_is_refused(text: str, fault: str) -> None:
    """A name, a number of tests or all names together beyond the bound are refused by that bound."""
    found = parsed(text)
    assert isinstance(found, str)
    assert fault in found


def test_a_report_just_within_its_bounds_is_read() -> None:
    """The bounds themselves are allowed."""
    found = parsed("<testsuite>" + "".join(case(f"{n:010}") for n in range(MOST_TESTS)) + "</testsuite>")
    assert isinstance(found, TestReport)
    assert (len(found.passed), MOST_NAME_BYTES) == (MOST_TESTS, 3 * 1024 * 1024)
    deep = "<testsuite>" * MOST_DEPTH + "</testsuite>" * MOST_DEPTH
    assert parsed(deep) == TestReport()


def test_long_text_in_a_report_is_passed_over() -> None:
    """Output of any length within a test is not a token that must be held."""
    assert parsed(suite(case("a", "<system-out>" + "line\n" * 2_000_000 + "</system-out>"))) == TestReport(
        passed=("m.C::a",)
    )


def test_a_report_is_read_from_a_file_only(tmp_path: Path) -> None:
    """Nothing, a folder, a link, a FIFO and a file beyond the bound are refused without reading or waiting."""
    path = tmp_path / "report.xml"
    assert read_report(str(path)) == "none was written"
    (tmp_path / "real.xml").write_text(suite(case("a")))
    path.symlink_to("real.xml")
    assert "cannot be opened as a file" in str(read_report(str(path)))
    path.unlink()
    os.mkfifo(path)
    assert "no regular file" in str(read_report(str(path)))
    path.unlink()
    path.mkdir()
    assert "no regular file" in str(read_report(str(path)))
    path.rmdir()
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert read_report(str(path)) == "it has more than 64 MiB"
    path.write_text(suite(case("a")))
    assert read_report(str(path)) == TestReport(passed=("m.C::a",))


def test_a_report_that_grows_while_it_is_read_is_bounded() -> None:
    """A source without end is given up at the bound."""
    blocks = chain([b"<testsuite>"], repeat(b" " * 1_000_000))
    assert parse_report(lambda: next(blocks)) == "it has more than 64 MiB"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_a_reason(data: bytes) -> None:
    """No content makes the reader raise."""
    assert isinstance(parsed(data, block=50), TestReport | str)


PIECES = st.sampled_from(
    [
        "<testsuite>",
        "</testsuite>",
        "<testsuites>",
        "</testsuites>",
        '<testcase name="a">',
        "</testcase>",
        "<failure/>",
        "<skipped>",
        "</skipped>",
        '<?xml version="1.0" encoding="unicode_escape"?>',
        '<?xml version="1.1" encoding="zip"?>',
        "<!DOCTYPE a [",
        '<!ENTITY b "c">',
        "]>",
        "&b;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "\ufeff",
        "x",
        "\0",
    ]
)


@given(st.lists(PIECES, max_size=14), st.integers(1, 70))
def test_any_pieces_of_a_report_are_a_report_or_a_reason(pieces: list[str], block: int) -> None:
    """Pieces put together in any order, and cut anywhere, make the reader raise never; a reason is one line."""
    found = parsed("".join(pieces), block=block)
    assert isinstance(found, TestReport) or (found and found.isprintable())


@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_pytests_own_report_is_read(family: str, tmp_path: Path) -> None:
    """The real runner's report names each test with its outcome."""
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 0\n"
        "@pytest.mark.skip\n"
        "def test_later(): pass\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_many(n): pass\n"
        "@pytest.fixture\n"
        "def broken():\n    yield\n    assert 0\n"
        "def test_teardown(broken): pass\n"
    )
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--junitxml=r.xml", "-o", f"junit_family={family}"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    found = read_report(str(tmp_path / "r.xml"))
    assert isinstance(found, TestReport)
    assert set(found.passed) >= {"test_x::test_good", "test_x::test_many[1]", "test_x::test_many[2]"}
    assert set(found.failed) == {"test_x::test_bad", "test_x::test_teardown"}
    assert found.skipped == ("test_x::test_later",)
