"""Renaming, merging, putting a text in place; and taking changes back."""

from __future__ import annotations

import json

import pytest

from memory_app.errors import GraphError
from memory_app.graph import changes, corrections, revisions
from memory_app.graph.changes import NewEntity, RelationKey
from memory_app.graph.graph import Graph
from memory_app.jsonl import document

FILE = b"""\
{"type":"entity","name":"Ann","entityType":"person","observations":["tea",{"text":"Lisbon","since":2024}],"id":7}
{"type":"entity","name":"Anne","entityType":"human","observations":["tea","chess"],"id":8,"seen":1.10}
{"type":"entity","name":"Acme","entityType":"company","observations":[]}
{"type":"relation","from":"Ann","to":"Acme","relationType":"works at","weight":2}
{"type":"relation","from":"Anne","to":"Acme","relationType":"works at"}
{"type":"relation","from":"Anne","to":"Ann","relationType":"is"}
{"type":"relation","from":"Acme","to":"Anne","relationType":"pays"}
{"type":"relation","from":"Anne","to":"Anne","relationType":"knows"}
"""


def read(data: bytes) -> Graph:
    return Graph.of(document.read(data))


def written(graph: Graph) -> bytes:
    """The file of a graph, which has to read as the graph that the indexes tell."""
    data = b"".join(graph.chunks())
    again = read(data)
    assert list(again.entities) == list(dict.fromkeys(line.name for line in graph.entity_lines))
    assert {name: [line.raw for line in lines] for name, lines in again.touching.items()} == {
        name: [line.raw for line in lines] for name, lines in graph.touching.items()
    }
    assert {name: line.observations() for name, line in again.entities.items()} == {
        name: graph.entities[name].observations() for name in again.entities
    }
    return data


def relations(graph: Graph) -> list[tuple[str, str, str]]:
    return [(line.source, line.relation_type, line.target) for line in graph.first_relations()]


def test_a_renamed_entity_keeps_its_place_its_other_keys_and_its_relations() -> None:
    after = written(corrections.rename_entity(read(FILE), "Anne", 'Annie "B"'))
    assert after == FILE.replace(b'"Anne"', b'"Annie \\"B\\""')


@pytest.mark.parametrize(
    ("relation", "after"),
    [
        (
            b'{"type":"relation","source":"Ann","target":"Acme","relation_type":"works at","weight":2.50}',
            b'{"type":"relation","from":"Bea","to":"Acme","relationType":"works at","weight":2.50}',
        ),
        (
            b'{"from":"Acme", "to" : "Ann","type":"pays"}',
            b'{"type":"relation","from":"Acme", "to" : "Bea","relationType":"pays"}',
        ),
        (
            b'{"type":"relation","from":"Ann","source":"chat","to":"Acme","relationType":"works at"}',
            b'{"type":"relation","from":"Bea","source":"chat","to":"Acme","relationType":"works at"}',
        ),
    ],
    ids=["spelled", "typed", "kept"],
)
def test_a_relation_that_follows_is_written_with_our_keys(relation: bytes, after: bytes) -> None:
    entities = b"".join(FILE.splitlines(keepends=True)[:3])
    graph = corrections.rename_entity(read(entities + relation + b"\n"), "Ann", "Bea")
    assert written(graph).splitlines()[-1] == after


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("Nobody", "X", "Entity with name Nobody not found"),
        ("Ann", "Anne", "There is an entity with name Anne already. Merge the two instead."),
        ("Ann", " ", "A name needs at least one character."),
    ],
)
def test_a_name_that_cannot_be_is_refused(old: str, new: str, text: str) -> None:
    with pytest.raises(GraphError) as refusal:
        corrections.rename_entity(read(FILE), old, new)
    assert str(refusal.value) == text


def test_a_name_on_several_lines_is_renamed_on_each() -> None:
    again = b'{"type":"entity","name":"Ann","entityType":"x","observations":["late"]}\n'
    after = corrections.rename_entity(read(FILE + again), "Ann", "Ana")
    assert written(after).count(b'"name":"Ana"') == 2
    assert after.entities["Ana"].observations() == ["tea", "Lisbon", "late"]


def test_a_dangling_relation_of_the_new_name_becomes_one_with_the_renamed() -> None:
    data = FILE + b'{"type":"relation","from":"Ana","to":"Acme","relationType":"works at","note":"x"}\n'
    after = corrections.rename_entity(read(data), "Ann", "Ana")
    lines = [json.loads(line.raw) for line in after.touching["Ana"] if line.relation_type == "works at"]
    written(after)
    assert lines == [
        {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works at", "weight": 2, "note": "x"}
    ]


def test_merging_moves_facts_and_relations_and_loses_no_key() -> None:
    after = corrections.merge_entities(read(FILE), "Anne", "Ann")
    written(after)
    assert json.loads(after.entities["Ann"].raw) == {
        "type": "entity",
        "name": "Ann",
        "entityType": "person",
        "observations": ["tea", {"text": "Lisbon", "since": 2024}, "chess"],
        "id": 7,
        "seen": 1.10,
        "otherValues": {"entityType": ["human"], "id": [8]},
    }
    assert b'"seen":1.10' in after.entities["Ann"].raw
    assert relations(after) == [("Ann", "works at", "Acme"), ("Acme", "pays", "Ann"), ("Ann", "knows", "Ann")]
    assert json.loads(after.touching["Acme"][0].raw)["weight"] == 2


def test_merging_keeps_the_type_of_the_target_in_whatever_spelling() -> None:
    data = (
        b'{"type":"entity","name":"a","entity_type":"kept","observations":["x"]}\n'
        b'{"type":"entity","name":"b","entityType":"other","observations":["y"]}\n'
        b'{"type":"observation","entityName":"b","content":"z"}\n'
    )
    after = corrections.merge_entities(read(data), "b", "a")
    written(after)
    line = after.entities["a"]
    assert (line.entity_type, line.observations()) == ("kept", ["x", "y", "z"])
    assert json.loads(line.raw) == {
        "type": "entity",
        "name": "a",
        "entityType": "kept",
        "observations": ["x", "y", "z"],
        "otherValues": {"entityType": ["other"]},
    }


def test_merging_twice_keeps_all_that_differed() -> None:
    after = corrections.merge_entities(read(FILE), "Anne", "Ann")
    after = corrections.merge_entities(after, "Acme", "Ann")
    written(after)
    assert json.loads(after.entities["Ann"].raw)["otherValues"] == {"entityType": ["human", "company"], "id": [8]}


def test_an_observation_is_replaced_in_its_place_and_an_object_keeps_its_keys() -> None:
    graph = corrections.replace_observation(read(FILE), "Ann", "Lisbon", "Porto")
    graph = corrections.replace_observation(graph, "Ann", "tea", 'green "tea"')
    written(graph)
    assert json.loads(graph.entities["Ann"].raw)["observations"] == ['green "tea"', {"text": "Porto", "since": 2024}]
    assert corrections.replace_observation(graph, "Anne", "tea", "chess").entities["Anne"].observations() == ["chess"]


def test_an_observation_that_is_gone_is_told() -> None:
    with pytest.raises(GraphError, match="changed or deleted meanwhile"):
        corrections.replace_observation(read(FILE), "Ann", "coffee", "tea")


def test_a_type_is_changed_and_stands_under_our_key_then() -> None:
    data = (
        b'{"type":"entity","name":"a","entity_type":"old","observations":[]}\n'
        b'{"type":"entity","name":"b","observations":["x"]}\n'
    )
    graph = corrections.change_type(corrections.change_type(read(data), "a", "new"), "b", "new")
    assert written(graph) == (
        b'{"type":"entity","name":"a","entityType":"new","observations":[]}\n'
        b'{"type":"entity","name":"b","observations":["x"],"entityType":"new"}\n'
    )


CHANGES = {
    "rename": lambda graph: corrections.rename_entity(graph, "Ann", "Ana"),
    "merge": lambda graph: corrections.merge_entities(graph, "Anne", "Ann"),
    "replace": lambda graph: corrections.replace_observation(graph, "Ann", "Lisbon", "Porto"),
    "type": lambda graph: corrections.change_type(graph, "Ann", "human"),
    "delete entity": lambda graph: changes.delete_entities(graph, ["Ann"])[0],
    "create": lambda graph: changes.create_entities(graph, [NewEntity("New", "t", ("x",))])[0],
    "relate": lambda graph: changes.create_relations(graph, [RelationKey("Ann", "Acme", "owns")])[0],
    "unrelate": lambda graph: changes.delete_relations(graph, [RelationKey("Ann", "Acme", "works at")])[0],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_taken_back_with_all_keys(change: object) -> None:
    before = read(FILE)
    after = change(before)  # type: ignore[operator]
    revision = revisions.between(before, after)
    assert revision
    back = revisions.take_back(after, revision)
    assert sorted(written(back).splitlines()) == sorted(FILE.splitlines())
    assert not revisions.between(before, back)


def test_a_revision_also_holds_for_a_file_that_was_read_anew() -> None:
    before, after = read(FILE), read(written(CHANGES["merge"](read(FILE))))
    back = revisions.take_back(after, revisions.between(before, after))
    assert sorted(written(back).splitlines()) == sorted(FILE.splitlines())


def test_what_came_later_stays() -> None:
    before = read(FILE)
    after = corrections.replace_observation(before, "Ann", "Lisbon", "Porto")
    later = changes.add_observations(after, [changes.Addition("Ann", ("new",))])[0]
    back = revisions.take_back(later, revisions.between(before, after))
    assert back.entities["Ann"].observations() == ["tea", "new", "Lisbon"]


def test_an_added_entity_that_has_grown_is_not_taken_back() -> None:
    before = read(FILE)
    after = changes.create_entities(before, [NewEntity("New", "t", ())])[0]
    later = changes.create_relations(after, [RelationKey("New", "Ann", "knows")])[0]
    with pytest.raises(GraphError, match="New has got facts or relations since"):
        revisions.take_back(later, revisions.between(before, after))


def test_a_deleted_entity_that_is_there_again_is_not_taken_back() -> None:
    before = read(FILE)
    after = changes.delete_entities(before, ["Acme"])[0]
    later = changes.create_entities(after, [NewEntity("Acme", "t", ())])[0]
    with pytest.raises(GraphError, match="There is an entity with name Acme again"):
        revisions.take_back(later, revisions.between(before, after))
