"""Make one entity of two that are the same: the second gets the facts and relations of the first, which goes. The type
of the second stays. For two copies of a whole memory there is merge."""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.upkeep import correction
from memory_app.graph.corrections import merge_entities

EXAMPLES: Final = (
    ('merge-entities ann "Ann Smith"', "ann becomes part of Ann Smith"),
    ('merge-entities ann "Ann Smith" --dry-run', "say what would change"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=correction.stored_text, metavar="A", help="the entity that goes")
    parser.add_argument("target", type=correction.stored_text, metavar="B", help="the entity that stays")
    correction.register(parser)


def run(asked: argparse.Namespace) -> int:
    return correction.correct(asked, "merge-entities", lambda graph: merge_entities(graph, asked.source, asked.target))
