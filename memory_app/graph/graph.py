"""The knowledge graph as one immutable snapshot: entities, relations, and what else the file holds.

Owns the indexes: entities by name, relations by the names at their ends, lines in file order. A name on several lines
is one entity (first type, all observations), and a repeated relation is one relation; their lines stay separate. A
snapshot never changes: `adding`, `replacing`, `removing` and `exchanging` make the next one, which shares everything
that stayed. So a reader keeps a complete old state while a writer prepares a new one. No other module changes an index.

No I/O, no clock, no thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol, TypeVar

from memory_app.graph.blocks import Blocks
from memory_app.jsonl.lines import chunks
from memory_app.jsonl.records import EntityLine, Form, Line, RelationLine

L = TypeVar("L", EntityLine, RelationLine)


class Parts(Protocol):
    """What a file holds: kept lines at the start, records in order, kept lines at the end."""

    @property
    def head(self) -> tuple[bytes, ...]: ...
    @property
    def lines(self) -> Sequence[Line]: ...
    @property
    def tail(self) -> tuple[bytes, ...]: ...


class Batch:
    """Changes made one after the other, of which only the last graph will be kept.

    Each graph of the batch passes its indexes on to the next one, which changes them in place: a thousand changes copy
    them once. The previous graph has none from then on, so that a late reader fails instead of seeing later changes.
    """

    __slots__ = ("has_entities", "has_touching", "is_open", "steps")

    def __init__(self) -> None:
        self.is_open = True
        self.steps = 0  # graphs whose indexes were handed on
        self.has_entities = False  # whether the index is the batch's own by now, and no earlier graph's
        self.has_touching = False

    def close(self) -> None:
        """From now on the last graph is an ordinary one."""
        self.is_open = False


class Graph:
    """A snapshot. Others may read `entities` and `touching`; nobody changes them."""

    __slots__ = (
        "batch", "entities", "entity_lines", "head", "name_marks", "relation_lines", "repeats", "tail", "touching",
        "word_index",
    )  # fmt: skip

    def __init__(
        self,
        entities: dict[str, EntityLine],
        touching: dict[str, tuple[RelationLine, ...]],
        entity_lines: Blocks[EntityLine],
        relation_lines: Blocks[RelationLine],
        head: tuple[bytes, ...],
        tail: tuple[bytes, ...],
        repeats: bool,
        word_index: list[Any] | None = None,
        name_marks: list[Any] | None = None,
        batch: Batch | None = None,
    ) -> None:
        self.entities = entities  # by name: the first line
        self.touching = touching  # by name, of an entity or not: the relations at that end, in file order
        self.entity_lines = entity_lines
        self.relation_lines = relation_lines
        self.head = head
        self.tail = tail
        self.batch = batch
        self.repeats = repeats  # some entity or relation stands on more than one line
        # Of the loose search and of near names, once they were needed; shared with the snapshots made of this one, so
        # they change: see loose and near.
        self.word_index: list[Any] = [] if word_index is None else word_index
        self.name_marks: list[Any] = [] if name_marks is None else name_marks

    @classmethod
    def empty(cls) -> Graph:
        """The graph of a file that does not exist."""
        return cls({}, {}, Blocks.of([]), Blocks.of([]), (), (), False)

    @classmethod
    def of(cls, parts: Parts) -> Graph:
        """The graph that a file's parts describe, where each line of observations alone has a line of its entity."""
        lines = parts.lines
        entity_lines = _placed([line for line in lines if isinstance(line, EntityLine)])
        relation_lines = _placed([line for line in lines if isinstance(line, RelationLine)])
        entities = {line.name: line for line in entity_lines}
        repeats = len(entities) < len(entity_lines)
        if repeats:
            entities = _first_entities(entity_lines)
        relations = _first_relations(relation_lines)
        return cls(
            entities,
            _touching(relations),
            Blocks.of(entity_lines),
            Blocks.of(relation_lines),
            parts.head,
            parts.tail,
            repeats or relations is not relation_lines,
        )

    def in_batch(self, batch: Batch) -> Graph:
        """The same snapshot as the first one of a batch."""
        return Graph(
            self.entities,
            self.touching,
            self.entity_lines,
            self.relation_lines,
            self.head,
            self.tail,
            self.repeats,
            self.word_index,
            self.name_marks,
            batch,
        )

    def adding(
        self,
        entities: Iterable[EntityLine] = (),
        relations: Iterable[RelationLine] = (),
        kept: Iterable[bytes] = (),
    ) -> Graph:
        """Add new records behind the others of their kind, and lines that are no records at the end.

        No entity may have one of these names, and no such relation may exist.
        """
        return self.exchanging(
            (),
            _placed_from(entities, self.entity_lines.end),
            (),
            _placed_from(relations, self.relation_lines.end),
            kept,
        )

    def replacing(self, entities: Iterable[EntityLine]) -> Graph:
        """Replace the first lines of existing entities, at the same places. `also` of each replaces its further lines
        likewise.
        """
        return self.exchanging((), list(entities), (), ())

    def removing(self, entities: Iterable[EntityLine] = (), relations: Iterable[RelationLine] = ()) -> Graph:
        """Remove these entities and relations. They are given by their first lines; the further lines are removed with
        them.
        """
        return self.exchanging(list(entities), (), list(relations), ())

    def exchanging(
        self,
        gone_entities: Sequence[EntityLine],
        entities: Sequence[EntityLine],
        gone_relations: Sequence[RelationLine],
        relations: Sequence[RelationLine],
        kept: Iterable[bytes] = (),
    ) -> Graph:
        """Remove records and insert others at their own places: places that became free, or places at the end.

        No record may exist twice afterwards. `kept` are further lines at the end that are no records. Returns the graph
        itself if there is nothing to do. An unchanged index is shared, not copied.
        """
        tail = (*self.tail, *kept)
        if not (gone_entities or entities or gone_relations or relations) and len(tail) == len(self.tail):
            return self
        by_name, touching = self.entities, self.touching
        batch = self.batch if self.batch is not None and self.batch.is_open else None
        if batch is not None:
            batch.steps += 1
            del self.entities, self.touching
        if gone_entities or entities:
            if batch is None or not batch.has_entities:
                by_name = by_name.copy()
            for line in gone_entities:
                del by_name[line.name]
            by_name.update((line.name, line) for line in entities)
        if gone_relations or relations:
            if batch is None or not batch.has_touching:
                touching = touching.copy()
            _exchange(touching, gone_relations, relations)
        if batch is not None:
            batch.has_entities = batch.has_entities or bool(gone_entities or entities)
            batch.has_touching = batch.has_touching or bool(gone_relations or relations)
        return Graph(
            by_name,
            touching,
            _changed(self.entity_lines, gone_entities, entities),
            _changed(self.relation_lines, gone_relations, relations),
            self.head,
            tail,
            self.repeats,
            self.word_index,
            self.name_marks,
            batch,
        )

    def relation(self, source: str, target: str, relation_type: str) -> RelationLine | None:
        """The relation with these three texts. Costs as much as the smaller number of relations at its two ends."""
        at_source, at_target = self.touching.get(source, ()), self.touching.get(target, ())
        for line in at_source if len(at_source) <= len(at_target) else at_target:
            if line.same_as(source, target, relation_type):
                return line
        return None

    def relations(self, keys: Iterable[tuple[str, str, str]]) -> list[RelationLine | None]:
        """The relation for each key. An end that many keys name is searched twice at most, however many they are."""
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
        """The bytes of the file that holds this graph, in pieces."""
        return chunks(self.head, chain(self.entity_lines.joined(), self.relation_lines.joined()), self.tail)


def _exchange(
    touching: dict[str, tuple[RelationLine, ...]], gone: Iterable[RelationLine], relations: Iterable[RelationLine]
) -> None:
    """Remove some relations from the index, and insert others."""
    gone_at = {line.order for line in gone}
    new = _touching(relations)
    for line in gone:
        new.setdefault(line.source, ())
        new.setdefault(line.target, ())
    for name, lines in new.items():
        left = touching.get(name, ())
        if gone_at:
            left = tuple(line for line in left if line.order not in gone_at)
        found = (*left, *lines)
        if left and lines and left[-1].order > lines[0].order:
            found = tuple(sorted(found, key=_order))
        if found:
            touching[name] = found
        else:
            touching.pop(name, None)


def _placed(lines: list[L]) -> list[L]:
    """The lines at the places 0, 1, 2, …; new ones are changed in place: no graph has them yet."""
    for place, line in enumerate(lines):
        if line.order < 0:
            line.order = place
        elif line.order != place:
            lines[place] = line.placed(place)
    return lines


def _first_entities(lines: list[EntityLine]) -> dict[str, EntityLine]:
    """Each entity by its first line that is more than observations. It gets the further ones, in `lines` too."""
    first: dict[str, EntityLine] = {}
    repeats: dict[str, list[EntityLine]] = {}
    for line in lines:
        if line.form is Form.PART or first.setdefault(line.name, line) is not line:
            repeats.setdefault(line.name, []).append(line)
    for name, others in repeats.items():
        one = first[name].placed(first[name].order, tuple(others))
        first[name] = lines[one.order] = one
    return first


def _first_relations(lines: list[RelationLine]) -> list[RelationLine]:
    """Each relation once, by its first line, which gets the further ones; the list itself if none stands there twice.

    Hashes tell that there are none at a third of the memory, and leave no gaps between what stays.
    """
    if len({hash((line.source, line.target, line.relation_type)) for line in lines}) == len(lines):
        return lines
    first: dict[tuple[str, str, str], RelationLine] = {}
    repeats: dict[tuple[str, str, str], list[RelationLine]] = {}
    for line in lines:
        key = (line.source, line.target, line.relation_type)
        if first.setdefault(key, line) is not line:
            repeats.setdefault(key, []).append(line)
    for key, others in repeats.items():
        one = first[key].placed(first[key].order, tuple(others))
        first[key] = lines[one.order] = one
    return list(first.values())


def _placed_from(lines: Iterable[L], place: int) -> list[L]:
    """The lines at this place and the following ones, each a record of its own."""
    return [line.placed(place + number) for number, line in enumerate(lines)]


def _changed(lines: Blocks[L], gone: Iterable[L], new: Iterable[L]) -> Blocks[L]:
    """The sequence without the lines of some records, and with new lines at their places or at the end."""
    changes: dict[int, L | None] = {one.order: None for line in gone for one in _lines_of(line)}
    last: list[L] = []
    for line in new:
        for one in _lines_of(line):
            if one.order < lines.end:
                changes[one.order] = one
            else:
                last.append(one)
    return lines.changed(changes, last) if changes or last else lines


def _lines_of(line: L) -> tuple[L, ...]:
    return (line, *line.also)


def _order(line: RelationLine) -> int:
    return line.order


def _touching(relations: Iterable[RelationLine]) -> dict[str, tuple[RelationLine, ...]]:
    """The relations by the names at their ends."""
    found: dict[str, Any] = {}  # a list from the second relation on, until all are there
    several: list[str] = []
    for line in relations:
        ends = (line.source, line.target) if line.source != line.target else (line.source,)
        for name in ends:
            there = found.get(name)
            if there is None:
                found[name] = (line,)
            elif type(there) is list:
                there.append(line)
            else:
                found[name] = [*there, line]
                several.append(name)
    for name in several:
        found[name] = tuple(found[name])
    return found
