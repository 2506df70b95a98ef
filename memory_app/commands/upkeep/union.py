"""Uniting two memories: everything of the first stays as it is, what only the second has is added.

An entity that both have keeps its type and gets the observations that it lacks. Relations are added with whatever ends
they have. Records come over with the keys that other programs gave them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memory_app.commands.upkeep.inspection import judged
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.lines import with_observations
from memory_app.jsonl.records import EntityLine, RelationLine


class United(NamedTuple):
    """`graph` is the first one itself if nothing was lacking. `kept_lines` counts lines that are no records of ours and
    came over as they are."""

    graph: Graph
    kept_lines: int


def united(first: Graph, second: Graph, *, other_lines: bool) -> United:
    """The union. With `other_lines` the second's lines that are no records of ours come along too."""
    new_entities: list[EntityLine] = []
    changes: dict[int, EntityLine] = {}
    entities = first.entities.copy()
    end = first.entity_lines.end
    for line in second.first_entities():
        there = entities.get(line.name)
        if there is None:
            new = line.placed(end + len(new_entities))
            if lacking := _lacking(new, line):  # what its further lines have
                new = with_observations(new, lacking).placed(new.order)
            new_entities.append(new)
            entities[line.name] = new
        elif lacking := _lacking(there, line):
            longer = with_observations(there, lacking).placed(there.order, there.also)
            changes[there.order] = entities[line.name] = longer
    end = first.relation_lines.end
    new_relations: list[RelationLine] = []
    others = list(second.first_relations())
    there_already = first.relations((one.source, one.target, one.relation_type) for one in others)
    for relation, same in zip(others, there_already, strict=True):
        if same is None:
            new_relations.append(relation.placed(end + len(new_relations)))
    lines = [raw for raw in _others(second) if raw not in {*first.head, *first.tail}] if other_lines else []
    if not (new_entities or changes or new_relations or lines):
        return United(first, 0)
    all_lines = (
        *(changes.get(line.order, line) for line in first.entity_lines),
        *new_entities,
        *first.relation_lines,
        *new_relations,
    )
    contents = document.Contents(first.head, all_lines, (*first.tail, *lines), False, ())
    return United(Graph.of(contents), len(lines))


def _lacking(line: EntityLine, other: EntityLine) -> list[str]:
    have = set(line.observations())
    return [text for text in dict.fromkeys(other.observations()) if text not in have]


def _others(graph: Graph) -> Iterable[bytes]:
    """Lines that are no records of ours, without the markers by which programs know their files."""
    return dict.fromkeys(raw for raw in (*graph.head, *graph.tail) if judged(raw)[0])
