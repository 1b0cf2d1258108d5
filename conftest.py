"""Scenario marks: which published scenarios are proven by tests that passed.

A test carries `@pytest.mark.scenario("CC-015")`; `--scenario-report=FILE` writes the ids of the tests that passed. This
file stands in the root so that every run of pytest loads it. Fixtures for tests belong in `tests/`, not here.
"""

import json
import os
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

SCENARIO_ID = re.compile(r"[A-Z]{2}-[0-9]{3}")
IDS_OF_ONE_TEST = 3
PROPERTY = "scenario"

Made: TypeAlias = pytest.Item | pytest.Collector | list[pytest.Item | pytest.Collector] | None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--scenario-report` to pytest's options."""
    group = parser.getgroup("scenarios")
    group.addoption(
        "--scenario-report",
        metavar="FILE",
        default=None,
        help="write the scenario ids of the tests that passed to FILE, as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and in the process that sees every result the report."""
    config.addinivalue_line("markers", "scenario(*ids): the published scenarios that this test proves when it passes")
    # Options meant for this run would otherwise reach every pytest that a test starts.
    os.environ.pop("PYTEST_ADDOPTS", None)
    target = config.getoption("scenario_report")
    if target is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ScenarioReport(config.invocation_params.dir / target), "scenario-report")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Made, Made]:
    """Attach its scenario ids to every test, so that they travel with its results (also between processes)."""
    made = yield
    for node in made if isinstance(made, list) else [made]:
        if isinstance(node, pytest.Item):
            node.user_properties.extend((PROPERTY, scenario) for scenario in _scenarios_of(node))
    return made


def _scenarios_of(item: pytest.Item) -> tuple[str, ...]:
    """The sorted ids that a test carries; a mark that proves nothing is a collection error."""
    found: set[str] = set()
    for mark in item.iter_markers("scenario"):
        if not mark.args or mark.kwargs:
            raise pytest.Collector.CollectError(_complaint(item, "needs ids as positional arguments, and nothing else"))
        for scenario in mark.args:
            if not isinstance(scenario, str) or not SCENARIO_ID.fullmatch(scenario):
                raise pytest.Collector.CollectError(_complaint(item, f"has the malformed id {scenario!r}"))
            found.add(scenario)
    if len(found) > IDS_OF_ONE_TEST and not hasattr(item, "callspec"):
        limit = f"carries {len(found)} ids; a test without parameters proves at most {IDS_OF_ONE_TEST}"
        raise pytest.Collector.CollectError(_complaint(item, limit))
    return tuple(sorted(found))


def _complaint(item: pytest.Item, fault: str) -> str:
    return f'{item.name}: its scenario mark {fault}. It was not run. Write @pytest.mark.scenario("CC-015").'


class ScenarioReport:
    """Collects the outcome of every phase of every test and writes what was proven when the run ends."""

    def __init__(self, target: Path) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # A run that dies must not leave the proofs of the one before it.
            target.unlink(missing_ok=True)
        except OSError as error:
            message = f"--scenario-report: {target} cannot be written ({error.strerror}). Nothing was run. Name a file."
            raise pytest.UsageError(message) from error
        self._target = target
        self._ids: dict[str, tuple[str, ...]] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of one phase: only a test whose every phase passed, its call included, proves anything."""
        if not report.passed or hasattr(report, "wasxfail"):
            self._failed.add(report.nodeid)
        elif report.when == "call":
            self._ids[report.nodeid] = tuple(str(value) for name, value in report.user_properties if name == PROPERTY)

    def pytest_sessionfinish(self) -> None:
        """Write the report: each id with the tests that carried it and passed."""
        text = json.dumps(self._proven(), indent=1, sort_keys=True)
        self._target.write_text(f"{text}\n", encoding="utf-8")

    def _proven(self) -> Mapping[str, list[str]]:
        proven: dict[str, list[str]] = {}
        for test in sorted(self._ids.keys() - self._failed):
            for scenario in self._ids[test]:
                proven.setdefault(scenario, []).append(test)
        return proven
