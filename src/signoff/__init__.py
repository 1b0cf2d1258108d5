"""signoff: an agent says it is done; the host signs off.

The public names, and nothing executed: each is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signoff.core.completion.contract import (
        Artifact,
        Contract,
        Fresh,
        ImmutableInput,
        Mode,
        ReportFormat,
        ValidationCommand,
    )
    from signoff.core.values import EndedBy, Reason, Status
    from signoff.errors import ConfigError, PolicyError, ProtocolViolation, ReceiptError, SignoffError, StoreError

__version__ = "0.1.0"

_HOMES = {
    "Artifact": "signoff.core.completion.contract",
    "ConfigError": "signoff.errors",
    "Contract": "signoff.core.completion.contract",
    "EndedBy": "signoff.core.values",
    "Fresh": "signoff.core.completion.contract",
    "ImmutableInput": "signoff.core.completion.contract",
    "Mode": "signoff.core.completion.contract",
    "PolicyError": "signoff.errors",
    "ProtocolViolation": "signoff.errors",
    "Reason": "signoff.core.values",
    "ReceiptError": "signoff.errors",
    "ReportFormat": "signoff.core.completion.contract",
    "SignoffError": "signoff.errors",
    "Status": "signoff.core.values",
    "StoreError": "signoff.errors",
    "ValidationCommand": "signoff.core.completion.contract",
}

__all__ = [
    "Artifact",
    "ConfigError",
    "Contract",
    "EndedBy",
    "Fresh",
    "ImmutableInput",
    "Mode",
    "PolicyError",
    "ProtocolViolation",
    "Reason",
    "ReceiptError",
    "ReportFormat",
    "SignoffError",
    "Status",
    "StoreError",
    "ValidationCommand",
    "__version__",
]


if not TYPE_CHECKING:  # a type checker reads the imports above, and finds a mistyped name

    def __getattr__(name: str) -> object:
        """Import a public name from its home."""
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'signoff' has no attribute {name!r}")

    def __dir__() -> list[str]:
        """List the public names."""
        return __all__
