"""What all tests share: the option `--deep`, and the size of the exploration in the terminal's summary."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--deep` to pytest's options."""
    parser.addoption("--deep", action="store_true", help="explore the goal run in larger worlds (minutes, not seconds)")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many states and transitions the exploration went through."""
    sizes = [
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "exploration"
    ]
    if sizes:
        states, transitions = sum(size[1] for size in sizes), sum(size[2] for size in sizes)
        terminalreporter.write_sep("=", "exploration of the goal run")
        terminalreporter.write_line(f"{states} states and {transitions} transitions in {len(sizes)} worlds")
