"""The knowledge graph as one immutable snapshot: entities, relations, and what a file holds beside them.

Owns the indexes: entities by name, relations by the names they touch, lines in file order. A name that stands on
several lines is one entity (first type, all observations), a relation that does is one relation; their lines stay
apart. A snapshot is never changed: `derived` makes the next one and shares all that stayed, so a reader keeps a whole
old state while a writer prepares a new one.

No I/O, no clock, no thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeVar

from memory_app.graph.blocks import Blocks
from memory_app.jsonl import document
from memory_app.jsonl.records import EntityLine, RelationLine

L = TypeVar("L", EntityLine, RelationLine)


class Graph:
    """A snapshot. `entities` and `touching` are read by others and changed by nobody."""

    __slots__ = ("entities", "entity_lines", "head", "relation_lines", "repeats", "tail", "touching")

    def __init__(
        self,
        entities: dict[str, EntityLine],
        touching: dict[str, tuple[RelationLine, ...]],
        entity_lines: Blocks[EntityLine],
        relation_lines: Blocks[RelationLine],
        head: tuple[bytes, ...],
        tail: tuple[bytes, ...],
        repeats: bool,
    ) -> None:
        self.entities = entities  # by name: the first line
        self.touching = touching  # by name, of an entity or not: the relations at that end, in file order
        self.entity_lines = entity_lines
        self.relation_lines = relation_lines
        self.head = head
        self.tail = tail
        self.repeats = repeats  # some entity or relation stands on more than one line

    @classmethod
    def empty(cls) -> Graph:
        """The graph of a file that does not exist."""
        return cls.of(document.Contents((), (), (), False, ()))

    @classmethod
    def of(cls, contents: document.Contents) -> Graph:
        """The graph that a file's contents describe."""
        words: dict[str, str] = {}  # one object for each text that stands in many lines
        entity_lines: list[EntityLine] = []
        relation_lines: list[RelationLine] = []
        entities: dict[str, EntityLine] = {}
        relations: dict[tuple[str, str, str], RelationLine] = {}
        entity_repeats: dict[str, list[EntityLine]] = {}
        relation_repeats: dict[tuple[str, str, str], list[RelationLine]] = {}
        for line in contents.lines:
            if isinstance(line, EntityLine):
                line = _placed(line, len(entity_lines))
                line.entity_type = words.setdefault(line.entity_type, line.entity_type)
                entity_lines.append(line)
                if entities.setdefault(line.name, line) is not line:
                    entity_repeats.setdefault(line.name, []).append(line)
            else:
                line = _placed(line, len(relation_lines))
                line.source = words.setdefault(line.source, line.source)
                line.target = words.setdefault(line.target, line.target)
                line.relation_type = words.setdefault(line.relation_type, line.relation_type)
                relation_lines.append(line)
                key = (line.source, line.target, line.relation_type)
                if relations.setdefault(key, line) is not line:
                    relation_repeats.setdefault(key, []).append(line)
        for name, also in entity_repeats.items():
            first = entities[name].placed(entities[name].order, tuple(also))
            entities[name] = entity_lines[first.order] = first
        for key, others in relation_repeats.items():
            one = relations[key].placed(relations[key].order, tuple(others))
            relations[key] = relation_lines[one.order] = one
        return cls(
            entities,
            _touching(relations.values()),
            Blocks.of(entity_lines),
            Blocks.of(relation_lines),
            contents.head,
            contents.tail,
            bool(entity_repeats or relation_repeats),
        )

    def derived(
        self,
        *,
        entities: dict[str, EntityLine] | None = None,
        touching: dict[str, tuple[RelationLine, ...]] | None = None,
        entity_changes: Mapping[int, EntityLine | None] | None = None,
        new_entities: Iterable[EntityLine] = (),
        relation_changes: Mapping[int, RelationLine | None] | None = None,
        new_relations: Iterable[RelationLine] = (),
    ) -> Graph:
        """The next snapshot: indexes that are given replace the old ones, lines change at their places or come last."""
        return Graph(
            self.entities if entities is None else entities,
            self.touching if touching is None else touching,
            self.entity_lines.changed(entity_changes or {}, new_entities),
            self.relation_lines.changed(relation_changes or {}, new_relations),
            self.head,
            self.tail,
            self.repeats,
        )

    def relation(self, source: str, target: str, relation_type: str) -> RelationLine | None:
        """The relation of these three texts. Costs the smaller number of relations at its two ends."""
        at_source, at_target = self.touching.get(source, ()), self.touching.get(target, ())
        for line in at_source if len(at_source) <= len(at_target) else at_target:
            if line.same_as(source, target, relation_type):
                return line
        return None

    def relations(self, keys: Iterable[tuple[str, str, str]]) -> list[RelationLine | None]:
        """The relation of each key. An end that many keys name is gone over twice, however many they are."""
        found: list[RelationLine | None] = []
        looked_at: set[str] = set()
        indexes: dict[str, dict[tuple[str, str, str], RelationLine]] = {}
        for source, target, relation_type in keys:
            fewer = min(source, target, key=lambda name: len(self.touching.get(name, ())))
            if fewer not in looked_at:
                looked_at.add(fewer)
                found.append(self.relation(source, target, relation_type))
                continue
            if fewer not in indexes:
                lines = self.touching.get(fewer, ())
                indexes[fewer] = {(line.source, line.target, line.relation_type): line for line in lines}
            found.append(indexes[fewer].get((source, target, relation_type)))
        return found

    def first_entities(self) -> Iterator[EntityLine]:
        """Each entity once, by its first line, in file order."""
        if not self.repeats:
            return iter(self.entity_lines)
        return (line for line in self.entity_lines if self.entities[line.name] is line)

    def first_relations(self) -> Iterator[RelationLine]:
        """Each relation once, by its first line, in file order."""
        if not self.repeats:
            return iter(self.relation_lines)
        again = {id(other) for line in self.relation_lines for other in line.also}
        return (line for line in self.relation_lines if id(line) not in again)

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the file that holds this graph, piece by piece."""
        return document.chunks(self.head, chain(self.entity_lines.joined(), self.relation_lines.joined()), self.tail)


def _placed(line: L, order: int) -> L:
    """The line at its place; one that was just read is no other graph's yet, and need not be copied."""
    if line.order < 0:
        line.order = order
        return line
    return line.placed(order)


def _touching(relations: Iterable[RelationLine]) -> dict[str, tuple[RelationLine, ...]]:
    found: dict[str, list[RelationLine]] = {}
    for line in relations:
        found.setdefault(line.source, []).append(line)
        if line.target != line.source:
            found.setdefault(line.target, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}
