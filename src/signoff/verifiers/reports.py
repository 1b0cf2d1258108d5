"""Reads a test report in JUnit's XML: hostile input, since code under test may write whatever it likes.

The report is streamed through expat as Unicode, within bounds of size, depth and number; a document type, and with it
every entity, is refused. Whatever is wrong is a sentence, never an exception.
"""

import hashlib
import os
import stat
from collections.abc import Callable
from itertools import count
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
_OUTCOMES: Final = {"skipped": _SKIPPED}
"""Of elements in a test, beside those that begin with _BAD."""
_STATES: Final = {
    **dict.fromkeys(("", "completed", "executed", "ok", "pass", "passed", "run", "success", "successful"), _PASSED),
    **dict.fromkeys(
        ("disabled", "ignored", "notrun", "pending", "skip", "skipped", "suppressed", "todo"),
        _SKIPPED,
    ),
}
"""What some writers say in an attribute `status` or `result`, beside what begins with _BAD."""
_BAD: Final = ("fail", "err")
_COUNTERS: Final = ("failures", "errors")


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
        self._above: list[str] = []
        """Names of the elements that are open."""
        self._counted_failures = False
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
        taken = set(self._outcomes)
        for name in sorted(self._outcomes):
            # A name that comes twice is two tests. The worst outcome goes by the bare name, in whatever order they ran.
            worst, *others = sorted(self._outcomes[name])
            found[worst].append(name)
            free = (each for number in count(2) if (each := f"{name} [{number}]") not in taken)
            for outcome, other in zip(others, free, strict=False):
                found[outcome].append(other)
                taken.add(other)
        if self._counted_failures and not found[_FAILED]:
            raise _Fault("it counts failures or errors, and none of its tests failed")
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
        name = _local(tag)
        in_suite = all(above in _ROOTS for above in self._above)
        if self._depth == 1 and name not in _ROOTS:
            raise _Fault(f"it is no JUnit report: it begins with {on_one_line(first(tag, 60))!r}")
        if name == "testcase":
            if not in_suite:
                raise _Fault(f"it holds a test within {on_one_line(first(self._above[-1], 60))!r}, where none can be")
            self._case, self._name = self._depth, _identity(attributes)
            self._outcome = _said(attributes)
        elif self._case:
            if self._depth == self._case + 1:
                outcome = _FAILED if name.startswith(_BAD) else _OUTCOMES.get(name, _PASSED)
                self._outcome = min(self._outcome, outcome)
        elif name in _ROOTS:
            self._counted_failures |= _counts_failures(attributes)
        elif in_suite and name.startswith(_BAD):
            raise _Fault(f"it tells of {on_one_line(first(tag, 60))!r} outside of any test")
        self._above.append(name)

    def _end(self, _tag: str) -> None:
        self._above.pop()
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


def _local(tag: str) -> str:
    """The name of an element or attribute without its prefix; writers differ in case."""
    return tag.rpartition(":")[2].casefold()


def _said(attributes: dict[str, str]) -> int:
    """The outcome that the attributes of a test tell, the worst of them."""
    outcome = _PASSED
    for key, value in attributes.items():
        state = value.strip().casefold()
        if _local(key) not in {"status", "result"}:
            continue
        if not state.startswith(_BAD) and state not in _STATES:
            raise _Fault(f"a test in it is in the state {on_one_line(first(value, 60))!r}, which is not known")
        outcome = min(outcome, _STATES.get(state, _FAILED))
    return outcome


def _counts_failures(attributes: dict[str, str]) -> bool:
    """Whether the counters of a suite tell of any failure or error."""
    given = [value.strip() for key, value in attributes.items() if _local(key) in _COUNTERS]
    strange = next((each for each in given if each and not (each.isascii() and each.isdecimal())), None)
    if strange is not None:
        raise _Fault(f"a counter in it is {on_one_line(first(strange, 60))!r}, which is no number")
    return any(each.strip("0") for each in given)


def _identity(attributes: dict[str, str]) -> str:
    """What tells a test from others, in every run of it: its class or file, and its name; no line and no time."""
    name, above = attributes.get("name", ""), attributes.get("classname", "") or attributes.get("file", "")
    if not name and not above:
        raise _Fault("it holds a test without a name")
    return on_one_line(_bounded(f"{above}::{name}" if above else name))


def _bounded(name: str) -> str:
    """A name of bounded length; of one that is cut, a digest stays, so that it is told from others."""
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    known = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{first(name, _LONGEST_NAME - len(known) - 1)}~{known}"
