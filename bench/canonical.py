"""What canonical bytes and their digest cost, as a ratio to bare orjson (sorted) and SHA-256 in the same run.

The arguments are those of an ordinary tool call of about 200 bytes. Both sides are timed in turn, in many short rounds,
and the best round of each counts: other load on the machine only ever adds time.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from time import perf_counter

import orjson

from signoff.core.canonical import canonical, digest

BOUND = 3.5
ROUNDS = 101
CALLS = 2_000
ARGUMENTS = {
    "path": "src/shop/orders/invoice.py",
    "old": "def total(self):\n    return sum(self.lines)",
    "new": "def total(self):\n    return sum(line.net for line in self.lines)",
    "line": 120,
    "everywhere": False,
    "tags": ["billing", "fix"],
}


def bare() -> str:
    """The yardstick: no check of any kind."""
    return hashlib.sha256(orjson.dumps(ARGUMENTS, option=orjson.OPT_SORT_KEYS)).hexdigest()


def measured() -> str:
    """What signoff does."""
    return digest(ARGUMENTS)


def microseconds(call: Callable[[], str]) -> float:
    """The time of one call, over many."""
    began = perf_counter()
    for _ in range(CALLS):
        call()
    return (perf_counter() - began) / CALLS * 1e6


def main() -> int:
    """Measure, report, and end with 1 if the bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    as_json = parser.parse_args().json
    if measured() != "sha256:" + bare():
        sys.exit("The two sides do not compute the same digest; nothing was measured.")
    rounds = [(microseconds(bare), microseconds(measured)) for _ in range(ROUNDS)]
    yardstick = min(one for one, _ in rounds)
    own = min(other for _, other in rounds)
    figures = {
        "bytes": len(canonical(ARGUMENTS)),
        "bare_us": round(yardstick, 3),
        "digest_us": round(own, 3),
        "ratio": round(own / yardstick, 2),
        "bound": BOUND,
    }
    if as_json:
        print(json.dumps(figures))
    else:
        print("canonical + digest of {bytes} B: {digest_us} µs, bare {bare_us} µs".format_map(figures))
        print("ratio {ratio}, bound {bound}".format_map(figures))
    return 0 if figures["ratio"] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
