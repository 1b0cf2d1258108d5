"""The runner plays the handed cases rightly, says what it cannot decide, and cannot be talked into a pass."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases.words import mismatches, unknown

HERE = Path(__file__).resolve().parent
DECIDED = {"tool_args", "sse_stream"}


def played(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """The exit status and the lines of the runner for one file."""
    done = subprocess.run(
        [sys.executable, HERE / "runner.py", path], capture_output=True, text=True, check=False, timeout=120, cwd="/"
    )
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def cases() -> list[dict[str, Any]]:
    """The handed cases."""
    return [json.loads(line) for line in (HERE / "handed.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_handed_cases_come_out_right() -> None:
    """Each case whose kind is decided is right; each other one says why it is not."""
    code, lines = played(HERE / "handed.jsonl")
    kinds = {case["id"]: case["kind"] for case in cases()}
    assert [line["id"] for line in lines] == list(kinds)
    assert [line for line in lines if kinds[line["id"]] in DECIDED and line["ok"] is not True] == []
    others = [line for line in lines if kinds[line["id"]] not in DECIDED]
    assert {(line["ok"], bool(line["reason"])) for line in others} == {(None, True)}
    assert code == 0


def test_each_decided_case_can_come_out_wrong(tmp_path: Path) -> None:
    """With its expectation turned round, no case comes out right: the runner compares and does not nod."""
    turned = [case | {"expect": turned_round(case["expect"])} for case in cases() if case["kind"] in DECIDED]
    path = tmp_path / "turned.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in turned), encoding="utf-8")
    code, lines = played(path)
    assert [line["id"] for line in lines if line["ok"] is not False] == []
    assert (code, len(lines)) == (1, len(turned))


def turned_round(expect: dict[str, Any]) -> dict[str, Any]:
    """The opposite of what a case expects, of the outcome or status that it names."""
    word = next(word for word in ("outcome", "outcome_in", "status") if word in expect)
    if word == "outcome_in":
        return {"outcome": "run"}
    other = {"run": "reject", "reject": "run", "ambiguous": "run", "complete": "interrupted", "interrupted": "complete"}
    return {word: other[expect[word]]}


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "line 1"), ("[]", "needs id, kind"), ('{"id": "X"}', "needs id, kind")],
)
def test_a_file_that_is_none_of_cases_is_refused(line: str, said: str, tmp_path: Path) -> None:
    """The line that cannot be read is named."""
    path = tmp_path / "cases.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, HERE / "runner.py", path], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, said in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("expect", "got", "wrong"),
    [
        ({"args": {"a": 1}}, {"args": {"a": 1}}, 0),
        ({"args": {"a": 1}}, {"args": {"a": True}}, 1),
        ({"args_json": "9007199254740993"}, {"args_json": "9007199254740992"}, 1),
        ({"outcome_in": ["run_once", "reject"]}, {"outcome": "run", "outcome_words": ["run", "run_once"]}, 0),
        ({"never_args": {}}, {"args": {}}, 1),
        ({"never_args": {}}, {"args": None}, 0),
        ({"max_executions": 1}, {"executions": 2}, 1),
        ({"log_must_not_contain": "acc-9"}, {"log": "to acc-9"}, 1),
        ({"outcome_not": "run"}, {"outcome": "run", "outcome_words": ["run", "run_once"]}, 1),
        ({"reason": "truncated"}, {"outcome": "run", "reason": ""}, 0),
        ({"args_if_run": {"a": 1}}, {"outcome": "reject", "args": None}, 0),
        ({"args_if_run": {"a": 1}}, {"outcome": "run", "args": {}}, 1),
    ],
)
def test_the_words_mean_what_they_say(expect: dict[str, Any], got: dict[str, Any], wrong: int) -> None:
    """Each form of an expectation is met by what it names and by nothing else."""
    assert len(mismatches(expect, got)) == wrong


def test_a_word_that_nothing_answers_is_said() -> None:
    """An expectation that cannot be compared is not passed over."""
    assert unknown({"colour": "red", "note": "for readers"}, {"outcome": "run"}) == ["colour"]
