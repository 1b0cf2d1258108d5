"""The accepted call of a tool: what is admitted, fingerprinted and dispatched, as the same bytes each time.

Made from a whole response only, by `signoff.core.boundary`. What must never be put here: a call that was cut.
"""

import msgspec

from signoff.core.model.diagnosis import Fault
from signoff.core.model.parts import CallKind


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of an accepted response."""

    call_id: str
    """The id that its result must name, unique in its batch."""
    name: str
    """As the model wrote it: whether such a tool was offered is for the loop to say."""
    arguments: bytes
    """Canonical JSON, an object; of a custom call, its text in UTF-8."""
    kind: CallKind = CallKind.FUNCTION
    fault: Fault | None = None
    """What speaks against running it: no such tool was offered, or its schema refuses the arguments. Such a call is
    answered and not run."""
