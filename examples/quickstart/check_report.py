"""The check: adds the data up by itself and compares the report with it, line by line."""

import csv
import sys
from collections import Counter
from pathlib import Path

totals: Counter[str] = Counter()
with Path("data/sales.csv").open(newline="") as file:
    for row in csv.DictReader(file):
        totals[row["region"]] += int(row["amount"])
expected = [f"{region}: {total}" for region, total in sorted(totals.items())]

report = Path("out/report.txt")
found = report.read_text().splitlines() if report.exists() else []
for line in expected:
    if line not in found:
        sys.exit(f"the report lacks the line {line!r}")
print(f"the report holds the {len(expected)} right totals")
