"""An entity as text for a person: name, type, observations, relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_app.commands.screen.terminal import Terminal, paragraph, safe
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine, RelationLine
from memory_app.text import counted, fold


def show(out: Terminal, graph: Graph, line: EntityLine, *, words: Sequence[str] = (), most: int | None = None) -> None:
    """Print an entity. `words`, folded, are the words of a search: they are highlighted, and items that contain them
    come first. At most `most` observations and `most` relations are shown.
    """
    out.line(f"{marked(out, safe(line.name), words, 'bold')}  {out.styled(_in_brackets(line.entity_type), 'cyan')}")
    texts = line.observations()
    if words:
        texts = sorted(texts, key=lambda text: not any(word in fold(text) for word in words))
    for text in texts[:most]:
        out.line(marked(out, paragraph(text, "    ", "  - "), words))
    _more(out, len(texts), most, "observation")
    relations = graph.touching.get(line.name, ())
    for relation in relations[:most]:
        out.line("  " + relation_text(out, graph, line.name, relation))
    _more(out, len(relations), most, "relation")


def relation_text(out: Terminal, graph: Graph, name: str, relation: RelationLine) -> str:
    """A relation as seen from the entity `name`."""
    outward = relation.source == name
    other = relation.target if outward else relation.source
    neighbour = graph.entities.get(other)
    kind = "(missing)" if neighbour is None else _in_brackets(neighbour.entity_type)
    arrow = f"{out.styled(safe(relation.relation_type) or '-', 'yellow')} →"
    text = (
        f"{arrow} {safe(other)}" if outward else f"← {safe(other)} {out.styled(safe(relation.relation_type), 'yellow')}"
    )
    return f"{text}  {out.styled(kind, 'dim')}" if other != name else f"{arrow} itself"


def as_json(graph: Graph, line: EntityLine) -> dict[str, Any]:
    """An entity with its relations and its neighbours."""
    relations = graph.touching.get(line.name, ())
    names = dict.fromkeys(other for one in relations for other in (one.source, one.target) if other != line.name)
    neighbours = [graph.entities[name] for name in names if name in graph.entities]
    return {
        "name": line.name,
        "entityType": line.entity_type,
        "observations": line.observations(),
        "relations": [{"from": one.source, "to": one.target, "relationType": one.relation_type} for one in relations],
        "neighbours": [{"name": one.name, "entityType": one.entity_type} for one in neighbours],
        "missing": [name for name in names if name not in graph.entities],
    }


def marked(out: Terminal, text: str, words: Sequence[str], *styles: str) -> str:
    """The text with every occurrence of the folded words highlighted."""
    if not out.interactive or not words:
        return out.styled(text, *styles)
    folded, places = _folded_with_places(text)
    hits = [False] * len(text)
    for word in words:
        start = folded.find(word)
        while start >= 0:
            for place in places[start : start + len(word)]:
                hits[place] = True
            start = folded.find(word, start + 1)
    pieces, start = [], 0
    for end in range(1, len(text) + 1):
        if end == len(text) or hits[end] != hits[start]:
            pieces.append(out.styled(text[start:end], *(("bold", "green") if hits[start] else styles)))
            start = end
    return "".join(pieces)


def _folded_with_places(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the position that it comes from."""
    folded = [(piece, place) for place, character in enumerate(text) for piece in fold(character)]
    return "".join(piece for piece, _ in folded), [place for _, place in folded]


def _in_brackets(entity_type: str) -> str:
    return f"({safe(entity_type)})" if entity_type.strip() else ""


def _more(out: Terminal, total: int, most: int | None, noun: str) -> None:
    if most is not None and total > most:
        out.line(out.styled(f"    and {counted(total - most, f'more {noun}')}", "dim"))
