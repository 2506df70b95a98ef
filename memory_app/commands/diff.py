"""Show the differences between two states of the memory. A state is `now` (the memory as it is), a time printed by
`history` or `backup --list`, or the path of any memory file. A single state is compared with the memory as it is.
Without any, the newest state of the history is used.
"""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.memory import locate, open_store
from memory_app.commands.screen.terminal import output, safe, say, write_json
from memory_app.commands.upkeep import past, states
from memory_app.commands.upkeep.differences import Difference
from memory_app.errors import UsageError
from memory_app.graph.graph import Graph
from memory_app.text import shown

EXAMPLES: Final = (
    ("diff", "what has changed since the newest state of the history"),
    ("diff 20260131T180000.000Z", "what has changed since then"),
    ("diff old.jsonl new.jsonl", "what differs between two files"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", nargs="?", metavar="A", help="a state (default: the newest of the history)")
    parser.add_argument("second", nargs="?", default="now", metavar="B", help="another one (default: now)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(asked: argparse.Namespace) -> int:
    path = locate(asked).path
    first = asked.first
    if first is None:
        found = past.generations(path)
        if not found:
            raise UsageError(f"there is no history of {shown(path)} yet. Name two files, or see backup --list.")
        first = found[0].path
    one, other = (_graph(which, path) for which in (first, asked.second))
    difference = Difference.between(one, other)
    if asked.json:
        write_json(difference.as_json("first", "second"))
        return 0
    out = output()
    out.line(f"From {safe(first)} to {safe(asked.second)}:")
    difference.show(out, f"only in {safe(first)}", f"only in {safe(asked.second)}")
    return 0


def _graph(which: str, path: str) -> Graph:
    if which == "now":
        with open_store(path, quiet=True) as store:
            return store.graph()
    return Graph.of(states.choose(which, path, None, say).contents)
