"""Add facts to an entity. The entity is created if it does not exist. Facts that it already has are not added again."""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.upkeep import correction
from memory_app.errors import UsageError
from memory_app.graph import changes
from memory_app.graph.changes import Addition, NewEntity
from memory_app.graph.graph import Graph

EXAMPLES: Final = (
    ('add Ann "likes green tea" "lives in Lisbon"', "add two facts about Ann"),
    ('add "Acme Kites" "makes kites" --type company', "create an entity of that type if it does not exist"),
)

_TYPE: Final = "unknown"


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", type=correction.stored_text, metavar="NAME", help="an entity's name")
    parser.add_argument("texts", type=correction.stored_text, nargs="*", metavar="TEXT", help="a fact")
    parser.add_argument(
        "--type",
        type=correction.stored_text,
        default=_TYPE,
        metavar="TYPE",
        help=f"the type of a new entity (default: {_TYPE})",
    )
    correction.register(parser)


def run(asked: argparse.Namespace) -> int:
    if not asked.name.strip() or not all(text.strip() for text in asked.texts):
        raise UsageError("a name and a fact need at least one character each.")

    def change(graph: Graph) -> Graph:
        if asked.name not in graph.entities:
            return changes.create_entities(graph, [NewEntity(asked.name, asked.type, tuple(asked.texts))])[0]
        return changes.add_observations(graph, [Addition(asked.name, tuple(asked.texts))])[0]

    return correction.correct(asked, "add", change)
