"""Start-up time over the bare interpreter of the same environment, in paired runs: medians, in milliseconds.

    python bench/startup.py import     import signoff                        (budget: at most 60 ms over bare)
    python bench/startup.py names      import signoff and use signoff.Contract (no budget of its own)
    python bench/startup.py version    signoff --version                     (at most 60 ms)
    python bench/startup.py check      signoff check of one trivial command  (at most 250 ms)

Each round runs the bare interpreter and then the program, so that a drift of the machine meets both alike.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUDGETS = {"import": 60.0, "version": 60.0, "check": 250.0}
BARE = [sys.executable, "-c", "pass"]
SIGNOFF = str(Path(sys.executable).with_name("signoff"))
PROGRAMS = {
    "import": [sys.executable, "-c", "import signoff"],
    "names": [sys.executable, "-c", "import signoff; signoff.Contract"],
    "version": [SIGNOFF, "--version"],
    "check": [SIGNOFF, "check", "--verify", "true"],
}


def milliseconds(command: list[str], *, cwd: str, state: str) -> float:
    """Return the wall time of one whole process."""
    environment = {**os.environ, "SIGNOFF_STATE_DIR": state}
    begun = time.perf_counter()
    subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True)
    return (time.perf_counter() - begun) * 1000


def main() -> None:
    """Measure one program and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    command = PROGRAMS[options.program]
    with tempfile.TemporaryDirectory() as folder:
        workspace, state = Path(folder, "workspace"), str(Path(folder, "state"))
        workspace.mkdir()
        milliseconds(command, cwd=str(workspace), state=state)
        pairs = [
            (milliseconds(BARE, cwd=folder, state=state), milliseconds(command, cwd=str(workspace), state=state))
            for _ in range(options.rounds)
        ]
    bare = statistics.median(first for first, _ in pairs)
    over = statistics.median(second - first for first, second in pairs)
    budget = BUDGETS.get(options.program)
    figures = {"program": options.program, "bare_ms": round(bare, 1), "over_ms": round(over, 1), "budget_ms": budget}
    if options.json:
        print(json.dumps(figures))
        return
    verdict = "no budget" if budget is None else f"{'within' if over <= budget else 'OVER'} the {budget:.0f} ms"
    print(f"{options.program}: {over:.1f} ms over the bare interpreter, which takes {bare:.1f} ms; {verdict}")


if __name__ == "__main__":
    main()
