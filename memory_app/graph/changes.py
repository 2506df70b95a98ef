"""The six tools that change the graph, as rules: from a snapshot and a request to the next snapshot and its results.

Each changes everything that it names or, by raising GraphError, nothing. A call that changes nothing gives back the
very snapshot that it got, which is how the store knows that there is nothing to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memory_app.errors import GraphError
from memory_app.graph.graph import Graph
from memory_app.graph.near import near_names
from memory_app.graph.reload import has_orphans, reload
from memory_app.jsonl.lines import with_observations, without_observations
from memory_app.jsonl.records import EntityLine, RelationLine, new_entity, new_relation, quote


class NewEntity(NamedTuple):
    name: str
    entity_type: str
    observations: tuple[str, ...]


class RelationKey(NamedTuple):
    """The identity of a relation: relations with equal keys are the same one."""

    source: str
    target: str
    relation_type: str


class Addition(NamedTuple):
    entity_name: str
    contents: tuple[str, ...]


class Deletion(NamedTuple):
    entity_name: str
    observations: tuple[str, ...]


class Added(NamedTuple):
    """The result of add_observations for one requested item."""

    entity_name: str
    observations: list[str]


def create_entities(graph: Graph, asked: Sequence[NewEntity]) -> tuple[Graph, list[EntityLine], list[str]]:
    """The new entities, and the names that were skipped because they existed or occurred earlier in the call."""
    made: dict[str, EntityLine] = {}
    skipped: list[str] = []
    for entity in asked:
        if entity.name in graph.entities or entity.name in made:
            skipped.append(entity.name)
        else:
            made[entity.name] = new_entity(entity.name, entity.entity_type, entity.observations)
    after = graph.adding(made.values())
    if made and has_orphans(graph):
        after, _ = reload(after, b"".join(after.chunks()))  # observations that waited for one of these entities
    return after, list(made.values()), skipped


def create_relations(graph: Graph, asked: Sequence[RelationKey]) -> tuple[Graph, list[RelationLine]]:
    """The new relations. Those that exist or occurred earlier in the call are left out. Both ends must exist."""
    for key in asked:
        for name in (key.source, key.target):
            _entity(graph, name)
    made: dict[RelationKey, RelationLine] = {}
    for key, there in zip(asked, graph.relations(asked), strict=True):
        if key not in made and there is None:
            made[key] = new_relation(*key)
    return graph.adding(relations=made.values()), list(made.values())


def add_observations(graph: Graph, asked: Sequence[Addition]) -> tuple[Graph, list[Added]]:
    """For each requested item, in order, the observations that the entity did not have. Every entity must exist."""
    for addition in asked:
        _entity(graph, addition.entity_name)
    have: dict[str, set[str]] = {}
    new: dict[str, list[str]] = {}
    results: list[Added] = []
    for name, contents in asked:
        if name not in have:
            have[name] = set(graph.entities[name].observations())
        lacking = [text for text in dict.fromkeys(contents) if text not in have[name]]
        if lacking:
            have[name].update(lacking)
            new.setdefault(name, []).extend(lacking)
        results.append(Added(name, lacking))
    changed: list[EntityLine] = []
    for name, observations in new.items():  # once for each entity, which may be long and named by many items
        line = graph.entities[name]
        changed.append(with_observations(line, observations).placed(line.order, line.also))
    return graph.replacing(changed), results


def delete_entities(graph: Graph, names: Sequence[str]) -> tuple[Graph, list[str]]:
    """The requested names that no entity had. Relations with a requested name at an end are deleted too, even if there
    is no such entity.
    """
    gone = set(names)
    missing = [name for name in names if name not in graph.entities]
    relations = {line.order: line for name in gone for line in graph.touching.get(name, ())}
    lines = [line for name in gone if (line := graph.entities.get(name)) is not None]
    return graph.removing(lines, relations.values()), missing


def delete_observations(graph: Graph, asked: Sequence[Deletion]) -> tuple[Graph, int, list[str]]:
    """How many of the requested items were found, and the requested names that no entity had."""
    held: dict[str, set[str]] = {}
    gone: dict[str, set[str]] = {}
    found, missing = 0, []
    for name, observations in asked:
        if name not in graph.entities:
            missing.append(name)
            continue
        if name not in held:
            held[name] = set(graph.entities[name].observations())
        if hit := held[name].intersection(observations):
            found += sum(text in hit for text in observations)
            gone.setdefault(name, set()).update(hit)
    changed: list[EntityLine] = []
    for name, hit in gone.items():  # once for each entity, which may be long and named by many items
        line = graph.entities[name]
        first, *also = (without_observations(one, hit).placed(one.order) for one in (line, *line.also))
        changed.append(first.placed(first.order, tuple(also)))
    return graph.replacing(changed), found, missing


def delete_relations(graph: Graph, asked: Sequence[RelationKey]) -> tuple[Graph, int]:
    """How many of the requested relations were found."""
    found = graph.relations(asked)
    gone = {line.order: line for line in found if line is not None}
    return graph.removing(relations=gone.values()), sum(line is not None for line in found)


def _entity(graph: Graph, name: str) -> EntityLine:
    try:
        return graph.entities[name]
    except KeyError:
        near = near_names(graph, name)
        hint = f". Did you mean {' or '.join(map(quote, near))}?" if near else ""
        raise GraphError(f"Entity with name {name} not found{hint}") from None
