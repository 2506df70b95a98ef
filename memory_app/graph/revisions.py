"""Revisions: what a change did to the graph, and how to undo it.

A revision holds the records themselves, so undoing it restores all keys and forms too. It is undone as far as that
loses nothing that came later; otherwise GraphError says what stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memory_app.errors import GraphError
from memory_app.graph.changes import Addition, Deletion, add_observations, delete_observations
from memory_app.graph.corrections import absorbed, change_type
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine, strings_json


class EntityRevision(NamedTuple):
    """An entity before and after; None where it did not exist."""

    name: str
    before: EntityLine | None
    after: EntityLine | None


class Revision(NamedTuple):
    """From one snapshot to a later one."""

    entities: tuple[EntityRevision, ...]
    gone: tuple[RelationLine, ...]
    new: tuple[RelationLine, ...]

    def __bool__(self) -> bool:
        return bool(self.entities or self.gone or self.new)

    @property
    def size(self) -> int:
        """How many entities and relations it affects."""
        return len(self.entities) + len(self.gone) + len(self.new)


def between(before: Graph, after: Graph) -> Revision:
    """The difference of two snapshots. Looks at each entity and relation; shared parts are skipped quickly."""
    entities = [
        EntityRevision(name, was, line)
        for name, line in after.entities.items()
        if (was := before.entities.get(name)) is not line and (was is None or not _same(was, line))
    ]
    entities += [
        EntityRevision(name, line, None) for name, line in before.entities.items() if name not in after.entities
    ]
    old, new = _unshared(before, after), _unshared(after, before)
    gone = tuple(line for key, line in old.items() if key not in new)
    return Revision(tuple(entities), gone, tuple(line for key, line in new.items() if key not in old))


def take_back(graph: Graph, revision: Revision) -> Graph:
    """The graph without the change. GraphError if something later would be lost or is in the way."""
    graph = graph.removing(relations=_stored(graph, revision.new))
    for name, before, after in revision.entities:
        now = graph.entities.get(name)
        if before is None:
            graph = _without(graph, name, now, after)
        elif after is None:
            if now is not None:
                raise GraphError(f"There is an entity with name {name} again. Rename it first.")
            first, *also = (before, *before.also)
            for line in also:
                first = absorbed(first, line)
            graph = graph.adding([first.placed(first.order)])
        elif now is None:
            raise GraphError(f"{name} was deleted or renamed since. Take that back first.")
        elif _same(now, after) and len(before.also) == len(after.also):
            also_before = tuple(one.placed(was.order) for one, was in zip(before.also, now.also, strict=True))
            graph = graph.replacing([before.placed(now.order, also_before)])
        else:
            graph = _facts_back(graph, name, before, after)
    back = [line for line in revision.gone if graph.relation(line.source, line.target, line.relation_type) is None]
    return graph.adding(relations=[line.placed(line.order) for line in back])


def as_json(revision: Revision) -> bytes:
    """The revision as a JSON object: `entities` as they are now, `gone` names, new `relations`, and `goneRelations`."""
    gone = strings_json([one.name for one in revision.entities if one.after is None])
    return b"".join(
        (
            b'{"entities":' + _array(one.after for one in revision.entities if one.after is not None),
            b',"gone":' + gone,
            b',"relations":' + _array(revision.new),
            b',"goneRelations":' + _array(revision.gone) + b"}",
        )
    )


def _array(lines: Iterable[EntityLine | RelationLine]) -> bytes:
    return b"[" + b",".join([line.served() for line in lines]) + b"]"


def _without(graph: Graph, name: str, now: EntityLine | None, after: EntityLine | None) -> Graph:
    if now is None:
        return graph
    if after is None or not _same(now, after) or graph.touching.get(name):
        raise GraphError(f"{name} has got facts or relations since. Delete it if that is meant.")
    return graph.removing([now])


def _facts_back(graph: Graph, name: str, before: EntityLine, after: EntityLine) -> Graph:
    """An entity that was changed since: only its observations and type are restored, as far as they belong to this
    change.
    """
    old, new = before.observations(), after.observations()
    had, has = set(old), set(new)
    graph, _, _ = delete_observations(graph, [Deletion(name, tuple(text for text in new if text not in had))])
    graph, _ = add_observations(graph, [Addition(name, tuple(text for text in old if text not in has))])
    if before.entity_type != after.entity_type == graph.entities[name].entity_type:
        graph = change_type(graph, name, before.entity_type)
    return graph


def _same(one: EntityLine, other: EntityLine) -> bool:
    return one.raw == other.raw and [line.raw for line in one.also] == [line.raw for line in other.also]


def _stored(graph: Graph, lines: Iterable[RelationLine]) -> list[RelationLine]:
    found = graph.relations([(line.source, line.target, line.relation_type) for line in lines])
    return [line for line in found if line is not None]


def _unshared(graph: Graph, other: Graph) -> dict[tuple[str, str, str], RelationLine]:
    """The relations in blocks that the two graphs do not share, by their keys."""
    shared = {id(block) for block in other.relation_lines.blocks}
    lines = (line for block in graph.relation_lines.blocks if id(block) not in shared for line in block.lines)
    found: dict[tuple[str, str, str], RelationLine] = {}
    for line in lines:
        found.setdefault((line.source, line.target, line.relation_type), line)
    return found
