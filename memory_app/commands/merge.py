"""Unite two copies of one memory, such as those that a sync service leaves when two machines wrote at the same time.
Prints the differences, then adds to A what only B has, after a backup of A; B stays unchanged. With --output both stay
unchanged, and the union is written to a new file.

Something deleted in one copy but still in the other comes back: a copy cannot tell a deletion from something that it
never had.
"""

from __future__ import annotations

import argparse
from typing import Final

from memory_app.commands.memory import apply_change, contents_of, open_store, refuse_read_only, same_file, write_new
from memory_app.commands.screen.terminal import output, safe, say, working, write_json
from memory_app.commands.upkeep import states
from memory_app.commands.upkeep.differences import Difference
from memory_app.commands.upkeep.union import unite
from memory_app.errors import UsageError
from memory_app.graph.graph import Graph
from memory_app.text import counted, shown

EXAMPLES: Final = (
    ('merge memory.jsonl "memory (conflicted copy).jsonl" --dry-run', "show the differences; change nothing"),
    ('merge memory.jsonl "memory (conflicted copy).jsonl"', "add to the first what only the second has"),
    ("merge laptop.jsonl desktop.jsonl --output both.jsonl", "write the union to a new file"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="the memory that gets the additions")
    parser.add_argument("second", metavar="B", help="the copy to add")
    parser.add_argument("--output", "-o", metavar="PATH", help="write the union to this file; change neither A nor B")
    parser.add_argument("--force", action="store_true", help="replace the file of --output if it exists")
    parser.add_argument("--dry-run", action="store_true", help="show the differences; change nothing")
    parser.add_argument("--json", action="store_true", help="print the differences as one JSON object")


def run(asked: argparse.Namespace) -> int:
    if same_file(asked.first, asked.second):
        raise UsageError(f"{shown(asked.first)} and {shown(asked.second)} are the same file.")
    with working("Comparing"):
        one, other = (Graph.of(contents_of(path)) for path in (asked.first, asked.second))
        difference = Difference.between(one, other)
    written, backup = None, None
    if not asked.dry_run:
        if asked.output is None:
            backup = _add_to(asked.first, other)
            written = asked.first
        elif same_file(asked.output, asked.first) or same_file(asked.output, asked.second):
            raise UsageError("--output is one of the two files. Leave it out to add B to A.")
        else:
            write_new(asked.output, unite(one, other, other_lines=True).chunks(), force=asked.force)
            written = asked.output
    if asked.json:
        write_json({"written": written, "backup": backup, **difference.as_json("first", "second")})
        return 0
    out = output()
    out.line(f"{counted(difference.same, 'entity')} in both. What differs:")
    difference.show(out, f"only in {safe(asked.first)}", f"only in {safe(asked.second)}")
    if difference.types:
        out.line(f"  The types of {safe(asked.first)} {'would stay' if asked.dry_run else 'stay'}.")
    if written:
        say(f"The union is in {safe(written)}" + (f", its former content in {safe(backup)}" if backup else ""))
    return 0


def _add_to(path: str, other: Graph) -> str | None:
    """Add to the memory at `path`, and return the backup of its previous state; None if nothing was missing."""

    refuse_read_only(path)

    def change(graph: Graph) -> tuple[Graph, str | None]:
        after = unite(graph, other, other_lines=True)
        return after, None if after is graph else states.keep_present(path)

    with open_store(path, quiet=True) as store:
        return apply_change(store, change, "merge")
