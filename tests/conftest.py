"""What all tests share: the option `--deep`, and the size of the exploration in the terminal's summary."""

import pytest
from hypothesis import settings

settings.register_profile("usual", deadline=None)
settings.register_profile("deep", deadline=None, max_examples=5000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--deep` to pytest's options."""
    parser.addoption(
        "--deep", action="store_true", help="explore larger worlds and fuzz with 5,000 examples (an hour, not minutes)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how long properties are tried; how long one example takes says nothing on a busy machine."""
    settings.load_profile("deep" if config.getoption("deep") else "usual")


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
