"""Numbers and times as people type them: one way to read each, and every other text is named and refused."""

import pytest

from signoff.config.quantities import MOST_SECONDS, count, seconds
from tests.config.resolving import refusal


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("3", 3), (" 12\t", 12), ("007", 7)])
def test_a_count_is_digits(text: str, number: int) -> None:
    """Digits are a number, whatever blanks stand around them."""
    assert count(text, what="--max-repairs") == number


@pytest.mark.scenario("CC-012")
@pytest.mark.parametrize("text", ["-1", "+1", "1.5", "word", "", " ", "1_0", "1e3", "٣", "½", "9" * 5000, "0x10"])
def test_anything_else_is_no_count(text: str) -> None:
    """Signs, fractions, words and foreign digits are refused, and the message names the option."""
    message = refusal(lambda: count(text, what="--max-repairs"))
    assert message.startswith("--max-repairs is ")
    assert "nothing was started" in message
    assert len(message) < 300


def test_a_count_has_a_least_value() -> None:
    """One below the least value is refused, the least value itself is taken."""
    assert count("1", what="--no-progress", least=1) == 1
    assert "at least 1" in refusal(lambda: count("0", what="--no-progress", least=1))


@pytest.mark.parametrize(
    ("text", "number"),
    [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400), (" 5s ", 5), (90, 90), ("366d", MOST_SECONDS)],
)
def test_a_time_is_a_number_with_a_unit(text: str | int, number: int) -> None:
    """A number counts seconds; s, m, h and d are units."""
    assert seconds(text, what="--timeout") == number


@pytest.mark.parametrize(
    "text", ["", "0", "0s", "-1", "+5", "1.5h", "2H", "1 h", "1h30m", "h", "367d", "9" * 4000, -1, 0, 10**30]
)
def test_anything_else_is_no_time(text: str | int) -> None:
    """Zero, fractions, unknown units and times beyond a year are refused, and the message names the option."""
    message = refusal(lambda: seconds(text, what="--timeout"))
    assert message.startswith("--timeout is ")
    assert "10m" in message
    assert len(message) < 300
