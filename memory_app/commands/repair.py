"""Mend what check found, after a backup. A name on several lines becomes one entity with all observations, repeated
relations and observations are dropped, records in other programs' forms are written in ours, and blank lines and
foreign line ends are removed. No fact is lost: what cannot be merged is kept under the key "otherValues", and the
backup holds the original file. Running servers see the mended file at their next call.
"""

from __future__ import annotations

import argparse
import os
from typing import Final

from memory_app.commands.memory import apply_change, open_store, read_whole, refuse_read_only, require_memory
from memory_app.commands.screen.terminal import output, safe, working, write_json
from memory_app.commands.upkeep import states
from memory_app.commands.upkeep.inspection import holds_json, judge
from memory_app.commands.upkeep.mending import Mended, Options, mend
from memory_app.graph.graph import Graph
from memory_app.text import counted

EXAMPLES: Final = (
    ("repair --dry-run", "show what would be mended; change nothing"),
    ("repair", "mend it"),
    ("repair --drop-unreadable", "also move unreadable lines into a separate file"),
    ("repair --add-missing", "also create the missing entities that relations name"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would be mended; change nothing")
    parser.add_argument(
        "--drop-unreadable", action="store_true", help="move unreadable lines to <name>.<UTC time>.unreadable beside it"
    )
    parser.add_argument(
        "--add-missing",
        action="store_true",
        help="create an entity of type unknown for each end of a relation that has none",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


class _Repair:
    """One repair, with the result of the last time that it was applied to a graph."""

    def __init__(self, path: str, asked: argparse.Namespace) -> None:
        self._path = path
        self._asked = asked
        self.mended: Mended | None = None  # None: there was nothing to mend
        self.backup: str | None = None
        self.side_file: str | None = None
        self.left = 0  # unreadable lines that stay

    def look(self, graph: Graph) -> Mended | None:
        """What there is to mend in the file that this graph was read from; None if nothing."""
        kept = (*graph.head, *graph.tail)
        found = [raw for raw in kept if judge(raw)[0] == "unreadable" and not holds_json(raw)]
        drop = self._asked.drop_unreadable
        self.left = 0 if drop else len(found)
        mended = mend(graph, Options(self._asked.add_missing, frozenset(found if drop else ())))
        after = b"".join(mended.graph.chunks())
        present = read_whole(self._path)
        self._present = present
        return None if present in (after, after.removesuffix(b"\n")) else mended

    def apply(self, graph: Graph) -> tuple[Graph, None]:
        """The change, for the store. Copies are made first: after a crash there is at worst one copy too many."""
        self.mended = self.look(graph)
        if self.mended is None:
            return graph, None
        self.backup = states.back_up(self._path, self._present)[0]
        if self.mended.moved_out and self.side_file is None:
            lines = b"".join(raw + b"\n" for raw in self.mended.moved_out)
            self.side_file = states.back_up(self._path, lines, ending=".unreadable")[0]
        return self.mended.graph, None


def run(asked: argparse.Namespace) -> int:
    path = require_memory(asked, writes=not asked.dry_run).path
    if not asked.dry_run:
        refuse_read_only(path)
    repair = _Repair(path, asked)
    with open_store(path, quiet=True) as store:
        if asked.dry_run:
            with working("Looking"):
                repair.mended = repair.look(store.graph())
        else:
            apply_change(store, repair.apply, "repair")
    if asked.json:
        write_json(_as_json(path, repair, dry=asked.dry_run))
    else:
        _tell(path, repair, dry=asked.dry_run)
    return 0


def _tell(path: str, repair: _Repair, *, dry: bool) -> None:
    out = output()
    mended = repair.mended
    if mended is None:
        out.line(f"There is nothing to mend in {safe(path)}.")
        _tell_left(repair)
        return
    out.line(f"{'Would mend' if dry else 'Mended'} {safe(path)}:")
    parts = (
        (mended.merged, "line", "of a repeated name merged into the first"),
        (mended.dropped, "repeated relation", "dropped"),
        (mended.repeated, "repeated observation", "dropped"),
        (mended.rewritten, "record", "written in our form"),
        (len(mended.added), "missing entity", "made"),
        (len(mended.moved_out), "unreadable line", "moved out"),
    )
    done = [f"  {counted(number, noun)} {what}" for number, noun, what in parts if number]
    for line in done or ["  line ends, blank lines and the like tidied"]:
        out.line(line)
    _tell_left(repair)
    if repair.backup:
        out.line(f"The old file is kept, for restore: {safe(os.path.basename(repair.backup))}")
    if repair.side_file:
        out.line(f"The unreadable lines are in {safe(os.path.basename(repair.side_file))}")


def _tell_left(repair: _Repair) -> None:
    if repair.left:
        output().line(f"{counted(repair.left, 'unreadable line')} kept; --drop-unreadable moves such lines out")


def _as_json(path: str, repair: _Repair, *, dry: bool) -> dict[str, object]:
    mended = repair.mended
    return {
        "file": path,
        "dryRun": dry,
        "changed": mended is not None,
        "mergedLines": mended.merged if mended else 0,
        "droppedRelations": mended.dropped if mended else 0,
        "droppedObservations": mended.repeated if mended else 0,
        "rewrittenRecords": mended.rewritten if mended else 0,
        "addedEntities": list(mended.added) if mended else [],
        "movedOutLines": len(mended.moved_out) if mended else 0,
        "backup": repair.backup,
        "unreadableLines": repair.side_file,
    }
