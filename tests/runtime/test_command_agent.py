"""A command agent: what it is given, and how its end is told."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from signoff.core.completion.assess import Failure
from signoff.core.completion.contract import Contract, ValidationCommand
from signoff.core.goal.decisions import RunAgent
from signoff.core.goal.events import AgentOutcome
from signoff.core.values import Reason
from signoff.errors import ConfigError
from signoff.process import Stop
from signoff.runtime.command_agent import MAX_ARGUMENT, AgentOptions, CommandAgent, require_usable

FIRST = RunAgent(attempt=1)
SECOND = RunAgent(
    attempt=2,
    failures=(Failure(reason=Reason.SELF_CHECK_FAILED, subject="tests", detail="The check exited with 1."),),
)
ECHO = (
    "import json, os, sys; json.dump([sys.argv[1:], {k: v for k, v in os.environ.items() if 'SIGN' in k}], sys.stdout)"
)


def options(
    tmp_path: Path, *command: str, goal: str = "do it", environment: dict[str, str] | None = None
) -> AgentOptions:
    """Describe an agent in a workspace of its own."""
    (tmp_path / "workspace").mkdir(exist_ok=True)
    (tmp_path / "texts").mkdir(exist_ok=True)
    return AgentOptions(
        command=command,
        goal=goal,
        contract=Contract(commands=(ValidationCommand(id="tests", argv=("pytest",)),)),
        workspace=str(tmp_path / "workspace"),
        run_id="r1",
        folder=str(tmp_path / "texts"),
        host_environment=environment or {"PATH": "/usr/bin:/bin"},
    )


def ran(given: AgentOptions, decision: RunAgent = FIRST) -> AgentOutcome:
    """Run one attempt."""
    agent = CommandAgent(given, stop=Stop(), on_output=None)

    async def main() -> AgentOutcome:
        return await agent.run(decision)

    return anyio.run(main)


def test_texts_are_replaced_as_arguments_and_stand_in_files(tmp_path: Path) -> None:
    """Goal, feedback and prompt reach the agent in its arguments and in the files that the environment names."""
    given = options(
        tmp_path, sys.executable, "-c", ECHO, "{goal}", "x={feedback}", "{prompt}", "{other}", goal="$(id) 'q'\n"
    )
    outcome = ran(given, SECOND)
    told = (tmp_path / "texts" / "feedback.txt").read_text()

    assert outcome.exit_code == 0
    assert "The check exited with 1." in told
    assert (tmp_path / "texts" / "goal.txt").read_text() == "$(id) 'q'\n"
    assert (tmp_path / "texts" / "prompt.txt").read_text() == "$(id) 'q'\n\n\n" + told
    assert '["$(id) \'q\'\\n", "x=The host has checked' in outcome.output_tail
    assert '"{other}"' in outcome.output_tail
    assert '"SIGNOFF_ATTEMPT": "2"' in outcome.output_tail


def test_a_placeholder_in_the_goal_itself_is_text(tmp_path: Path) -> None:
    """Replacement is made once: what a goal holds is never replaced."""
    outcome = ran(options(tmp_path, "echo", "{prompt}", goal="say {feedback} and {goal}"))

    assert outcome.output_tail == "say {feedback} and {goal}\n"


def test_an_argument_that_is_too_long_names_the_file(tmp_path: Path) -> None:
    """A goal over 100 KiB is replaced by a text that says where it stands; the file holds all of it."""
    goal = "g" * (MAX_ARGUMENT + 1)
    outcome = ran(options(tmp_path, "echo", "{goal}", goal=goal))

    assert str(tmp_path / "texts" / "goal.txt") in outcome.output_tail
    assert (tmp_path / "texts" / "goal.txt").read_text() == goal


def test_a_link_that_an_agent_planted_is_not_written_through(tmp_path: Path) -> None:
    """The texts of an attempt are new files, whatever an agent before has put in their place."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    given = options(tmp_path, "true")
    (tmp_path / "texts" / "goal.txt").symlink_to(victim)
    ran(given)

    assert victim.read_text() == "mine"
    assert (tmp_path / "texts" / "goal.txt").read_text() == "do it"


def test_a_fifo_that_an_agent_planted_holds_nobody_up(tmp_path: Path) -> None:
    """Whatever stands under the names of the texts, or beside them, the next attempt is started."""
    given = options(tmp_path, "true")
    for name in ("goal.txt", "goal.txt.new", "prompt.txt"):
        os.mkfifo(tmp_path / "texts" / name)

    assert ran(given).exit_code == 0
    assert (tmp_path / "texts" / "goal.txt").read_text() == "do it"


def test_the_host_keeps_its_own_variables(tmp_path: Path) -> None:
    """Signing keys and the step files of a CI job are not in the agent's environment; the rest of the host's is."""
    environment = {"PATH": "/usr/bin:/bin", "SIGNOFF_SIGNING_KEY": "k", "GITHUB_ENV": "/f", "MINE": "yes"}
    outcome = ran(options(tmp_path, "env", environment=environment))

    assert "MINE=yes" in outcome.output_tail
    assert "SIGNING_KEY" not in outcome.output_tail
    assert "GITHUB_ENV" not in outcome.output_tail


def test_an_agent_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    """A missing program is an outcome, not an exception."""
    outcome = ran(options(tmp_path, "/nowhere/agent"))

    assert not outcome.started
    assert "/nowhere/agent" in outcome.error


@pytest.mark.parametrize(
    "command",
    [
        ("sh", "-c", "agent {prompt}"),
        ("/bin/bash", "-lc", "agent '{goal}'"),
        ("bash", "-o", "pipefail", "-c", "agent {prompt}"),
        ("env", "A=1", "sh", "-c", "{prompt}"),
        ("python3", "-c", "print('{goal}')"),
        ("node", "-e", "{prompt}"),
        ("su", "me", "-c", "{prompt}"),
        ("env", "-S", "agent {prompt}"),
        (),
        (" ",),
        ("a\0b",),
    ],
)
def test_a_text_never_becomes_code(command: tuple[str, ...]) -> None:
    """A placeholder inside a shell string or a program's code is refused before anything starts."""
    with pytest.raises(ConfigError, match="nothing was started"):
        require_usable(command)


@pytest.mark.parametrize(
    "command",
    [
        ("agent", "-p", "{prompt}"),
        ("sh", "-c", 'agent "$1"', "_", "{prompt}"),
        ("python3", "agent.py", "-c", "{prompt}"),
        ("claude", "-p", "{prompt}", "--verbose"),
        ("agent", "--text={prompt}"),
    ],
)
def test_an_argument_is_an_argument(command: tuple[str, ...]) -> None:
    """A placeholder that arrives as an argument of its own is accepted."""
    require_usable(command)
