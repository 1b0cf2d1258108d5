#!/bin/sh
# What a CI job does: take the checks once, keep the machine-readable result, and fail unless the status is completed.
#
#   sh examples/ci/check.sh            (in the project's folder, with a signoff.toml)
set -u

signoff check --json >signoff-result.json
code=$?
python3 - <<'EOF'
import json

result = json.load(open("signoff-result.json"))
print(f"{result['status']}: {len(result['checks'])} requirements, run {result['run_id']}")
for check in result["checks"]:
    print(f"  {check['id']}: {'passed' if check['passed'] else check['reason'] or 'not judged'}")
EOF
exit "$code"
