"""Chooses what a child process may know, because an inherited variable can make a failing check pass.

A check starts from nothing and gets a short list; an agent gets the host's environment without what would let it sign
or steer the host. Nothing here may read the process's own environment, and no value may be reported: only names.

What a check gets, and why:

* `PATH`, cleaned: relative and empty entries mean whatever folder is current, and a folder in the workspace is the
  agent's to fill. A virtual environment in the workspace goes with it. When nothing is left, the system's default
  stands in, since an empty `PATH` means the current folder.
* `HOME`, `USER`, `LOGNAME`: programs find their settings and caches by them. `LANG`, `LANGUAGE`, `LC_*`, `TZ`: text
  and times come out as the user sees them. `CI`: a check behaves in CI as it does there.
* Places (`TMPDIR`, `XDG_*`, `SSL_CERT_*`, `VIRTUAL_ENV` and the homes of tool chains that do not work without):
  when absolute and outside the workspace, for the same reason as in `PATH`.
* `TERM` is `dumb`: nobody sees the output as it comes, so it needs no colours and no moving cursor.

Not on the list although common: proxies (their addresses carry credentials), `SHELL` (programs start it, with its
start-up files), tokens of every kind. `pass_env` names what else passes, one exact name each. What changes the meaning
of a program from outside (`BASH_ENV`, `LD_*`, `PYTHON*`, `PYTEST_*`, `GIT_*`, `NODE_OPTIONS` and their like) is simply
not on the list. Exported shell functions and signing keys pass under no name.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

_PLAIN = frozenset({"CI", "HOME", "LANG", "LANGUAGE", "LOGNAME", "TZ", "USER"})
_PLACES = frozenset(
    {
        "CARGO_HOME",
        "CONDA_PREFIX",
        "GOPATH",
        "GOROOT",
        "JAVA_HOME",
        "PYENV_ROOT",
        "RUSTUP_HOME",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    }
)
_SHELL_NOTES = frozenset({"OLDPWD", "PWD", "SHLVL", "TERM", "_"})
"""What a shell notes for itself: nobody misses it, so it is not reported."""

_LOCALE = re.compile(r"LC_[A-Z]+")
_FUNCTION_NAME = re.compile(r"BASH_FUNC_.*", re.DOTALL)
_FUNCTION_VALUE = "() {"
_SIGNING_KEY = re.compile(r"SIGNOFF_SIGNING_KEY.*", re.DOTALL)
_HOSTS_OWN = re.compile(
    # the host's records, and what steers the later steps of a CI job or speaks to its service
    r"SIGNOFF_(STATE_DIR|DATABASE_URL)"
    r"|(GITHUB|GITEA|FORGEJO)_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)"
    r"|ACTIONS_\w*(TOKEN|URL)"
    r"|BUILDKITE_ENV_FILE"
)


class CheckEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """The whole environment of a check, and what of the host's is not in it."""

    env: Mapping[str, str]
    left_out: tuple[str, ...]
    """Names, sorted; before them entries of PATH, such as `PATH entry '/w/.venv/bin' (inside the workspace)`."""
    not_set: tuple[str, ...]
    """Names of `pass_env` that the host does not have."""


def check_environment(
    host: Mapping[str, str], *, workspace: str, pass_env: Iterable[str], extra: Mapping[str, str]
) -> CheckEnvironment:
    """Build the environment of a check from the host's by the list in this module's docstring.

    `extra` was written for this check and passes as it is, a PATH too; only exported functions and signing keys do not.
    """
    asked = frozenset(pass_env)
    place = _Workspace(workspace)
    env = {name: value for name, value in host.items() if _passes(name, value, asked=asked, workspace=place)}
    path, dropped = _clean_path(host.get("PATH", ""), place)
    env["PATH"] = path
    env.setdefault("TERM", "dumb")
    env |= {name: value for name, value in extra.items() if not _never(name, value)}
    left = sorted((host.keys() | extra.keys()) - env.keys() - _SHELL_NOTES)
    return CheckEnvironment(env=env, left_out=(*dropped, *left), not_set=tuple(sorted(asked - host.keys())))


def agent_environment(host: Mapping[str, str], *, extra: Mapping[str, str]) -> dict[str, str]:
    """Build the environment of an agent: the host's plus `extra`, less signing keys, the host's and the CI's own."""
    kept = {name: value for name, value in host.items() if not _HOSTS_OWN.fullmatch(name)}
    if "CIRCLECI" in host:
        kept.pop("BASH_ENV", None)  # there it is the file that the later steps of the job start with
    kept |= extra
    return {name: value for name, value in kept.items() if not _SIGNING_KEY.fullmatch(name)}


class _Workspace:
    """Knows whether a path leads into the workspace, by whatever name or link."""

    def __init__(self, folder: str) -> None:
        self._path = Path(os.path.realpath(folder))
        self._identity = _identity(self._path)

    def holds(self, place: str) -> bool:
        """Return whether the place is in the workspace by its name, or by where its links lead."""
        named = Path(place)
        resolved = Path(os.path.realpath(place))
        return any(self._is(folder) for path in (named, resolved) for folder in (path, *path.parents))

    def _is(self, folder: Path) -> bool:
        return folder == self._path or (self._identity is not None and _identity(folder) == self._identity)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what is the same for two names of one folder, also where case does not count."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _passes(name: str, value: str, *, asked: frozenset[str], workspace: _Workspace) -> bool:
    if _never(name, value):
        return False
    if name in asked or name in _PLAIN or _LOCALE.fullmatch(name):
        return True
    return name in _PLACES and not any(_fault(place, workspace) for place in value.split(os.pathsep))


def _never(name: str, value: str) -> bool:
    function = _FUNCTION_NAME.fullmatch(name) or value.startswith(_FUNCTION_VALUE)
    return bool(function or _SIGNING_KEY.fullmatch(name))


def _clean_path(path: str, workspace: _Workspace) -> tuple[str, tuple[str, ...]]:
    faults = [(entry, _fault(entry, workspace)) for entry in path.split(os.pathsep)] if path else []
    kept = [entry for entry, fault in faults if not fault]
    dropped = tuple(f"PATH entry {entry!r} ({fault})" for entry, fault in faults if fault)
    return os.pathsep.join(kept) or os.defpath, dropped


def _fault(place: str, workspace: _Workspace) -> str:
    """Say what is wrong with a place that a check should look in; empty when nothing is."""
    if not place:
        return "empty: the current folder"
    if not Path(place).is_absolute():
        return "relative to the current folder"
    return "inside the workspace" if workspace.holds(place) else ""
