"""Ways to start the program with less than a usual account has: less disk, or folders that it may not write."""

import sys

from tests.cli.door import SIGNOFF

_EXEC = "os.execv(sys.argv[2], sys.argv[2:])"
_LIMIT = (
    "import os, resource, sys\n"
    "os.environ['PYTHONDONTWRITEBYTECODE'] = '1'\n"  # else what Python keeps of a compiled module may be cut off, too
    "n = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))\n"
    f"{_EXEC}"
)
_DROP = (
    "import ctypes, os, sys\n"
    "if os.geteuid() == 0 and sys.platform == 'linux':\n"
    "    libc = ctypes.CDLL(None, use_errno=True)\n"
    "    for capability in (1, 2):\n"
    "        if libc.prctl(24, capability, 0, 0, 0) != 0:\n"
    "            sys.exit('the right to override modes could not be dropped')\n"
    f"{_EXEC}"
)
_DISK = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


def with_small_files(size: int) -> tuple[str, ...]:
    """Return the program, which can write no file of more bytes: as on a disk that becomes full."""
    return sys.executable, "-I", "-S", "-c", _LIMIT, str(size), SIGNOFF


def without_override() -> tuple[str, ...]:
    """Return the program as an account that modes bind, also when the tests run as root."""
    return sys.executable, "-I", "-c", _DROP, "-", SIGNOFF


def with_small_disk(size: int, folder: str) -> tuple[str, ...]:
    """Return the program, which sees a disk of so many bytes at a folder; only root can start it."""
    return "unshare", "-m", "sh", "-c", _DISK, "sh", str(size), folder, SIGNOFF
