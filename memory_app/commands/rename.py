"""Give an entity another name. Its relations follow; everything else stays."""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.upkeep import correction
from memory_app.graph.corrections import rename_entity

EXAMPLES: Final = (
    ('rename Ann "Ann Smith"', "give Ann her full name"),
    ("rename acme Acme --dry-run", "say what would change"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=correction.stored_text, metavar="OLD", help="the entity's name")
    parser.add_argument(
        "new", type=correction.stored_text, metavar="NEW", help="its new name; no other entity may have it"
    )
    correction.register(parser)


def run(asked: argparse.Namespace) -> int:
    return correction.correct(asked, "rename", lambda graph: rename_entity(graph, asked.old, asked.new))
