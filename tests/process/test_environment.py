"""What a check and an agent may know of the host's environment."""

import os
from pathlib import Path

import pytest

from signoff.process import CheckEnvironment, Stop, agent_environment, check_environment, run
from tests.process.running import PATIENCE, command, printed


def checked(host: dict[str, str], *pass_env: str, workspace: Path | str = "/w", **extra: str) -> CheckEnvironment:
    """Build the environment of a check."""
    return check_environment(host, workspace=str(workspace), pass_env=pass_env, extra=extra)


def test_it_starts_empty() -> None:
    """From nothing comes a PATH of the system and a terminal that can do nothing."""
    assert checked({}) == CheckEnvironment(env={"PATH": os.defpath, "TERM": "dumb"}, left_out=(), not_set=())


def test_what_is_listed_passes() -> None:
    """The account, the language, the time zone, and places outside the workspace."""
    host = {
        "HOME": "/home/u",
        "USER": "u",
        "LOGNAME": "u",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TZ": "UTC",
        "CI": "true",
        "TMPDIR": "/tmp",  # noqa: S108 - a name, not a place that is used
        "XDG_CACHE_HOME": "/home/u/.cache",
        "SSL_CERT_FILE": "/etc/ssl/cert.pem",
        "JAVA_HOME": "/opt/java",
        "VIRTUAL_ENV": "/home/u/venv",
        "PATH": "/usr/bin:/bin",
    }
    assert checked(host) == CheckEnvironment(env=host | {"TERM": "dumb"}, left_out=(), not_set=())


STEERING = [
    "BASH_ENV",
    "ENV",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "NODE_OPTIONS",
    "GIT_DIR",
    "GIT_SSH_COMMAND",
    "RUBYOPT",
    "PERL5OPT",
    "JAVA_TOOL_OPTIONS",
    "HTTPS_PROXY",
    "SHELL",
    "GITHUB_ENV",
    "AWS_SECRET_ACCESS_KEY",
    "SIGNOFF_STATE_DIR",
]


@pytest.mark.parametrize("name", STEERING)
def test_what_is_not_listed_is_left_out_and_named(name: str) -> None:
    """What could steer a check, or is nobody's business, passes only when it is asked for by its exact name."""
    left = checked({name: "value"})
    assert (name in left.env, left.left_out) == (False, (name,))
    assert checked({name: "value"}, name[:-1], f"{name[:-1]}*", name.lower()).left_out == (name,)
    passed = checked({name: "value"}, name)
    assert (passed.env[name], passed.left_out) == ("value", ())


def test_exported_functions_pass_under_no_name() -> None:
    """A shell function in the environment would stand in for a program, so not even an explicit name lets it in."""
    host = {"BASH_FUNC_pytest%%": "() { exit 0; }", "pytest": "() { exit 0; }", "TZ": "() { :; }; exit 0"}
    built = checked(host, *host, **{"BASH_FUNC_make%%": "() { exit 0; }"})
    assert built.env == {"PATH": os.defpath, "TERM": "dumb"}
    assert built.left_out == ("BASH_FUNC_make%%", "BASH_FUNC_pytest%%", "TZ", "pytest")


def test_signing_keys_pass_under_no_name() -> None:
    """Whoever is checked must not be able to sign."""
    host = {"SIGNOFF_SIGNING_KEY": "k", "SIGNOFF_SIGNING_KEY_FILE": "/k"}
    built = checked(host, *host)
    assert (set(built.env) & set(host), built.left_out) == (set(), tuple(host))
    assert agent_environment(host, extra=host) == {}


def test_an_asked_name_that_is_not_set_is_reported() -> None:
    """A name of pass_env that the host does not have explains a failing check."""
    assert checked({"A": "1"}, "B", "A", "C").not_set == ("B", "C")


def test_what_was_written_for_the_check_wins() -> None:
    """The check's own variables pass as they are, a PATH too."""
    built = checked({"PATH": "/usr/bin", "TERM": "xterm", "LANG": "C"}, LANG="de", PATH="tools:/bin", TERM="vt100")
    assert built.env == {"PATH": "tools:/bin", "LANG": "de", "TERM": "vt100"}


def test_what_a_shell_notes_is_not_missed() -> None:
    """Names that every shell sets for itself are not reported as left out; TERM passes when it is asked for."""
    host = {"_": "/bin/x", "PWD": "/w", "OLDPWD": "/", "SHLVL": "1", "TERM": "xterm"}
    assert checked(host).left_out == ()
    assert checked(host, "TERM").env["TERM"] == "xterm"


def test_path_loses_what_means_the_current_folder(tmp_path: Path) -> None:
    """Relative and empty entries of PATH are left out and named with the reason."""
    built = checked({"PATH": "/usr/bin::bin:./x:~/y:/bin:"}, workspace=tmp_path)
    assert built.env["PATH"] == "/usr/bin:/bin"
    assert built.left_out == (
        "PATH entry '' (empty: the current folder)",
        "PATH entry 'bin' (relative to the current folder)",
        "PATH entry './x' (relative to the current folder)",
        "PATH entry '~/y' (relative to the current folder)",
        "PATH entry '' (empty: the current folder)",
    )


def test_path_loses_what_is_in_the_workspace(tmp_path: Path) -> None:
    """A virtual environment of the project is left out of PATH, whatever name or link leads to it, and named."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    tools = work / ".venv" / "bin"
    tools.mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "other-name").symlink_to(work)
    (outside / "into").symlink_to(tools)
    (work / "out-of").symlink_to(outside)
    (tmp_path / "workspace").mkdir()
    entries = [
        tools,
        work,
        tmp_path / "other-name" / ".venv" / "bin",
        outside / "into",
        work / "out-of",
        outside / ".." / "work" / "not-there-yet",
    ]
    kept = [outside, tmp_path / "workspace", tmp_path / "missing"]
    host = {"PATH": os.pathsep.join(map(str, [*entries, *kept])), "VIRTUAL_ENV": str(work / ".venv")}
    for workspace in (work, tmp_path / "other-name"):
        built = checked(host, workspace=workspace)
        assert built.env["PATH"] == os.pathsep.join(map(str, kept))
        assert built.left_out == (*(f"PATH entry {str(e)!r} (inside the workspace)" for e in entries), "VIRTUAL_ENV")


def test_an_empty_path_never_comes_out(tmp_path: Path) -> None:
    """When every entry is left out, the system's default stands in: an empty PATH means the current folder."""
    built = checked({"PATH": str(tmp_path)}, "PATH", workspace=tmp_path)
    assert built.env["PATH"] == os.defpath
    assert built.left_out == (f"PATH entry {str(tmp_path)!r} (inside the workspace)",)


@pytest.mark.parametrize("value", ["{w}/go", "relative", "", "/opt/go:{w}/go"])
def test_places_in_the_workspace_are_left_out(tmp_path: Path, value: str) -> None:
    """The home of a tool chain or of temporary files that the agent can fill does not pass; asked for, it does."""
    host = {"GOPATH": value.format(w=tmp_path)}
    assert checked(host, workspace=tmp_path).left_out == ("GOPATH",)
    assert checked(host, "GOPATH", workspace=tmp_path).env["GOPATH"] == host["GOPATH"]


def test_a_workspace_that_does_not_exist_has_folders_too() -> None:
    """The names alone decide when there is nothing to look at."""
    assert checked({"PATH": "/no/such/w/bin:/no/such/wide"}, workspace="/no/such/w").env["PATH"] == "/no/such/wide"


def test_a_start_up_file_of_the_host_cannot_turn_a_failure_into_success(tmp_path: Path) -> None:
    """A failing check fails although the host's environment names a shell start-up file that exits with success."""
    (tmp_path / "start").write_text("exit 0\n")
    host = {"PATH": os.environ["PATH"], "BASH_ENV": str(tmp_path / "start"), "BASH_FUNC_false%%": "() { exit 0; }"}
    failing = ("bash", "-o", "pipefail", "-c", "false")
    deceived = run(command(*failing, env=host), timeout=PATIENCE, stop=Stop(), pipe="must_close")
    assert deceived.exit_code == 0
    env = dict(checked(host, workspace=tmp_path).env)
    assert run(command(*failing, env=env), timeout=PATIENCE, stop=Stop(), pipe="must_close").exit_code == 1


def test_an_agent_gets_the_hosts_environment_less_what_is_the_hosts() -> None:
    """Signing keys, signoff's own records, and what steers later steps of a CI job are not in it."""
    kept = {
        "PATH": "relative:/bin",
        "GITHUB_ACTIONS": "true",
        "GITHUB_TOKEN": "t",
        "BASH_ENV": "/b",
        "SHELL": "/bin/sh",
    }
    dropped = [
        *("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITEA_ENV"),
        *("ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"),
        *("SIGNOFF_STATE_DIR", "SIGNOFF_DATABASE_URL", "SIGNOFF_SIGNING_KEY", "BUILDKITE_ENV_FILE"),
    ]
    host = kept | dict.fromkeys(dropped, "x")
    extra = {"SIGNOFF_RUN": "r1", "SHELL": "/bin/bash"}
    assert agent_environment(host, extra=extra) == kept | extra


def test_the_start_up_file_of_circleci_is_a_step_file() -> None:
    """There BASH_ENV is what the later steps of the job begin with."""
    assert agent_environment({"CIRCLECI": "true", "BASH_ENV": "/b"}, extra={}) == {"CIRCLECI": "true"}


def test_the_environment_can_be_used() -> None:
    """What was built starts a program and is what the program sees."""
    built = checked(dict(os.environ), workspace="/nonexistent", GREETING="hello")
    ended = run(command("env", env=dict(built.env)), timeout=PATIENCE, stop=Stop(), pipe="must_close")
    seen = dict(line.split("=", 1) for line in printed(ended).decode().splitlines())
    assert {name: seen[name] for name in ("GREETING", "TERM", "PATH")} == {
        "GREETING": "hello",
        "TERM": "dumb",
        "PATH": built.env["PATH"],
    }
