"""The next snapshot of a file that somebody else changed, at the cost of what changed.

Another process's save leaves all lines but a few as they were. The lines before the first and after the last difference
are taken over unseen; only what lies between is looked at, and only lines that are new are parsed. Where the difference
is of another kind (lines of both sorts moved, names on several lines, unknown lines, records of other shapes) the whole
file is read again, lines that were known without being parsed.

No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from memory_app import shapes
from memory_app.graph import Graph
from memory_app.jsonl import read_line
from memory_app.records import EntityLine, Line, RelationLine

L = TypeVar("L", EntityLine, RelationLine)


class _Elsewise(Exception):
    """The difference is not one that can be put in place."""


def reload(old: Graph, data: bytes) -> tuple[Graph, shapes.Contents | None]:
    """The graph that the bytes hold; `old` itself if they hold the same. Contents only where the whole file was read.

    NotAMemory where the file has become something else.
    """
    raws = data.split(b"\n")
    if not raws[-1]:
        raws.pop()
    known = _raws(old)
    if raws == known and not _is_bare(old):
        return old, None
    try:
        return _patched(old, known, raws), None
    except _Elsewise:
        lines: dict[bytes, Line] = {line.raw: line for line in old.entity_lines}
        lines.update((line.raw, line) for line in old.relation_lines)
        contents = shapes.read(data, lines)
        graph = Graph.of(contents)
        # Whether only the white space around the records is another.
        same = not contents.foreign and _raws(graph) == known and graph.head == old.head
        return old if same else graph, contents


def _raws(graph: Graph) -> list[bytes]:
    """The lines of the file that holds the graph."""
    entities, relations = graph.entity_lines, graph.relation_lines
    return [*graph.head, *(line.raw for line in entities), *(line.raw for line in relations), *graph.tail]


def _is_bare(graph: Graph) -> bool:
    """Whether a graph is unknown lines alone: the file's own marker tells that it is a memory and parts them."""
    return bool(graph.head or graph.tail) and not graph.entity_lines.size + graph.relation_lines.size


def _patched(old: Graph, known: list[bytes], raws: list[bytes]) -> Graph:
    if old.repeats or _is_bare(old):
        raise _Elsewise
    start = _common(known, raws)
    end = _common_end(known, raws, min(len(known), len(raws)) - start)
    first_entity = len(old.head)
    first_relation = first_entity + old.entity_lines.size
    last = first_relation + old.relation_lines.size
    old_end = len(known) - end
    if start < first_entity or old_end > last:
        raise _Elsewise
    entities = list(old.entity_lines)[max(start - first_entity, 0) : max(old_end - first_entity, 0)]
    relations = list(old.relation_lines)[max(start - first_relation, 0) : max(old_end - first_relation, 0)]
    parsed: dict[bytes, Line] = {line.raw: line for line in entities}
    parsed.update((line.raw, line) for line in relations)
    fresh = [parsed.get(raw) or _only_record(raw) for raw in raws[start : len(raws) - end]]
    return _put(
        old,
        _placed(
            entities,
            [line for line in fresh if isinstance(line, EntityLine)],
            old_end >= first_relation,
            old.entity_lines.end,
        ),
        _placed(
            relations,
            [line for line in fresh if isinstance(line, RelationLine)],
            old_end == last,
            old.relation_lines.end,
        ),
        entities,
        relations,
    )


def _only_record(raw: bytes) -> Line:
    found = read_line(raw)
    if len(found) != 1 or isinstance(found[0], bytes) or found[0].raw != raw:
        raise _Elsewise
    return found[0]


def _placed(old: list[L], new: list[L], reaches_end: bool, end: int) -> list[L]:
    """The new lines at the old lines' places, in order, and behind all others where there are more of them."""
    places = [line.order for line in old]
    if len(new) > len(places):
        if not reaches_end:
            raise _Elsewise
        places += range(end, end + len(new) - len(places))
    return [line.placed(place) for line, place in zip(new, places, strict=False)]


def _put(
    old: Graph,
    new_entities: list[EntityLine],
    new_relations: list[RelationLine],
    entities: list[EntityLine],
    relations: list[RelationLine],
) -> Graph:
    by_name = old.entities.copy()
    for line in entities:
        del by_name[line.name]
    for line in new_entities:
        if by_name.setdefault(line.name, line) is not line:
            raise _Elsewise
    gone = {line.order for line in relations}
    at: dict[str, list[RelationLine]] = {}
    for relation in (*relations, *new_relations):
        for name in (relation.source, relation.target):
            if name not in at:
                at[name] = [line for line in old.touching.get(name, ()) if line.order not in gone]
    keys = {(line.source, line.target, line.relation_type) for line in new_relations}
    if len(keys) != len(new_relations) or any(
        (line.source, line.target, line.relation_type) in keys for lines in at.values() for line in lines
    ):
        raise _Elsewise
    for relation in new_relations:
        for name in {relation.source, relation.target}:
            at[name].append(relation)
    touching = old.touching.copy()
    for name, lines in at.items():
        if lines:
            touching[name] = tuple(sorted(lines, key=lambda line: line.order))
        else:
            touching.pop(name, None)
    graph = old.derived(
        entities=by_name,
        touching=touching,
        entity_changes=_changes(entities, new_entities, old.entity_lines.end),
        new_entities=[line for line in new_entities if line.order >= old.entity_lines.end],
        relation_changes=_changes(relations, new_relations, old.relation_lines.end),
        new_relations=[line for line in new_relations if line.order >= old.relation_lines.end],
    )
    if _is_bare(graph):
        raise _Elsewise
    return graph


def _changes(old: Iterable[L], new: Iterable[L], end: int) -> dict[int, L | None]:
    changes: dict[int, L | None] = {line.order: None for line in old}
    changes.update((line.order, line) for line in new if line.order < end)
    return changes


def _common(one: list[bytes], other: list[bytes]) -> int:
    """How many lines are the same from the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: list[bytes], other: list[bytes], most: int) -> int:
    """How many lines are the same at the end, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
