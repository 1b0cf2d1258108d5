"""The tools that a request offers and the choice among them.

A tool that the neutral form cannot say whole (a server's tool, a cache mark) stands in `extra`, as the client sent it.
"""

from collections.abc import Mapping

from signoff.core.model.request import Choice, ModelRequest, Tool
from signoff.errors import PolicyError
from signoff.wire.anthropic_messages.blocks import text_in
from signoff.wire.json_text import dump
from signoff.wire.slices import array_text, elements_of, members_of, object_text

_TYPES = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}
_MODES = {"auto": "auto", "none": "none", "any": "required", "tool": "tool"}


def tools_of(request: ModelRequest, extra: Mapping[str, str]) -> str:
    """The array of tools: those that `extra` spells out, in their order, then the others; empty if there is none."""
    spelled = elements_of(extra.get("tools", "[]"))
    names = {text_in(members_of(tool), "name") for tool in spelled}
    tools = [*spelled, *(_tool(tool) for tool in request.tools if tool.name not in names)]
    return array_text(tools) if tools else ""


def choice_of(request: ModelRequest, extra: Mapping[str, str], *, offered: bool) -> str:
    """The choice, with what `extra` adds to it; empty where nothing need be said."""
    choice = request.choice
    added = members_of(extra.get("tool_choice", "{}"))
    if not offered:
        if choice.mode in {"required", "tool"}:
            raise PolicyError("a tool is demanded and none is offered; nothing was sent; offer it, or choose auto")
        return ""
    if choice == Choice() and (not added or "type" in added):
        return object_text(added) if added else ""
    said = {"type": dump(_TYPES[choice.mode])}
    if choice.name:
        said["name"] = dump(choice.name)
    return object_text({**said, **{name: text for name, text in added.items() if name not in {"type", "name"}}})


def read_choice(text: str) -> tuple[Choice, str]:
    """The choice that a client made, and what the neutral form does not say of it as an object's text, or nothing."""
    members = members_of(text)
    kind, name = text_in(members, "type"), text_in(members, "name")
    mode = _MODES.get(kind, "")
    if not mode or (mode == "tool") != bool(name):
        return Choice(), text if members else ""
    more = {key: value for key, value in members.items() if key not in {"type", "name"}}
    return Choice(mode=mode, name=name), object_text(more) if more else ""


def read_tools(text: str) -> tuple[list[Tool], str]:
    """The tools that a client runs itself, and the whole list as it came if they do not say all of it, or nothing."""
    tools: list[Tool] = []
    spelled = elements_of(text)
    is_said = True
    for each in spelled:
        members = members_of(each)
        is_said = is_said and members.keys() <= {"name", "description", "input_schema"}
        tool = _read_tool(members)
        if tool is None:
            is_said = False
        else:
            tools.append(tool)
    return tools, "" if is_said else text


def _read_tool(members: Mapping[str, str]) -> Tool | None:
    """A tool with a schema; None for the provider's own, and for one whose name or schema no other provider takes."""
    name, schema = text_in(members, "name"), members.get("input_schema", "")
    if not schema:
        return None
    try:
        return Tool(name=name, description=text_in(members, "description"), parameters=schema)
    except PolicyError:
        return None


def _tool(tool: Tool) -> str:
    described = {"description": dump(tool.description)} if tool.description else {}
    return object_text({"name": dump(tool.name), **described, "input_schema": tool.parameters})
