"""What clients are told about the tools: it is valid, plain, and agrees with what the tools take and return."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped,unused-ignore]  # ships no types
import mcp_types
import pytest

from memory_app.errors import GraphError
from memory_app.tools import arguments, schemas

Schema = dict[str, Any]
TOOLS: dict[str, Schema] = {tool["name"]: tool for tool in schemas.TOOLS}
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
PAGE_INPUTS = [{"limit": 1}, {"offset": 0, "namesOnly": True}]
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
    assert len(schemas.TOOLS) == 9


def test_every_tool_survives_the_sdk_unchanged() -> None:
    for tool in schemas.TOOLS:
        assert mcp_types.Tool.model_validate(tool).model_dump(by_alias=True, exclude_none=True) == tool


def test_every_tool_has_exactly_the_declared_parts() -> None:
    for tool in schemas.TOOLS:
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
    assert all(set(tool["annotations"]) == set(hints) for tool in schemas.TOOLS)


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
        for part in schema.get("properties", {}).values():
            assert part["description"].strip()
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

    part = {"total", "nextOffset", "names"}
    assert {name: optional(tool["outputSchema"]) for name, tool in TOOLS.items() if optional(tool["outputSchema"])} == {
        "create_entities": {"skipped"},
        "read_graph": part,
        "search_nodes": part,
        "open_nodes": {"externalRelations"},
    }
    page = {"limit", "offset", "namesOnly"}
    assert {name: optional(tool["inputSchema"]) for name, tool in TOOLS.items() if optional(tool["inputSchema"])} == {
        "read_graph": page,
        "search_nodes": page,
    }


@pytest.mark.parametrize("name", TOOLS)
def test_the_example_in_a_description_fits_the_schema_and_is_understood(name: str) -> None:
    description = TOOLS[name]["description"]
    assert description.count("Example: ") == 1
    example = json.loads(description.partition("Example: ")[2])
    assert fits(TOOLS[name]["inputSchema"], example)
    READERS[name](example)


@pytest.mark.parametrize("name", TOOLS)
def test_what_the_schema_wants_the_arguments_take_and_what_it_requires_they_require(name: str) -> None:
    schema = TOOLS[name]["inputSchema"]
    example = json.loads(arguments.EXAMPLES[name])
    for page in PAGE_INPUTS if "limit" in schema["properties"] else []:
        assert fits(schema, {**example, **page})
        READERS[name]({**example, **page})
    for key in schema.get("required", []):
        with pytest.raises(GraphError):
            READERS[name]({other: value for other, value in example.items() if other != key})


def test_nothing_named_in_the_instructions_or_descriptions_is_missing() -> None:
    named = {"search_nodes", "open_nodes", "create_entities", "add_observations", "create_relations"}
    assert all(name in schemas.INSTRUCTIONS for name in named)
    assert len(schemas.INSTRUCTIONS) < 1500  # it stands in the context of every conversation
    for tool in schemas.TOOLS:
        assert len(tool["description"]) < 600
