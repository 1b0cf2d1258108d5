"""A model task: what is shared is counted once, and nothing is allowed beyond it."""

from typing import cast

import anyio
import msgspec
import pytest

from signoff.core.budget import TaskBound, TaskLimits, TaskUsage
from signoff.core.model.response import ModelResponse, TokenUsage
from signoff.errors import BudgetExhausted, ProtocolViolation, SignoffError
from signoff.ports import Timer
from signoff.runtime.answer import answer
from signoff.runtime.clock import HostClock
from signoff.runtime.model_task import ModelTask
from signoff.testing import FakeClock, reply
from tests.models.asking import run
from tests.runtime.answering import PLAIN, is_usable, playing


def refused(task: ModelTask) -> str:
    """Which bound forbids the next call."""
    with pytest.raises(BudgetExhausted) as caught:
        task.reserve()
    assert caught.value.bound in str(caught.value)
    assert isinstance(caught.value, SignoffError)
    return caught.value.bound


def test_calls_are_reserved_before_they_are_made() -> None:
    """One that is under way counts, so that two callers cannot both make the last call."""
    task = ModelTask(TaskLimits(max_calls=2))
    task.reserve()
    task.reserve()
    assert refused(task) == TaskBound.MAX_MODEL_CALLS
    assert (task.usage, task.under_way) == (TaskUsage(), 2)
    task.charge(reply("a", usage=(100, 7)))
    assert refused(task) == TaskBound.MAX_MODEL_CALLS
    task.release()
    task.reserve()
    assert (task.usage, task.under_way) == (TaskUsage(calls=1, input_tokens=100, output_tokens=7, tokens=107), 1)
    assert task.limits == TaskLimits(max_calls=2)


def test_tokens_are_known_behind_a_call() -> None:
    """The call that used up the last of them was made; the next one is not."""
    task = ModelTask(TaskLimits(max_tokens=150))
    for _ in range(2):
        task.reserve()
        task.charge(reply("a", usage=(70, 30)))
    assert (refused(task), task.usage.tokens) == (TaskBound.MAX_TOKENS, 200)


def test_a_call_of_which_nothing_is_known_is_counted_apart() -> None:
    """It was made, and what it cost is unknown."""
    task = ModelTask(TaskLimits(max_calls=9))
    for response in (None, reply("a", usage=None)):
        task.reserve()
        task.charge(response)
    assert task.usage == TaskUsage(calls=2, calls_without_usage=2)


@pytest.mark.parametrize(
    ("response", "output"),
    [
        (msgspec.structs.replace(reply("a", usage=(70, 30)), saw_reason=False), 30),
        (msgspec.structs.replace(reply("a"), usage=TokenUsage(input=70)), 0),
    ],
)
def test_a_count_without_its_end_is_not_all(response: ModelResponse, output: int) -> None:
    """What a cut response had told is added, and the call is one of which not everything is known."""
    task = ModelTask(TaskLimits(max_calls=9))
    task.reserve()
    task.charge(response)
    counted = TaskUsage(calls=1, input_tokens=70, output_tokens=output, tokens=70 + output, calls_without_usage=1)
    assert (task.usage, task.under_way) == (counted, 0)


def test_a_response_that_is_none_is_charged_all_the_same() -> None:
    """The fault is raised; the call is counted, and its reservation is gone."""
    task, nothing = ModelTask(TaskLimits(max_calls=9)), cast("ModelResponse", {"usage": None})
    task.reserve()
    with pytest.raises(AttributeError):
        task.charge(nothing)
    assert (task.usage, task.under_way) == (TaskUsage(calls=1, calls_without_usage=1), 0)
    with pytest.raises(ProtocolViolation, match="call reserve first"):
        task.charge(nothing)
    assert (task.usage.calls, task.under_way) == (1, 0)


def test_the_time_begins_when_the_task_is_made() -> None:
    """Whatever the clock had shown before."""
    clock = FakeClock()
    clock.advance(100)
    task = ModelTask(TaskLimits(timeout_seconds=5), clock=clock)
    clock.advance(4.5)
    assert task.seconds_left() == 0.5
    task.reserve()
    clock.advance(10)
    assert (refused(task), task.seconds_left()) == (TaskBound.TIMEOUT, 0)
    assert ModelTask(TaskLimits(max_calls=1)).seconds_left() is None


def test_a_cancelled_task_allows_nothing_and_wakes_its_watchers() -> None:
    """Each of them once, also those that come too late; what was reserved can still be charged."""
    task, woken = ModelTask(TaskLimits(max_calls=9)), list[str]()
    task.reserve()
    with task.watched(lambda: woken.append("gone")):
        pass
    with task.watched(lambda: woken.append("first")), task.watched(lambda: woken.append("second")):
        task.cancel()
        task.cancel()
        assert woken == ["first", "second"]
    with task.watched(lambda: woken.append("late")):
        assert woken[-1] == "late"
    assert (task.cancelled, refused(task)) == (True, TaskBound.CANCELLED)
    task.charge(None)
    assert (task.usage.calls, task.under_way) == (1, 0)


@pytest.mark.parametrize("end", ["charge", "release"])
def test_what_was_not_reserved_cannot_be_ended(end: str) -> None:
    """Nothing is counted twice, and nothing that was not announced."""
    task = ModelTask(TaskLimits(max_calls=9))
    with pytest.raises(ProtocolViolation, match="call reserve first"):
        task.charge(None) if end == "charge" else task.release()
    assert task.usage == TaskUsage()


@pytest.mark.scenario("MB-202")
def test_a_task_is_shared_by_being_passed_on() -> None:
    """Two answers at once, with an attempt too many between them: exactly the allowed calls are made."""
    task, outcomes = ModelTask(TaskLimits(max_calls=3)), list[str]()

    async def asking() -> None:
        async with playing(reply(" "), reply(" "), reply("Done.")) as (server, model):

            async def one() -> None:
                try:
                    is_usable(await answer(model, PLAIN, task=task))
                except BudgetExhausted as error:
                    outcomes.append(error.bound)
                else:
                    outcomes.append("usable")

            async with anyio.create_task_group() as group:
                group.start_soon(one)
                group.start_soon(one)
            assert len(server.requests) == 3

    run(asking)
    assert sorted(outcomes) == ["max_model_calls", "usable"]
    assert (task.usage.calls, task.under_way) == (3, 0)


def test_the_hosts_clock_is_a_timer() -> None:
    """It goes forwards, and leaves a block when it has come so far, at once where it has."""

    async def waiting() -> None:
        clock: Timer = HostClock()
        began = clock.seconds()
        with clock.move_on_at(began + 0.05):
            await anyio.sleep_forever()
        assert 0.04 < clock.seconds() - began < 5
        with clock.move_on_at(began - 1):
            await anyio.sleep_forever()
        assert clock.now().elapsed >= clock.seconds() - 1

    run(waiting)
