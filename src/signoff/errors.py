"""The exception tree. Expected outcomes (a failed check, a run's spent budget) are values, never exceptions.

SignoffError
├── ProtocolViolation      an event that cannot happen in this phase; the state did not change
├── PolicyError            a value that may not be constructed: a bad number, id, digest or timestamp
├── CanonicalError         text that is not strict JSON, or a value that has no canonical form
├── WireError              a client's request body that cannot be read as the protocol it was sent as
├── BudgetExhausted        a model task has nothing left for another call; the call was not made
├── ConfigError            a file, option or environment variable that cannot be used; nothing was started
├── StoreError             the journal could not be read or written
│   ├── JournalConflict    somebody else wrote the record that was about to be written
│   ├── JournalCorrupt     a record does not fit the chain, or cannot be decoded
│   └── UnknownFormat      the store or a record was written by a newer version
└── ReceiptError           a receipt cannot be read

A message says what happened, what was done about it, and what to do. Nothing but exception classes belongs here.
"""


class SignoffError(Exception):
    """Base of every error that signoff raises on purpose."""


class ProtocolViolation(SignoffError):
    """An event arrived in a phase where it cannot happen; the state is unchanged."""


class PolicyError(SignoffError, ValueError):
    """A value breaks a bound or form that its type promises; it was not constructed."""


class CanonicalError(SignoffError, ValueError):
    """Text is not strict JSON, or a value has no canonical form; nothing was hashed."""


class WireError(SignoffError, ValueError):
    """A client's request body is not what its protocol says; nothing was sent on."""


class BudgetExhausted(SignoffError):
    """A model task has no calls, tokens or time left, or was cancelled; the call that was asked for was not made."""

    def __init__(self, message: str, *, bound: str) -> None:
        super().__init__(message)
        self.bound = bound
        """Which bound: a value of `signoff.core.budget.TaskBound`."""


class ConfigError(SignoffError):
    """Configuration, an option or an environment variable cannot be used; nothing was started."""


class StoreError(SignoffError):
    """The journal could not be opened, read or written."""


class JournalConflict(StoreError):
    """A record with this number exists already; nothing was written."""


class JournalCorrupt(StoreError):
    """A record cannot be decoded or does not fit the chain of digests; it was not used."""


class UnknownFormat(StoreError):
    """The store or a record carries a format of a newer version; nothing was changed."""


class ReceiptError(SignoffError):
    """A receipt cannot be read or is not of the expected form."""
