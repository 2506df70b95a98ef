"""Show an entity: its type, all its observations, and every entity that it is connected to. Case and accents do not
matter if only one name matches. If one of several names is missing, the others are still shown.
"""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.memory import open_store, require_memory
from memory_app.commands.screen import portrait
from memory_app.commands.screen.terminal import output, say, write_json
from memory_app.commands.upkeep import past, states
from memory_app.commands.upkeep.correction import stored_text
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import EntityLine
from memory_app.text import fold, shown

EXAMPLES: Final = (
    ("show Ann", "show the facts about Ann"),
    ('show "Ann Smith" Acme', "show two entities; put a name with spaces in quotes"),
    ("show Ann --json", "print it for a program"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", type=stored_text, metavar="NAME", help="an entity's name")
    parser.add_argument("--json", action="store_true", help="print a JSON array with one object for each name")


def run(asked: argparse.Namespace) -> int:
    path = require_memory(asked).path
    with open_store(path) as store:
        graph = store.graph()
    lines, status = [], 0
    for name in asked.names:
        line = _find(graph, name)
        if isinstance(line, str):
            gone = past.last_seen(path, name)
            was = "" if gone is None else f" It existed until {states.time_of(gone)}: undo --list, or history NAME."
            say(f"memory-server: {line}{was}")
            status = 1
        else:
            lines.append(line)
    if asked.json:
        write_json([portrait.as_json(graph, line) for line in lines])
        return status
    out = output()
    for number, line in enumerate(lines):
        if number:
            out.line()
        portrait.show(out, graph, line)
    return status


def _find(graph: Graph, name: str) -> EntityLine | str:
    """The entity with this name, or the only one whose name differs only in case and accents; else a message for the
    person.
    """
    line = graph.entities.get(name)
    if line is not None:
        return line
    wanted = fold(name)
    same = [other for other in graph.entities if fold(other) == wanted]
    if len(same) == 1:
        return graph.entities[same[0]]
    near = same or [other for other in graph.entities if wanted in fold(other)] or _similar(wanted, graph)
    hint = f" Did you mean {' or '.join(shown(other) for other in near[:3])}?" if near else " Try: search."
    return f"no entity is named {shown(name)}.{hint}"


def _similar(wanted: str, graph: Graph) -> list[str]:
    from difflib import get_close_matches

    folded = {fold(name): name for name in graph.entities}
    return [folded[match] for match in get_close_matches(wanted, folded, 3)]
