"""Count the contents of the memory: entities by type, relations by type, the most connected entities, and the size of
an answer with the whole memory.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import Any, Final

from memory_app.commands.memory import open_store, require_memory
from memory_app.commands.screen.terminal import Terminal, columns, cut, output, padded, safe, width, write_json
from memory_app.graph.graph import Graph
from memory_app.text import counted

EXAMPLES: Final = (
    ("stats", "count what is in the memory"),
    ("stats --json", "print all numbers for a program"),
)

_TOP: Final = 8
_BAR: Final = 24
_SHORTEST_BAR: Final = 4  # columns, where the terminal is narrow and the names are long
_CHARACTERS_A_TOKEN: Final = 4
"""What English text comes to, roughly; other languages need more tokens."""

_REFUSED: Final = 25_000
"""Tokens of an answer beyond which common clients refuse it."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object, with every type")


def run(asked: argparse.Namespace) -> int:
    location = require_memory(asked)
    with open_store(location.path) as store:
        numbers = _count(store.graph())
    numbers = {"file": location.path, "bytes": os.stat(location.path).st_size, **numbers}
    if asked.json:
        write_json(numbers)
    else:
        _show(output(), numbers)
    return 0


def _count(graph: Graph) -> dict[str, Any]:
    observations: list[int] = []
    size = longest = 0
    types: Counter[str] = Counter()
    for line in graph.first_entities():
        texts = line.observations()
        types[line.entity_type] += 1
        observations.append(len(texts))
        longest = max(longest, max(map(len, texts), default=0))
        size += len(line.name) + len(line.entity_type) + sum(map(len, texts)) + 47 + 3 * len(texts)
    relation_types: Counter[str] = Counter()
    for relation in graph.first_relations():
        relation_types[relation.relation_type] += 1
        size += len(relation.source) + len(relation.target) + len(relation.relation_type) + 37
    degrees = Counter({name: len(graph.touching.get(name, ())) for name in graph.entities})
    return {
        "entities": len(graph.entities),
        "observations": sum(observations),
        "relations": sum(relation_types.values()),
        "observationsPerEntity": round(sum(observations) / len(observations), 1) if observations else 0,
        "longestObservation": longest,
        "entityTypes": dict(types.most_common()),
        "relationTypes": dict(relation_types.most_common()),
        "mostConnected": {name: count for name, count in degrees.most_common(_TOP) if count},
        "unconnected": sum(not count for count in degrees.values()),
        "withoutObservations": observations.count(0),
        "relationsToMissingEntities": sum(
            one.source not in graph.entities or one.target not in graph.entities for one in graph.first_relations()
        ),
        "tokensOfAll": size // _CHARACTERS_A_TOKEN,
    }


def _show(out: Terminal, numbers: dict[str, Any]) -> None:
    out.line(out.styled(safe(numbers["file"]), "bold") + f"  {counted(numbers['bytes'], 'byte')}")
    out.line(
        f"{counted(numbers['entities'], 'entity')}, {counted(numbers['observations'], 'observation')} "
        f"({numbers['observationsPerEntity']} each), {counted(numbers['relations'], 'relation')}"
    )
    _bars(out, "Entities by type", numbers["entityTypes"])
    _bars(out, "Relations by type", numbers["relationTypes"])
    _bars(out, "Most connected", numbers["mostConnected"])
    out.line()
    for number, noun, what in (
        (numbers["unconnected"], "entity", "without a relation"),
        (numbers["withoutObservations"], "entity", "without an observation"),
        (numbers["relationsToMissingEntities"], "relation", "to missing entities (see check)"),
    ):
        if number:
            out.line(f"{counted(number, noun)} {what}")
    tokens = numbers["tokensOfAll"]
    warning = ": more than many clients accept; use search_nodes, or limit" if tokens > _REFUSED else ""
    out.line(f"The whole memory as one answer is about {tokens:,} tokens{warning}")


def _bars(out: Terminal, title: str, counts: dict[str, int]) -> None:
    if not counts:
        return
    out.line()
    more = f"  (the first {_TOP} of {len(counts):,})" if len(counts) > _TOP else ""
    out.line(out.styled(title, "bold") + out.styled(more, "dim"))
    shown = [(safe(name) or "(none)", count) for name, count in list(counts.items())[:_TOP]]
    widest = min(max(columns(name) for name, _ in shown), 40, max(width() - 12 - _SHORTEST_BAR, 8))
    longest = min(_BAR, max(width() - 12 - widest, _SHORTEST_BAR))
    largest = max(count for _, count in shown)
    for name, count in shown:
        bar = "#" * max(round(count / largest * longest), 1)
        out.line(f"  {padded(_cut(name, widest), widest)} {count:>8,} {out.styled(bar, 'cyan')}")


def _cut(text: str, size: int) -> str:
    return text if columns(text) <= size else next(cut(text, size - 1)) + "…"
