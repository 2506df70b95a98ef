"""Answers in parts: relations of a hub, neighbours by distance, counts; and what was not found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.tools import table
from memory_app.tools.plans import Read


def graph_of(names: list[str], relations: list[tuple[str, str]]) -> Graph:
    lines = [{"type": "entity", "name": name, "entityType": "t", "observations": []} for name in names]
    lines += [{"type": "relation", "from": one, "to": other, "relationType": "r"} for one, other in relations]
    return Graph.of(document.read("\n".join(map(json.dumps, lines)).encode()))


def ask(graph: Graph, tool: str, **arguments: Any) -> Any:
    planned = table.plan(tool, arguments)
    assert isinstance(planned, Read)
    return json.loads(planned.run(graph).structured or b"")


HUB = graph_of(["Hub", *(f"N{n}" for n in range(250))], [("Hub", f"N{n}") for n in range(250)])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_graph", {}),
        ("search_nodes", {"query": "hub"}),
        ("open_nodes", {"names": ["Hub"]}),
        ("open_nodes", {"names": ["Hub", "N1"]}),
        ("open_nodes", {"names": ["Hub"], "depth": 1}),
    ],
)
def test_relations_read_in_parts_are_all_of_them_once_and_in_order(tool: str, arguments: Any) -> None:
    whole = ask(HUB, tool, **arguments)
    all_of_them = whole["relations"] + whole.get("externalRelations", [])
    assert len(all_of_them) == 250
    found, offset = [], 0
    while True:
        part = ask(HUB, tool, **arguments, relationLimit=60, relationOffset=offset)
        found += part["relations"] + part.get("externalRelations", [])
        assert part["relationTotal"] == 250
        if "nextRelationOffset" not in part:
            break
        assert part["nextRelationOffset"] == offset + 60
        offset = part["nextRelationOffset"]
    assert found == all_of_them


def test_with_a_limit_and_no_relation_limit_a_hundred_relations_come() -> None:
    part = ask(HUB, "search_nodes", query="hub", limit=1)
    assert (len(part["relations"]), part["relationTotal"], part["nextRelationOffset"]) == (100, 250, 100)
    assert len(ask(HUB, "search_nodes", query="hub")["relations"]) == 250
    few = ask(HUB, "search_nodes", query="N249", limit=1)
    assert not {"relationTotal", "nextRelationOffset"} & set(few)


def test_depth_opens_neighbours_the_nearest_first_within_the_limit() -> None:
    chain = graph_of(["A", "B", "C", "D", "E"], [("C", "B"), ("B", "A"), ("C", "D"), ("D", "E"), ("A", "Gone")])
    names = [[one["name"] for one in ask(chain, "open_nodes", names=["A"], depth=n)["entities"]] for n in (1, 2, 3)]
    assert names == [["A", "B"], ["A", "B", "C"], ["A", "B", "C", "D"]]
    near = ask(chain, "open_nodes", names=["A"], depth=2)
    assert near["relations"] == [
        {"from": "C", "to": "B", "relationType": "r"},
        {"from": "B", "to": "A", "relationType": "r"},
    ]
    assert [one["to"] for one in near["externalRelations"]] == ["D", "Gone"]
    part = ask(chain, "open_nodes", names=["A"], depth=3, limit=2, offset=1)
    assert [one["name"] for one in part["entities"]] == ["B", "C"]
    assert (part["total"], part["nextOffset"]) == (4, 3)


@pytest.mark.parametrize("depth", [0, 4, "x"])
def test_a_depth_that_is_none_is_refused(depth: object) -> None:
    with pytest.raises(Exception, match="depth must be a whole number, 1 to 3"):
        ask(HUB, "open_nodes", names=["Hub"], depth=depth)


def test_a_summary_counts_entities_relations_and_their_types() -> None:
    expected = {
        "entities": 251,
        "relations": 250,
        "entityTypes": [{"type": "t", "count": 251}],
        "relationTypes": [{"type": "r", "count": 250}],
    }
    for tool, arguments in (("read_graph", {}), ("search_nodes", {"query": ""})):
        assert ask(HUB, tool, **arguments, summary=True) == {"entities": [], "relations": [], "summary": expected}
    one = ask(HUB, "open_nodes", names=["N1"], summary=True)["summary"]
    assert (one["entities"], one["relations"]) == (1, 1)


def test_names_that_are_not_found_are_told_with_near_ones() -> None:
    graph = graph_of(["Ann Smith", "Zoë", "Project Kite", "Bo"], [])
    found = ask(graph, "open_nodes", names=["ann smith", "Zoe", "Kite", "Bo", "Xyzzy", "Ann Smyth"])
    assert found["notFound"] == [
        {"name": "ann smith", "near": ["Ann Smith"]},
        {"name": "Zoe", "near": ["Zoë"]},
        {"name": "Kite", "near": ["Project Kite"]},
        {"name": "Xyzzy", "near": []},
        {"name": "Ann Smyth", "near": ["Ann Smith"]},
    ]


@pytest.mark.parametrize("many", [1, 20])
def test_a_name_that_differs_by_case_spaces_marks_or_width_alone_is_made_and_told(many: int) -> None:
    graph = graph_of(["Ann Smith", "Zoë", "Bo"], [])
    names = ["annsmith", "ZOE", "\uff22\uff4f", "Bob", *(f"Other {n}" for n in range(many))]
    entities = [{"name": name, "entityType": "t", "observations": []} for name in names]
    planned = table.plan("create_entities", {"entities": entities})
    assert not isinstance(planned, Read)
    after, answer = planned.apply(graph)
    assert json.loads(answer.structured or b"")["similar"] == ["Ann Smith", "Zoë", "Bo"]
    assert set(names) <= set(after.entities)
