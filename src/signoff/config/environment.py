"""Reads the completion variables of a host's environment, each under its own name or the name of an older harness.

The values are structured fields: a mode, a number, two JSON texts. `AWORLD_INFER_REQUIRED_ARTIFACTS`, which made a
contract out of prose, is not read by anything. What the values come to together is decided elsewhere.
"""

from collections.abc import Iterator, Mapping

from signoff.config.paths import workspace_path
from signoff.config.quantities import MOST_SECONDS, count
from signoff.core.canonical import JSON, parse
from signoff.core.completion.contract import DEFAULT_CHECK_SECONDS, Mode, ValidationCommand
from signoff.core.jcs import quoted
from signoff.errors import CanonicalError, ConfigError, PolicyError

ARTIFACTS = "REQUIRED_ARTIFACTS_JSON"
COMMANDS = "VALIDATION_COMMANDS_JSON"
MODE = "COMPLETION_MODE"
REPAIRS = "COMPLETION_MAX_REPAIRS"

_OWN, _ALIAS = "SIGNOFF_", "AWORLD_"
_COMMAND_KEYS = frozenset({"command_id", "argv", "cwd", "timeout_seconds"})
_SHAPE = (
    'write an array of objects such as [{"command_id": "tests", "argv": ["pytest", "-q"]}], with "cwd" (a string) '
    'and "timeout_seconds" (a whole number) where needed'
)


def require_agreement(environment: Mapping[str, str]) -> None:
    """Refuse a variable that says another thing than its alias (CC-206)."""
    for name in (MODE, REPAIRS, ARTIFACTS, COMMANDS):
        own, alias = (_given(environment, prefix + name) for prefix in (_OWN, _ALIAS))
        same = own == alias or (name == MODE and own.lower() == alias.lower())
        if own and alias and not same:
            both = f"{_OWN}{name} and its alias {_ALIAS}{name}"
            raise ConfigError(f"{both} are both set and differ; nothing was started; unset one of them")


def variable_of(environment: Mapping[str, str], name: str) -> str | None:
    """Return the full name of the variable that gives a value; None when neither it nor its alias does."""
    return next((prefix + name for prefix in (_OWN, _ALIAS) if _given(environment, prefix + name)), None)


def completion_mode(environment: Mapping[str, str]) -> Mode | None:
    """Return the mode that the environment asks for; None when it is unset or blank."""
    variable = variable_of(environment, MODE)
    if variable is None:
        return None
    text = environment[variable]
    try:
        return Mode(text.strip().lower())
    except ValueError:
        message = f"{variable} is {quoted(text)}; nothing was started; write one of {', '.join(Mode)}"
        raise ConfigError(message) from None


def max_repairs(environment: Mapping[str, str]) -> int | None:
    """Return the bound of repairs; None, which is no bound, when it is unset or blank."""
    variable = variable_of(environment, REPAIRS)
    return None if variable is None else count(environment[variable], what=variable)


def required_artifacts(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the paths that must be there; None when none are given, which an empty array is not."""
    variable = variable_of(environment, ARTIFACTS)
    if variable is None:
        return None
    remedy = 'write an array of paths such as ["report.md"]'
    paths: list[str] = []
    for number, item in enumerate(_array(environment[variable], variable, remedy), start=1):
        if not isinstance(item, str) or not item.strip():
            raise _refused(variable, f"its item {number} is no path but {_kind(item)}", remedy)
        paths.append(item.strip())
    return tuple(paths)


def validation_commands(
    environment: Mapping[str, str], *, root: str, home: str
) -> tuple[ValidationCommand, ...] | None:
    """Return the commands to check with; None when none are given, which an empty array is not."""
    variable = variable_of(environment, COMMANDS)
    if variable is None:
        return None
    found: dict[str, ValidationCommand] = {}
    for number, item in enumerate(_array(environment[variable], variable, _SHAPE), start=1):
        try:
            fault = next(_faults(item), None)
            if fault is not None:
                raise _refused(variable, f"its item {number} {fault}", _SHAPE)
            command = _command(item, root=root, home=home)
        except PolicyError as error:
            raise _refused(variable, f"its item {number} cannot be used: {error}", _SHAPE) from None
        if command.id in found:
            raise _refused(variable, f"it holds the command_id {command.id!r} twice", "give each command its own")
        found[command.id] = command
    return tuple(found.values())


def _given(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip()


def _array(text: str, variable: str, remedy: str) -> list[JSON]:
    try:
        value = parse(text)
    except CanonicalError as error:
        raise _refused(variable, str(error), remedy) from None
    if not isinstance(value, list):
        raise _refused(variable, f"it is no array but {_kind(value)}", remedy)
    return value


def _faults(item: JSON) -> Iterator[str]:
    """What is wrong with the form of one command."""
    if not isinstance(item, dict):
        yield f"is no object but {_kind(item)}"
        return
    unknown = next((key for key in item if key not in _COMMAND_KEYS), None)
    if unknown is not None:
        yield f"has the unknown key {quoted(unknown)}; the keys are {', '.join(sorted(_COMMAND_KEYS))}"
    if not isinstance(item.get("command_id"), str):
        yield "has no command_id that is a string"
    argv = item.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        yield "has no argv that is an array of one or more strings"
    if "cwd" in item and not isinstance(item["cwd"], str):
        yield f"has a cwd that is no string but {_kind(item['cwd'])}"
    limit = item.get("timeout_seconds", DEFAULT_CHECK_SECONDS)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_SECONDS:
        yield f"has a timeout_seconds that is no whole number from 1 to {MOST_SECONDS}"


def _command(item: JSON, *, root: str, home: str) -> ValidationCommand:
    """The command of an item whose form is right."""
    fields = item if isinstance(item, dict) else {}
    argv = fields["argv"]
    limit = fields.get("timeout_seconds", DEFAULT_CHECK_SECONDS)
    return ValidationCommand(
        id=str(fields["command_id"]),
        argv=tuple(str(word) for word in argv) if isinstance(argv, list) else (),
        cwd=workspace_path(str(fields.get("cwd", ".")), root=root, home=home),
        timeout_seconds=limit if isinstance(limit, int) else DEFAULT_CHECK_SECONDS,
    )


def _kind(value: JSON) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string" if value.strip() else "a blank string"
        case list():
            return "an array"
        case _:
            return "an object"


def _refused(variable: str, problem: str, remedy: str) -> ConfigError:
    return ConfigError(f"{variable}: {problem}; nothing was started; {remedy}")
