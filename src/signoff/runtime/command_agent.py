"""Runs a command agent once: any program that a command line starts. What it says and how it exits proves nothing.

The goal and the feedback reach it as whole arguments and in files, never through a shell.
"""

import difflib
import os
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Literal

import anyio
import anyio.to_thread
import msgspec

from signoff.core.completion.contract import Contract
from signoff.core.goal.decisions import RunAgent
from signoff.core.goal.events import AgentOutcome
from signoff.errors import ConfigError
from signoff.process import Command, Stop, agent_environment, run_in_thread
from signoff.records.feedback import feedback
from signoff.records.text import visible

MAX_ARGUMENT = 100 * 1024
"""Bytes of one argument after replacement; a longer one is replaced by a text that names the file."""
_PLACEHOLDER = re.compile(r"\{(goal|feedback|prompt)\}")
_BRACED = re.compile(r"\{([A-Za-z_]{3,20})\}")
_INTERPRETER = re.compile(
    r"(?:(?:ba|da|z|k|mk|a|c|tc|fi)?sh|busybox|python[\d.]*|pypy[\d.]*|perl|ruby|node|php|lua|osascript)"
)
"""Programs whose options, up to their first operand, may take code."""
_LAUNCHER = re.compile(r"(?:su|runuser|script|flock|watch|env|ssh)")
"""Programs that take code in an option anywhere."""
_CODE_FLAG = re.compile(r"-[A-Za-z]*[ceErS]|--command|--eval|--split-string")
_FLAG_WITH_VALUE = frozenset({"-o", "-O", "+o", "+O", "-W", "-X", "--rcfile", "--init-file"})


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one attempt of a command agent needs."""

    command: tuple[str, ...]
    goal: str
    contract: Contract
    workspace: str
    run_id: str
    folder: str
    """A folder outside the workspace for the texts; it must exist."""
    host_environment: Mapping[str, str]
    stdin: Literal["null", "inherit"] = "null"
    grace_seconds: float = 5.0


def require_usable(command: tuple[str, ...]) -> None:
    """Refuse a command in which a placeholder would become part of a program's code (SE-031)."""
    if not command or not command[0].strip():
        message = "the agent's command is empty; nothing was started; name a program after `--`"
        raise ConfigError(message)
    if any("\0" in word for word in command):
        message = "the agent's command holds a NUL character; nothing was started; remove it"
        raise ConfigError(message)
    for place, word in enumerate(command):
        if _PLACEHOLDER.search(word) and _is_code(command[:place]):
            message = (
                f"the agent's argument {word[:80]!r} is code, and a goal or feedback put into it would be run as code; "
                "nothing was started; read the text from the file named by $SIGNOFF_PROMPT_FILE inside the code, or "
                "pass {prompt} as an argument of its own"
            )
            raise ConfigError(message)


def placeholder_notes(command: tuple[str, ...]) -> list[str]:
    """Return a sentence for each word in braces that is nearly a placeholder and is not one."""
    notes = []
    for found in _BRACED.findall(" ".join(command)):
        near = difflib.get_close_matches(found.lower(), ("goal", "feedback", "prompt"), n=1, cutoff=0.7)
        if near and found != near[0]:
            notes.append(f"{{{found}}} in the agent's command is passed on as it is; did you mean {{{near[0]}}}?")
    return notes


def _is_code(before: tuple[str, ...]) -> bool:
    """Whether the word that follows `before` is code to a program in it."""
    if not before or not _CODE_FLAG.fullmatch(before[-1]):
        return False
    names = [os.path.basename(word) for word in before]  # noqa: PTH119 - text, no path
    if any(_LAUNCHER.fullmatch(name) for name in names):
        return True
    found = [place for place, name in enumerate(names) if _INTERPRETER.fullmatch(name)]
    return any(_only_options(before[place + 1 :]) for place in found)


def _only_options(words: tuple[str, ...]) -> bool:
    previous = ""
    for word in words:
        if not word.startswith(("-", "+")) and previous not in _FLAG_WITH_VALUE:
            return False
        previous = word
    return True


class CommandAgent:
    """Implements the port `AgentRunner` for a command."""

    def __init__(self, options: AgentOptions, *, stop: Stop, on_output: Callable[[bytes], None] | None) -> None:
        require_usable(options.command)
        self._options = options
        self._stop = stop
        self._on_output = on_output

    async def run(self, decision: RunAgent) -> AgentOutcome:
        """Give the agent goal and feedback; return when its process group has ended."""
        options = self._options
        told = feedback(decision, options.contract)
        texts = {"goal": options.goal, "feedback": told, "prompt": "\n\n".join(filter(None, (options.goal, told)))}
        files = await anyio.to_thread.run_sync(self._written, texts)
        names = {f"SIGNOFF_{name.upper()}_FILE": path for name, path in files.items()}
        names |= {"SIGNOFF_RUN_ID": options.run_id, "SIGNOFF_ATTEMPT": str(decision.attempt)}
        ended = await run_in_thread(
            Command(
                argv=tuple(_filled(word, texts, files) for word in options.command),
                cwd=options.workspace,
                env=agent_environment(options.host_environment, extra=names),
                stdin=options.stdin,
            ),
            timeout=decision.timeout_seconds,
            stop=self._stop,
            pipe="may_linger",
            grace=options.grace_seconds,
            on_output=self._on_output,
        )
        output = ended.output
        tail = (output.tail or output.head) if output is not None else b""
        return AgentOutcome(
            started=ended.started,
            exit_code=None if ended.timed_out else ended.exit_code,
            error=ended.error,
            timed_out=ended.timed_out,
            output_sha256=output.sha256 if output is not None else None,
            output_size=output.size if output is not None else 0,
            output_tail=visible(tail.decode("utf-8", "replace")),
            leftovers=ended.killed_leftovers,
            duration_seconds=ended.duration_seconds,
        )

    def _written(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {name: _write(self._options.folder, name, text) for name, text in texts.items()}


def _write(folder: str, name: str, text: str) -> str:
    """Put a text into a new file under its name, whatever the agent of an attempt before has left there."""
    path = os.path.join(folder, f"{name}.txt")  # noqa: PTH118 - text, no path
    temporary = f"{path}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    os.replace(temporary, path)  # noqa: PTH105 - text, no path
    return path


def _filled(word: str, texts: Mapping[str, str], files: Mapping[str, str]) -> str:
    if not _PLACEHOLDER.search(word):
        return word
    # One pass: a placeholder that stands in the goal's own text is text.
    whole = _PLACEHOLDER.sub(lambda found: texts[found[1]], word)
    if len(whole.encode("utf-8", "surrogateescape")) <= MAX_ARGUMENT:
        return whole
    return _PLACEHOLDER.sub(lambda found: f"The text is too long for an argument; read it from {files[found[1]]}", word)
