"""Doers that follow a script: in order, with what they are told to raise, and loud when the script is exhausted."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest

from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.completion.evidence import CheckEvidence
from signoff.core.goal.decisions import RunAgent
from signoff.core.goal.events import AgentOutcome, Role, Stage
from signoff.core.goal.state import GoalState
from signoff.errors import PolicyError, ProtocolViolation, SignoffError
from signoff.ports import AgentRunner, Verifier
from signoff.testing import (
    FakeClock,
    Scene,
    ScriptedAgent,
    ScriptedVerifier,
    ScriptExhausted,
    a_check,
    a_picture,
    digest_of,
)

T = TypeVar("T")
TESTS = ValidationCommand(id="tests", argv=("pytest",))
DONE = AgentOutcome(started=True, exit_code=0, duration_seconds=2.5)


def run(call: Callable[[], Awaitable[T]]) -> T:
    """What an asynchronous call returns."""
    return anyio.run(call)


def checked(verifier: Verifier, command: ValidationCommand = TESTS, stage: Stage = Stage.AFTER) -> CheckEvidence:
    """The next result of a check."""
    return run(lambda: verifier.check(command, stage=stage, timeout_seconds=1.0, deadline_bound=False))


def test_results_come_in_order() -> None:
    """Each check has its own list of results, the pictures have theirs, and what was asked for is kept."""
    first, second = a_check("tests", 1), a_check("tests")
    script = ScriptedVerifier(checks={"tests": [first, second]}, pictures=[a_picture(), a_picture(changed=1)])
    verifier: Verifier = script
    assert run(lambda: verifier.picture(Role.BASELINE)) == a_picture()
    assert checked(verifier, stage=Stage.BEFORE) == first
    assert checked(verifier) == second
    assert script.left == 1
    assert run(lambda: verifier.picture(Role.AFTER_CHECKS)) == a_picture(changed=1)
    assert script.asked == ["picture baseline", "before tests", "after tests", "picture after_checks"]
    assert script.left == 0


def test_time_passes_while_a_check_runs() -> None:
    """The clock moves on by what a check took."""
    clock = FakeClock()
    verifier = ScriptedVerifier(checks={"tests": [a_check("tests", duration_seconds=1.5)]}, pictures=[], clock=clock)
    checked(verifier)
    assert clock.now().elapsed == 1.5


def test_a_verifier_raises_what_it_is_told_to() -> None:
    """An exception in the script is raised in its turn, and the script goes on after it."""
    results: list[CheckEvidence | Exception] = [OSError("no"), a_check("tests")]
    verifier = ScriptedVerifier(checks={"tests": results}, pictures=[OSError("dark"), a_picture()])
    with pytest.raises(OSError, match="no"):
        checked(verifier)
    assert checked(verifier) == a_check("tests")
    with pytest.raises(OSError, match="dark"):
        run(lambda: verifier.picture(Role.BASELINE))
    assert run(lambda: verifier.picture(Role.BASELINE)) == a_picture()


def test_an_exhausted_script_is_no_exception() -> None:
    """Asked for more than its script holds, a doer raises what no driver takes for an outcome."""
    verifier = ScriptedVerifier(checks={}, pictures=[])
    with pytest.raises(ScriptExhausted, match="after tests was asked for"):
        checked(verifier)
    with pytest.raises(ScriptExhausted, match="picture baseline was asked for"):
        run(lambda: verifier.picture(Role.BASELINE))
    with pytest.raises(ScriptExhausted, match="attempt 1 was asked for"):
        run(lambda: ScriptedAgent([]).run(RunAgent(attempt=1)))
    assert not issubclass(ScriptExhausted, Exception)


def test_a_script_cannot_mix_up_checks() -> None:
    """A result under another check's name is a fault of the script."""
    with pytest.raises(PolicyError, match="holds a result of lint"):
        checked(ScriptedVerifier(checks={"tests": [a_check("lint")]}, pictures=[]))


def test_an_agent_plays_its_acts() -> None:
    """Outcomes and functions are played in order, each with its decision; the clock moves on by their durations."""
    clock = FakeClock()
    script = ScriptedAgent(
        [DONE, lambda decision: AgentOutcome(started=True, exit_code=decision.attempt), SignoffError("gone")],
        clock=clock,
    )
    agent: AgentRunner = script
    first, second, third = (RunAgent(attempt=number) for number in (1, 2, 3))
    assert run(lambda: agent.run(first)) == DONE
    assert clock.now().elapsed == 2.5
    assert run(lambda: agent.run(second)).exit_code == 2
    assert script.left == 1
    with pytest.raises(SignoffError, match="gone"):
        run(lambda: agent.run(third))
    assert script.decisions == [first, second, third]


def test_an_agent_needs_no_clock() -> None:
    """Without a clock no time passes."""
    assert run(lambda: ScriptedAgent([DONE]).run(RunAgent(attempt=1))) == DONE


def test_a_scene_writes_at_the_moment_of_its_clock() -> None:
    """Every event carries the present moment of the scene's clock, and simple good facts unless told otherwise."""
    clock = FakeClock()
    scene = Scene(clock)
    started = scene.started(Contract(), goal="a goal")
    clock.advance(5)
    events = (
        scene.pictured(Role.BASELINE),
        scene.settled("tests"),
        scene.ended(2, exit_code=3),
        scene.verifier_failed("check tests"),
        scene.receipt_written("here"),
        scene.receipt_failed("full"),
        scene.cancelled(),
    )
    assert started.at.elapsed == 0
    assert started.goal == "a goal"
    assert {event.at.elapsed for event in events} == {5}
    assert scene.settled("tests").evidence == a_check("tests")
    assert scene.ended(2, exit_code=3).outcome.exit_code == 3
    assert digest_of("a") != digest_of("b")


def test_a_scene_ends_only_what_has_a_verdict() -> None:
    """The last event of a run cannot be written before its verdict is reached."""
    with pytest.raises(ProtocolViolation, match="no verdict to finish with"):
        Scene().finished(GoalState())
