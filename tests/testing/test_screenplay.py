"""The screenplay finds what a machine does otherwise, shows it, and cannot be left unfinished or unread."""

import re
from collections.abc import Callable

import msgspec
import pytest

from signoff.errors import ProtocolViolation
from signoff.testing import A_REFUSAL, ANY, Screenplay, like


class Add(msgspec.Struct, frozen=True):
    """An event of the machine of these tests."""

    number: int


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of the machine of these tests."""

    total: int
    words: tuple[str, ...] = ()
    inner: "Say | None" = None


class Stepped(msgspec.Struct, frozen=True):
    """What the machine of these tests returns."""

    state: int
    decisions: tuple[Say, ...] = ()


def add(state: int, event: Add) -> Stepped:
    """Add a number, and say the total as often as it has tens; nothing negative can be added."""
    if event.number < 0:
        message = f"{event.number} cannot be added"
        raise ProtocolViolation(message)
    total = state + event.number
    return Stepped(total, tuple(Say(total=total, words=(f"ten {each}",)) for each in range(total // 10)))


def play() -> Screenplay[int, Add, Say]:
    """A screenplay of the machine of these tests, from 0."""
    return Screenplay(add, 0)


def complaint(write: Callable[[Screenplay[int, Add, Say]], object]) -> str:
    """What a screenplay with these lines complains about."""
    with pytest.raises(AssertionError) as caught, play() as script:
        write(script)
    return str(caught.value)


def test_a_script_that_fits_says_nothing() -> None:
    """Events, decisions in order and none at all; the state is there between the lines and at the end."""
    with play() as script:
        script >> Add(9)
        assert script.state == 9
        script >> Add(2) << Say(total=11, words=("ten 0",))
        script >> Add(-1) << A_REFUSAL
        script >> Add(9) << Say(total=20, words=("ten 0",)) << Say(total=20, words=("ten 1",))
    assert script.state == 20


def test_decisions_may_stand_on_lines_of_their_own() -> None:
    """What follows from an event can be told in several lines."""
    with play() as script:
        script >> Add(20)
        script << Say(total=20, words=("ten 0",))
        script << Say(total=20, words=ANY)


def test_another_decision_is_shown_beside_the_expected_one() -> None:
    """Both scripts are printed, line by line, with what differs marked."""
    text = complaint(lambda script: script >> Add(9) >> Add(1) << Say(total=11, words=("ten 0",)))
    assert text.splitlines()[1:] == [
        "  >> Add(number=9)",
        "  >> Add(number=1)",
        "-     << Say(total=11, words=('ten 0',))",
        "+     << Say(total=10, words=('ten 0',))",
    ]


def test_a_decision_that_was_not_named_is_shown() -> None:
    """An event that is followed by none says that nothing is decided; so do too few."""
    assert "+     << Say(total=10" in complaint(lambda script: script >> Add(10))
    text = complaint(lambda script: script >> Add(20) << Say(total=20, words=("ten 0",)) >> Add(0) << ANY << ANY)
    assert "+     << Say(total=20, words=('ten 1',))" in text
    assert "-" not in {line[0] for line in text.splitlines()[1:]}


def test_a_decision_too_many_is_shown() -> None:
    """What was expected and did not come is told as well."""
    assert "-     << ANY" in complaint(lambda script: script >> Add(1) << ANY)


def test_a_refusal_must_be_expected() -> None:
    """A refused event is shown with its reason; one that was to be refused and was not, too."""
    assert "+     << REFUSED: -1 cannot be added" in complaint(lambda script: script >> Add(-1))
    assert "-     << Refusal.REFUSED" in complaint(lambda script: script >> Add(1) << A_REFUSAL)


def test_a_refused_event_leaves_the_state() -> None:
    """After a refusal the script goes on from where it was."""
    with play() as script:
        script >> Add(5) >> Add(-5) << A_REFUSAL
        script >> Add(1)
    assert script.state == 6


def test_placeholders_are_shown_only_where_they_do_not_fit() -> None:
    """A pair that is equal is shown alike, so the difference stands out."""
    text = complaint(lambda script: script >> Add(10) << Say(total=ANY, words=ANY) >> Add(0) << like(total=99))
    assert "      << Say(total=ANY, words=ANY)" in text
    assert "-     << like(total=99)" in text


def test_what_looks_the_same_and_is_not_is_said_to_be() -> None:
    """Two decisions that print alike are told apart."""

    class Mute:
        """Equals nothing and prints as nothing."""

        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "Mute"

    def machine(state: int, event: Add) -> Stepped:
        del event
        return Stepped(state, (Say(total=1, words=ANY), Mute()))  # type: ignore[arg-type]

    with pytest.raises(AssertionError, match="looks the same, but is not equal"), Screenplay(machine, 0) as script:
        script >> Add(1) << Say(total=1) << Mute()  # type: ignore[operator]


def test_a_long_decision_is_shown_field_by_field() -> None:
    """What does not fit on a line is told in several, down to the inner values."""
    deep = Say(total=1, words=("x" * 60,), inner=Say(total=2, words=("y" * 60,), inner=Say(total=3, words=("z" * 80,))))
    text = complaint(lambda script: script >> Add(1) << deep)
    assert re.search(
        r"-     << Say\(\n-            total=1,\n-            words=\('x+',\),\n-            inner=Say\(\n", text
    )
    assert re.search(r"-                inner=Say\(total=3, words=\('z+',\)\),", text) or "total=3" in text
    assert max(map(len, text.splitlines())) < 130


def test_a_long_event_is_cut() -> None:
    """An event is the same in both scripts: its beginning is enough."""
    text = complaint(lambda script: script >> Add(-(10**300)))
    assert max(len(line) for line in text.splitlines() if ">>" in line) < 220


def test_an_empty_screenplay_is_refused() -> None:
    """A script without a line would pass whatever the machine does."""
    assert "no line" in complaint(lambda _: None)


def test_a_decision_needs_an_event() -> None:
    """What follows from nothing cannot be told."""
    assert "follows no event" in complaint(lambda script: script << Say(total=0))


@pytest.mark.parametrize("line", [lambda script: script >> Add(1), lambda script: script << Say(total=1)])
def test_a_line_outside_of_its_block_is_refused(line: Callable[[Screenplay[int, Add, Say]], object]) -> None:
    """A script that nobody would compare cannot be written, neither before its block nor after it."""
    script = play()
    with pytest.raises(AssertionError, match="within `with"):
        line(script)
    with script:
        script >> Add(0)
    with pytest.raises(AssertionError, match="within `with"):
        line(script)


def test_a_screenplay_is_played_once() -> None:
    """A script that was played, or is being played, cannot be begun again."""
    with play() as script:
        script >> Add(0)
        with pytest.raises(AssertionError, match="begun before"), script:
            pass
    with pytest.raises(AssertionError, match="begun before"), script:
        pass


def test_a_fault_within_the_block_is_raised_as_it_is() -> None:
    """Where the script fits so far, another fault of the test is not covered up."""
    with pytest.raises(ZeroDivisionError), play() as script:
        script >> Add(1) >> Add(1 // 0)


def test_a_fault_that_may_follow_from_the_script_shows_the_script() -> None:
    """Where the script does not fit, it is told, with the other fault as its cause."""
    with pytest.raises(AssertionError, match="does not play this script") as caught, play() as script:
        script >> Add(10) >> Add(1 // 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_interruption_is_no_fault_of_the_script() -> None:
    """Whoever interrupts a test is not answered with a comparison."""

    def interrupted(state: int, event: Add) -> Stepped:
        if event.number == 0:
            raise KeyboardInterrupt
        return add(state, event)

    with pytest.raises(KeyboardInterrupt), Screenplay(interrupted, 0) as script:
        script >> Add(10) >> Add(0)


def test_an_unexpected_error_of_the_machine_comes_through() -> None:
    """Only a refusal is part of a script; any other error is a fault of the machine."""

    def broken(state: int, event: Add) -> Stepped:
        raise LookupError(state, event)

    with pytest.raises(LookupError), Screenplay(broken, 0) as script:
        script >> Add(1)


def test_placeholders_equal_what_they_stand_for() -> None:
    """ANY equals everything; like() equals what has its attributes, and nothing else."""
    assert ANY == 1
    assert ANY == None  # noqa: E711 - a placeholder is compared
    assert Say(total=1, words=ANY) == Say(total=1, words=("a",))
    assert Say(total=1) == like(total=1)
    assert like(total=1, words=()) == Say(total=1)
    assert like(total=like(real=1)) == Say(total=1)
    assert like(total=2) != Say(total=1)
    assert like(length=1) != Say(total=1)
    assert (Say(total=1),) == (like(total=ANY),)
    assert repr(like(total=ANY, words=("a",))) == "like(total=ANY, words=('a',))"
    assert len({ANY: 1, like(total=1): 2}) == 1
