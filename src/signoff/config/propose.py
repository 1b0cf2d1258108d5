"""Proposes a signoff.toml for a project by reading its files. Nothing of the project is run, and nothing is written.

What is proposed can be run there as it stands: a check whose runner the project does not name stays a comment. The
project may be hostile, so its files are read within a bound and none of their text enters the proposal.
"""

from collections.abc import Sequence

import msgspec

from signoff.config.projects import Suggestion, suggestions
from signoff.core.canonical import canonical

_HEAD = """\
# What must hold before signoff calls a run completed. The contract is sealed before the agent starts: a change of
# this file during a run never counts for that run. Try it with `signoff check`, and see `signoff run --help`.
"""
_EMPTY = """
# Nothing was recognised here that can check the work, so this file declares no check yet: runs end `unverified`.
# Take the comment signs from one of the checks below, or write your own.
"""
_CONTRACT = """
[contract]
# mode = "enforce"        # enforce: the checks decide; observe: they are only reported; off
# max_repairs = 5         # how often the agent is sent back, in the whole run
# ignore = ["*.log"]      # files whose change does not count as work (gitignore patterns)
"""
_SHELL_EXAMPLE = """
# A shell string runs as `bash -o pipefail -c`; with `before = "failed"` the check must fail before the agent starts,
# which suits a goal that adds something.
# [[contract.command]]
# id = "example"
# shell = "test -s report.md"
# before = "failed"
"""
_ARTIFACT_EXAMPLE = """
# A file that must be there at the end, not empty, and written since the agent started.
# [[contract.artifact]]
# path = "report.md"
"""
_IMMUTABLE_EXAMPLE = """
# Files that the agent may not change, add to or delete from. Not active, because a task that adds tests would fail.
# [[contract.immutable]]
# glob = {glob}
"""
_AGENT = """
# The agent for `signoff run` without a command after `--`.
# [agent]
# command = ["my-agent", "{prompt}"]
# timeout = "2h"
"""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A contract file that fits a project."""

    text: str
    """The whole file, with comments."""
    checks: tuple[str, ...]
    """The proposed checks that are active, as a person would type them."""
    notes: tuple[str, ...] = ()
    """What was seen and could not be read, for the user."""


def propose(root: str) -> Proposal:
    """Return a proposal for the project in a folder."""
    found, notes = suggestions(root)
    active = [each for each in found if each.active]
    parts = [_HEAD if active else _HEAD + _EMPTY, _CONTRACT]
    parts += ["\n" + _command(each) for each in found]
    parts += [_SHELL_EXAMPLE, _ARTIFACT_EXAMPLE]
    globs = [each.tests for each in active if each.tests] or ["tests/"]
    parts += [_IMMUTABLE_EXAMPLE.replace("{glob}", _string(globs[0])), _AGENT]
    checks = tuple(each.script or " ".join(each.argv) for each in active)
    return Proposal(text="".join(parts), checks=checks, notes=notes)


def _command(each: Suggestion) -> str:
    lines = ["[[contract.command]]", f"id = {_string(each.id)}"]
    lines.append(f"shell = {_string(each.script)}" if each.script else f"argv = {_array(each.argv)}")
    if each.report:
        lines += ['report = "junit"        # tests are counted, not only the exit status', "min_tests = 1"]
    lines.append("timeout_seconds = 600")
    shown = lines if each.active else [f"# {line}" for line in lines]
    return "\n".join([*(f"# {line}" for line in each.why), *shown]) + "\n"


def _array(words: Sequence[str]) -> str:
    return f"[{', '.join(_string(word) for word in words)}]"


def _string(text: str) -> str:
    """A text as a basic string of TOML, which is one of JSON but for the character DEL."""
    return canonical(text).decode().replace("\x7f", "\\u007f")
