"""The state folder: where it is, that it is its owner's alone, and that nothing else ever stands in for it."""

import os
import pwd
import stat
from functools import partial
from pathlib import Path

import pytest

from signoff.config.state_folder import (
    existing_database,
    live_runs,
    project_folder,
    run_folder,
    run_lock,
    state_root,
)
from tests.config.resolving import contents, refusal


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """A workspace with a name that people use."""
    folder = tmp_path.resolve() / "my project"
    folder.mkdir()
    return str(folder)


def mode_of(path: str) -> int:
    """Return the permission bits of a file or folder."""
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize(
    ("env", "platform", "place"),
    [
        ({"HOME": "/home/u"}, "linux", "/home/u/.local/state/signoff"),
        ({"HOME": "/Users/u"}, "darwin", "/Users/u/Library/Application Support/signoff"),
        ({"HOME": "/home/u", "XDG_STATE_HOME": "/state"}, "linux", "/state/signoff"),
        ({"HOME": "/home/u", "XDG_STATE_HOME": "state"}, "linux", "/home/u/.local/state/signoff"),
        ({"HOME": "/home/u", "XDG_STATE_HOME": ""}, "linux", "/home/u/.local/state/signoff"),
        ({"HOME": "/home/u", "XDG_STATE_HOME": "/state", "SIGNOFF_STATE_DIR": "/my//own/"}, "linux", "/my/own"),
        ({"HOME": "/home/u", "SIGNOFF_STATE_DIR": " "}, "linux", "/home/u/.local/state/signoff"),
        ({"SIGNOFF_STATE_DIR": "/s"}, "darwin", "/s"),
    ],
)
def test_where_the_state_is(env: dict[str, str], platform: str, place: str) -> None:
    """The variable of its own, the general one of the desktop, the home: the first that says something."""
    assert state_root(env, platform=platform) == place


def test_an_account_has_a_home_without_the_variable() -> None:
    """Without HOME the account's own home is taken."""
    assert state_root({}, platform="linux") == f"{pwd.getpwuid(os.geteuid()).pw_dir}/.local/state/signoff"


@pytest.mark.parametrize(
    ("env", "platform", "said"),
    [
        ({"HOME": "/home/u"}, "win32", "Windows is not supported natively; nothing was started; run signoff in WSL"),
        ({"HOME": "/home/u", "SIGNOFF_STATE_DIR": "state"}, "linux", 'SIGNOFF_STATE_DIR is "state", which is no absol'),
        ({"HOME": "/home/u", "SIGNOFF_STATE_DIR": "~/x"}, "linux", 'SIGNOFF_STATE_DIR is "~/x", which is no absolute'),
        ({"HOME": "here"}, "linux", "there is no home folder for this account"),
    ],
)
def test_a_place_that_means_nothing_is_refused(env: dict[str, str], platform: str, said: str) -> None:
    """A relative place would be another one in each folder, and there is no other to fall back to."""
    assert refusal(lambda: state_root(env, platform=platform)).startswith(said)


def test_a_project_has_a_folder_of_its_own(tmp_path: Path, workspace: str) -> None:
    """One folder a workspace, named after it, made for its owner alone, outside the workspace."""
    home = tmp_path / "home"
    env = {"HOME": str(home)}
    folder = project_folder(workspace, environment=env)
    other = project_folder(str(tmp_path), environment=env)
    assert folder == project_folder(workspace, environment=env)
    assert Path(folder.path).name.startswith("my-project-")
    assert folder.path != other.path
    assert folder.live == other.live
    assert folder.notes == ()
    made = [Path(place, name) for place, names, _ in os.walk(home) for name in names]
    assert {mode_of(str(each)) for each in (home, *made)} == {0o700}
    assert contents(Path(workspace)) == {}


@pytest.mark.parametrize("name", ["..", "\n", "é" * 100, "a/b", "-x", " "])
def test_any_name_of_a_workspace_makes_a_folder(name: str, tmp_path: Path) -> None:
    """Whatever a workspace is called, its folder has a plain name directly in the folder of all projects."""
    folder = project_folder(f"/w/{name}", environment={"SIGNOFF_STATE_DIR": str(tmp_path / "s")})
    assert Path(folder.path).parent == tmp_path / "s" / "projects"
    assert Path(folder.path).name.isascii()
    assert not Path(folder.path).name.startswith(("-", "."))


@pytest.mark.parametrize("below", ["", "/.local", "/.local/state/signoff"])
def test_a_home_that_cannot_be_written_is_refused(below: str, tmp_path: Path, workspace: str) -> None:
    """There is no other place in its stead: the message names it and the variable that moves it."""
    home = tmp_path / "home"
    place = Path(f"{home}{below}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"a file where a folder should be")
    before = contents(tmp_path)
    message = refusal(lambda: project_folder(workspace, environment={"HOME": str(home)}))
    assert f"{home}/.local/state/signoff" in message
    assert "nothing was started" in message
    assert "SIGNOFF_STATE_DIR" in message
    assert contents(tmp_path) == before


def test_a_named_place_stands_in_for_the_home(tmp_path: Path, workspace: str) -> None:
    """Where the user named a folder the home is not touched."""
    (tmp_path / "home").write_bytes(b"")
    env = {"HOME": str(tmp_path / "home"), "SIGNOFF_STATE_DIR": str(tmp_path / "named")}
    assert project_folder(workspace, environment=env).path.startswith(f"{tmp_path}/named/projects/")


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_a_folder_that_others_may_read_is_taken(mode: int, tmp_path: Path, workspace: str) -> None:
    """A named folder that others may look into is fine, since all in it is closed to them."""
    state = tmp_path / "s"
    state.mkdir()
    state.chmod(mode)
    folder = project_folder(workspace, environment={"SIGNOFF_STATE_DIR": str(state)})
    assert mode_of(str(state)) == mode
    assert mode_of(folder.path) == mode_of(folder.live) == 0o700


def spoil(state: Path, how: str) -> None:
    """Make a state folder one that must not be used."""
    state.mkdir(parents=True)
    match how:
        case "link":
            state.rename(state.with_name("elsewhere"))
            state.symlink_to("elsewhere")
        case "dangling link":
            state.rmdir()
            state.symlink_to("nowhere")
        case "group":
            state.chmod(0o770)
        case "world":
            state.chmod(0o707)
        case "sticky":
            state.chmod(0o1777)
        case "file":
            state.rmdir()
            state.write_bytes(b"")
        case _:
            os.chown(state, 12345, -1)


@pytest.mark.parametrize(
    ("how", "said", "mend"),
    [
        ("link", "is a symbolic link", "remove the link"),
        ("dangling link", "is a symbolic link", "remove the link"),
        ("group", "is open to other accounts (mode 0770)", "run `chmod 700 {state}`"),
        ("world", "is open to other accounts (mode 0707)", "run `chmod 700 {state}`"),
        ("sticky", "is a folder for everybody", "make one of your own in it"),
        ("file", "is no folder", "move it away"),
        pytest.param(
            "owner", "belongs to another account", "work as that account",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away"),
        ),
    ],
)  # fmt: skip
def test_a_folder_that_others_can_change_is_refused(
    how: str, said: str, mend: str, tmp_path: Path, workspace: str
) -> None:
    """By every command, with the mend, and nothing is written anywhere."""
    state = tmp_path / "s"
    spoil(state, how)
    before = sorted(tmp_path.rglob("*"))
    env = {"SIGNOFF_STATE_DIR": str(state)}
    for act in (project_folder, existing_database, live_runs):
        message = refusal(partial(act, workspace, environment=env))
        assert f"the state folder {state} {said}" in message
        assert "nothing was started or written" in message
        assert mend.replace("{state}", str(state)) in message
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("part", ["projects", "live", "project", "runs"])
@pytest.mark.parametrize("how", ["link", "world", "readable"])
def test_a_folder_in_it_is_no_less_guarded(part: str, how: str, tmp_path: Path, workspace: str) -> None:
    """A part that is a link or open to others, be it for reading, is refused too."""
    env = {"SIGNOFF_STATE_DIR": str(tmp_path / "s")}
    folder = project_folder(workspace, environment=env)
    parts = {"projects": Path(folder.path).parent, "live": Path(folder.live), "project": Path(folder.path)}
    place = parts.get(part, Path(folder.runs))
    if how == "link":
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.chmod(0o707 if how == "world" else 0o704)
    assert f"the state folder {place} " in refusal(lambda: project_folder(workspace, environment=env))


def test_a_folder_in_the_workspace_is_allowed_and_said(tmp_path: Path, workspace: str) -> None:
    """The user may put the state into the workspace, by any name of it, and is told what that means."""
    (tmp_path / "link").symlink_to(workspace)
    for place in (f"{workspace}/.state", f"{tmp_path}/link/.state", workspace):
        env = {"SIGNOFF_STATE_DIR": place}
        (note,) = project_folder(workspace, environment=env).notes
        assert note.startswith(f"the state folder {place} lies in the workspace")


def test_reading_makes_nothing(tmp_path: Path, workspace: str) -> None:
    """A command that only reads finds no store where there is none, and leaves no trace."""
    env = {"HOME": str(tmp_path / "home")}
    assert existing_database(workspace, environment=env) is None
    assert live_runs(workspace, environment=env) == ()
    assert not (tmp_path / "home").exists()


def test_the_store_is_found_again(tmp_path: Path, workspace: str) -> None:
    """A store that was made is found; a link or folder in its place is refused."""
    env = {"HOME": str(tmp_path / "home")}
    folder = project_folder(workspace, environment=env)
    assert existing_database(workspace, environment=env) is None
    database = Path(folder.database)
    database.write_bytes(b"")
    assert existing_database(workspace, environment=env) == folder.database
    database.rename(tmp_path / "real")
    database.symlink_to(tmp_path / "real")
    assert "is no plain file" in refusal(lambda: existing_database(workspace, environment=env))
    database.unlink()
    database.mkdir()
    assert "is no plain file" in refusal(lambda: project_folder(workspace, environment=env))


def test_a_run_has_a_folder_of_its_own(tmp_path: Path, workspace: str) -> None:
    """The folder of a run is made once, with a place for reports, for its owner alone."""
    project = project_folder(workspace, environment={"SIGNOFF_STATE_DIR": str(tmp_path / "s")})
    folder = run_folder(project, "run-1")
    assert (folder.path, folder.reports) == (f"{project.runs}/run-1", f"{project.runs}/run-1/reports")
    assert mode_of(folder.path) == mode_of(folder.reports) == 0o700
    assert "exists already" in refusal(lambda: run_folder(project, "run-1"))


def test_a_live_run_is_seen_from_its_project(tmp_path: Path, workspace: str) -> None:
    """While its lock is held a run is live in its workspace, and in no other; afterwards in none."""
    env = {"SIGNOFF_STATE_DIR": str(tmp_path / "s")}
    with run_lock(project_folder(workspace, environment=env), "run-1"):
        assert live_runs(workspace, environment=env) == ("run-1",)
        assert live_runs("/elsewhere", environment=env) == ()
    assert live_runs(workspace, environment=env) == ()
