"""A contract that cannot be used: exit 2, a message that names the place, nothing started, nothing kept."""

from pathlib import Path

import pytest

from tests.cli.door import agent, check_row, refused, run_signoff, told, write_contract

MODE = "SIGNOFF_COMPLETION_MODE"
ARTIFACTS = "SIGNOFF_REQUIRED_ARTIFACTS_JSON"
COMMANDS = "SIGNOFF_VALIDATION_COMMANDS_JSON"
REPAIRS = "SIGNOFF_COMPLETION_MAX_REPAIRS"

BAD_ARTIFACTS = {
    "an object": '{"path": "a"}',
    "a string": '"a.txt"',
    "a word": "a.txt",
    "null": "null",
    "a blank item": '["a.txt", "  "]',
    "an item that is no string": '["a.txt", 7]',
    "cut off": '["a.txt"',
    "two values": '["a.txt"] ["b.txt"]',
    "out of the workspace": '["../a.txt"]',
}


@pytest.mark.scenario("CC-009")
@pytest.mark.parametrize("variable", [ARTIFACTS, "AWORLD_REQUIRED_ARTIFACTS_JSON"])
def test_artifacts_that_are_no_array_are_refused(work: Path, variable: str) -> None:
    """The variable is named for everything but an array of paths, and no agent is started."""
    for text in BAD_ARTIFACTS.values():
        done = run_signoff("run", *agent(work, "touch here"), cwd=work, env={variable: text, MODE: "enforce"})
        refused(done, variable, cwd=work)


@pytest.mark.scenario("CC-012")
@pytest.mark.parametrize("text", ["-1", "+1", "1.5", "three", "1e3", "١"])  # noqa: RUF001 - a digit of Arabic
def test_a_bound_that_is_no_number_is_refused(work: Path, text: str) -> None:
    """A bound of repairs is written in digits only, on the command line and in the environment."""
    option = run_signoff("run", f"--max-repairs={text}", *agent(work, ""), cwd=work)
    refused(option, "--max-repairs", cwd=work)
    variable = run_signoff("run", *agent(work, ""), cwd=work, env={REPAIRS: text})
    refused(variable, REPAIRS, cwd=work)


@pytest.mark.scenario("CC-012")
@pytest.mark.parametrize("value", ["-1", "1.5", '"three"', "true"])
def test_a_bound_that_is_no_number_is_refused_in_the_file(work: Path, value: str) -> None:
    """A bound of repairs in the file is a whole number of at least 0."""
    path = write_contract(work, f"[contract]\n\nmax_repairs = {value}\n")
    refused(run_signoff("run", *agent(work, ""), cwd=work), f"{path}:3", "max_repairs", cwd=work)


BAD_COMMANDS = {
    "the same id": (
        '[{"command_id": "a", "argv": ["true"]}, {"command_id": "a", "argv": ["false"]}]',
        'argv = ["true"]\nid = "a"\n[[contract.command]]\nid = "a"\nargv = ["false"]',
        "twice",
        "share the id 'a'",
    ),
    "an unknown key": (
        '[{"command_id": "a", "argv": ["true"], "shell": "true"}]',
        'id = "a"\nargv = ["true"]\nargs = ["x"]',
        "shell",
        "Did you mean 'argv'?",
    ),
    "argv as a string": ('[{"command_id": "a", "argv": "true"}]', 'id = "a"\nargv = "true"', "argv", "argv"),
    "argv empty": ('[{"command_id": "a", "argv": []}]', 'id = "a"\nargv = []', "argv", "argv"),
    "an id with a blank": (
        '[{"command_id": "a b", "argv": ["true"]}]',
        'id = "a b"\nargv = ["true"]',
        "a b",
        "a b",
    ),
    "a time below one": (
        '[{"command_id": "a", "argv": ["true"], "timeout_seconds": 0}]',
        'argv = ["true"]\ntimeout_seconds = 0',
        "timeout_seconds",
        "timeout_seconds",
    ),
    "a NUL": ('[{"command_id": "a", "argv": ["true\\u0000"]}]', 'argv = ["true\\u0000"]', "NUL", "NUL"),
}


@pytest.mark.scenario("CC-022")
@pytest.mark.parametrize("fault", BAD_COMMANDS)
def test_commands_with_a_fault_are_refused(work: Path, fault: str) -> None:
    """A double id, an unknown key or a string for argv is refused, in the environment and in the file."""
    variable, table, in_variable, in_table = BAD_COMMANDS[fault]
    done = run_signoff("run", *agent(work, "touch here"), cwd=work, env={COMMANDS: variable, MODE: "enforce"})
    refused(done, COMMANDS, in_variable, cwd=work)
    path = write_contract(work, f"[[contract.command]]\n{table}\n")
    refused(run_signoff("run", *agent(work, "touch here"), cwd=work), f"{path}:", in_table, cwd=work)


@pytest.mark.scenario("CC-113")
@pytest.mark.parametrize("cwd", ["..", "../other", "/", "sub/../../other", "~"])
def test_a_folder_outside_is_refused_unless_allowed(work: Path, cwd: str) -> None:
    """A check that would run outside of the workspace is refused by its key, and runs there when that is allowed."""
    (work.parent / "other").mkdir()
    (work / "sub").mkdir()
    table = f'[[contract.command]]\nargv = ["sh", "-c", "pwd -P; exit 3"]\ncwd = "{cwd}"\n'
    path = write_contract(work, table)
    refused(run_signoff("check", cwd=work), f"{path}:1", "allow_outside", cwd=work)
    by_variable = f'[{{"command_id": "a", "argv": ["pwd"], "cwd": "{cwd}"}}]'
    path.unlink()
    done = run_signoff("check", cwd=work, env={COMMANDS: by_variable, MODE: "enforce"})
    refused(done, COMMANDS, "leads out of the workspace", cwd=work)
    write_contract(work, f"{table}allow_outside = true\n")
    allowed = run_signoff("check", "--json", cwd=work)
    there = {"..": work.parent, "/": Path("/"), "~": work.parent / "home"}.get(cwd, work.parent / "other")
    assert f"{there.resolve()}\n" == check_row(allowed, "command-1")["output_tail"]


@pytest.mark.scenario("CC-113")
def test_a_link_that_leads_outside_is_no_way_round(work: Path) -> None:
    """A folder that is a link out of the workspace is refused where the check would run."""
    write_contract(work, '[[contract.command]]\nargv = ["touch", "here"]\ncwd = "sub"\n')
    (work / "sub").symlink_to(work.parent)
    done = run_signoff("check", "--json", cwd=work)
    assert (done.code, done.json["reason"]) == (3, "check_not_started")
    assert "allow_outside" in check_row(done, "command-1")["detail"]
    assert not (work.parent / "here").exists()


BAD_FILES = {
    "an unknown table": ("[contracts]\n", 1, "contracts", "contract"),
    "an unknown key": ('[contract]\nmode = "enforce"\nmax_repair = 3\n', 3, "contract.max_repair", "max_repairs"),
    "an unknown key of an artifact": (
        '[[contract.artifact]]\npath = "a"\n\n[[contract.artifact]]\npath = "b"\nfrehs = "any"\n',
        6,
        "frehs",
        "fresh",
    ),
    "a wrong type": ('[contract]\nparallel = "yes"\n', 2, "contract.parallel", "true or false"),
    "a wrong type deep down": (
        '[[contract.command]]\nshell = "true"\nenv = { A = "a", B = 1 }\n',
        3,
        "env",
        "a string",
    ),
    "a table for a list": ('[contract.artifact]\npath = "a"\n', 1, "contract.artifact", "[[contract.artifact]]"),
    "a missing key": ("[[contract.artifact]]\nmin_bytes = 3\n", 1, "path", "path"),
    "a wrong word": ('[[contract.artifact]]\npath = "a"\nfresh = "new"\n', 3, "fresh", "written"),
    "a bad digest": ('[[contract.artifact]]\npath = "a"\nsha256 = "sha256:ABC"\n', 1, "artifact", "sha256"),
}


@pytest.mark.scenario("CC-118")
@pytest.mark.parametrize("fault", BAD_FILES)
def test_a_fault_of_the_file_is_named_by_file_line_and_key(work: Path, fault: str) -> None:
    """An unknown key or a wrong type is named with file, line and key; the agent is not started."""
    text, line, key, mend = BAD_FILES[fault]
    path = write_contract(work, text)
    done = run_signoff("run", *agent(work, "touch here"), cwd=work)
    refused(done, f"{path}:{line}", key, mend, cwd=work)
    assert text == path.read_text(encoding="utf-8")


DIFFERENT = {
    "COMPLETION_MODE": ("enforce", "observe"),
    "COMPLETION_MAX_REPAIRS": ("3", "4"),
    "REQUIRED_ARTIFACTS_JSON": ('["a"]', '["b"]'),
    "VALIDATION_COMMANDS_JSON": ("[]", '[{"command_id": "a", "argv": ["true"]}]'),
}


@pytest.mark.scenario("CC-206")
@pytest.mark.parametrize("name", DIFFERENT)
def test_a_variable_and_its_alias_that_differ_are_refused(work: Path, name: str) -> None:
    """Two values for one thing are an error that names both variables."""
    own, alias = DIFFERENT[name]
    env = {f"SIGNOFF_{name}": own, f"AWORLD_{name}": alias}
    refused(
        run_signoff("run", "--verify", "true", *agent(work, ""), cwd=work, env=env),
        f"SIGNOFF_{name}",
        f"AWORLD_{name}",
        cwd=work,
    )


def test_what_is_refused_is_not_refused_for_another_reason(work: Path) -> None:
    """The cases of this file are refused for their faults: without one, the same words start the agent."""
    env = {ARTIFACTS: '["a.txt"]', COMMANDS: '[{"command_id": "a", "argv": ["true"]}]', MODE: "enforce", REPAIRS: "1"}
    write_contract(work, '[contract]\nmax_repairs = 3\n[[contract.command]]\nid = "b"\nargv = ["true"]\n')
    done = run_signoff("run", "--json", *agent(work, "touch here", "echo a > a.txt"), cwd=work, env=env)
    assert (done.code, done.json["attempts"]) == (0, 2)
    assert "a.txt is not there" in told(work, 2)
