"""Add the contents of another memory file: JSON Lines, one JSON object with entities and relations, the formats of
other memory servers, mem0's export, the CSV and Markdown that export writes, a note in Markdown, or a folder of such
notes. (GraphML and DOT are one-way: export writes them, import does not read them.) Nothing in the memory is changed or
lost: new entities and relations are added, and entities that both have get the observations that they lack. The memory
is backed up first.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any, Final

from memory_app.commands.memory import apply_change, locate, open_store, refuse_read_only, same_file
from memory_app.commands.reading import read_source
from memory_app.commands.screen.terminal import output, safe, say, working, write_json
from memory_app.commands.upkeep import states
from memory_app.commands.upkeep.differences import Difference, show_side, show_types
from memory_app.commands.upkeep.inspection import judge
from memory_app.commands.upkeep.union import unite
from memory_app.errors import UsageError
from memory_app.graph.graph import Graph
from memory_app.text import counted, shown

_LONGEST_KIND: Final = 60
"""Characters of what an item is that could not be taken: the type of a record can be any text."""

EXAMPLES: Final = (
    ("import old-memory.jsonl --dry-run", "show what would be added; change nothing"),
    ("import old-memory.jsonl", "add it"),
    ("import notes/", "add a folder of Markdown notes, each an entity"),
    ("import - < export.json", "add the input from stdin"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="a file or a folder of notes to add, - for stdin")
    parser.add_argument("--dry-run", action="store_true", help="show what would be added; change nothing")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


class _Import:
    """One import: the graphs to add, and the result of the last time that they were added to a graph."""

    def __init__(self, path: str, graphs: list[Graph]) -> None:
        self._path = path
        self._graphs = graphs
        self.difference = Difference.between(Graph.empty(), Graph.empty())
        self.backup: str | None = None

    def look(self, graph: Graph) -> Graph:
        after = graph
        types: dict[str, tuple[str, str]] = {}
        for one in self._graphs:
            types.update(Difference.between(after, one).types)
            after = unite(after, one, other_lines=False)
        self.difference = Difference.between(graph, after)._replace(types=types)
        return after

    def apply(self, graph: Graph) -> tuple[Graph, None]:
        """The change, for the store."""
        after = self.look(graph)
        if after is not graph:
            self.backup = states.keep_present(self._path)
        return after, None


def run(asked: argparse.Namespace) -> int:
    path = locate(asked, writes=not asked.dry_run).path
    if not asked.dry_run:
        refuse_read_only(path)
    graphs: list[Graph] = []
    left: Counter[str] = Counter()
    for source in asked.sources:
        if source != "-" and same_file(source, path):
            raise UsageError(f"{shown(source)} is the memory itself: there is nothing to import.")
        with working("Reading"):
            contents, not_taken = read_source(source)
            graphs.append(Graph.of(contents))
        left.update(not_taken)
        left.update(_kind(raw) for raw in (*contents.head, *contents.tail) if judge(raw)[0])
    work = _Import(path, graphs)
    with open_store(path, quiet=True) as store:
        if asked.dry_run:
            with working("Comparing"):
                work.look(store.graph())
        else:
            apply_change(store, work.apply, "import")
    if asked.json:
        write_json(_as_json(path, work, left, dry=asked.dry_run))
    else:
        _tell(path, work, left, dry=asked.dry_run)
    return 1 if left else 0


def _kind(raw: bytes) -> str:
    """The kind of an item that could not be imported, in a few words."""
    kind, text = judge(raw)
    return "unreadable" if kind == "unreadable" else text[:_LONGEST_KIND]


def _tell(path: str, work: _Import, left: Counter[str], *, dry: bool) -> None:
    out = output()
    added = work.difference.second
    if not any(added):
        out.line(f"There is nothing new for {safe(path)}.")
    else:
        out.line(f"{'Would add' if dry else 'Added'} to {safe(path)}:")
        show_side(out, added)
    if work.difference.types:
        out.line("  Of another type there (the memory's own stays):")
        show_types(out, work.difference.types)
    for kind, number in left.items():
        say(f"{counted(number, 'item')} not imported: {shown(kind)}")
    if work.backup:
        say(f"The old memory is kept in {safe(work.backup)}")


def _as_json(path: str, work: _Import, left: Counter[str], *, dry: bool) -> dict[str, Any]:
    found = work.difference.as_json("memory", "import")
    return {
        "file": path,
        "dryRun": dry,
        "added": found["importOnly"],
        "types": found["types"],
        "linesLeftBehind": left.total(),
        "notTaken": dict(left),
        "backup": work.backup,
    }
