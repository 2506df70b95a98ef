"""Uniting two memories: everything in the first stays unchanged, and what only the second has is added.

An entity that both have keeps its type and gets the observations that it lacks. Relations are added whether or not
their ends exist. Records keep the keys that other programs gave them.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory_app.commands.upkeep.inspection import judge
from memory_app.graph.graph import Graph
from memory_app.jsonl.lines import with_observations
from memory_app.jsonl.records import EntityLine


def unite(first: Graph, second: Graph, *, other_lines: bool) -> Graph:
    """The union; the first graph itself if nothing was missing. With `other_lines`, the second's lines that are not
    records of ours are added too.
    """
    new_entities: list[EntityLine] = []
    longer: list[EntityLine] = []
    for line in second.first_entities():
        there = first.entities.get(line.name)
        if there is None:
            new = line.placed(line.order)
            lacking = _lacking(new, line)  # what its further lines have
            new_entities.append(with_observations(new, lacking) if lacking else new)
        elif lacking := _lacking(there, line):
            longer.append(with_observations(there, lacking).placed(there.order, there.also))
    others = list(second.first_relations())
    there_already = first.relations((one.source, one.target, one.relation_type) for one in others)
    new_relations = [line for line, same in zip(others, there_already, strict=True) if same is None]
    known = {*first.head, *first.tail}
    kept = [raw for raw in _others(second) if raw not in known] if other_lines else []
    return first.replacing(longer).adding(new_entities, new_relations, kept)


def _lacking(line: EntityLine, other: EntityLine) -> list[str]:
    have = set(line.observations())
    return [text for text in dict.fromkeys(other.observations()) if text not in have]


def _others(graph: Graph) -> Iterable[bytes]:
    """The lines that are not records of ours, without the markers by which programs know their files."""
    return dict.fromkeys(raw for raw in (*graph.head, *graph.tail) if judge(raw)[0])
