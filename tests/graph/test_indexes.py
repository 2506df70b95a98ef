"""The indexes of a graph after any row of operations: those of a fresh parse of the file that it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.commands.upkeep.union import unite
from memory_app.errors import GraphError
from memory_app.graph import changes, corrections, revisions
from memory_app.graph.changes import Addition, Deletion, NewEntity, RelationKey
from memory_app.graph.graph import Graph
from memory_app.graph.reload import reload
from memory_app.jsonl import document
from memory_app.jsonl.records import EntityLine, RelationLine, new_entity, new_relation

NAMES = ["A", "B", "C", "D"]
TEXTS = ["x", "y", "z"]

names = st.sampled_from(NAMES)
texts = st.lists(st.sampled_from(TEXTS), max_size=3).map(tuple)
keys = st.builds(RelationKey, names, names, st.sampled_from(["r", "s"]))
lines = st.one_of(
    st.builds(lambda name, found: new_entity(name, "t", found).raw, names, texts),
    keys.map(lambda key: new_relation(*key).raw),
    st.sampled_from([b"junk", b'{"type":"other"}']),
)
# Repeated names and relations, and, since those are read as a whole, files without any.
files = st.one_of(
    st.lists(lines, max_size=12),
    st.tuples(st.lists(names, unique=True), st.lists(keys, unique=True, max_size=12)).map(
        lambda given: [
            *(new_entity(name, "t", ()).raw for name in given[0]),
            *(new_relation(*key).raw for key in given[1]),
        ]
    ),
)
Operation = Callable[[Graph], Graph]


def _several(item: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(item, max_size=4)


def graph_of(raws: list[bytes]) -> Graph:
    try:
        return Graph.of(document.read(b"".join(raw + b"\n" for raw in raws)))
    except document.NotAMemory:
        return Graph.empty()


operations: st.SearchStrategy[Operation] = st.one_of(
    _several(st.builds(NewEntity, names, st.just("t"), texts)).map(
        lambda asked: lambda graph: changes.create_entities(graph, asked)[0]
    ),
    _several(keys).map(lambda asked: lambda graph: changes.create_relations(graph, asked)[0]),
    _several(st.builds(Addition, names, texts)).map(
        lambda asked: lambda graph: changes.add_observations(graph, asked)[0]
    ),
    _several(names).map(lambda asked: lambda graph: changes.delete_entities(graph, asked)[0]),
    _several(st.builds(Deletion, names, texts)).map(
        lambda asked: lambda graph: changes.delete_observations(graph, asked)[0]
    ),
    _several(keys).map(lambda asked: lambda graph: changes.delete_relations(graph, asked)[0]),
    st.tuples(names, names).map(lambda given: lambda graph: corrections.rename_entity(graph, *given)),
    st.tuples(names, names).map(lambda given: lambda graph: corrections.merge_entities(graph, *given)),
    st.tuples(names, st.sampled_from(TEXTS), st.sampled_from(TEXTS)).map(
        lambda given: lambda graph: corrections.replace_observation(graph, *given)
    ),
    files.map(lambda raws: lambda graph: revisions.take_back(graph, revisions.between(graph_of(raws), graph))),
    st.tuples(files, st.booleans()).map(
        lambda given: lambda graph: unite(graph, graph_of(given[0]), other_lines=given[1])
    ),
    files.map(lambda raws: lambda graph: reload(graph, b"".join(raw + b"\n" for raw in raws))[0]),
    st.tuples(st.integers(0, 12), keys).map(lambda given: lambda graph: _with_another_relation(graph, *given)),
    st.tuples(st.integers(0, 12), st.integers(0, 3), _several(lines)).map(
        lambda given: lambda graph: reload(graph, _patched(graph, *given))[0]
    ),
)  # fmt: skip


def _with_another_relation(graph: Graph, place: int, key: RelationKey) -> Graph:
    """With the relation at a place exchanged for one that is not there."""
    there = list(graph.relation_lines)[place : place + 1]
    if graph.repeats or not there or graph.relation(*key) is not None:
        return graph
    return graph.exchanging((), (), there, [new_relation(*key).placed(there[0].order)])


def _patched(graph: Graph, first: int, count: int, raws: list[bytes]) -> bytes:
    """The file of the graph with some of its lines replaced."""
    there = b"".join(graph.chunks()).split(b"\n")[:-1]
    there[first : first + count] = raws
    return b"".join(raw + b"\n" for raw in there)


def _entity(line: EntityLine) -> Any:
    return line.raw, [one.raw for one in line.also]


def _relation(line: RelationLine) -> Any:
    return line.raw, [one.raw for one in line.also]


def indexes(graph: Graph) -> Any:
    return (
        {name: _entity(line) for name, line in graph.entities.items()},
        {name: [_relation(line) for line in found] for name, found in graph.touching.items()},
        [_entity(line) for line in graph.entity_lines],
        [_relation(line) for line in graph.relation_lines],
        (graph.entity_lines.size, graph.relation_lines.size),
        (graph.head, graph.tail),
    )


def places_fit(graph: Graph) -> bool:
    """Whether the indexes hold the very lines that stand in the file's order, each once."""
    for each in (graph.entity_lines, graph.relation_lines):
        orders = [line.order for line in each]
        if orders != sorted(set(orders)) or any(order >= each.end for order in orders):
            return False
    by_place = {line.order: line for line in graph.entity_lines}
    relation_at = {line.order: line for line in graph.relation_lines}
    indexed = [line for found in graph.touching.values() for line in found]
    further = [one for line in graph.entities.values() for one in line.also]
    repeated = [one for line in graph.relation_lines for one in line.also]
    return (
        all(by_place[line.order] is line for line in (*graph.entities.values(), *further))
        and all(relation_at[line.order] is line for line in (*indexed, *repeated))
        and (graph.repeats or not (further or repeated))
    )


@given(files, st.lists(operations, min_size=1, max_size=6))
@settings(max_examples=600, deadline=None)
def test_after_any_operations_the_indexes_are_those_of_a_fresh_parse(raws: list[bytes], asked: list[Operation]) -> None:
    graph = graph_of(raws)
    for operation in asked:
        try:
            graph = operation(graph)
        except (GraphError, document.NotAMemory):
            continue
        assert places_fit(graph)
        fresh = Graph.of(document.read(b"".join(graph.chunks())))
        assert indexes(graph) == indexes(fresh)
