"""Measures how fast a command's output is drained and hashed, against `openssl dgst -sha256` on the same pipe.

    python bench/drain.py [--gib 5] [--repeat 3] [--json]

One producer writes the same bytes both times. The drain runs in a fresh interpreter that imports nothing else, so its
peak memory is what draining costs. The two are run in turn, and the ratio is of their medians in this one run.
"""

import argparse
import contextlib
import fcntl
import math
import resource
import shutil
import statistics
import subprocess
import sys
import time

import msgspec

from signoff.process import Command, Stop, run

GIB = 1024**3
BUDGET_RATIO = 0.7
BUDGET_MIB = 48.0

PRODUCER = """
import os, sys
block = b"".join(b"line %9d of a very talkative test suite\\n" % n for n in range(1400))[:65536]
left = int(sys.argv[1])
while left:
    left -= os.write(1, block[:left])
"""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One reader's run over the output."""

    sha256: str
    seconds: float
    peak_mib: float = 0.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run of this program."""

    gib: float
    repeat: int
    signoff_gib_per_second: float
    openssl_gib_per_second: float
    ratio: float
    budget_ratio: float = BUDGET_RATIO
    peak_mib: float
    budget_mib: float = BUDGET_MIB
    within_budget: bool


def producer(size: int) -> tuple[str, ...]:
    """Return the command that prints this many bytes."""
    return (sys.executable, "-I", "-S", "-c", PRODUCER, str(size))


def drain(size: int) -> Sample:
    """Drain the producer in this process; called in an interpreter of its own."""
    command = Command(argv=producer(size), cwd="/", env={})
    ended = run(command, timeout=None, stop=Stop(), pipe="must_close")
    if ended.exit_code != 0 or ended.output is None or ended.output.size != size:
        raise SystemExit(f"the producer did not print its {size} bytes: {ended.error or ended.exit_code}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, the others KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return Sample(sha256=ended.output.sha256, seconds=ended.duration_seconds, peak_mib=peak / 1024**2)


def with_signoff(size: int) -> Sample:
    """Drain the producer in a fresh interpreter."""
    done = subprocess.run([sys.executable, __file__, "--drain", str(size)], stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Sample)


def with_openssl(size: int) -> Sample:
    """Let openssl read the producer's pipe, which holds as much as signoff's."""
    begun = time.monotonic()
    with subprocess.Popen(producer(size), stdout=subprocess.PIPE, env={}, start_new_session=True) as source:
        enlarge = getattr(fcntl, "F_SETPIPE_SZ", None)
        if enlarge is not None and source.stdout is not None:
            with contextlib.suppress(OSError):
                fcntl.fcntl(source.stdout, enlarge, 1024 * 1024)
        digest = subprocess.run(["openssl", "dgst", "-sha256"], stdin=source.stdout, stdout=subprocess.PIPE, check=True)
    seconds = time.monotonic() - begun
    return Sample(sha256="sha256:" + digest.stdout.decode().split()[-1], seconds=seconds)


def measure(gib: float, repeat: int) -> Result:
    """Run both in turn and compare their medians."""
    size = int(gib * GIB)
    pairs = [(with_signoff(size), with_openssl(size)) for _ in range(repeat)]
    if len({sample.sha256 for pair in pairs for sample in pair}) != 1:
        raise SystemExit("signoff and openssl do not agree on the digest of the output")
    ours = statistics.median(pair[0].seconds for pair in pairs)
    theirs = statistics.median(pair[1].seconds for pair in pairs)
    peak = max(pair[0].peak_mib for pair in pairs)
    return Result(
        gib=gib,
        repeat=repeat,
        signoff_gib_per_second=round(gib / ours, 3),
        openssl_gib_per_second=round(gib / theirs, 3),
        ratio=round(theirs / ours, 3),
        peak_mib=round(peak, 1),
        within_budget=theirs / ours >= BUDGET_RATIO and peak <= BUDGET_MIB,
    )


def main() -> int:
    """Measure and print; exit 1 when a figure is outside its budget."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gib", type=float, default=5.0, help="how much the producer prints (default: 5)")
    parser.add_argument("--repeat", type=int, default=3, help="how often each reader runs (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--drain", type=int, metavar="BYTES", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (0 < options.gib < math.inf and options.repeat > 0):
        parser.error("--gib and --repeat must be greater than 0")
    if options.drain is not None:
        print(msgspec.json.encode(drain(options.drain)).decode())
        return 0
    if shutil.which("openssl") is None:
        raise SystemExit("openssl is not on PATH; nothing was measured. Install it: it is what this is compared with.")
    result = measure(options.gib, options.repeat)
    if options.json:
        print(msgspec.json.encode(result).decode())
    else:
        print(f"output           {result.gib:g} GiB, {result.repeat} runs each, medians")
        print(f"signoff          {result.signoff_gib_per_second:.2f} GiB/s")
        print(f"openssl          {result.openssl_gib_per_second:.2f} GiB/s")
        print(f"ratio            {result.ratio:.2f}   (budget: at least {result.budget_ratio:g})")
        print(f"peak memory      {result.peak_mib:.1f} MiB   (budget: at most {result.budget_mib:g})")
    return 0 if result.within_budget else 1


if __name__ == "__main__":
    sys.exit(main())
