"""What clients are told about the tools: it is valid, plain, and agrees with what the tools take and return."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped,unused-ignore]  # ships no types
import mcp_types
import pytest

from memory_app.errors import GraphError
from memory_app.tools import arguments, schemas, table

Schema = dict[str, Any]
TOOLS: dict[str, Schema] = {tool["name"]: tool for tool in table.LISTED}
BOTH = [(name, side) for name in TOOLS for side in ("inputSchema", "outputSchema")]

READERS = {
    "create_entities": arguments.entities_to_create,
    "create_relations": arguments.relations_to_create,
    "add_observations": arguments.observations_to_add,
    "delete_entities": arguments.entities_to_delete,
    "delete_observations": arguments.observations_to_delete,
    "delete_relations": arguments.relations_to_delete,
    "read_graph": arguments.page_to_read,
    "search_nodes": arguments.search_to_make,
    "open_nodes": arguments.names_to_open,
}

ANN = {"name": "Ann", "entityType": "person", "observations": ["Likes tea"]}
WORKS = {"from": "Ann", "to": "Acme", "relationType": "works at"}
OPTIONS = {"limit", "offset", "relationLimit", "relationOffset", "namesOnly", "summary"}
PAGE_INPUTS: list[dict[str, Any]] = [
    {"limit": 1},
    {"offset": 0, "namesOnly": True},
    {"relationLimit": 1, "relationOffset": 0},
    {"summary": True},
]
# Two levels of keys with names of their own: models write other ones unless they see an example.
GUESSED_WRONG = {"create_entities", "add_observations", "delete_observations"}
NPM_LISTED = 4160
"""Characters of the npm server's list of tools (2026.8.31), as compact JSON of name, description and inputSchema."""
WHOLE = {"entities": [ANN], "relations": [WORKS]}
DELETED = {"success": True, "message": "Deleted 1 of 2 relations. The rest matched nothing."}
PARTS = [WHOLE, {**WHOLE, "total": 1}, {**WHOLE, "total": 9, "nextOffset": 1},
         {"entities": [], "relations": [], "total": 1, "names": ["Ann"]}]  # fmt: skip

RESULTS: list[tuple[str, Schema]] = [
    ("create_entities", {"entities": [ANN]}),
    ("create_entities", {"entities": [], "skipped": ["Ann"]}),
    ("create_relations", {"relations": [WORKS]}),
    ("add_observations", {"results": [{"entityName": "Ann", "addedObservations": []}]}),
    ("delete_entities", DELETED),
    ("delete_observations", DELETED),
    ("delete_relations", DELETED),
    *[("read_graph", part) for part in PARTS],
    *[("search_nodes", part) for part in PARTS],
    ("open_nodes", WHOLE),
    ("open_nodes", {**WHOLE, "externalRelations": [WORKS]}),
    ("open_nodes", {**WHOLE, "notFound": [{"name": "Anne", "near": ["Ann"]}]}),
    ("create_entities", {"entities": [ANN], "similar": ["ann"]}),
    (
        "search_nodes",
        {
            "entities": [],
            "relations": [],
            "summary": {
                "entities": 1,
                "relations": 1,
                "entityTypes": [{"type": "person", "count": 1}],
                "relationTypes": [{"type": "works at", "count": 1}],
            },
        },
    ),
]


def subschemas(schema: Schema) -> Iterator[Schema]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from subschemas(inner)
    if "items" in schema:
        yield from subschemas(schema["items"])


def fits(schema: Schema, value: object) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def test_the_nine_tools_of_the_npm_server_are_listed_in_its_order() -> None:
    assert list(TOOLS) == list(READERS)
    assert len(table.LISTED) == 9


def test_every_tool_survives_the_sdk_unchanged() -> None:
    for tool in table.LISTED:
        assert mcp_types.Tool.model_validate(tool).model_dump(by_alias=True, exclude_none=True) == tool


def test_every_tool_has_exactly_the_declared_parts() -> None:
    for tool in table.LISTED:
        assert set(tool) == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
        assert tool["title"] == tool["name"].replace("_", " ").title()


def test_annotations_tell_reads_deletes_and_additions_apart() -> None:
    read, delete, add = ((True, False, True, False), (False, True, True, False), (False, False, False, False))
    hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    assert {name: tuple(tool["annotations"][hint] for hint in hints) for name, tool in TOOLS.items()} == {
        "create_entities": add,
        "create_relations": add,
        "add_observations": add,
        "delete_entities": delete,
        "delete_observations": delete,
        "delete_relations": delete,
        "read_graph": read,
        "search_nodes": read,
        "open_nodes": read,
    }
    assert all(set(tool["annotations"]) == set(hints) for tool in table.LISTED)


@pytest.mark.parametrize(("name", "side"), BOTH)
def test_a_schema_is_valid_in_every_draft_that_clients_use(name: str, side: str) -> None:
    for draft in (jsonschema.Draft4Validator, jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
        draft.check_schema(TOOLS[name][side])


@pytest.mark.parametrize(("name", "side"), BOTH)
def test_a_schema_is_plain_and_every_part_of_it_described(name: str, side: str) -> None:
    root = TOOLS[name][side]
    allowed = {"type", "description", "properties", "required", "items", "additionalProperties"}
    allowed |= {"minimum", "maxLength"}
    for schema in subschemas(root):
        assert set(schema) <= allowed
        assert schema["type"] in ("object", "array", "string", "integer", "boolean")
        assert ("properties" in schema) == (schema["type"] == "object")
        assert ("items" in schema) == (schema["type"] == "array")
        assert set(schema.get("required", [])) <= set(schema.get("properties", {}))
        for key, part in schema.get("properties", {}).items():
            # What the options of all reads mean stands in read_graph alone: each word is in every conversation.
            said_there = side == "inputSchema" and key in OPTIONS and name != "read_graph"
            assert part.get("description", "").strip() or said_there
        if schema["type"] == "object":
            assert schema.get("additionalProperties") is (False if side == "outputSchema" else None)


@pytest.mark.parametrize(("name", "result"), RESULTS)
def test_a_result_fits_its_schema_only_with_declared_keys_and_all_required_ones(name: str, result: Schema) -> None:
    schema = TOOLS[name]["outputSchema"]
    assert fits(schema, result)
    assert not fits(schema, {**result, "undeclared": 1})
    for key in schema["required"]:
        assert not fits(schema, {other: value for other, value in result.items() if other != key})


def test_the_keys_that_may_be_absent_are_exactly_these() -> None:
    def optional(schema: Schema) -> set[str]:
        return set(schema["properties"]) - set(schema.get("required", []))

    part = {"total", "nextOffset", "relationTotal", "nextRelationOffset", "names", "summary"}
    assert {name: optional(tool["outputSchema"]) for name, tool in TOOLS.items() if optional(tool["outputSchema"])} == {
        "create_entities": {"similar", "skipped"},
        "read_graph": part,
        "search_nodes": {*part, "loose"},
        "open_nodes": {"externalRelations", "notFound"} | part,
    }
    assert {name: optional(tool["inputSchema"]) for name, tool in TOOLS.items() if optional(tool["inputSchema"])} == {
        "read_graph": OPTIONS,
        "search_nodes": OPTIONS,
        "open_nodes": OPTIONS | {"depth"},
    }


@pytest.mark.parametrize("name", TOOLS)
def test_the_example_in_a_description_fits_the_schema_and_is_understood(name: str) -> None:
    description = TOOLS[name]["description"]
    assert description.count("Example: ") == (name in GUESSED_WRONG)
    example: dict[str, Any] = json.loads(table.TOOLS[name].example)
    assert ("Example: " + table.TOOLS[name].example in description) == (name in GUESSED_WRONG)
    assert fits(TOOLS[name]["inputSchema"], example)
    READERS[name](example)


@pytest.mark.parametrize("name", TOOLS)
def test_what_the_schema_wants_the_arguments_take_and_what_it_requires_they_require(name: str) -> None:
    schema = TOOLS[name]["inputSchema"]
    example: dict[str, Any] = json.loads(table.TOOLS[name].example)
    pages = PAGE_INPUTS if "limit" in schema["properties"] else []
    for page in pages:
        assert fits(schema, {**example, **page})
        READERS[name]({**example, **page})
    for key in schema.get("required", []):
        with pytest.raises(GraphError):
            READERS[name]({other: value for other, value in example.items() if other != key})


def test_nothing_named_in_the_instructions_or_descriptions_is_missing() -> None:
    named = {"search_nodes", "open_nodes", "create_entities", "add_observations", "create_relations"}
    assert all(name in schemas.INSTRUCTIONS for name in named)
    assert len(schemas.INSTRUCTIONS) < 1600  # it stands in the context of every conversation
    for tool in table.LISTED:
        assert len(tool["description"]) < 600


def test_the_list_of_tools_costs_a_model_at_most_a_third_more_than_the_npm_servers() -> None:
    passed_on = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in table.LISTED]
    assert len(json.dumps(passed_on, ensure_ascii=False, separators=(",", ":"))) <= 1.3 * NPM_LISTED


@pytest.mark.parametrize(
    ("size", "word"),
    [(0, "empty"), (1, "small"), (65536, "small"), (65537, "large"), (1 << 20, "large"), ((1 << 20) + 1, "very large")],
)
def test_the_instructions_say_in_a_word_how_large_the_memory_is(size: int, word: str) -> None:
    assert schemas.instructions(size) == f"{schemas.INSTRUCTIONS}\nThe memory is {word}."
    assert schemas.instructions(None) == schemas.INSTRUCTIONS
