"""Facts under other programs' keys, in records of their own, and in documents: read, kept, and written as ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_app.graph import changes
from memory_app.graph.changes import Addition, Deletion, NewEntity
from memory_app.graph.graph import Graph
from memory_app.graph.reload import reload
from memory_app.jsonl import document as shapes
from memory_app.jsonl.document import NotAMemory

ANN = '{"type":"entity","name":"Ann","entityType":"person","observations":["likes tea"]}'
BO = '{"type":"entity","name":"Bo","entityType":"person","observations":[]}'


def graph_of(*lines: str) -> Graph:
    return Graph.of(shapes.read("\n".join(lines).encode()))


def written(graph: Graph) -> list[str]:
    return b"".join(graph.chunks()).decode().splitlines()


def seen(graph: Graph) -> Any:
    entities = [(line.name, line.entity_type, line.observations()) for line in graph.first_entities()]
    return entities, [(line.source, line.target, line.relation_type) for line in graph.first_relations()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"type":"entity","name":"Ann","kind":"person","facts":["x"]}', ("Ann", "person", ["x"])),
        ('{"type":"entity","name":"Ann","category":"person","notes":"x"}', ("Ann", "person", ["x"])),
        ('{"type":"entity","name":"Ann","content":"x","id":"a1"}', ("Ann", "", ["x"])),
        ('{"type":"entity","name":"Ann","entityType":"p","observations":{"item":["x","y"]}}', ("Ann", "p", ["x", "y"])),
        ('{"type":"entity","id":"Ann","label":"Annie","description":"x"}', ("Annie", "", ["x"])),
        ('{"type":"entity","id":"Ann","description":""}', ("Ann", "", [])),
        ('{"name":"Ann","type":"person","observations":["x"]}', ("Ann", "person", ["x"])),
        ('{"type":"entity","name":"Ann","observations":[],"facts":["x"]}', ("Ann", "", [])),
    ],
)
def test_an_entity_under_other_keys_is_read(line: str, expected: Any) -> None:
    graph = graph_of(line)
    assert seen(graph)[0] == [expected]
    assert written(graph) == [line]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"relation","from":"Ann","to":"Bo","predicate":"knows"}',
        '{"type":"relation","from":"Ann","to":"Bo","kind":"knows"}',
        '{"type":"relation","from":"Ann","to":"Bo","label":"knows"}',
        '{"type":"relation","from_entity":"Ann","to_entity":"Bo","relationType":"knows"}',
        '{"type":"relation","from_id":"Ann","to_id":"Bo","relation_type":"knows"}',
        '{"type":"knows","from":"Ann","to":"Bo"}',
        '{"type":"relation","from":"Ann","to":"Bo","rel":"knows","weight":0.95}',
        '{"type":"relationship","source":"Ann","target":"Bo","relation_type":"knows","attributes":{}}',
        '{"type":"relationship","from":"Ann","to":"Bo","relationType":"knows"}',
    ],
)
def test_a_relation_under_other_keys_is_read(line: str) -> None:
    graph = graph_of(ANN, line)
    assert seen(graph)[1] == [("Ann", "Bo", "knows")]
    assert written(graph) == [ANN, line]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (
            '{"type":"entity","name":"Ann","kind":"person","facts":["x"],"n":1.50}',
            '{"type":"entity","name":"Ann","entityType":"person","observations":["x","new"],"n":1.50}',
        ),
        (
            '{"type":"entity","label":"Ann","notes":"x"}',
            '{"type":"entity","name":"Ann","observations":["x","new"]}',
        ),
        (
            '{"type":"entity","name":"Ann","entityType":"p","observations":{"item":["x", {"text":"y"}]}}',
            '{"type":"entity","name":"Ann","entityType":"p","observations":["x", {"text":"y"},"new"]}',
        ),
        (
            '{"name":"Ann","type":"person","observations":["x"]}',
            '{"type":"entity","name":"Ann","entityType":"person","observations":["x","new"]}',
        ),
        (  # no key may come twice: the line could not be read any more
            '{"type":"person","name":"Ann","entityType":null,"observations":["x"]}',
            '{"type":"person","name":"Ann","entityType":null,"observations":["x","new"]}',
        ),
        (
            '{"type":"person","name":"Ann","entityType":[{"a":1}],"observations":["x"]}',
            '{"type":"person","name":"Ann","entityType":[{"a":1}],"observations":["x","new"]}',
        ),
        (
            '{"type":null,"_type":"person","name":"Ann","observations":["x"]}',
            '{"type":null,"_type":"person","name":"Ann","observations":["x","new"]}',
        ),
    ],
)
def test_a_touched_record_is_written_with_our_keys(line: str, after: str) -> None:
    graph, _ = changes.add_observations(graph_of(line), [Addition("Ann", ("new",))])
    assert written(graph) == [after]
    back, _, _ = changes.delete_observations(graph, [Deletion("Ann", ("new",))])
    assert seen(back) == seen(graph_of(line))


PART = '{"type":"observation","entityName":"Bo","contents":["plays chess","runs"]}'
ONE = '{"type":"observation","entityName":"Bo","content":"lives in Lisbon","at":1.50}'


def test_observations_in_records_of_their_own_belong_to_their_entity_wherever_they_stand() -> None:
    for lines in ((BO, PART, ONE), (PART, BO, ONE)):
        graph = graph_of(*lines)
        assert seen(graph)[0] == [("Bo", "person", ["plays chess", "runs", "lives in Lisbon"])]
        assert written(graph) == list(lines)


def test_an_observation_line_is_deleted_from_and_never_added_to() -> None:
    graph, _ = changes.add_observations(graph_of(BO, PART, ONE), [Addition("Bo", ("runs", "new"))])
    assert written(graph) == [BO.replace("[]", '["new"]'), PART, ONE]
    graph, found, _ = changes.delete_observations(graph, [Deletion("Bo", ("runs", "lives in Lisbon"))])
    assert found == 2
    assert written(graph)[1:] == [PART.replace(',"runs"', ""), ONE.replace('"lives in Lisbon"', "[]")]
    assert seen(Graph.of(shapes.read(b"".join(graph.chunks())))) == seen(graph)
    graph, _ = changes.delete_entities(graph, ["Bo"])
    assert written(graph) == []


def test_observations_without_their_entity_are_kept_and_counted_and_found_with_it() -> None:
    contents = shapes.read("\n".join((PART, ANN, ONE)).encode())
    assert tuple(map(str, contents.notices)) == (
        "observations without their entity: 2 records; they are kept as they are",
    )
    graph = Graph.of(contents)
    assert seen(graph)[0] == [("Ann", "person", ["likes tea"])]
    assert sorted(written(graph)) == sorted([PART, ANN, ONE])
    made, _, _ = changes.create_entities(graph, [NewEntity("Bo", "person", ())])
    assert seen(made)[0][1] == ("Bo", "person", ["plays chess", "runs", "lives in Lisbon"])
    again, _ = reload(graph, "\n".join((*written(graph), BO, "")).encode())
    assert seen(again)[0][1] == ("Bo", "person", ["plays chess", "runs", "lives in Lisbon"])


def test_an_observation_line_that_another_process_appends_is_seen() -> None:
    graph, _ = reload(graph_of(BO), f"{BO}\n{PART}\n".encode())
    assert seen(graph)[0] == [("Bo", "person", ["plays chess", "runs"])]


DOCUMENTS: list[tuple[Any, Any]] = [
    (
        {
            "entities": [{"name": "Ann", "observations": ["x"]}],
            "relationships": [{"from": "Ann", "to": "Bo", "type": "r"}],
        },
        ([("Ann", "", ["x"])], [("Ann", "Bo", "r")]),
    ),
    (
        {"nodes": [{"id": "Ann", "description": "x"}], "edges": [{"source": "Ann", "target": "Bo", "label": "r"}]},
        ([("Ann", "", ["x"])], [("Ann", "Bo", "r")]),
    ),
    (
        {
            "entities": [{"id": 1, "name": "Ann", "entity_type": "p"}, {"id": 2, "name": "Bo", "entity_type": "p"}],
            "relationships": [{"entity1_id": 1, "entity2_id": 2, "relationship_type": "r"}],
        },
        ([("Ann", "p", []), ("Bo", "p", [])], [("Ann", "Bo", "r")]),
    ),
    (
        {"entities": {"person": {"Ann": {"properties": {"description": "x"}}}, "firm": {"Acme": {}}}},
        ([("Ann", "person", ["x"]), ("Acme", "firm", [])], []),
    ),
    ({"data": {"entities": [{"name": "Ann", "observations": ["x"]}]}}, ([("Ann", "", ["x"])], [])),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), DOCUMENTS)
def test_a_document_of_another_program_is_read_where_it_is_plain(value: Any, expected: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2)):
        contents = shapes.read(text.encode())
        assert contents.foreign
        assert seen(Graph.of(contents)) == expected
        assert seen(graph_of(*written(Graph.of(contents)))) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"entities": [{"name": "User", "fields": ["id", "email"]}], "generator": {"version": 2}},
        {"nodes": [{"name": "start", "x": 1}], "edges": []},
    ],
)
def test_a_document_without_facts_is_another_programs_and_refused(value: Any) -> None:
    with pytest.raises(NotAMemory):
        shapes.read(json.dumps(value).encode())


DOCUMENT = {"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}], "relations": []}


@pytest.mark.parametrize(
    "document",
    [json.dumps(DOCUMENT), json.dumps(DOCUMENT, indent=2), f"[{ANN}]"],
    ids=["one line", "over lines", "array"],
)
@pytest.mark.parametrize("first", [True, False])
def test_documents_and_record_lines_in_one_file_are_each_read(document: str, first: bool) -> None:
    kept = BO[:-1] + ',"n":1.50}'
    contents = shapes.read("\n".join((document, kept) if first else (kept, document)).encode())
    assert contents.foreign
    assert sorted(seen(Graph.of(contents))[0]) == [("Ann", "person", ["likes tea"]), ("Bo", "person", [])]
    if "\n" not in document:
        assert kept in written(Graph.of(contents))


def test_a_document_is_read_beside_lines_that_cannot_be() -> None:
    contents = shapes.read("\n".join((json.dumps(DOCUMENT), BO, '{"type":"entity","na')).encode())
    assert len(contents.lines) == 2
    assert contents.tail == (b'{"type":"entity","na',)


@pytest.mark.parametrize(
    "marker", ['{"type":"_aim","source":"x"}', '{ "_type": "_aim", "source": "x", "v": 2 }', '{"type":"_memory"}']
)
def test_a_known_marker_line_is_no_notice(marker: str) -> None:
    assert shapes.read(f"{marker}\n{ANN}\n".encode()).notices == ()
