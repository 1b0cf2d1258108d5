"""An agent in Python that calls a model: here a scripted one, so that it runs without a key.

signoff run --verify 'python3 -m json.tool settings.json' --artifact settings.json \
    "Write valid JSON to settings.json" -- python3 examples/python_agent.py {prompt}

Replace `scripted_model` by a call to yours. Everything the agent says is a claim; the host checks the file.
"""

import os
import sys
from pathlib import Path


def scripted_model(prompt: str) -> dict[str, str]:
    """Answer as a model would: at first with broken JSON, after the host's feedback with whole JSON."""
    if "does not hold" in prompt or "do not hold" in prompt:
        return {"say": "I see, a brace was missing.", "write": '{"colour": "blue"}\n'}
    return {"say": "I wrote the settings. They are valid.", "write": '{"colour": "blue"\n'}


def main() -> None:
    """Take one turn: ask the model, do what it asks for, say what it says."""
    attempt = os.environ.get("SIGNOFF_ATTEMPT", "1")
    answer = scripted_model(sys.argv[1])
    Path("settings.json").write_text(answer["write"])
    print(f"attempt {attempt}: {answer['say']}")


if __name__ == "__main__":
    main()
