"""The three tools that read the graph, and search: which entities and relations answer a question, in file order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from memory_app.graph import loose
from memory_app.graph.blocks import SEPARATOR
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine
from memory_app.text import fold

# Beyond this part of all entities it costs less to look at every relation than to gather those of each entity.
_MANY: Final = 0.25
_LOOKED_AT: Final = 4  # blocks that tell how common a word is
_RARE: Final = 2  # times in a block of 256 lines; more often, and looking for the whole query first costs less


class Found(NamedTuple):
    """An answer: entities, the relations among or at them, and (open_nodes) relations that lead outside."""

    entities: list[EntityLine]
    relations: list[RelationLine]
    external: list[RelationLine] = []  # noqa: RUF012 (never changed)


def everything(graph: Graph) -> Found:
    """The whole graph."""
    return Found(list(graph.first_entities()), list(graph.first_relations()))


def open_nodes(graph: Graph, names: Sequence[str]) -> Found:
    """The named entities, the relations between them, and those that join one of them to any other name."""
    opened = reached(graph, names, 0)
    return Found(opened, *joined(graph, opened, opened))


def reached(graph: Graph, names: Iterable[str], depth: int) -> list[EntityLine]:
    """The named entities in file order, then those one relation away from them, and so on up to `depth`."""
    found = {name: line for name in names if (line := graph.entities.get(name)) is not None}
    opened = _in_order(found.values())
    last = opened
    for _ in range(depth):
        next_ones: dict[str, EntityLine] = {}
        for relation in touching(graph, last):
            for name in (relation.source, relation.target):
                if name not in found and (line := graph.entities.get(name)) is not None:
                    found[name] = next_ones[name] = line
        last = list(next_ones.values())
        opened = opened + last
    return opened


def joined(
    graph: Graph, chosen: Iterable[EntityLine], opened: Iterable[EntityLine]
) -> tuple[list[RelationLine], list[RelationLine]]:
    """The relations at the chosen entities: those among all opened ones, and those that lead outside."""
    names = {line.name for line in opened}
    between: list[RelationLine] = []
    external: list[RelationLine] = []
    for relation in touching(graph, chosen):
        (between if relation.source in names and relation.target in names else external).append(relation)
    return between, external


class Matches(NamedTuple):
    """What a search found, in file order, or best first if `loose`, which means that no entity holds all of the
    words.
    """

    lines: list[EntityLine]
    loose: bool = False


def search(graph: Graph, query: str) -> Matches:
    """The entities that hold the whole folded query, else those that hold all of its words, else what comes near."""
    found = strict_search(graph, query)
    if found:
        return Matches(found)
    near = loose.search(graph, query)
    return Matches(near, bool(near))


def strict_search(graph: Graph, query: str) -> list[EntityLine]:
    """The entities that hold the whole folded query, else those that hold all of its words."""
    if not query.strip():
        return list(graph.first_entities())
    folded = fold(query)
    if not folded.strip():
        return [line for line in graph.first_entities() if any(query in text for text in _texts(line))]
    words, has_rare = _rarest_first(graph, dict.fromkeys(folded.split()))
    if has_rare and not graph.repeats and SEPARATOR not in folded:
        # What holds the whole holds its words: one pass over the texts answers both.
        found = _holding_all(graph, words)
        return [line for line in found if folded in _folded(line)] or found
    found = _holding(graph, folded)
    if not found and folded.strip() == "*":
        return list(graph.first_entities())
    if not found and words != [folded]:
        found = _holding_all(graph, words)
    return found


def _rarest_first(graph: Graph, words: Iterable[str]) -> tuple[list[str], bool]:
    """The words in the order in which they are best looked for, and whether the first of several stands in few lines.

    As far as a few blocks tell; of equals the longest comes first.
    """
    ordered = sorted(words, key=len, reverse=True)
    if len(ordered) == 1:
        return ordered, False
    blocks = graph.entity_lines.blocks
    texts = [block.text(_folded) for block in blocks[:: max(1, len(blocks) // _LOOKED_AT)]]
    counts = {word: sum(text.count(word) for text in texts) for word in ordered}
    ordered.sort(key=counts.__getitem__)
    return ordered, counts[ordered[0]] <= _RARE * len(texts)


def touching(graph: Graph, entities: Iterable[EntityLine]) -> list[RelationLine]:
    """The relations with an end at one of these entities, in file order."""
    chosen = list(entities)
    if len(chosen) > _MANY * len(graph.entities) and len(chosen) > 1:
        names = {line.name for line in chosen}
        return [line for line in graph.first_relations() if line.source in names or line.target in names]
    found = {relation.order: relation for line in chosen for relation in graph.touching.get(line.name, ())}
    return [found[order] for order in sorted(found)]


def _in_order(lines: Iterable[EntityLine]) -> list[EntityLine]:
    return sorted(lines, key=lambda line: line.order)


def _holding(graph: Graph, folded: str) -> list[EntityLine]:
    """The entities with a text that holds the folded query, by their first lines."""
    if SEPARATOR in folded:
        lines = [line for line in graph.entity_lines if any(folded in fold(text) for text in _own_texts(line))]
    else:
        lines = [line for block in graph.entity_lines.blocks for line in block.lines_with(folded, _folded)]
    if not graph.repeats:
        return lines
    found: dict[int, EntityLine] = {}
    for line in lines:
        first = graph.entities[line.name]
        # A further line adds its observations alone: the type that it states is not the entity's.
        if first is line or any(folded in fold(text) for text in line.own_observations()):
            found[first.order] = first
    return _in_order(found.values())


def _holding_all(graph: Graph, words: list[str]) -> list[EntityLine]:
    """The entities that hold each of the words, anywhere, by their first lines."""
    if graph.repeats or any(SEPARATOR in word for word in words):
        found = _holding(graph, words[0])
        for word in words[1:]:
            found = [line for line in found if any(word in fold(text) for text in _texts(line))]
        return found
    return [line for block in graph.entity_lines.blocks for line in block.lines_with_all(words, _folded)]


def _folded(line: EntityLine) -> str:
    return fold(SEPARATOR.join(_own_texts(line)))


def _texts(line: EntityLine) -> list[str]:
    return [line.name, line.entity_type, *line.observations()]


def _own_texts(line: EntityLine) -> list[str]:
    return [line.name, line.entity_type, *line.own_observations()]
