"""`make tools-page`: writes memory_app/guide/tools.md, the reference of the nine tools.

Rules: inputs, results and descriptions are those of the schemas; results and errors of the examples are what the tools
answer on a small memory; only the rules are written here. A test makes the page again and compares.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from build import inputs
from memory_app.errors import GraphError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.tools import table
from memory_app.tools.plans import Write
from memory_app.tools.table import Tool

PAGE: Final = inputs.ROOT / "memory_app" / "guide" / "tools.md"

_MEMORY: Final = (
    '{"type":"entity","name":"Ann","entityType":"person","observations":["Likes green tea"]}',
    '{"type":"entity","name":"Acme","entityType":"company","observations":["Makes kites"]}',
    '{"type":"entity","name":"Lisbon","entityType":"city","observations":[]}',
    '{"type":"relation","from":"Ann","to":"Acme","relationType":"works at"}',
    '{"type":"relation","from":"Ann","to":"Lisbon","relationType":"lives in"}',
)

_OPTIONS: Final = ("limit", "offset", "relationLimit", "relationOffset", "namesOnly", "summary")
_PART_KEYS: Final = ("total", "nextOffset", "relationTotal", "nextRelationOffset", "names", "summary")


class _Text(NamedTuple):
    """What the schemas do not say: the tool's rules, the arguments of its example, and those of a call that fails."""

    rules: tuple[str, ...]
    example: Mapping[str, object]
    wrong: object


def _new(name: str, *observations: str) -> Mapping[str, object]:
    return {"name": name, "entityType": "person", "observations": observations}


def _relation(start: str, end: str, kind: str) -> Mapping[str, object]:
    return {"from": start, "to": end, "relationType": kind}


_TEXTS: Final[Mapping[str, _Text]] = {
    "create_entities": _Text(
        (
            (
                "A name that exists, or that came earlier in the call, is skipped and named in `skipped`. Its "
                "observations are not added."
            ),
            (
                "A stored name that differs only by case, spaces, marks or width is named in `similar`. The new "
                "entity is still created."
            ),
            "`relations` in the arguments fail the call: call `create_relations` next.",
        ),
        {"entities": [_new("Ben", "Plays chess"), _new("Ann", "Likes kites")]},
        {"entities": [{"name": "", "entityType": "person", "observations": []}]},
    ),
    "create_relations": _Text(
        (
            "A relation that exists, or that came earlier in the call, is left out of the result.",
            "Both ends must exist. If one is missing, nothing is stored.",
        ),
        {"relations": [_relation("Acme", "Lisbon", "is based in")]},
        {"relations": [_relation("Ann", "Zed", "knows")]},
    ),
    "add_observations": _Text(
        (
            "Only what the entity lacks is added; `addedObservations` names it.",
            "Every entity must exist. If one is missing, nothing is stored.",
        ),
        {"observations": [{"entityName": "Ann", "contents": ["Likes green tea", "Moved to Lisbon in 2024"]}]},
        {"observations": [{"entityName": "Zed", "contents": ["Sings"]}]},
    ),
    "delete_entities": _Text(
        (
            "Relations that touch a listed name are deleted too, even if no entity has that name.",
            "A name that is not found is not an error; the message names it.",
            "`undo` brings deleted entities back: see [correcting](correcting.md).",
        ),
        {"entityNames": ["Lisbon", "Zed"]},
        {},
    ),
    "delete_observations": _Text(
        (
            "An observation is deleted if it equals the given text exactly.",
            "An observation that is not found is not an error; the message counts it, and names missing entities.",
            "To correct a fact, delete the old observation and add the new one.",
        ),
        {"deletions": [{"entityName": "Ann", "observations": ["Likes green tea", "Sings"]}]},
        {"deletions": [{"entityName": "Ann"}]},
    ),
    "delete_relations": _Text(
        (
            "All three parts must equal those of the stored relation. The entities stay.",
            "A relation that is not found is not an error; the message counts it.",
        ),
        {"relations": [_relation("Ann", "Acme", "works at")]},
        {"relations": [{"from": "Ann", "to": "Acme"}]},
    ),
    "read_graph": _Text(
        ("Without options the result is the whole memory, in the order of the file.",),
        {"summary": True},
        {"limit": "many"},
    ),
    "search_nodes": _Text(
        (
            "Case, accents and width do not count: `cafe` finds `Café`. A part of a word is enough.",
            (
                "An entity matches if its name, its type or an observation holds the whole query. Only if no entity "
                "does, entities that hold all its words match; only if none does, similar ones match, and the result "
                "says so in `loose`. See [how it works](how-it-works.md)."
            ),
            "`relations` are all relations that touch a match.",
            "With `limit` the most relevant come first; without it the order is that of the file.",
            "A query of only white space matches everything, and so does `*` if nothing holds it.",
        ),
        {"query": "green tea"},
        {"limit": 5},
    ),
    "open_nodes": _Text(
        (
            "`relations` are those between the opened entities; `externalRelations` join one of them to another.",
            "A name that no entity has is not an error: `notFound` names it, with similar stored names.",
            "`depth` opens the neighbours too, up to three relations away.",
        ),
        {"names": ["Ann", "Acme", "Lisbn"]},
        {},
    ),
}


def page() -> str:
    """The whole page in Markdown."""
    lines = [
        "# The tools",
        "",
        "Reference of the nine tools. The names, the inputs and their meaning are those of the npm package",
        "`@modelcontextprotocol/server-memory`. This page is made from the program's own schemas; the results and",
        "errors in the examples are what the tools answer.",
        "",
        "Every tool keeps these rules:",
        "",
        *_wrapped("A call changes everything that it names, or nothing.", "- "),
        *_wrapped(
            "A success has a `structuredContent` object and a first text block. For the deleting tools the text is the "
            "message, for all others it is the same object as compact JSON.",
            "- ",
        ),
        *_wrapped("A failure has `isError` and one text that says what is wrong and shows a right call.", "- "),
        *_wrapped(
            "Arguments in another form are taken where only one thing can be meant: JSON as text, a single item in "
            "place of an array, another spelling of a key. Unknown arguments are ignored.",
            "- ",
        ),
        *_wrapped("A key marked as optional may be left out, and is left out of results that do not need it.", "- "),
        *_wrapped("An unknown tool is the protocol's error -32602, with the nearest name.", "- "),
        "",
        "The three reading tools take the same options. They cut a result that is too long:",
        "",
        *_keys_table({key: _schema("read_graph", "inputSchema")["properties"][key] for key in _OPTIONS}, None),
        "",
        "and their results can hold these keys:",
        "",
        *_keys_table({key: _schema("read_graph", "outputSchema")["properties"][key] for key in _PART_KEYS}, None),
        "",
        *_wrapped(
            "With `limit` and without `relationLimit` at most 100 relations come. The examples are calls on a memory "
            "that holds this:"
        ),
        "",
        "```json-lines",
        *_MEMORY,
        "```",
    ]
    for tool in table.TOOLS.values():
        lines += ["", *_section(tool)]
    return "\n".join(lines) + "\n"


def _section(tool: Tool) -> Iterator[str]:
    name, notes = tool.schema["name"], tool.schema["annotations"]
    written = _TEXTS[name]
    yield f"## {name}"
    yield ""
    yield from _wrapped(str(tool.schema["description"]).partition(" Example: ")[0])
    yield ""
    kinds = ["only reads" if notes["readOnlyHint"] else "deletes" if notes["destructiveHint"] else "adds"]
    if notes["idempotentHint"]:
        kinds.append("may be repeated without harm")
    yield f"It {' and '.join(kinds)}. Input:"
    yield ""
    yield from _keys_table(_but(tool.schema["inputSchema"], _OPTIONS), tool.schema["inputSchema"].get("required", ()))
    yield ""
    yield "Result:"
    yield ""
    yield from _keys_table(
        _but(tool.schema["outputSchema"], _PART_KEYS), tool.schema["outputSchema"].get("required", ())
    )
    yield ""
    for rule in written.rules:
        yield from _wrapped(rule, "- ")
    yield ""
    yield "Example, and its result:"
    yield ""
    yield "```json"
    yield json.dumps(written.example, ensure_ascii=False)
    yield "```"
    yield ""
    yield "```json"
    yield _answer(name, written.example)
    yield "```"
    yield ""
    yield f"`{json.dumps(written.wrong, ensure_ascii=False)}` is answered with the error:"
    yield ""
    yield "```"
    yield _error(name, written.wrong)
    yield "```"


def _but(schema: Mapping[str, Any], left_out: tuple[str, ...]) -> Mapping[str, Any]:
    """The schema's properties without those that all reads have."""
    shared = left_out if "limit" in schema["properties"] or "total" in schema["properties"] else ()
    return {key: value for key, value in schema["properties"].items() if key not in shared}


def _keys_table(properties: Mapping[str, Any], required: Sequence[str] | None) -> Iterator[str]:
    """A table of keys. `required` None: all keys are optional, as the text above the table says."""
    if not properties:
        yield "Nothing but the options."
        return
    yield "| key | type | meaning |"
    yield "|---|---|---|"
    for key, value in properties.items():
        optional = "" if required is None or key in required else ", optional"
        meaning = str(value.get("description", "")).replace("|", "\\|")
        yield f"| `{key}` | {_type(value)}{optional} | {meaning} |"


def _type(value: Mapping[str, Any]) -> str:
    if value["type"] == "array":
        return f"array of {_type(value['items'])}"
    if value["type"] == "object" and "properties" in value:
        return "{" + ", ".join(value["properties"]) + "}"
    return str(value["type"])


def _schema(name: str, key: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = table.TOOLS[name].schema[key]
    return found


def _memory() -> Graph:
    return Graph.of(document.read("\n".join((*_MEMORY, "")).encode(), {}))


def _answer(name: str, arguments: object) -> str:
    plan = table.plan(name, json.loads(json.dumps(arguments)))
    answer = plan.apply(_memory())[1] if isinstance(plan, Write) else plan.run(_memory())
    return (answer.structured or b"").decode()


def _error(name: str, arguments: object) -> str:
    try:
        _answer(name, arguments)
    except GraphError as error:
        return str(error)
    raise AssertionError(f"{name}: the example of an error is not an error")


def _wrapped(text: str, bullet: str = "") -> Iterator[str]:
    """Lines of at most 120 characters; code is not split."""
    line = bullet
    for word in re.findall(r"(?:`[^`]*`|\S)+", text):
        if len(line) + len(word) > 120:
            yield line.rstrip()
            line = " " * len(bullet)
        line += word + " "
    yield line.rstrip()


def main() -> int:
    PAGE.write_text(page(), "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
