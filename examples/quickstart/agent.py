"""A stand-in for a coding agent. Like many, it first says that it is done, and works only when that is not accepted."""

import csv
import sys
from collections import Counter
from pathlib import Path

prompt = sys.argv[1] if len(sys.argv) > 1 else ""

if "It is not done" not in prompt:  # no feedback yet
    print("I have written out/report.txt with all totals. Everything is done!")
    sys.exit(0)

print("The host did not accept that. Reading data/sales.csv and writing the report.")
totals: Counter[str] = Counter()
with Path("data/sales.csv").open(newline="") as file:
    for row in csv.DictReader(file):
        totals[row["region"]] += int(row["amount"])
Path("out").mkdir(exist_ok=True)
Path("out/report.txt").write_text("".join(f"{region}: {total}\n" for region, total in sorted(totals.items())))
print("Done.")
