"""Verifiers: they gather evidence about a workspace, and judge nothing.

workspace   the port `Verifier` over one workspace    require    what can be refused before anything starts
unguarded   programs of the checks that nothing guards
scan · walk · files · left_out · globs · names · sealed    what stands in the workspace
pictures · freshness    what changed since the baseline, and by whom
control · runners · starts · settings · steering    what steers the checks
artifacts · folders · content · placeholders    what must be delivered
commands · reports · texts    the checks themselves
"""

from signoff.verifiers.artifacts import inspect_one
from signoff.verifiers.left_out import CACHES, VERSION_CONTROL
from signoff.verifiers.names import shown, unshown
from signoff.verifiers.programs import Program, missing_programs, program_of, require_bash
from signoff.verifiers.require import require_matches, unmatched
from signoff.verifiers.runners import RUNNERS
from signoff.verifiers.unguarded import unguarded_programs
from signoff.verifiers.workspace import HostVerifier, Told, WorkspaceOptions

__all__ = [
    "CACHES",
    "RUNNERS",
    "VERSION_CONTROL",
    "HostVerifier",
    "Program",
    "Told",
    "WorkspaceOptions",
    "inspect_one",
    "missing_programs",
    "program_of",
    "require_bash",
    "require_matches",
    "shown",
    "unguarded_programs",
    "unmatched",
    "unshown",
]
