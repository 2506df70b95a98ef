"""Corrections that no tool makes: rename, merge, replace a text or a type. For the page and the command line.

Each is a function from one snapshot to the next. If it raises GraphError, nothing has changed. The values under keys
that are not ours stay with their record, and relations follow their entities. Relations that become equal are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from memory_app.errors import GraphError
from memory_app.graph.graph import Graph
from memory_app.jsonl.lines import (
    items_of,
    with_ends,
    with_items,
    with_name,
    with_observation_replaced,
    with_other_keys,
    with_type,
    without_observations,
)
from memory_app.jsonl.records import (
    KIND_KEYS,
    OBSERVATION_KEYS,
    OWNER_KEYS,
    RELATION_KEYS,
    SOURCE_KEYS,
    TARGET_KEYS,
    EntityLine,
    Form,
    RelationLine,
)

OTHER_VALUES: Final = "otherValues"
"""The key that keeps what differed when two records became one; `repair` uses the same. It is not served."""

_OWN_OF_ENTITIES: Final = frozenset({*KIND_KEYS, "name", "observations", OTHER_VALUES})
_OWN_OF_OBSERVATIONS: Final = _OWN_OF_ENTITIES.union(OWNER_KEYS, OBSERVATION_KEYS)
_OWN_OF_RELATIONS: Final = frozenset({*KIND_KEYS, *SOURCE_KEYS, *TARGET_KEYS, *RELATION_KEYS, OTHER_VALUES})


def rename_entity(graph: Graph, old: str, new: str) -> Graph:
    """Give the entity another name that no entity has. Its relations follow."""
    line = entity(graph, old)
    if new == old:
        return graph
    if not new.strip():
        raise GraphError("A name needs at least one character.")
    if new in graph.entities:
        raise GraphError(f"There is an entity with name {new} already. Merge the two instead.")
    renamed = _placed([with_name(one, new) for one in (line, *line.also)], line)
    gone, put = _moved_relations(graph, old, new, loops=True)
    return graph.exchanging([line], [renamed], gone, put)


def merge_entities(graph: Graph, source: str, target: str) -> Graph:
    """Merge `source` into `target`: its observations are added at the end, its relations follow, relations between the
    two are removed.

    The type of `target` stays. A different type or other value is kept in its record under `otherValues`.
    """
    line, into = entity(graph, source), entity(graph, target)
    if source == target:
        raise GraphError("An entity cannot be merged with itself. Name two.")
    merged = into
    for one in (line, *line.also):
        merged = absorbed(merged, one)
    gone, put = _moved_relations(graph, source, target, loops=False)
    return graph.exchanging([line], [merged.placed(into.order, into.also)], gone, put)


def replace_observation(graph: Graph, name: str, old: str, new: str) -> Graph:
    """Replace an observation's text. If the entity already has the new one, the old one is removed."""
    line = entity(graph, name)
    texts = line.observations()
    if old not in texts:
        raise GraphError(f"{name} has no such observation any more: it was changed or deleted meanwhile. Look again.")
    if new == old:
        return graph
    edit: Callable[[EntityLine], EntityLine]
    if new in texts:

        def edit(one: EntityLine) -> EntityLine:
            return without_observations(one, {old})
    else:

        def edit(one: EntityLine) -> EntityLine:
            return with_observation_replaced(one, old, new)

    return graph.replacing([_placed([edit(one) for one in (line, *line.also)], line)])


def change_type(graph: Graph, name: str, entity_type: str) -> Graph:
    """Give an entity another type."""
    line = entity(graph, name)
    if line.entity_type == entity_type:
        return graph
    return graph.replacing([with_type(line, entity_type).placed(line.order, line.also)])


def entity(graph: Graph, name: str) -> EntityLine:
    """The first line of an entity. GraphError if no entity has this name."""
    try:
        return graph.entities[name]
    except KeyError:
        raise GraphError(f"Entity with name {name} not found") from None


def absorbed(line: EntityLine, other: EntityLine) -> EntityLine:
    """The record with what another one adds to it: the observations that it lacks, in their form, and other keys."""
    have = {text for one in (line, *line.also) for text, _ in items_of(one)}
    lacking: dict[str, str] = {}
    for text, raw in items_of(other):
        if text is not None and text not in have:
            lacking.setdefault(text, raw)
    made = with_items(line, list(lacking.values())) if lacking else line
    own = _OWN_OF_OBSERVATIONS if other.form is Form.PART else _OWN_OF_ENTITIES
    return with_other_keys(made, other, own, OTHER_VALUES)


def _moved_relations(graph: Graph, old: str, new: str, *, loops: bool) -> tuple[list[RelationLine], list[RelationLine]]:
    """The relations of `old` to remove, and those to insert at the same places with `new` at their ends.

    `loops`: keep a relation that connected the two and would now lead from the entity to itself.
    """
    gone: list[RelationLine] = []
    made: dict[tuple[str, str, str], RelationLine] = {}
    for line in graph.touching.get(old, ()):
        gone.append(line)
        source, target = (new if end == old else end for end in (line.source, line.target))
        if source == target and not loops and line.source != line.target:
            continue
        key = (source, target, line.relation_type)
        moved = _placed_relation([with_ends(one, source, target) for one in (line, *line.also)], line)
        there = made.get(key)
        if there is None and (stored := graph.relation(*key)) is not None and old not in (stored.source, stored.target):
            gone.append(stored)
            there = stored
        if there is None:
            made[key] = moved
        else:
            first, second = sorted((there, moved), key=lambda one: one.order)
            made[key] = with_other_keys(first, second, _OWN_OF_RELATIONS, OTHER_VALUES).placed(first.order, first.also)
    return gone, sorted(made.values(), key=lambda line: line.order)


def _placed(lines: list[EntityLine], before: EntityLine) -> EntityLine:
    """Edited lines of one entity as one record, each line at its old place."""
    orders = [one.order for one in (before, *before.also)]
    first, *also = (line.placed(order) for line, order in zip(lines, orders, strict=True))
    return first.placed(first.order, tuple(also))


def _placed_relation(lines: Iterable[RelationLine], before: RelationLine) -> RelationLine:
    orders = [one.order for one in (before, *before.also)]
    first, *also = (line.placed(order) for line, order in zip(lines, orders, strict=True))
    return first.placed(first.order, tuple(also))
