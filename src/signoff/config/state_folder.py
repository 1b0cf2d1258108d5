"""Finds and makes the place for what outlives a run: one folder a project in the user's state folder.

It lies outside the workspace, is its owner's alone, and is never moved by the project: only the user's environment can
say where it is. There is no fallback; a place that cannot be used is an error that says how to mend it. What the files
in it mean is none of this module's business.
"""

import hashlib
import os
import pwd
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from signoff.config.live import RunLock, live_in
from signoff.config.paths import require_unicode, shown
from signoff.config.private import is_private, is_shared, make_private, make_shared
from signoff.core.jcs import quoted
from signoff.core.values import require_id
from signoff.errors import ConfigError

STATE_VARIABLE = "SIGNOFF_STATE_DIR"

_LIVE = "live"
_PROJECTS = "projects"
_DATABASE = "runs.sqlite3"
_LONGEST_SLUG = 40


class ProjectFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one project's state."""

    root: str
    """The workspace that it belongs to, by its real path."""
    state: str
    """The state folder, with everything of all projects."""
    path: str
    database: str
    """Where the store's file is, or will be."""
    runs: str
    live: str
    """The folder of live runs, shared by all projects of the account."""
    notes: tuple[str, ...] = ()
    """Sentences for the user at the start."""


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one run's files."""

    path: str
    reports: str
    """Where checks write their test reports."""


def state_root(environment: Mapping[str, str], *, platform: str = sys.platform) -> str:
    """Return the absolute path of the state folder, which need not exist."""
    if platform == "win32":
        raise ConfigError("Windows is not supported natively; nothing was started; run signoff in WSL")
    named = environment.get(STATE_VARIABLE, "")
    if named.strip():
        if not named.startswith("/") or "\0" in named:
            message = f"{STATE_VARIABLE} is {quoted(named)}, which is no absolute path; nothing was started"
            raise ConfigError(f'{message}; write one, such as "$HOME/.signoff": a relative one means many folders')
        return require_unicode(os.path.normpath(named), what=STATE_VARIABLE)
    general = environment.get("XDG_STATE_HOME", "")
    if general.startswith("/"):  # its specification has relative ones ignored
        return os.path.normpath(f"{general}/signoff")
    below = "Library/Application Support" if platform == "darwin" else ".local/state"
    return os.path.normpath(f"{_home(environment)}/{below}/signoff")


def project_folder(root: str, *, environment: Mapping[str, str], platform: str = sys.platform) -> ProjectFolder:
    """Return the folder of a workspace, made where it is missing; `root` is the workspace's real path."""
    folder = _folder_of(root, environment, platform)
    make_shared(folder.state)
    for path in (folder.live, str(Path(folder.path).parent), folder.path, folder.runs):
        make_private(path)
    _require_file(folder.database)
    return folder


def existing_database(root: str, *, environment: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """Return the path of a workspace's store; None when there is none. Nothing is made."""
    folder = _folder_of(root, environment, platform)
    if not (is_shared(folder.state) and is_private(str(Path(folder.path).parent)) and is_private(folder.path)):
        return None
    _require_file(folder.database)
    return folder.database if os.path.lexists(folder.database) else None


def live_runs(root: str, *, environment: Mapping[str, str], platform: str = sys.platform) -> tuple[str, ...]:
    """Return the ids of the runs that are live now in a workspace, or around or in it. Nothing is made."""
    folder = _folder_of(root, environment, platform)
    if not (is_shared(folder.state) and is_private(folder.live)):
        return ()
    return live_in(folder.live, workspace=root)


def run_lock(project: ProjectFolder, run_id: str, *, within: str = "") -> RunLock:
    """Make a run live in its workspace until the lock is closed.

    `within` is the id of the run whose agent started it, as that agent finds it in SIGNOFF_RUN_ID.
    """
    return RunLock(project.live, run_id=run_id, workspace=project.root, within=within)


def run_folder(project: ProjectFolder, run_id: str) -> RunFolder:
    """Make the folder of a new run, for its texts, reports and receipt."""
    path = Path(project.runs, require_id(run_id, what="run id"))
    if os.path.lexists(path):
        message = f"the folder {shown(str(path))} of a new run exists already; nothing was started; run again"
        raise ConfigError(message)
    make_private(str(path))
    make_private(str(path / "reports"))
    return RunFolder(path=str(path), reports=str(path / "reports"))


def _folder_of(root: str, environment: Mapping[str, str], platform: str) -> ProjectFolder:
    state = state_root(environment, platform=platform)
    path = Path(state, _PROJECTS, _name_of(root))
    return ProjectFolder(
        root=root,
        state=state,
        path=str(path),
        database=str(path / _DATABASE),
        runs=str(path / "runs"),
        live=str(Path(state, _LIVE)),
        notes=_notes(state, root),
    )


def _name_of(root: str) -> str:
    """A name that a person recognises and no two workspaces share."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(root).name).strip("-.")[:_LONGEST_SLUG] or "project"
    return f"{slug}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}"


def _notes(state: str, root: str) -> tuple[str, ...]:
    real = Path(os.path.realpath(state))
    if Path(root) != real and Path(root) not in real.parents:
        return ()
    where = f"the state folder {shown(state)} lies in the workspace, where the agent can write"
    return (f"{where}; set {STATE_VARIABLE} to a folder outside of it",)


def _home(environment: Mapping[str, str]) -> str:
    home = environment.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            home = ""
    if not home.startswith("/"):
        message = "there is no home folder for this account (HOME is unset or relative); nothing was started"
        raise ConfigError(f"{message}; set HOME, or set {STATE_VARIABLE} to a folder that can be written")
    return home


def _require_file(path: str) -> None:
    """Refuse a store that is a link or no file; one that is missing is made later."""
    place = Path(path)
    if os.path.lexists(path) and (place.is_symlink() or not place.is_file()):
        raise ConfigError(f"the store {shown(path)} is no plain file; nothing was started; move it away")
