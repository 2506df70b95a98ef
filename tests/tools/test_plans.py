"""The nine tools: structured results, texts, counts and misses, whole calls or nothing, parts of answers."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped,unused-ignore]  # ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.errors import GraphError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.tools import plans, table
from memory_app.tools.table import LISTED as TOOLS
from tests.tools.model import Model

ANN = {"name": "Ann", "entityType": "person", "observations": ["likes tea", "is 40"]}
BO = {"name": "Bo", "entityType": "person", "observations": []}
ACME = {"name": "Acmé", "entityType": "firm", "observations": ["makes tea"]}
KNOWS = {"from": "Ann", "to": "Bo", "relationType": "knows"}
WORKS = {"from": "Ann", "to": "Acmé", "relationType": "works at"}
DANGLING = {"from": "Bo", "to": "Gone", "relationType": "misses"}


OUTPUTS = {one["name"]: jsonschema.Draft202012Validator(one["outputSchema"]) for one in TOOLS}


def line(kind: str, record: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": kind} | record | more, ensure_ascii=False, separators=(",", ":"))


FILE = [
    *(line("entity", one, createdAt="t") for one in (ANN, BO, ACME)),
    *(line("relation", one, weight=0.5) for one in (KNOWS, WORKS, DANGLING)),
]


@pytest.fixture
def graph() -> Graph:
    return Graph.of(document.read("\n".join(FILE).encode()))


def run(graph: Graph, tool: str, arguments: Any) -> tuple[Graph, Any, list[str]]:
    """The next graph, the structured result (checked against the output schema), and the texts."""
    planned = table.plan(tool, arguments)
    after, answer = planned.apply(graph) if isinstance(planned, plans.Write) else (graph, planned.run(graph))
    assert answer.structured is not None and not answer.is_error
    structured = json.loads(answer.structured)
    OUTPUTS[tool].validate(structured)
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
        ["3 skipped: the name exists. Use add_observations for new facts."],
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
    planned = table.plan(tool, arguments)
    assert isinstance(planned, plans.Write)
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
    (
        "open_nodes",
        {"names": ["Gone", "Zed"]},
        {
            "entities": [],
            "relations": [],
            "notFound": [{"name": "Gone", "near": []}, {"name": "Zed", "near": []}],
        },
    ),
    (
        "open_nodes",
        {"names": ["Bo", "Ann", "Bo", "Zed"]},
        {
            "entities": [ANN, BO],
            "relations": [KNOWS],
            "externalRelations": [WORKS, DANGLING],
            "notFound": [{"name": "Zed", "near": []}],
        },
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
    graph = Graph.of(document.read("\n".join(records).encode()))
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


def test_a_loose_answer_says_so(graph: Graph) -> None:
    _, answer, _ = run(graph, "search_nodes", {"query": "does Ann like coffee?"})
    assert [entity["name"] for entity in answer["entities"]] == ["Ann"]
    assert answer["loose"] == "No entity holds all of these words. These come near, best first."
    _, names, _ = run(graph, "search_nodes", {"query": "does Ann like coffee?", "limit": 1, "namesOnly": True})
    assert names["names"] == ["Ann"] and "loose" in names
    for query in ("Ann", "tea likes", "submarine", ""):
        assert "loose" not in run(graph, "search_nodes", {"query": query})[1]


def test_with_a_limit_the_most_relevant_come_first() -> None:
    records = [("Planning", ["annual"]), ("Joanne", []), ("Anne", []), ("Ann", [])]
    lines = [line("entity", {"name": name, "entityType": "t", "observations": held}) for name, held in records]
    graph = Graph.of(document.read("\n".join(lines).encode()))
    whole = run(graph, "search_nodes", {"query": "ann"})[1]
    assert [entity["name"] for entity in whole["entities"]] == ["Planning", "Joanne", "Anne", "Ann"]
    parts = [run(graph, "search_nodes", {"query": "ann", "limit": 1, "offset": n})[1] for n in range(4)]
    assert [part["entities"][0]["name"] for part in parts] == ["Ann", "Anne", "Planning", "Joanne"]


def test_an_answer_that_is_too_large_says_how_to_ask_for_less(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> None:
    monkeypatch.setattr(plans, "LARGEST_ANSWER", 100)
    for tool, arguments in (("read_graph", {}), ("search_nodes", {"query": "tea"}), ("open_nodes", {"names": ["Ann"]})):
        planned = table.plan(tool, arguments)
        assert isinstance(planned, plans.Read)
        with pytest.raises(GraphError, match=r'The answer would be .*: give "limit" .*fewer names'):
            planned.run(graph)
    run(graph, "read_graph", {"namesOnly": True, "limit": 1})
    monkeypatch.setattr(plans, "LARGEST_ANSWER", len(compact(WHOLE).encode()))
    run(graph, "read_graph", {})


def test_an_unknown_tool_is_not_a_tools_error() -> None:
    with pytest.raises(table.UnknownTool):
        table.plan("no_such_tool", {})


@pytest.mark.parametrize("tool", sorted(one["name"] for one in TOOLS if one["inputSchema"].get("required")))
@pytest.mark.parametrize("arguments", [[], "", 5, None])
def test_arguments_that_hold_nothing_are_a_tools_error(tool: str, arguments: object) -> None:
    if arguments == 5 and tool in ("search_nodes", "open_nodes", "delete_entities"):
        return  # a name or a query may be a number
    with pytest.raises(GraphError, match=rf"^{tool}: .* must be .*Example of a right call: \{{"):
        table.plan(tool, arguments)


def test_every_tool_that_is_listed_can_be_planned_and_no_other() -> None:
    assert sorted(table.TOOLS) == sorted(one["name"] for one in TOOLS)


NAMES = ["Ann", "Bo", "Cy", "a\ufffd", "5"]
FACTS = ["x", "y", "1.5", "\ufffd", "new"]
ODD_LINES = [
    line("entity", {"name": "Ann", "entityType": "t", "observations": ["x", "x", "y"]}),
    line("entity", {"name": "Ann", "entityType": "other", "observations": ["y", "z"]}, k=1),
    '{"type":"entity","name":"Ann","observations":[ {"text":"x","at":1.50} , 1.5, null ]}',
    '{"observations":"x","name":"Bo","_type":"entity"}',
    '{"type":"entity","name":"Cy"}',
    '{"type":"entity","name":"a\\ud800","observations":["\\udfff"],"k":"\\ud800"}',
    '{"type":"entity","name":5,"observations":[1.50]}',
    line("relation", {"from": "Ann", "to": "Bo", "relationType": "r"}),
    line("relation", {"from": "Ann", "to": "Bo", "relationType": "r"}, weight=0.40),
    '{"type":"relation","source":"a\\ud800","target":"Gone","relation":"r"}',
    '{"type":"relation","from":"Bo","to":"Ann"}',
    "junk",
    '{"type":"hot_cache","n":1.0}',
]
entities = st.fixed_dictionaries(
    {"name": st.sampled_from(NAMES), "entityType": st.just("t"), "observations": st.lists(st.sampled_from(FACTS))}
)
relations = st.fixed_dictionaries(
    {"from": st.sampled_from(NAMES), "to": st.sampled_from(NAMES), "relationType": st.sampled_from(["r", ""])}
)
named_facts = st.tuples(st.sampled_from([*NAMES, "Gone"]), st.lists(st.sampled_from(FACTS), max_size=3))
calls = st.one_of(
    st.tuples(st.just("create_entities"), st.fixed_dictionaries({"entities": st.lists(entities, max_size=2)})),
    st.tuples(st.just("create_relations"), st.fixed_dictionaries({"relations": st.lists(relations, max_size=2)})),
    st.tuples(st.just("delete_relations"), st.fixed_dictionaries({"relations": st.lists(relations, max_size=2)})),
    st.tuples(
        st.just("delete_entities"),
        st.fixed_dictionaries({"entityNames": st.lists(st.sampled_from([*NAMES, "Gone"]), max_size=2)}),
    ),
    st.lists(named_facts, max_size=2).map(
        lambda pairs: ("add_observations", {"observations": [{"entityName": n, "contents": t} for n, t in pairs]})
    ),
    st.lists(named_facts, max_size=2).map(
        lambda pairs: ("delete_observations", {"deletions": [{"entityName": n, "observations": t} for n, t in pairs]})
    ),
    st.tuples(
        st.just("open_nodes"), st.fixed_dictionaries({"names": st.lists(st.sampled_from([*NAMES, "Gone"]), max_size=2)})
    ),
)


def unordered(found: Any) -> Any:
    """Facts of a name on several lines come line by line, new ones with the first line: their order is another."""
    entities = [one | {"observations": sorted(one["observations"])} for one in found.get("entities", ())]
    return found | ({"entities": entities} if "entities" in found else {})


@given(st.lists(st.sampled_from(ODD_LINES), max_size=9), st.lists(calls, min_size=1, max_size=4))
@settings(max_examples=400)
def test_a_file_of_any_form_is_changed_by_the_same_rules_and_keeps_the_rest(
    lines: list[str], asked: list[tuple[str, dict[str, Any]]]
) -> None:
    try:
        graph = Graph.of(document.read("\n".join(lines).encode()))
    except document.NotAMemory:
        return
    model = Model()
    _, whole, _ = run(graph, "read_graph", {})
    model.entities, model.relations = whole["entities"], whole["relations"]
    for tool, arguments in asked:
        expected = model.call(tool, arguments)
        if expected["isError"]:
            planned = table.plan(tool, arguments)
            assert isinstance(planned, plans.Write)
            with pytest.raises(GraphError) as caught:
                planned.apply(graph)
            assert str(caught.value).partition(". Did you mean ")[0] == expected["content"][0]["text"]
            continue
        graph, found, texts = run(graph, tool, arguments)
        for one in found.get("notFound", ()):
            one["near"] = []
        assert unordered(found) == unordered(expected["structuredContent"])
        if tool != "open_nodes":
            assert texts == [block["text"] for block in expected["content"]]
        read_back = Graph.of(document.read(b"".join(graph.chunks())))
        for one in (graph, read_back):
            assert unordered(run(one, "read_graph", {})[1]) == unordered(
                model.call("read_graph", {})["structuredContent"]
            )
    kept = [text for text in lines if text in ODD_LINES[-2:]]
    assert sorted(text for text in file_lines(graph) if text in ODD_LINES[-2:]) == sorted(kept)
    if not any(tool == "delete_entities" for tool, _ in asked):
        for key in ('"k":1', '"k":"\\ud800"'):
            assert "".join(file_lines(graph)).count(key) == "".join(lines).count(key)
