"""What tests of pages and examples share: a command line typed into bash, with the installed `signoff` on the PATH."""

import os
import subprocess
from pathlib import Path

from tests.cli.door import PATIENCE, SIGNOFF, Done, environment, finished

ROOT = Path(__file__).resolve().parents[1]


def typed(line: str, *, cwd: Path, timeout: float = PATIENCE) -> Done:
    """Type a line into bash in a folder, with the programs of the tests' environment first on the PATH."""
    path = f"{Path(SIGNOFF).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        ["bash", "-c", line],
        cwd=cwd,
        env=environment(cwd, {"PATH": path}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    return finished(process, timeout=timeout)
