"""Reloading: the next snapshot of a file that another program changed, at the cost of what changed.

Another process's save leaves nearly all lines as they were. The blocks before the first and after the last difference
are compared as a whole; only the lines between them are examined, and only new lines are parsed. For other differences
(lines of both kinds moved, names on several lines, unknown lines, records of other shapes) the whole file is read
again; known lines are still not parsed.

No I/O.
"""

from __future__ import annotations

from typing import TypeVar

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.lines import read_line
from memory_app.jsonl.records import EntityLine, Form, Line, RelationLine

L = TypeVar("L", EntityLine, RelationLine)


class _NotPatchable(Exception):
    """The difference cannot be patched in: the whole file must be read."""


def reload(old: Graph, data: bytes) -> tuple[Graph, document.Contents | None]:
    """The graph that the bytes hold; `old` itself if they hold the same. Contents only if the whole file was read.

    NotAMemory if the file has become something else.
    """
    try:
        return _patched(old, data), None
    except _NotPatchable:
        lines: dict[bytes, Line] = {line.raw: line for line in old.entity_lines}
        lines.update((line.raw, line) for line in old.relation_lines)
        contents = document.read(data, lines)
        graph = Graph.of(contents)
        # Whether only the white space around the records is another.
        kept = (graph.head, graph.tail) == (old.head, old.tail)
        same = not contents.foreign and kept and _raws(graph) == _raws(old)
        return old if same else graph, contents


def _raws(graph: Graph) -> list[bytes]:
    """The lines of the file that holds the graph."""
    entities, relations = graph.entity_lines, graph.relation_lines
    return [*graph.head, *(line.raw for line in entities), *(line.raw for line in relations), *graph.tail]


def has_orphans(graph: Graph) -> bool:
    """Whether a kept line may be an observation that becomes a record once its entity exists."""
    return any(b'"observation"' in raw for raw in (*graph.head, *graph.tail))


def _is_bare(graph: Graph) -> bool:
    """Whether a graph has nothing but unknown lines. The file's own marker then shows that it is a memory and separates
    them.
    """
    return bool(graph.head or graph.tail) and not graph.entity_lines.size + graph.relation_lines.size


def _patched(old: Graph, data: bytes) -> Graph:
    if _is_bare(old) or has_orphans(old):
        raise _NotPatchable
    if data and not data.endswith(b"\n"):
        data += b"\n"
    first, last, middle = _difference(old, data)
    if first == last and not middle:
        return old
    if old.repeats:
        raise _NotPatchable
    count = len(old.entity_lines.blocks)
    entities = old.entity_lines.lines(first, last)
    relations = old.relation_lines.lines(max(first - count, 0), max(last - count, 0))
    known = [line.raw for line in entities] + [line.raw for line in relations]
    raws = middle.split(b"\n")[:-1]
    start = _common(known, raws)
    end = _common_end(known, raws, min(len(known), len(raws)) - start)
    old_end = len(known) - end
    split = len(entities)
    reaches_relations = old_end >= split and not any(block.lines for block in old.entity_lines.blocks[last:])
    reaches_end = not end and not any(block.lines for block in old.relation_lines.blocks[max(last - count, 0) :])
    entities = entities[start:old_end]
    relations = relations[max(start - split, 0) : max(old_end - split, 0)]
    parsed: dict[bytes, Line] = {line.raw: line for line in entities}
    parsed.update((line.raw, line) for line in relations)
    fresh = [parsed.get(raw) or _only_record(raw) for raw in raws[start : len(raws) - end]]
    return _put(
        old,
        _placed(
            entities,
            [line for line in fresh if isinstance(line, EntityLine)],
            reaches_relations,
            old.entity_lines.end,
        ),
        _placed(
            relations,
            [line for line in fresh if isinstance(line, RelationLine)],
            reaches_end,
            old.relation_lines.end,
        ),
        entities,
        relations,
    )


def _difference(old: Graph, data: bytes) -> tuple[int, int, bytes]:
    """Where the bytes differ from the old file: in which of its blocks (entities first), from where to where, and the
    new lines there.
    """
    head, tail = (b"".join(line + b"\n" for line in kept) for kept in (old.head, old.tail))
    blocks = [*old.entity_lines.joined(), *old.relation_lines.joined()]
    start, end = len(head), len(data) - len(tail)
    if start > end or not (data.startswith(head) and data.endswith(tail) and _is_line_start(data, end)):
        raise _NotPatchable
    first, last = 0, len(blocks)
    while first < last and start + len(blocks[first]) <= end and data.startswith(blocks[first], start):
        start += len(blocks[first])
        first += 1
    while first < last:
        place = end - len(blocks[last - 1])
        if place < start or not (data.startswith(blocks[last - 1], place) and _is_line_start(data, place)):
            break
        last, end = last - 1, place
    return first, last, data[start:end]


def _is_line_start(data: bytes, place: int) -> bool:
    return place == 0 or data[place - 1 : place] == b"\n"


def _only_record(raw: bytes) -> Line:
    found = read_line(raw)
    if len(found) != 1 or isinstance(found[0], bytes) or found[0].raw != raw:
        raise _NotPatchable
    if isinstance(found[0], EntityLine) and found[0].form is Form.PART:
        raise _NotPatchable
    return found[0]


def _placed(old: list[L], new: list[L], reaches_end: bool, end: int) -> list[L]:
    """The new lines at the places of the old ones, in order; further ones at the end."""
    places = [line.order for line in old]
    if len(new) > len(places):
        if not reaches_end:
            raise _NotPatchable
        places += range(end, end + len(new) - len(places))
    return [line.placed(place) for line, place in zip(new, places, strict=False)]


def _put(
    old: Graph,
    new_entities: list[EntityLine],
    new_relations: list[RelationLine],
    entities: list[EntityLine],
    relations: list[RelationLine],
) -> Graph:
    gone_names = {line.name for line in entities}
    names = {line.name for line in new_entities}
    if len(names) != len(new_entities) or any(name in old.entities for name in names - gone_names):
        raise _NotPatchable
    gone = {line.order for line in relations}
    keys = {(line.source, line.target, line.relation_type) for line in new_relations}
    there = [line for line in old.relations(keys) if line is not None and line.order not in gone]
    if len(keys) != len(new_relations) or there:
        raise _NotPatchable
    graph = old.exchanging(entities, new_entities, relations, new_relations)
    if _is_bare(graph):
        raise _NotPatchable
    return graph


def _common(one: list[bytes], other: list[bytes]) -> int:
    """How many lines are equal from the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: list[bytes], other: list[bytes], most: int) -> int:
    """How many lines are equal at the end, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
