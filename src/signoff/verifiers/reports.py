"""Reads a test report in JUnit's XML: hostile input, since code under test may write whatever it likes.

The report is streamed through expat as Unicode, within bounds of size, depth and number; a document type, and with it
every entity, is refused. Whatever is wrong is a sentence, never an exception.
"""

import os
import stat
from collections.abc import Callable
from typing import Final
from xml.parsers import expat

from signoff.core.completion.evidence import TestReport
from signoff.verifiers.texts import first, on_one_line
from signoff.verifiers.walk import OPEN_FLAGS

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_TESTS: Final = 100_000
MOST_NAME_BYTES: Final = 3 * 1024 * 1024
"""Bytes of all names of tests together: they are journaled with the evidence."""

MOST_DEPTH: Final = 64
_MOST_TOKEN = 4 * 1024 * 1024
_LONGEST_NAME = 1000
_BLOCK = 256 * 1024
_BITE = 64
_ROOTS = frozenset({"testsuite", "testsuites"})
_FAILED, _SKIPPED, _PASSED = range(3)
_OUTCOMES: Final = {"failure": _FAILED, "error": _FAILED, "skipped": _SKIPPED}
_STATES: Final = {
    "failed": _FAILED,
    "error": _FAILED,
    "disabled": _SKIPPED,
    "ignored": _SKIPPED,
    "notrun": _SKIPPED,
    "skipped": _SKIPPED,
}
"""What some writers say in an attribute `status` instead of in an element."""


class _Fault(Exception):
    """Why a report is not used."""


def read_report(path: str) -> TestReport | str:
    """Return the tests of the report in a file, or why it cannot be used."""
    try:
        file = os.open(path, OPEN_FLAGS)
    except FileNotFoundError:
        return "none was written"
    except OSError as error:
        return f"what stands at its path cannot be opened as a file ({error.strerror})"
    try:
        return _read(file)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    finally:
        os.close(file)


def _read(file: int) -> TestReport | str:
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        return "what stands at its path is no regular file"
    if status.st_size > MOST_BYTES:
        return f"it has more than {MOST_BYTES // 1024 // 1024} MiB"
    return parse_report(lambda: os.read(file, _BLOCK))


def parse_report(read: Callable[[], bytes]) -> TestReport | str:
    """Return the tests of a report that comes in blocks, of which an empty one is the end; or why it cannot be used."""
    reading = _Reading()
    size = 0
    try:
        while block := read():
            size += len(block)
            if size > MOST_BYTES:
                return f"it has more than {MOST_BYTES // 1024 // 1024} MiB"
            reading.feed(block, size)
        return reading.report(size)
    except _Fault as fault:
        return str(fault)
    except expat.ExpatError as error:
        return f"it is no well-formed XML (line {error.lineno}: {expat.ErrorString(error.code)})"


class _Reading:
    """A report as far as it was read."""

    def __init__(self) -> None:
        self._begun = False
        self._depth = 0
        self._case = 0
        """Depth of the test that is open; 0 outside of one."""
        self._name = ""
        self._outcome = _PASSED
        self._names = 0
        self._tests = 0
        self._outcomes: dict[str, list[int]] = {}
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, block: bytes, size: int) -> None:
        """Take a block, the last of `size` bytes.

        After an exception in a handler expat goes on to the end of what it was given. So what comes before the first
        element is given in bites too small to declare an entity and to use it to any effect.
        """
        start = 0
        while not self._begun and start < len(block):
            self._parser.Parse(block[start : start + _BITE])
            start += _BITE
        self._parser.Parse(block[start:])
        if size - max(self._parser.CurrentByteIndex, 0) > _MOST_TOKEN:
            raise _Fault("a single name, value or tag in it is longer than 4 MiB")

    def report(self, size: int) -> TestReport:
        """Return what was read when all was."""
        if not size:
            raise _Fault("it is empty")
        self._parser.Parse(b"", True)  # noqa: FBT003 - expat knows its parameters by place only
        found: tuple[list[str], list[str], list[str]] = ([], [], [])
        for name, outcomes in self._outcomes.items():
            # A name that comes twice is two tests. The worst outcome goes by the bare name, in whatever order they ran.
            for number, outcome in enumerate(sorted(outcomes), 1):
                found[outcome].append(name if number == 1 else f"{name} [{number}]")
        return TestReport(
            failed=tuple(sorted(found[_FAILED])),
            skipped=tuple(sorted(found[_SKIPPED])),
            passed=tuple(sorted(found[_PASSED])),
        )

    def _doctype(self, *_: object) -> None:
        raise _Fault("it declares a document type, which no test report needs")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._begun = True
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise _Fault(f"its elements lie deeper than {MOST_DEPTH} levels")
        if self._depth == 1 and tag not in _ROOTS:
            raise _Fault(f"it is no JUnit report: it begins with {on_one_line(first(tag, 60))!r}")
        if self._case:
            if self._depth == self._case + 1:
                self._outcome = min(self._outcome, _OUTCOMES.get(tag, _PASSED))
        elif tag == "testcase":
            self._case = self._depth
            self._name = _identity(attributes)
            self._outcome = _STATES.get(attributes.get("status", "").casefold(), _PASSED)

    def _end(self, _tag: str) -> None:
        if self._case == self._depth:
            self._case = 0
            self._tests += 1
            self._names += len(self._name.encode())
            if self._tests > MOST_TESTS:
                raise _Fault(f"it holds more than {MOST_TESTS} tests")
            if self._names > MOST_NAME_BYTES:
                raise _Fault(f"the names of its tests have more than {MOST_NAME_BYTES // 1024 // 1024} MiB together")
            self._outcomes.setdefault(self._name, []).append(self._outcome)
        self._depth -= 1


def _identity(attributes: dict[str, str]) -> str:
    """What tells a test from others, in every run of it: its class or file, and its name; no line and no time."""
    name, above = attributes.get("name", ""), attributes.get("classname", "") or attributes.get("file", "")
    if not name and not above:
        raise _Fault("it holds a test without a name")
    return on_one_line(first(f"{above}::{name}" if above else name, _LONGEST_NAME))
