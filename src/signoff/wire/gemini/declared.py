"""Tools and the choice among them, in both directions.

What a declaration says beyond name, description and parameters stays in the request's `extra` under the same name, and
is put beside the tool again when the request is written.
"""

from functools import lru_cache
from typing import Final

from signoff.core.model.request import Choice, Tool
from signoff.errors import PolicyError
from signoff.wire.gemini.fields import Node, fields_of, items_of, written
from signoff.wire.json_text import JSON, dump
from signoff.wire.slices import array_text, object_text

_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}
_DECLARATIONS: Final = "functionDeclarations"
_CALLING: Final = "functionCallingConfig"
_NAMES: Final = "allowedFunctionNames"
_SCHEMAS: Final = ("items", "additionalProperties", "not")
_LISTS_OF_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS_OF_SCHEMAS: Final = ("properties", "defs", "$defs")


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def tools_text(tools: tuple[Tool, ...], extra: Node | None) -> str:
    """The list of tools: those of the request, and those that stand in its extra fields."""
    declared = {tool.name: dict(_declaration(tool)) for tool in tools}
    if len(declared) < len(tools):
        raise PolicyError("two tools have one name; nothing was written. Name each its own way.")
    others: list[str] = []
    for entry in items_of(extra):
        fields = fields_of(entry)
        for declaration in items_of(fields.pop(_DECLARATIONS, None)):
            members = {key: node.text for key, node in fields_of(declaration).items()}
            name = fields_of(declaration).get("name")
            known = declared.setdefault(name.value if name and isinstance(name.value, str) else "", members)
            known.update((key, text) for key, text in members.items() if key not in known)
        if fields:
            others.append(written(fields))
    functions = array_text(object_text(members) for members in declared.values())
    return array_text([*([object_text({_DECLARATIONS: functions})] if declared else []), *others])


@lru_cache(maxsize=1024)
def _declaration(tool: Tool) -> tuple[tuple[str, str], ...]:
    members = {"name": dump(tool.name)}
    if tool.description:
        members["description"] = dump(tool.description)
    members["parametersJsonSchema"] = tool.parameters
    return tuple(members.items())


def config_text(choice: Choice, extra: Node | None) -> str:
    """The tool configuration: the request's choice, beside what stands in its extra fields."""
    config = {key: node.text for key, node in fields_of(extra).items()}
    calling = {key: node.text for key, node in fields_of(fields_of(extra).get(_CALLING)).items()}
    if ("mode" in calling and choice.mode != "auto") or (_NAMES in calling and choice.mode == "tool"):
        raise PolicyError("the tool choice stands in `extra` too; nothing was written. Say it in one place.")
    if choice.mode == "tool":
        calling[_NAMES] = array_text((dump(choice.name),))
    mode = {} if "mode" in calling else {"mode": dump(_MODES[choice.mode])}
    return object_text({**config, _CALLING: object_text({**mode, **calling})})


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_tools(node: Node | None) -> tuple[tuple[Tool, ...], str]:
    """The tools of a client's request, and the text of what they do not say; empty when they say everything."""
    tools: list[Tool] = []
    left: list[str] = []
    for entry in items_of(node):
        fields = fields_of(entry)
        rest: list[str] = []
        for declaration in items_of(fields.pop(_DECLARATIONS, None)):
            tool, unsaid = _read_declaration(fields_of(declaration))
            tools.extend(tool)
            rest.extend(unsaid)
        members = {key: member.text for key, member in fields.items()}
        if rest:
            members[_DECLARATIONS] = array_text(rest)
        if members:
            left.append(object_text(members))
    return tuple(tools), array_text(left) if left else ""


def _read_declaration(fields: dict[str, Node]) -> tuple[list[Tool], list[str]]:
    """One declaration as a tool and what it does not say; one whose name is Gemini's only stays as it is."""
    whole = written(fields)
    own = {key: fields.pop(key, None) for key in ("name", "description", "parameters", "parametersJsonSchema")}
    name, description = (_text(own[key]) for key in ("name", "description"))
    schema = own["parametersJsonSchema"]
    given = (
        {} if schema is None and own["parameters"] is None else {"parameters": _schema_text(schema, own["parameters"])}
    )
    try:
        tool = Tool(name=name, description=description, **given)
    except PolicyError:
        return [], [whole]
    return [tool], [
        object_text({"name": dump(name), **{key: node.text for key, node in fields.items()}})
    ] if fields else []


def _schema_text(schema: Node | None, openapi: Node | None) -> str:
    """The JSON Schema of a declaration, made from its other form where that is what the client sent."""
    if schema is not None:
        return schema.text
    return dump(json_schema(openapi.value if openapi else None))


def json_schema(value: JSON) -> JSON:
    """A schema in Gemini's older form as JSON Schema: types in lower case, null as a type."""
    if not isinstance(value, dict):
        return value
    made: dict[str, JSON] = {}
    for key, member in value.items():
        if key in _MAPS_OF_SCHEMAS and isinstance(member, dict):
            made[key] = {name: json_schema(below) for name, below in member.items()}
        elif key in _LISTS_OF_SCHEMAS and isinstance(member, list):
            made[key] = [json_schema(below) for below in member]
        elif key in _SCHEMAS:
            made[key] = json_schema(member)
        else:
            made[key] = member
    kind = made.get("type")
    nullable = made.pop("nullable", None)
    if isinstance(kind, str):
        made["type"] = [kind.lower(), "null"] if nullable is True else kind.lower()
    return made


def read_choice(node: Node | None) -> tuple[Choice, str]:
    """The choice of a client's request, and the text of what it does not say; empty when it says everything."""
    config = fields_of(node)
    calling = fields_of(config.pop(_CALLING, None))
    choice = _choice(calling)
    if calling:
        config[_CALLING] = Node(None, written(calling))
    return choice, written(config) if config else ""


def _choice(calling: dict[str, Node]) -> Choice:
    """The choice; the fields that it says are taken out."""
    mode, names = calling.get("mode"), [name.value for name in items_of(calling.get(_NAMES))]
    match mode.value if mode else "AUTO":
        case "AUTO" | "MODE_UNSPECIFIED" if not names:
            choice = Choice()
        case "NONE" if not names:
            choice = Choice(mode="none")
        case "ANY" if len(names) == 1 and isinstance(names[0], str) and names[0]:
            del calling[_NAMES]
            choice = Choice(mode="tool", name=names[0])
        case "ANY":
            choice = Choice(mode="required")
        case _:
            return Choice()
    calling.pop("mode", None)
    return choice


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""
