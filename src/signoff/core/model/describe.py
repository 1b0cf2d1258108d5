"""How a response ended, in one line for people. Programs read the record's fields.

Only words of our own and the provider's reason stand in it: no text of the model, no argument, no error message.
"""

from signoff.core.model.arguments import are_whole
from signoff.core.model.parts import OpaquePart, ReasoningPart
from signoff.core.model.response import End, Failure, ModelResponse

_SHOWN = 60
_CUT = {End.LIMIT, End.CONTEXT_FULL, End.TRANSPORT}


def describe(response: ModelResponse) -> str:
    """The end of a response and what stands out about it, such as `limit (length): cut inside a call; no usage`."""
    remarks = [_content(response), *_marks(response)]
    if response.failure is not None:
        remarks.append(_failure(response.failure))
    if response.usage is None:
        remarks.append("no usage")
    remarks.extend(word.replace("_", " ") for word in response.oddities)
    return f"{response.end}{_reason(response.raw_reason)}: {'; '.join(remarks)}"


def _reason(raw: str | None) -> str:
    """The provider's own word, made printable and short: it is a stranger's text."""
    if raw is None:
        return ""
    return f" ({''.join(mark if mark.isprintable() else '?' for mark in raw[:_SHOWN])})"


def _content(response: ModelResponse) -> str:
    """What there is of an answer, and where it was cut if it was."""
    calls = response.calls
    if calls and (not response.complete) and not all(are_whole(call) for call in calls):
        cut = response.end in _CUT or not calls[-1].closed
        return "cut inside a call" if cut else "a call whose arguments are not one JSON object"
    if calls:
        return f"{len(calls)} call{'s' * (len(calls) > 1)}"
    if response.refusal is not None:
        return "a refusal"
    if response.text.strip():
        return "cut inside the text" if response.end is End.TRANSPORT else "text"
    if any(isinstance(part, ReasoningPart) for part in response.parts):
        return "reasoning only"
    if any(isinstance(part, OpaquePart) for part in response.parts):
        return "no text"
    return "nothing came" if response.end is End.TRANSPORT or response.failure is not None else "empty"


def _marks(response: ModelResponse) -> list[str]:
    """Which of the two proofs of an end was there, of a response that lacked the other."""
    if response.end is not End.TRANSPORT or response.saw_reason == response.saw_terminal:
        return []
    return ["a reason without an end marker"] if response.saw_reason else ["an end marker without a reason"]


def _failure(failure: Failure) -> str:
    status = f" {failure.status}" if failure.status is not None else ""
    return f"{failure.kind.replace('_', ' ')}{status}"
