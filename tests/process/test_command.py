"""One process from start to end: exit codes, deadlines, the pipe, and requests to stop."""

import math
import os
import signal
import threading
from pathlib import Path

import pytest

from signoff.errors import PolicyError
from signoff.process import Ended, Stop, run
from tests.process.running import (
    GRACEFUL,
    PATIENCE,
    PYTHON,
    Pipe,
    agent,
    agent_stopped_when_it_prints,
    alive,
    check,
    command,
    open_descriptors,
    printed,
)

BOTH = pytest.mark.parametrize("pipe", ["must_close", "may_linger"])


@BOTH
@pytest.mark.parametrize("code", [0, 1, 124, 127, 255])
def test_an_exit_code_is_reported(code: int, pipe: Pipe) -> None:
    """The code that the process ended with is the code in the report."""
    ended = run(command("sh", "-c", f"exit {code}"), timeout=PATIENCE, stop=Stop(), pipe=pipe)
    assert (ended.started, ended.exit_code, ended.error) == (True, code, "")
    assert (ended.timed_out, ended.stopped, ended.held_by, ended.killed_leftovers) == (False, False, (), 0)
    assert (ended.remaining, ended.duration_seconds > 0) == ((), True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE])
def test_a_death_by_signal_is_128_and_its_number(number: signal.Signals) -> None:
    """A process that dies by a signal that signoff did not send has ended by itself."""
    ended = check("sh", "-c", f"kill -{number.value} $$")
    assert (ended.exit_code, ended.timed_out) == (128 + number, False)


def test_both_streams_are_one() -> None:
    """What goes to standard error stands where it was written."""
    ended = check("sh", "-c", "echo 1; echo 2 >&2; echo 3")
    assert printed(ended) == b"1\n2\n3\n"


def test_text_in_the_output_plays_no_role() -> None:
    """A process that prints success and exits with failure has failed."""
    ended = check("sh", "-c", "echo PASS exit code 0; exit 9")
    assert ended.exit_code == 9


def test_a_check_that_takes_too_long_is_killed() -> None:
    """At the timeout the process is killed at once, and what it printed before is kept."""
    ended = check("sh", "-c", "trap 'echo never' TERM; echo before; while :; do sleep 0.1; done", timeout=1)
    assert (ended.timed_out, ended.exit_code, ended.stopped) == (True, None, False)
    assert (printed(ended), ended.held_by, ended.remaining) == (b"before\n", (), ())
    assert 1 <= ended.duration_seconds < PATIENCE / 2


def test_an_agent_gets_its_grace_at_the_timeout() -> None:
    """An agent is asked first; what it does in its grace still counts as output, but not as its own end."""
    ended = agent(*GRACEFUL, timeout=1)
    assert (ended.timed_out, ended.exit_code, printed(ended)) == (True, None, b"hi\nbye\n")
    assert ended.duration_seconds < PATIENCE / 2


def test_an_agent_that_ignores_the_question_is_killed() -> None:
    """When grace is over, the agent is killed."""
    ended = agent("sh", "-c", "trap '' TERM; while :; do sleep 0.05; done", timeout=1, grace=0.3)
    assert (ended.timed_out, ended.exit_code, ended.remaining) == (True, None, ())
    assert 1.3 <= ended.duration_seconds < PATIENCE / 2


@BOTH
def test_a_flood_does_not_delay_the_timeout(pipe: Pipe) -> None:
    """A process that never stops printing is ended as soon as any other."""
    ended = run(command("yes"), timeout=0.3, stop=Stop(), pipe=pipe, grace=1)
    assert (ended.timed_out, ended.exit_code, ended.held_by) == (True, None, ())
    assert ended.output is not None
    assert ended.output.truncated
    assert ended.duration_seconds < PATIENCE / 2


@BOTH
def test_a_flood_that_ignores_the_question_ends_too(pipe: Pipe) -> None:
    """Printing through the grace does not extend it."""
    ended = run(command("sh", "-c", "trap '' TERM; yes"), timeout=0.2, stop=Stop(), pipe=pipe, grace=0.3)
    assert (ended.timed_out, ended.remaining) == (True, ())
    assert ended.duration_seconds < PATIENCE / 2


def test_a_stopped_process_is_killed() -> None:
    """A check that stops itself runs into its timeout."""
    ended = check("sh", "-c", "echo here; kill -STOP $$; echo never", timeout=1)
    assert (ended.timed_out, ended.exit_code, printed(ended)) == (True, None, b"here\n")


def test_a_stopped_agent_hears_the_question() -> None:
    """An agent that stopped itself is continued, so that it can use its grace."""
    ended = agent_stopped_when_it_prints("sh", "-c", "trap 'echo bye; exit' TERM; echo hi; kill -STOP $$; sleep 3600")
    assert (ended.stopped, printed(ended)) == (True, b"hi\nbye\n")
    assert ended.duration_seconds < PATIENCE / 2


@BOTH
def test_closing_the_output_is_not_the_end(pipe: Pipe) -> None:
    """A process that closes its output and goes on is waited for."""
    ended = run(
        command("sh", "-c", "echo x; exec >&- 2>&-; sleep 0.3; exit 4"), timeout=PATIENCE, stop=Stop(), pipe=pipe
    )
    assert (ended.exit_code, printed(ended)) == (4, b"x\n")
    assert ended.duration_seconds >= 0.3


def test_a_held_pipe_runs_into_the_timeout_of_a_check() -> None:
    """A background process that keeps the output open makes the check time out, and is named."""
    ended = check("sh", "-c", "sleep 3600 & echo $!", timeout=1)
    pid = int(printed(ended))
    assert (ended.timed_out, ended.exit_code) == (True, 0)
    assert ended.held_by == (f"pid {pid} (sleep 3600)",)
    assert (ended.killed_leftovers, alive(pid)) == (1, False)


def test_a_pipe_released_in_time_is_waited_for() -> None:
    """What a background process prints before the timeout belongs to the output of a check."""
    ended = check("sh", "-c", "{ sleep 0.3; echo late; } & echo early")
    assert (ended.exit_code, ended.timed_out, printed(ended)) == (0, False, b"early\nlate\n")


def test_an_agent_does_not_wait_for_a_held_pipe() -> None:
    """Half a second after an agent has exited, what it left is ended; it did not time out."""
    ended = agent("sh", "-c", "sleep 3600 & echo $!; exit 5")
    pid = int(printed(ended))
    assert (ended.exit_code, ended.timed_out) == (5, False)
    assert ended.held_by == (f"pid {pid} (sleep 3600)",)
    assert (ended.killed_leftovers, alive(pid)) == (1, False)
    assert 0.5 <= ended.duration_seconds < PATIENCE / 2


def test_last_words_of_an_agents_helpers_are_read() -> None:
    """Output that comes within half a second of the agent's end is kept."""
    ended = agent("sh", "-c", "{ sleep 0.1; echo late; } & echo early")
    assert (ended.exit_code, printed(ended), ended.held_by) == (0, b"early\nlate\n", ())


def test_a_slow_listener_loses_no_output_of_an_agent() -> None:
    """What the agent printed before its end is read, however long the listener takes for it."""
    pause = threading.Event()
    ended = agent(*PYTHON, "print('x' * 999_999)", on_output=lambda chunk: pause.wait(len(chunk) / 300_000))
    assert ended.output is not None
    assert ended.output.size == 1_000_000


def test_a_stop_before_the_start_starts_nothing(tmp_path: Path) -> None:
    """With a stop requested already, no process is made."""
    stop = Stop()
    stop.request()
    ended = run(command("touch", "made", cwd=tmp_path), timeout=PATIENCE, stop=stop, pipe="must_close")
    assert ended == Ended(started=False, stopped=True, error="a stop was requested before it was started")
    assert list(tmp_path.iterdir()) == []


@BOTH
def test_a_stop_ends_a_running_process(pipe: Pipe) -> None:
    """A stop, here from the listener, ends the process; that is neither a timeout nor its own end."""
    stop = Stop()
    ended = run(
        command("sh", "-c", "echo ready; sleep 3600"),
        timeout=PATIENCE,
        stop=stop,
        pipe=pipe,
        on_output=lambda _: stop.request(),
    )
    assert (ended.stopped, ended.timed_out, ended.exit_code) == (True, False, None)
    assert ended.duration_seconds < PATIENCE / 2


def test_a_stop_from_another_thread_wakes_a_silent_run() -> None:
    """A run that waits for a silent process hears a request from another thread."""
    stop = Stop()
    timer = threading.Timer(0.2, stop.request)
    timer.start()
    ended = check("sleep", "3600", stop=stop)
    timer.join()
    assert (ended.stopped, ended.exit_code) == (True, None)
    assert ended.duration_seconds < PATIENCE / 2


def test_a_stop_from_a_signal_handler_is_heard() -> None:
    """The request may be made where nothing else may be done: in a signal handler, in the thread that waits."""
    stop = Stop()
    before = signal.signal(signal.SIGUSR1, lambda *_: stop.request())
    try:
        ended = check("sh", "-c", f"kill -USR1 {os.getpid()}; sleep 3600", stop=stop)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert ended.stopped
    assert ended.duration_seconds < PATIENCE / 2


def test_a_stop_after_the_end_changes_nothing() -> None:
    """The report of a process that ended by itself does not know of a later request."""
    stop = Stop()
    ended = check("true", stop=stop)
    stop.request()
    assert (ended.stopped, ended.exit_code) == (False, 0)


def test_a_second_request_cuts_the_grace_short() -> None:
    """A stop without grace kills an agent that is using its grace."""
    stop = Stop()

    def answer(chunk: bytes) -> None:
        stop.now() if b"grace" in chunk else stop.request()

    ignoring = "trap 'echo grace' TERM; echo ready; while :; do :; done"
    ended = run(
        command("sh", "-c", ignoring),
        timeout=None,
        stop=stop,
        pipe="may_linger",
        grace=10 * PATIENCE,
        on_output=answer,
    )
    assert (ended.stopped, ended.exit_code, printed(ended)) == (True, None, b"ready\ngrace\n")
    assert ended.duration_seconds < PATIENCE / 2


def test_without_a_timeout_the_end_is_awaited() -> None:
    """None is no deadline."""
    assert check("sh", "-c", "sleep 0.2; exit 2", timeout=None).exit_code == 2


def test_an_endless_timeout_is_none() -> None:
    """A timeout beyond every clock is no error."""
    assert check("true", timeout=math.inf).exit_code == 0


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_timeout_that_is_no_duration_is_refused(tmp_path: Path, seconds: float) -> None:
    """A negative duration or one that is no number is a mistake of the caller, and nothing is started."""
    given = command("touch", "made", cwd=tmp_path)
    with pytest.raises(PolicyError, match="timeout"):
        run(given, timeout=seconds, stop=Stop(), pipe="must_close")
    with pytest.raises(PolicyError, match="grace"):
        run(given, timeout=None, stop=Stop(), pipe="must_close", grace=seconds)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_no_process() -> None:
    """When an interrupt breaks the run, the process is killed and waited for before it goes on."""
    pids: list[int] = []

    def interrupt(chunk: bytes) -> None:
        pids.append(int(chunk))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("sh", "-c", "echo $$; sleep 3600", on_output=interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_nothing_is_left_open() -> None:
    """After fifty runs of every kind there are as many descriptors and threads as before, and no zombie."""
    before = (open_descriptors(), threading.active_count())
    for _ in range(10):
        check("true")
        check("sh", "-c", "echo x; kill -9 $$")
        check("no-such-program")
        check("sh", "-c", "sleep 60 &", timeout=0.01)
        agent("sh", "-c", "sleep 60 >&- 2>&- &")
    assert (open_descriptors(), threading.active_count()) == before
    with pytest.raises(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
