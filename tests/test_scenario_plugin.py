"""The scenario report counts tests that passed, and nothing else. Every run here is a real pytest of its own."""

import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
FEW_PLUGINS = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder that holds the repository's own conftest.py and nothing else."""
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nxfail_strict = false\nfilterwarnings = error\naddopts = --strict-markers")
    return pytester


def report_of(pytester: pytest.Pytester, *arguments: str) -> dict[str, list[str]]:
    """Run pytest with a report in a folder that does not exist yet, and read what it wrote."""
    pytester.runpytest_subprocess(*FEW_PLUGINS, "--scenario-report=build/deep/report.json", *arguments)
    written: dict[str, list[str]] = json.loads((pytester.path / "build/deep/report.json").read_text(encoding="utf-8"))
    return written


MIXED = """
    import pytest

    @pytest.fixture
    def broken_setup():
        raise RuntimeError

    @pytest.fixture
    def broken_teardown():
        yield
        raise RuntimeError

    @pytest.mark.scenario("AA-002", "AA-001")
    def test_passes(): pass

    @pytest.mark.scenario("AA-001")
    @pytest.mark.parametrize("number", [1, 2])
    def test_passes_once(number): assert number == 1

    @pytest.mark.scenario("BB-001")
    def test_fails(): assert False

    @pytest.mark.scenario("BB-002")
    def test_setup(broken_setup): pass

    @pytest.mark.scenario("BB-003")
    def test_teardown(broken_teardown): pass

    @pytest.mark.scenario("BB-004")
    def test_skips(): pytest.skip("no")

    @pytest.mark.scenario("BB-005")
    @pytest.mark.skip
    def test_never_starts(): pass

    @pytest.mark.scenario("BB-006")
    @pytest.mark.xfail
    def test_expected_failure(): assert False

    @pytest.mark.scenario("BB-007")
    @pytest.mark.xfail
    def test_unexpected_pass(): pass

    @pytest.mark.scenario("BB-008")
    def test_one_part_fails(subtests):
        with subtests.test("part"):
            assert False

    @pytest.mark.scenario("BB-009")
    def test_one_part_is_skipped(subtests):
        with subtests.test("part"):
            pytest.skip("no")

    @pytest.mark.scenario("CC-001")
    class TestGroup:
        def test_inherits_the_mark(self): pass

    def test_without_mark(): pass
"""
PROVEN = {
    "AA-001": ["test_mixed.py::test_passes", "test_mixed.py::test_passes_once[1]"],
    "AA-002": ["test_mixed.py::test_passes"],
    "CC-001": ["test_mixed.py::TestGroup::test_inherits_the_mark"],
}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_only_passed_tests_prove(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """A test that fails, is skipped, or breaks in set-up or tear-down proves nothing, in one process or several."""
    project.makepyfile(test_mixed=MIXED)
    assert report_of(project, *workers) == PROVEN


def test_ids_of_a_module_reach_its_tests(project: pytest.Pytester) -> None:
    """A mark on a module is carried by each of its tests."""
    project.makepyfile(test_all="import pytest\npytestmark = pytest.mark.scenario('DD-001')\ndef test_it(): pass")
    assert report_of(project) == {"DD-001": ["test_all.py::test_it"]}


BAD_MARKS = {
    "'AA-01'": "malformed id 'AA-01'",
    "'aa-001'": "malformed id 'aa-001'",
    "'AA-0011'": "malformed id 'AA-0011'",
    "'AA-001\\n'": "malformed id 'AA-001",
    "7": "malformed id 7",
    "": "needs ids",
    "reason='AA-001'": "needs ids",
    "'AA-001', 'AA-002', 'AA-003', 'AA-004'": "carries 4 ids",
}


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["one process", "one worker"])
def test_a_bad_mark_stops_the_collection(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """A mark without ids, with a malformed one or with too many is a collection error that names the test."""
    for number, mark in enumerate(BAD_MARKS):
        text = f"import pytest\n@pytest.mark.scenario({mark})\ndef test_bad_{number}(): pass"
        (project.path / f"test_{number}.py").write_text(text, encoding="utf-8")
    result = project.runpytest_subprocess(*FEW_PLUGINS, *workers)
    assert result.ret != pytest.ExitCode.OK
    result.assert_outcomes(errors=len(BAD_MARKS))
    for number, fault in enumerate(BAD_MARKS.values()):
        result.stdout.fnmatch_lines([f"*test_bad_{number}: its scenario mark *{fault}*"])


def test_a_parametrised_test_may_serve_many_ids(project: pytest.Pytester) -> None:
    """The limit of three ids is for tests without parameters."""
    project.makepyfile(
        test_many="""
        import pytest

        @pytest.mark.scenario("AA-001", "AA-002", "AA-003", "AA-004")
        @pytest.mark.parametrize("number", [1])
        def test_many(number): pass
        """
    )
    assert sorted(report_of(project)) == ["AA-001", "AA-002", "AA-003", "AA-004"]


def test_a_dead_run_leaves_no_old_proof(project: pytest.Pytester) -> None:
    """A report of an earlier run is gone when a later one cannot even collect."""
    (project.path / "build/deep").mkdir(parents=True)
    (project.path / "build/deep/report.json").write_text('{"AA-001": ["old"]}', encoding="utf-8")
    project.makepyfile(test_broken="raise RuntimeError")
    assert report_of(project) == {}


def test_a_report_that_cannot_be_written_is_refused_at_the_start(project: pytest.Pytester) -> None:
    """A folder in the report's place is named before any test is run."""
    (project.path / "taken").mkdir()
    project.makepyfile(test_one="def test_one(): pass")
    result = project.runpytest_subprocess(*FEW_PLUGINS, "--scenario-report=taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--scenario-report: *taken cannot be written*"])


def test_options_for_this_run_do_not_reach_the_runs_that_tests_start(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options handed over in the environment apply to the outer pytest only."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--scenario-report=report.json")
    project.makepyfile(test_env="import os\ndef test_env(): assert 'PYTEST_ADDOPTS' not in os.environ")
    assert project.runpytest_subprocess(*FEW_PLUGINS).ret == pytest.ExitCode.OK
    assert (project.path / "report.json").read_text(encoding="utf-8") == "{}\n"
