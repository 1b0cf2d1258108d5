"""What a user typed, as text and flags, before anything is looked up or judged.

Only the shape belongs here: the command line fills it, tests and the Python API can fill it too.
"""

import msgspec


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `signoff run` and `signoff check`; what was not typed is empty, None or false."""

    goal: str | None = None
    verify: tuple[str, ...] = ()
    """Shell strings for `bash -o pipefail -c`."""
    artifacts: tuple[str, ...] = ()
    """Paths, each optionally followed by `=sha256:` and a digest."""
    immutable: tuple[str, ...] = ()
    """Patterns of the gitignore dialect."""
    report: str | None = None
    """Format of the test report that every `--verify` command writes."""
    max_repairs: str | None = None
    timeout: str | None = None
    """A time such as 90, 90s, 10m, 2h or 1d."""
    attempt_timeout: str | None = None
    no_progress: str | None = None
    allow_no_change: bool = False
    allow_change: tuple[str, ...] = ()
    strict_exit: bool = False
    stdin: bool = False
    config: str | None = None
    """A contract file to use instead of the workspace's signoff.toml, relative to where the user stands."""
    cwd: str | None = None
    """The workspace, relative to where the user stands."""
    command: tuple[str, ...] = ()
    """The agent's command: every word after `--`."""
