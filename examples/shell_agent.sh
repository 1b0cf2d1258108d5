#!/bin/sh
# An agent in shell. It gets its goal and, after a rejected claim, the host's feedback in files and in one argument:
#
#   signoff run --verify 'grep -q "^hello" greeting.txt' --artifact greeting.txt \
#     "Write a greeting to greeting.txt" -- sh examples/shell_agent.sh {feedback}
#
# The first attempt forgets the file; the feedback says so, and the second attempt writes it.
set -eu

echo "attempt $SIGNOFF_ATTEMPT of run $SIGNOFF_RUN_ID"
echo "goal: $(cat "$SIGNOFF_GOAL_FILE")"

if [ -z "${1:-}" ]; then
    echo "A greeting is easy. Done."
    exit 0
fi

echo "The host said:"
head -n 5 "$SIGNOFF_FEEDBACK_FILE"
echo "hello, world" >greeting.txt
echo "Now it is there."
