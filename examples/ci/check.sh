#!/bin/sh
# What a CI job does: take the checks once, keep the machine-readable result, and fail unless the status is completed.
#
#   sh examples/ci/check.sh [RESULT]   (in the project's folder, with a signoff.toml; RESULT lies best outside of it)
set -u

result=${1:-$(mktemp)}
signoff check --json >"$result"
code=$?
python3 - "$result" <<'EOF'
import json
import sys

result = json.load(open(sys.argv[1]))
print(f"{result['status']}: {len(result['checks'])} requirements, run {result['run_id']}")
for check in result["checks"]:
    print(f"  {check['id']}: {'passed' if check['passed'] else check['detail'] or 'not judged'}")
EOF
echo "the whole result: $result"
exit "$code"
