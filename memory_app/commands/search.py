"""Find entities by words in their name, type or observations, as the search_nodes tool does. Case, accents and the
width of letters do not matter. If nothing contains the words exactly as given, entities that contain all of them
anywhere are found, else similar ones.
"""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.memory import graph_of
from memory_app.commands.screen import portrait
from memory_app.commands.screen.terminal import output, say, write_json
from memory_app.commands.upkeep.correction import stored_text
from memory_app.errors import UsageError
from memory_app.graph import queries, relevance
from memory_app.text import counted, fold
from memory_app.tools.arguments import LONGEST_QUERY

EXAMPLES: Final = (
    ("search green tea", "find who likes green tea"),
    ("search lisbon --limit 5", "show the first five only"),
    ('search "*" --type company', "list all companies"),
    ("search cafe --json", "print the result for a program"),
)

_MOST: Final = 5
"""Observations and relations of one entity that are shown; `show` has all."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", type=stored_text, metavar="WORD", help="what to look for")
    parser.add_argument(
        "--limit", type=_number, default=20, metavar="N", help="entities to show (default 20, 0 for all)"
    )
    parser.add_argument("--type", type=stored_text, metavar="TYPE", help="only entities of this type")
    parser.add_argument("--json", action="store_true", help="print the data of search_nodes as one JSON object")


def run(asked: argparse.Namespace) -> int:
    query = " ".join(asked.words)
    if len(query) > LONGEST_QUERY:
        raise UsageError(f"A search takes at most {LONGEST_QUERY} characters; this has {len(query)}. Use a few words.")
    graph = graph_of(asked)
    found, loose = queries.search(graph, query)
    if not loose:
        found = relevance.ranked(found, query)
    if asked.type is not None:
        found = [line for line in found if fold(line.entity_type) == fold(asked.type)]
    shown = found[: asked.limit] if asked.limit else found
    if asked.json:
        relations = queries.touching(graph, shown)
        entities = [
            {"name": one.name, "entityType": one.entity_type, "observations": one.observations()} for one in shown
        ]
        ends = [{"from": one.source, "to": one.target, "relationType": one.relation_type} for one in relations]
        answer = {"entities": entities, "relations": ends, "total": len(found)}
        write_json({**answer, "loose": True} if loose else answer)
        return 0 if found else 1
    if not found:
        say("Nothing matches. Try fewer or shorter words.")
        return 1
    out = output()
    if loose:
        out.line("No entity contains all of these words. The closest matches, best first:")
        out.line()
    words = [fold(query), *fold(query).split()]
    for line in shown:
        portrait.show(out, graph, line, words=[word for word in words if word.strip()], most=_MOST)
        out.line()
    first = "the first is" if len(shown) == 1 else f"the first {len(shown)} are"
    more = f", {first} shown (--limit 0 shows all)" if len(shown) < len(found) else ""
    out.line(out.styled(f"{counted(len(found), 'entity')} found{more}", "dim"))
    return 0


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError("--limit takes a number of entities, or 0 for all. Example: --limit 5")
    return int(text)
