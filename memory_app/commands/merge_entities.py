"""Merge two entities that are the same. The second gets the facts and relations of the first, and the first is removed.
The type of the second stays. To unite two copies of a whole memory, use merge.
"""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.upkeep import correction
from memory_app.graph.corrections import merge_entities

EXAMPLES: Final = (
    ('merge-entities ann "Ann Smith"', "merge ann into Ann Smith"),
    ('merge-entities ann "Ann Smith" --dry-run', "say what would change"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=correction.stored_text, metavar="A", help="the entity that is removed")
    parser.add_argument("target", type=correction.stored_text, metavar="B", help="the entity that stays")
    correction.register(parser)


def run(asked: argparse.Namespace) -> int:
    return correction.correct(asked, "merge-entities", lambda graph: merge_entities(graph, asked.source, asked.target))
