"""`signoff`: finds the command, and turns what goes wrong into one clear message and an exit code."""

import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from signoff import __version__

USAGE_EXIT = 2
INTERRUPTED_EXIT = 130

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("signoff.cli.init", "Propose checks for this project and write signoff.toml."),
    "run": ("signoff.cli.run", "Run an agent until the host has verified its work."),
    "check": ("signoff.cli.check", "Take the checks of the contract once."),
    "runs": ("signoff.cli.runs", "List the runs of this project."),
    "show": ("signoff.cli.show", "Show what happened in a run."),
    "receipt": ("signoff.cli.receipt", "Verify a receipt against the files it names."),
    "doctor": ("signoff.cli.doctor", "Say what is wrong with this set-up and how to mend it."),
    "completion": ("signoff.cli.completion", "Print the shell's completion script."),
}


def main() -> NoReturn:
    """Run the command line and exit."""
    _prepare_streams()
    # Before anything heavy: scripts ask for the version often.
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"signoff {__version__}\n")
        sys.exit(0)
    heed_early()
    gc.disable()  # imports make no garbage, and looking for it takes a tenth of the start; a run turns it on again
    code = _run()
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = None  # nobody can be told; left as it is, Python would fail to flush it and change the exit code
    sys.exit(code)


def heed_early() -> None:
    """Let SIGTERM and SIGHUP end the program as Ctrl-C does, where no run heeds them in its own way."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: object) -> NoReturn:
    del number, frame
    raise KeyboardInterrupt


def _prepare_streams() -> None:
    """Open what the caller has closed, and let no character be one that cannot be written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one; left free, it would go to the store, and words be written into it.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - its only parameter
    sys.stdin = sys.stdin or os.fdopen(0, "r", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run() -> int:
    import click

    from signoff.cli.group import build_group
    from signoff.errors import SignoffError

    if sys.platform == "win32":
        sys.stderr.write("signoff: Windows is not supported natively; nothing was started; run it in WSL\n")
        return USAGE_EXIT
    try:
        code = build_group().main(args=sys.argv[1:], prog_name="signoff", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        with contextlib.suppress(OSError):
            sys.stderr.write("signoff: interrupted\n")
        return INTERRUPTED_EXIT
    except (SignoffError, OSError, ExceptionGroup) as error:
        return _told(error)
    return code if isinstance(code, int) else 0


def _told(error: Exception) -> int:
    from signoff.cli.output import report
    from signoff.errors import SignoffError

    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]  # a group of tasks wraps what ended it
    if isinstance(error, SignoffError):
        report(str(error))
        return USAGE_EXIT
    if not isinstance(error, OSError):
        raise error
    if not isinstance(error, BrokenPipeError):  # else the reader went away (`| head`), and there is nobody to tell
        report(f"the answer could not be given: {error}; mend that and ask again (`signoff show latest`: the last run)")
    sys.stdout = None  # Python must not try again at exit
    return 1
