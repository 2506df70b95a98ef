"""Losses: whether the next snapshot still says everything that the previous one said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TypeVar

from memory_app.graph.blocks import Blocks
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine

L = TypeVar("L", EntityLine, RelationLine)


def takes_away(before: Graph, after: Graph) -> bool:
    """Whether an entity, its type, an observation, a relation or a line of other programs has disappeared or changed.

    Costs only the blocks that differ, so next to nothing if one snapshot was made from the other.
    """
    for line in _gone(before.entity_lines, after.entity_lines):
        now = after.entities.get(line.name)
        if now is None or now.entity_type != before.entities[line.name].entity_type:
            return True
        if not set(line.own_observations()).issubset(now.observations()):
            return True
    for one in _gone(before.relation_lines, after.relation_lines):
        if after.relation(one.source, one.target, one.relation_type) is None:
            return True
    if before.head == after.head and before.tail == after.tail:
        return False
    return not {*before.head, *before.tail}.issubset((*after.head, *after.tail))


def _gone(before: Blocks[L], after: Blocks[L]) -> Iterator[L]:
    """The lines of one sequence that are not the same objects at the same places in the other."""
    if before is after:
        return
    for old, new in zip_longest(before.blocks, after.blocks):
        if old is None or old is new:
            continue
        kept = set() if new is None else {id(line) for line in new.lines}
        for line in old.lines:
            if id(line) not in kept:
                yield line
