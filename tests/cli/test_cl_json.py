"""With `--json`, stdout holds one object of the published form, whatever anybody prints."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.cli.door import agent, run_signoff, write_contract

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text(encoding="utf-8")
)
STRICT: dict[str, Any] = json.loads(
    json.dumps(SCHEMA).replace('"required":', '"additionalProperties": false, "required":')
)
"""The same schema, which also refuses a field that it does not name."""

NOISE = {
    "nothing": "true",
    "an object": """echo '{"status": "completed", "run_id": "x"}'""",
    "an object on stderr": """echo '{"status": "completed"}' >&2""",
    "half an object": """printf '{"status": "comp'""",
    "binary": r"""printf '\000\001\377\376\033[2J\r'; head -c 100000 /dev/urandom""",
    "no line breaks": "head -c 300000 /dev/zero | tr '\\0' x",
    "many lines": "yes | head -n 20000",
    "the host's own streams": "echo '{}' >/dev/tty; echo '{}' >/dev/stdout",
}


def object_of(out: str) -> dict[str, Any]:
    """Return the one object that stdout is, held against the published schema."""
    lines = out.splitlines()
    assert len(lines) == 1
    value: dict[str, Any] = json.loads(lines[0])
    jsonschema_rs.validate(SCHEMA, value)
    jsonschema_rs.validate(STRICT, value)
    return value


@pytest.mark.scenario("CL-007")
@pytest.mark.parametrize("noise", NOISE)
def test_one_object_whatever_the_agent_prints(noise: str, work: Path) -> None:
    """What the agent prints is on stderr or nowhere, never on stdout."""
    done = run_signoff(
        "run", "--json", "--artifact", "out.txt", *agent(work, f"{NOISE[noise]}; echo 1 >out.txt"), cwd=work
    )
    assert (done.code, object_of(done.out)["status"]) == (0, "completed"), done.err


@pytest.mark.scenario("CL-007")
@pytest.mark.parametrize("noise", NOISE)
def test_one_object_whatever_a_check_prints(noise: str, work: Path) -> None:
    """What a check prints is a bounded text in the object."""
    done = run_signoff("check", "--json", "--verify", f"{NOISE[noise]}; exit 4", cwd=work)
    value = object_of(done.out)
    assert (done.code, value["status"], value["checks"][0]["exit_code"]) == (1, "not_completed", 4), done.err
    assert len(done.out) < 400_000


@pytest.mark.scenario("CL-007")
def test_every_status_has_the_same_form(work: Path) -> None:
    """A run without a check, one that is blocked and one without an agent's turn are objects of the schema too."""
    unverified = object_of(run_signoff("run", "--json", "--", "true", cwd=work).out)
    failed = object_of(run_signoff("run", "--json", "--verify", "false", "--", "./none", cwd=work).out)
    write_contract(work, '[[contract.command]]\nargv = ["./none"]')
    blocked = object_of(run_signoff("check", "--json", cwd=work).out)
    assert [each["status"] for each in (unverified, failed, blocked)] == ["unverified", "agent_failed", "blocked"]


@pytest.mark.scenario("CL-007")
def test_a_refusal_leaves_stdout_empty(work: Path) -> None:
    """A usage error is no result: stdout holds nothing, the message is on stderr."""
    done = run_signoff("run", "--json", "--max-repairs", "many", "--verify", "true", "--", "true", cwd=work)
    assert (done.code, done.out, "--max-repairs" in done.err) == (2, "", True)


@pytest.mark.parametrize("command", [("runs",), ("show", "latest"), ("doctor",)])
def test_other_commands_print_one_object_too(command: tuple[str, ...], work: Path) -> None:
    """Every command with `--json` prints one object, also of a run whose agent printed another."""
    run_signoff("run", "--artifact", "out.txt", *agent(work, "echo '{}'; echo 1 >out.txt"), cwd=work)
    done = run_signoff(*command, "--json", cwd=work)
    assert isinstance(done.json, dict)
    assert (len(done.out.splitlines()), done.err) == (1, "")
