"""Runs one child process and tells the truth about it, in an environment that says what the child may know.

No decision about a verdict belongs here, no configuration, and no redaction: what is reported is what was seen.
"""

from signoff.process.child import Command
from signoff.process.command import Ended, run
from signoff.process.environment import CheckEnvironment, agent_environment, check_environment
from signoff.process.output import KEPT, Output
from signoff.process.stop import Stop
from signoff.process.worker import in_thread, run_in_thread

__all__ = [
    "KEPT",
    "CheckEnvironment",
    "Command",
    "Ended",
    "Output",
    "Stop",
    "agent_environment",
    "check_environment",
    "in_thread",
    "run",
    "run_in_thread",
]
