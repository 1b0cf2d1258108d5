"""The strict reading of a call's arguments: what may run, and the one name of every fault."""

import json

import pytest

from signoff.core.canonical import MAX_BYTES, canonical
from signoff.core.model.arguments import Arguments, Fault, FaultCode, FaultLevel, are_whole, read
from signoff.core.model.parts import CallKind, CallPart
from signoff.core.model.request import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "integer"},
        "share": {"type": "number"},
        "items": {"type": "array"},
        "options": {"type": ["object", "null"]},
        "dry": {"type": "boolean"},
        "nothing": {"type": "null"},
        "maybe": {"type": "string", "nullable": True},
        "free": {},
        "odd": {"type": ["string", 5]},
        "older": {"type": "any"},
        "yes": True,
    },
    "required": ["path"],
}
TOOL = Tool(name="edit", parameters=json.dumps(SCHEMA))
PING = Tool(name="ping")


def call(text: str, *, closed: bool = True, kind: CallKind = CallKind.FUNCTION) -> CallPart:
    """A call with this raw text."""
    return CallPart(call_id="c1", name="edit", arguments=text, closed=closed, kind=kind)


def fault_of(text: str, tool: Tool | None = None) -> tuple[str, str]:
    """The code and field of the fault of the text, which there must be."""
    fault = read(call(text), tool)
    assert isinstance(fault, Fault)
    assert fault.level is FaultLevel.TEXT
    return fault.code.value, fault.field


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"path":"a"}', b'{"path":"a"}'),
        (' {"b" : [1, 2.50], "a":null}\n', b'{"a":null,"b":[1,2.5]}'),
        ('{"id":9007199254740993}', b'{"id":9007199254740993}'),
        ('{"a":1.0,"b":-0.0}', b'{"a":1,"b":0}'),
        ('{"s":"}{ \\n ```json"}', b'{"s":"}{ \\n ```json"}'),
        ('{"s":"\\u0041"}', b'{"s":"A"}'),
        ("{}", b"{}"),
        ("", b"{}"),
        (" \n\t", b"{}"),
        ("\u00a0", b"{}"),
        (" null ", b"{}"),
    ],
)
def test_one_object_is_read_as_its_canonical_bytes(text: str, data: bytes) -> None:
    """One strict JSON object is what may run, with every digit; nothing at all is an empty one."""
    assert read(call(text), PING) == read(call(text), None) == Arguments(data=data)
    assert are_whole(call(text))


@pytest.mark.scenario("MB-205")
@pytest.mark.parametrize("text", ["", "  ", "\n", "null", " null\n"])
def test_nothing_is_missing_what_is_required(text: str) -> None:
    """Empty, blank or null arguments are `{}` for a tool that requires nothing, and a fault for one that does."""
    assert read(call(text), PING) == Arguments(data=b"{}")
    assert fault_of(text, TOOL) == ("missing_required", "path")


CUT = ['{"path":', "{", '{"a', '{"a"', '{"a":"x', '{"a":"x\\', '{"a":"\\u00', '{"a":tru', '{"a":-', '{"a":1', '{"a":1.']
CUT += [
    '{"a":1e',
    '{"a":1.5e+',
    '{"a":[1,2',
    '{"a":[1,',
    '{"a":[',
    '{"a":{"b":{}',
    '{"a":1,',
    '{"a":1 , "b',
    '{"a":1}{"b":',
]
CUT += [
    '{"a":"one\ntwo',
    "[" * 200,
    '{"msg":"```',
    '```json\n{"a":1',
    "```json\n",
    "```",
    '"{\\"a',
    '{"a":fals',
    '{"a":nul',
]
BROKEN = [
    "{'path': 'a'}",
    '{"a":1,}',
    '{"a":1,,"b":2}',
    '{"a":1 /* first */}',
    '{"on": True}',
    '{"a":undefined}',
    "path",
]
BROKEN += [
    '{"memo":"x" "y"}',
    '{"a":"x"y"}',
    '{"a" 1}',
    '{"a":}',
    "{a:1}",
    '{"a":01}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":+1}',
]
BROKEN += [
    '{"a":"\\x41"}',
    '{"path":"C:\\dir"}',
    '{"a":"\\u12G4"}',
    '{"a":1}}',
    '{"a":1} done',
    "\ufeff{}",
    '{"a":[1}',
    "}",
]
BROKEN += [
    '{"a":NaN}',
    '{"a":-Infinity}',
    '{"a":1},{"b":2}',
    '[{"a":1]',
    '```json\n{"path": "a.txt```',
    "```\n```",
    "``",
    "{]",
]
BROKEN += [
    '{"a":1}\n```',
    'Here: {"a":1}',
    '```json\n{"a":1}\n```\nDone.',
    '{"a":1e5.',
    '{"a":1.5.',
    '{"a":00',
    '{"a":1 .',
    "<a/>",
]
BROKEN += ['{"a":t.', '{"a":"x"1.', '{"a":truth', '{"a":1\u00a0}', "{'a\\", '{"a":1}{b']
SEVERAL = ['{"a":1}{"b":2}', '{"a":1}\n{"a":1}\n', '{}{"path":"a"}', '{"a":1}"x"', "{}[]", "1 2", '""' * 3, "{}null"]
CONTROLS = ['{"a":"one\ntwo"}', '{"a":"\t"}', '{"a\r":1}', '{"a":"\x00"}', '"\n"', '["x\x1f", {"a":1,"a":2}]']
FENCED = [
    '```json\n{"a":1}\n```',
    '```{"a":1}```',
    '~~~\n{"a":"```"}\n~~~',
    '````\n{"a":1}\n````',
    " ```JSON\n[1]\n```\n",
]
FENCED += ['```json\n{"a":1}\n', '```json\n{"a":1}\n``', '```\n{"a":1}{"b":2}\n```']
ENCODED = ['"{\\"path\\":\\"a\\"}"', '"\\"{}\\""', ' "{ }" ']
TYPED = ["[]", "5", '"text"', "true", '"[1]"', '"{\\"a\\":"', '[{"a":1}]', '"null"']
EXACT = [
    '{"a":1e400}',
    '{"a":' + "9" * 641 + "}",
    '{"a":"\\ud800"}',
    '{"a":"\ud800"}',
    '{"\\udfff":1}',
    "[" * 201 + "]" * 201,
]
EXACT += [
    "[" * 201,
    '{"a":' * 300,
    '{"a":"' + "x" * MAX_BYTES + '"}',
    '{"a":[' + "1e22," * (MAX_BYTES // 5 - 9) + "0]}",
]
CASES = [
    *((text, "truncated") for text in CUT),
    *((text, "invalid_json") for text in BROKEN),
    *((text, "concatenated") for text in SEVERAL),
    *((text, "control_character") for text in CONTROLS),
    *((text, "fenced") for text in FENCED),
    *((text, "double_encoded") for text in ENCODED),
    *((text, "wrong_type") for text in TYPED),
    *((text, "not_canonical") for text in EXACT),
]


@pytest.mark.parametrize(("text", "code"), CASES, ids=[f"{code}-{text[:12]}" for text, code in CASES])
def test_every_fault_of_a_text_has_one_name(text: str, code: str) -> None:
    """What is not one JSON object is told apart, whatever the tool requires, and no bytes come of it."""
    assert fault_of(text) == fault_of(text, TOOL) == (code, "")
    assert are_whole(call(text)) is (code == "not_canonical" and text.endswith("0]}"))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"cmd":"ls","cmd":"rm -r x"}', "cmd"),
        ('{"a":{"ok":true,"ok":false}}', "a.ok"),
        ('{"a":[{"b":1},{"b":1,"c":[0,{"d":1,"d":1}]}]}', "a[1].c[1].d"),
        ('{"a":{"x":1,"x":1},"b":{"y":1,"y":1}}', "a.x"),
        ('{"a":{"x":1,"x":1},"a":2}', "a"),
        ('[0,{"x":1,"x":1}]', "[1].x"),
        ('{"name":1,"n\\u0061me":2}', "name"),
        ('{"\u043a\u043b\u044e\u0447":1,"\u043a\u043b\u044e\u0447":2}', "\u043a\u043b\u044e\u0447"),
        ('{"my file":1,"my file":2}', "my file"),
        ('{"a.b":1,"a.b":2}', '"a.b"'),
        ('{"":1,"":2}', '""'),
        ('{"\\n\\u202e":1,"\\n\\u202e":2}', '"\\n\\u202e"'),
        ('{"' + "k" * 99 + '":1,"' + "k" * 99 + '":2}', "k" * 40 + "..."),
    ],
)
def test_a_repeated_key_is_said_with_its_place(text: str, field: str) -> None:
    """The first key that appears twice is named by its path, printable and without any value."""
    assert fault_of(text) == ("duplicate_key", field)
    assert not are_whole(call(text))


def test_a_deep_path_is_bounded() -> None:
    """The path to a repeated key is cut in its middle when it is long."""
    _, field = fault_of('{"step":' * 150 + '{"a":1,"a":2}' + "}" * 150)
    assert len(field) == 163
    assert field.startswith("step.step.")
    assert field.endswith(".step.a")


def test_how_many_values_there_are_is_counted_to_a_bound() -> None:
    """Several values are counted, and past a thousand no longer."""
    few, many = read(call("{}[]\n3"), None), read(call('{"a":1}' * 5000), None)
    assert isinstance(few, Fault)
    assert isinstance(many, Fault)
    assert (few.values, many.values) == (3, 1001)


@pytest.mark.parametrize(
    ("text", "code", "field"),
    [
        ("{}", "missing_required", "path"),
        ('{"lines":"x"}', "missing_required", "path"),
        ('{"path":5}', "wrong_type", "path"),
        ('{"path":null}', "wrong_type", "path"),
        ('{"path":{}}', "wrong_type", "path"),
        ('{"path":"a","lines":1.5}', "wrong_type", "lines"),
        ('{"path":"a","lines":"50"}', "wrong_type", "lines"),
        ('{"path":"a","lines":true}', "wrong_type", "lines"),
        ('{"path":"a","share":"1"}', "wrong_type", "share"),
        ('{"path":"a","dry":1}', "wrong_type", "dry"),
        ('{"path":"a","nothing":0}', "wrong_type", "nothing"),
        ('{"path":"a","items":{}}', "wrong_type", "items"),
        ('{"path":"a","items":"one"}', "wrong_type", "items"),
        ('{"path":"a","items":"{}"}', "wrong_type", "items"),
        ('{"path":"a","items":"[1,"}', "wrong_type", "items"),
        ('{"path":"a","options":"null"}', "wrong_type", "options"),
        ('{"path":"a","items":"[{\\"t\\":\\"one\\"}]"}', "double_encoded", "items"),
        ('{"path":"a","options":"{}"}', "double_encoded", "options"),
    ],
)
def test_what_the_tool_does_not_accept_comes_with_the_arguments(text: str, code: str, field: str) -> None:
    """A whole object that the schema refuses at its first level is kept, with what is said against it."""
    given = read(call(text), TOOL)
    assert given == Arguments(
        data=canonical(json.loads(text)), fault=Fault(code=FaultCode(code), level=FaultLevel.SCHEMA, field=field)
    )
    assert are_whole(call(text))


ACCEPTED = (
    '"lines":1.0 "lines":3 "share":1 "share":0.5 "options":null "options":{} "items":[] "dry":true "nothing":null'
)
ACCEPTED += ' "maybe":null "maybe":"[1]" "free":"[1]" "odd":{} "older":5 "yes":5 "more":5'


@pytest.mark.parametrize("member", ACCEPTED.split())
def test_what_the_tool_accepts_has_no_fault(member: str) -> None:
    """1.0 is an integer, a text may hold JSON, and what is not declared in plain words is not looked at."""
    given = read(call(f'{{"path":"a",{member}}}'), TOOL)
    assert isinstance(given, Arguments)
    assert given.fault is None


@pytest.mark.parametrize("parameters", ['{"properties":[]}', '{"type":"object"}', '{"required":5}', '{"required":[5]}'])
def test_a_schema_that_declares_nothing_asks_for_nothing(parameters: str) -> None:
    """Properties and requirements of another form than JSON Schema's are not guessed at."""
    tool = Tool(name="edit", parameters=parameters)
    assert read(call('{"a":1}'), tool) == Arguments(data=b'{"a":1}')
    assert read(call(""), tool) == Arguments(data=b"{}")


@pytest.mark.parametrize("text", ["", "{}", '{"path":"a"}', "null", "free text"])
@pytest.mark.parametrize("kind", list(CallKind))
def test_an_open_call_is_cut(text: str, kind: CallKind) -> None:
    """What the provider did not close is not read, even when it looks whole."""
    assert read(call(text, closed=False, kind=kind), None) == Fault(code=FaultCode.TRUNCATED)
    assert not are_whole(call(text, closed=False, kind=kind))


@pytest.mark.parametrize("text", ["", "null", '{"a":', "*** Begin Patch\n\u20ac"])
def test_free_text_is_taken_as_it_is(text: str) -> None:
    """The text of a custom call is not JSON and not looked into."""
    assert read(call(text, kind=CallKind.CUSTOM), TOOL) == Arguments(data=text.encode())
    assert are_whole(call(text, kind=CallKind.CUSTOM))


def test_free_text_that_is_no_text_is_refused() -> None:
    """Half of a surrogate pair has no bytes."""
    assert read(call("\ud800", kind=CallKind.CUSTOM), None) == Fault(code=FaultCode.NOT_CANONICAL)


SECRET = "acc-9"
LEAKS = [
    f'{{"to":"{SECRET}","memo":"x" "y"}}',
    f'{{"to":"{SECRET}',
    f'{{"to":"{SECRET}","to":"{SECRET}"}}',
    f'"{SECRET}"',
]
LEAKS += [
    f'{{"path":["{SECRET}"]}}',
    f'```\n{{"to":"{SECRET}"}}\n```',
    f'{{"to":"{SECRET}\n"}}',
    f'{{"to":"{SECRET}"}}',
]


@pytest.mark.parametrize("text", LEAKS)
def test_a_fault_holds_no_value(text: str) -> None:
    """Neither a fault nor its sentence repeats what an argument holds."""
    given = read(call(text), TOOL)
    fault = given.fault if isinstance(given, Arguments) else given
    assert fault is not None
    assert SECRET not in repr(fault) + fault.sentence
    assert fault.sentence.endswith(".")


def test_a_sentence_names_the_member() -> None:
    """Every code has a sentence, and one about a member says which."""
    assert len({Fault(code=code).sentence for code in FaultCode}) == len(FaultCode)
    assert Fault(code=FaultCode.DUPLICATE_KEY, field="a.ok").sentence == "A key appears more than once at a.ok."
