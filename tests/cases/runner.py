"""Play cases from public failure reports against the product: `python tests/cases/runner.py FILE.jsonl`.

One JSON line a case goes out: `id`, `ok`, `got`. `ok` is null, with a `reason`, where nothing can decide its kind yet.
The exit status is 1 when a case came out wrong or cannot be played, 2 when the file cannot be read. The runner holds no
answers: a player translates the input into calls and the result into words, and `words` compares those with what the
case expects.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from signoff.errors import SignoffError
from tests.cases import sse_stream, tool_args
from tests.cases.words import mismatches, unknown

Player: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]

PLAYERS: Final[Mapping[str, Player]] = {"tool_args": tool_args.play, "sse_stream": sse_stream.play}
WITHOUT: Final = {
    "event_sequence": "the agent's loop does not exist yet",
    "history": "the agent's loop does not exist yet",
    "budget": "the agent's loop does not exist yet",
    "approval": "approvals do not exist yet",
    "structured_output": "structured output does not exist yet",
    "checkpoint": "resuming does not exist yet",
    "redaction": "redaction does not exist yet",
    "gate": "no player for verdicts over time yet",
    "claim_text": "no player for claims yet",
    "command": "no player for validation commands yet",
    "artifact": "no player for artifacts yet",
}


def judge(case: Mapping[str, Any]) -> dict[str, Any]:
    """Play one case and compare; the line that is printed for it."""
    identity, kind = case["id"], case["kind"]
    if kind not in PLAYERS:
        return {"id": identity, "ok": None, "reason": WITHOUT.get(kind, f"the kind {kind!r} is not known")}
    try:
        got = dict(PLAYERS[kind](case["input"]))
    except (KeyError, TypeError, ValueError, SignoffError) as error:
        return {"id": identity, "ok": None, "reason": f"the input cannot be played: {type(error).__name__} {error}"}
    line: dict[str, Any] = {"id": identity, "ok": None, "got": got}
    if wrong := mismatches(case["expect"], got):
        return line | {"ok": False, "wrong": wrong}
    if words := unknown(case["expect"], got):
        return line | {"reason": f"the runner cannot compare {', '.join(words)}"}
    return line | {"ok": True}


def cases_of(path: Path) -> Iterator[dict[str, Any]]:
    """The cases of a file, one a line; a line that is none ends the program with its number."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise SystemExit(f"{path}, line {number}: this is not JSON ({error}). Write one case a line.") from None
        if not isinstance(case, dict) or not {"id", "kind", "input", "expect"} <= case.keys():
            raise SystemExit(f"{path}, line {number}: a case needs id, kind, input and expect.")
        yield case


def main(arguments: list[str]) -> int:
    """Play every case of the files named."""
    if not arguments:
        sys.stderr.write("Name at least one file of cases: python tests/cases/runner.py FILE.jsonl\n")
        return 2
    wrong = 0
    for name in arguments:
        try:
            cases = list(cases_of(Path(name)))
        except OSError as error:
            sys.stderr.write(
                f"{name} cannot be read ({error.strerror}). Name a file of cases, one JSON object a line.\n"
            )
            return 2
        for case in cases:
            line = judge(case)
            wrong += line["ok"] is False or line.get("reason", "").startswith("the input cannot")
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
