"""The nine tools: structured results, texts, counts and misses, whole calls or nothing, parts of answers."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped,unused-ignore]  # ships no types
import pytest

from memory_app import shapes, tools
from memory_app.errors import GraphError
from memory_app.graph import Graph
from memory_app.schemas import TOOLS

ANN = {"name": "Ann", "entityType": "person", "observations": ["likes tea", "is 40"]}
BO = {"name": "Bo", "entityType": "person", "observations": []}
ACME = {"name": "Acmé", "entityType": "firm", "observations": ["makes tea"]}
KNOWS = {"from": "Ann", "to": "Bo", "relationType": "knows"}
WORKS = {"from": "Ann", "to": "Acmé", "relationType": "works at"}
DANGLING = {"from": "Bo", "to": "Gone", "relationType": "misses"}


def line(kind: str, record: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": kind} | record | more, ensure_ascii=False, separators=(",", ":"))


FILE = [
    *(line("entity", one, createdAt="t") for one in (ANN, BO, ACME)),
    *(line("relation", one, weight=0.5) for one in (KNOWS, WORKS, DANGLING)),
]


@pytest.fixture
def graph() -> Graph:
    return Graph.of(shapes.read("\n".join(FILE).encode()))


def run(graph: Graph, tool: str, arguments: Any) -> tuple[Graph, Any, list[str]]:
    """The next graph, the structured result (checked against the output schema), and the texts."""
    planned = tools.plan(tool, arguments)
    after, answer = planned.apply(graph) if isinstance(planned, tools.Write) else (graph, planned.run(graph))
    assert answer.structured is not None and not answer.is_error
    structured = json.loads(answer.structured)
    jsonschema.validate(structured, next(one["outputSchema"] for one in TOOLS if one["name"] == tool))
    text = answer.structured.decode() if answer.text is None else answer.text
    return after, structured, [text, *answer.more]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def file_lines(graph: Graph) -> list[str]:
    return b"".join(graph.chunks()).decode().splitlines()


CREATING = [
    (
        "create_entities",
        {"entities": [{"name": "Cy", "entityType": "cat", "observations": ["x", "x"]}]},
        {"entities": [{"name": "Cy", "entityType": "cat", "observations": ["x", "x"]}]},
        [],
    ),
    (
        "create_entities",
        {"entities": [BO, {"name": "Cy", "entityType": "cat", "observations": []}, BO, ANN]},
        {"entities": [{"name": "Cy", "entityType": "cat", "observations": []}], "skipped": ["Bo", "Bo", "Ann"]},
        ["Skipped, because they already exist: Bo, Ann. Use add_observations to add facts to them."],
    ),
    ("create_entities", {"entities": []}, {"entities": []}, []),
    (
        "create_relations",
        {"relations": [KNOWS, {"from": "Bo", "to": "Ann", "relationType": "knows", "since": 1}, KNOWS]},
        {"relations": [{"from": "Bo", "to": "Ann", "relationType": "knows"}]},
        [],
    ),
    ("create_relations", {"relations": [KNOWS]}, {"relations": []}, []),
    (
        "add_observations",
        {
            "observations": [
                {"entityName": "Ann", "contents": ["is 40", "é", "é"]},
                {"entityName": "Bo", "contents": []},
                {"entityName": "Ann", "contents": ["é", "new"]},
            ]
        },
        {
            "results": [
                {"entityName": "Ann", "addedObservations": ["é"]},
                {"entityName": "Bo", "addedObservations": []},
                {"entityName": "Ann", "addedObservations": ["new"]},
            ]
        },
        [],
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "structured", "more"), CREATING)
def test_creating_says_what_was_made(graph: Graph, tool: str, arguments: Any, structured: Any, more: list[str]) -> None:
    _, found, texts = run(graph, tool, arguments)
    assert found == structured
    assert texts == [compact(structured), *more]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("delete_entities", {"entityNames": ["Ann", "Bo"]}, "Entities deleted successfully"),
        ("delete_entities", {"entityNames": ["Ann", "Ann"]}, "Entities deleted successfully"),
        ("delete_entities", {"entityNames": []}, "Entities deleted successfully"),
        ("delete_entities", {"entityNames": ["Zed", "Ann", "Yan"]}, "Deleted 1 of 3 entities. Not found: Zed, Yan"),
        ("delete_entities", {"entityNames": ["Zed", "Zed"]}, "Deleted 0 of 2 entities. Not found: Zed"),
        (
            "delete_observations",
            {"deletions": [{"entityName": "Ann", "observations": ["is 40", "likes tea"]}]},
            "Observations deleted successfully",
        ),
        ("delete_observations", {"deletions": []}, "Observations deleted successfully"),
        (
            "delete_observations",
            {"deletions": [{"entityName": "Ann", "observations": ["is 40", "no", "nor"]}]},
            "Deleted 1 of 3 observations.",
        ),
        (
            "delete_observations",
            {
                "deletions": [
                    {"entityName": "Ann", "observations": ["is 40"]},
                    {"entityName": "Zed", "observations": ["x", "y"]},
                    {"entityName": "Zed", "observations": []},
                ]
            },
            "Deleted 1 of 3 observations. Entities not found: Zed",
        ),
        (
            "delete_observations",
            {"deletions": [{"entityName": "Zed", "observations": []}]},
            "Deleted 0 of 0 observations. Entities not found: Zed",
        ),
        ("delete_relations", {"relations": [KNOWS, DANGLING]}, "Relations deleted successfully"),
        (
            "delete_relations",
            {"relations": [KNOWS, {**KNOWS, "relationType": "KNOWS"}]},
            "Deleted 1 of 2 relations. The rest matched nothing.",
        ),
    ],
)
def test_deleting_counts_each_asked_item_and_names_the_misses(
    graph: Graph, tool: str, arguments: Any, message: str
) -> None:
    _, found, texts = run(graph, tool, arguments)
    assert found == {"success": True, "message": message}
    assert texts == [message]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_relations", {"relations": [{"from": "Bo", "to": "Ann", "relationType": "k"}, {**KNOWS, "to": "Zed"}]}),
        ("create_relations", {"relations": [{"from": "Zed", "to": "Yan", "relationType": "k"}]}),
        ("create_relations", {"relations": [{"from": "Bo", "to": "Gone", "relationType": "misses"}]}),
        ("add_observations", {"observations": [{"entityName": "Zed", "contents": []}]}),
        ("add_observations", {"observations": [{"name": "Ann", "contents": ["x"]}, {"name": "Zed", "contents": []}]}),
    ],
)
def test_a_missing_entity_fails_the_whole_call(graph: Graph, tool: str, arguments: Any) -> None:
    planned = tools.plan(tool, arguments)
    assert isinstance(planned, tools.Write)
    with pytest.raises(GraphError, match=r"^Entity with name (Zed|Gone) not found$"):
        planned.apply(graph)
    assert file_lines(graph) == FILE


def test_unknown_keys_stay_in_the_file_and_out_of_the_answers(graph: Graph) -> None:
    after, _, _ = run(graph, "add_observations", {"observations": [{"entityName": "Bo", "contents": ["new"]}]})
    assert file_lines(after) == [FILE[0], line("entity", BO | {"observations": ["new"]}, createdAt="t"), *FILE[2:]]
    _, found, _ = run(after, "open_nodes", {"names": ["Bo"]})
    assert found["entities"] == [{"name": "Bo", "entityType": "person", "observations": ["new"]}]


WHOLE = {"entities": [ANN, BO, ACME], "relations": [KNOWS, WORKS, DANGLING]}
READING: list[tuple[str, Any, Any]] = [
    ("read_graph", None, WHOLE),
    ("read_graph", {}, WHOLE),
    ("read_graph", {"unknown": 1, "limit": None}, WHOLE),
    (
        "read_graph",
        {"limit": 1},
        {"entities": [ANN], "relations": [KNOWS, WORKS], "total": 3, "nextOffset": 1},
    ),
    (
        "read_graph",
        {"limit": 1, "offset": 1},
        {"entities": [BO], "relations": [KNOWS, DANGLING], "total": 3, "nextOffset": 2},
    ),
    ("read_graph", {"limit": 1, "offset": 2}, {"entities": [ACME], "relations": [WORKS], "total": 3}),
    ("read_graph", {"offset": 3}, {"entities": [], "relations": [], "total": 3}),
    ("read_graph", {"offset": 9, "limit": 9}, {"entities": [], "relations": [], "total": 3}),
    ("read_graph", {"limit": 3}, {**WHOLE, "total": 3}),
    ("read_graph", {"offset": 0}, {**WHOLE, "total": 3}),
    (
        "read_graph",
        {"namesOnly": True},
        {"entities": [], "relations": [], "names": ["Ann", "Bo", "Acmé"], "total": 3},
    ),
    (
        "read_graph",
        {"namesOnly": True, "limit": 2},
        {"entities": [], "relations": [], "names": ["Ann", "Bo"], "total": 3, "nextOffset": 2},
    ),
    ("search_nodes", {"query": "TEA"}, {"entities": [ANN, ACME], "relations": [KNOWS, WORKS]}),
    ("search_nodes", {"query": "person"}, {"entities": [ANN, BO], "relations": [KNOWS, WORKS, DANGLING]}),
    ("search_nodes", {"query": "nothing"}, {"entities": [], "relations": []}),
    ("search_nodes", {"query": "  "}, WHOLE),
    (
        "search_nodes",
        {"query": "tea", "limit": 1},
        {"entities": [ANN], "relations": [KNOWS, WORKS], "total": 2, "nextOffset": 1},
    ),
    (
        "search_nodes",
        {"query": "tea", "offset": 1, "namesOnly": True},
        {"entities": [], "relations": [], "names": ["Acmé"], "total": 2},
    ),
    ("open_nodes", {"names": []}, {"entities": [], "relations": []}),
    ("open_nodes", {"names": ["Gone", "Zed"]}, {"entities": [], "relations": []}),
    (
        "open_nodes",
        {"names": ["Bo", "Ann", "Bo", "Zed"]},
        {"entities": [ANN, BO], "relations": [KNOWS], "externalRelations": [WORKS, DANGLING]},
    ),
    ("open_nodes", {"names": ["Acmé"]}, {"entities": [ACME], "relations": [], "externalRelations": [WORKS]}),
]


@pytest.mark.parametrize(("tool", "arguments", "structured"), READING)
def test_reading_gives_the_declared_keys_in_file_order(
    graph: Graph, tool: str, arguments: Any, structured: Any
) -> None:
    _, found, texts = run(graph, tool, arguments)
    assert found == structured
    assert texts == [compact(structured)]


@pytest.mark.parametrize("query", [None, "e", "tea"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_the_parts_of_an_answer_make_the_whole(query: str | None, limit: int) -> None:
    records = [
        line("entity", {"name": f"e{n}", "entityType": "t", "observations": ["tea"][n % 2 :]}) for n in range(10)
    ]
    graph = Graph.of(shapes.read("\n".join(records).encode()))
    tool, arguments = ("read_graph", {}) if query is None else ("search_nodes", {"query": query})
    _, whole, _ = run(graph, tool, arguments)
    entities, offset = [], 0
    while True:
        _, part, _ = run(graph, tool, {**arguments, "limit": limit, "offset": offset})
        entities += part["entities"]
        assert part["total"] == len(whole["entities"])
        if "nextOffset" not in part:
            break
        assert part["nextOffset"] == offset + limit
        offset = part["nextOffset"]
    assert entities == whole["entities"]


def test_an_answer_that_is_too_large_says_how_to_ask_for_less(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> None:
    monkeypatch.setattr(tools, "LARGEST_ANSWER", 100)
    for tool, arguments in (("read_graph", {}), ("search_nodes", {"query": "tea"}), ("open_nodes", {"names": ["Ann"]})):
        planned = tools.plan(tool, arguments)
        assert isinstance(planned, tools.Read)
        with pytest.raises(GraphError, match=r'The answer would be .* Ask for less: give "limit"'):
            planned.run(graph)
    run(graph, "read_graph", {"namesOnly": True, "limit": 1})


def test_an_unknown_tool_is_not_a_tools_error() -> None:
    with pytest.raises(tools.UnknownTool):
        tools.plan("no_such_tool", {})


@pytest.mark.parametrize("tool", sorted(one["name"] for one in TOOLS))
@pytest.mark.parametrize("arguments", [[], "text", 5])
def test_arguments_that_are_no_object_are_a_tools_error(tool: str, arguments: object) -> None:
    with pytest.raises(GraphError, match=rf"^{tool}: the arguments must be an object\. Example: \{{"):
        tools.plan(tool, arguments)


def test_every_tool_that_is_listed_can_be_planned_and_no_other() -> None:
    assert sorted(tools._PLANS) == sorted(one["name"] for one in TOOLS)
