"""Bring a backup back. The present file is backed up first, so a restore can be taken back by another one. Servers that
run see the restored memory at their next call."""

from __future__ import annotations

import argparse
import os
import time
from typing import Final

from memory_app.commands import backup, backups
from memory_app.commands.memory import changed, located, opened, refuse_read_only, whole
from memory_app.commands.screen.terminal import output, safe, say, write_json
from memory_app.commands.upkeep.differences import Difference
from memory_app.errors import UsageError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.lock.lock import WAIT, Lock
from memory_app.text import counted, shown

EXAMPLES: Final = (
    ("restore", "bring the newest backup back"),
    ("restore --list", "show the backups, with their numbers"),
    ("restore 3 --dry-run", "say what bringing the third newest back would change"),
    ("restore ~/backups/memory.jsonl.20260131T180000Z.bak", "bring a file back, wherever it is"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "backup",
        nargs="?",
        default="1",
        metavar="WHICH",
        help="a number of --list (1 is the newest), a time, or a path",
    )
    parser.add_argument(
        "--from", dest="folder", metavar="FOLDER", help="where the copies are (default: beside the file)"
    )
    parser.add_argument("--list", action="store_true", help="list the backups; restores none")
    parser.add_argument("--dry-run", action="store_true", help="say what would change, change nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(asked: argparse.Namespace) -> int:
    path = located(asked, writes=not asked.dry_run and not asked.list).path
    if asked.list:
        backup.show(path, asked.folder, as_json=asked.json)
        return 0
    chosen = _chosen(asked.backup, path, asked.folder)
    data = whole(chosen)
    try:
        wanted = Graph.of(document.read(data))
    except document.NotAMemory as error:
        raise UsageError(f"{shown(chosen)} is not a memory: {error}.") from error
    present = whole(path) if os.path.exists(path) else None
    difference = Difference.between(_graph(present), wanted)
    if asked.dry_run:
        _tell(asked.json, difference, chosen, None, dry=True)
        return 0
    refuse_read_only(path)
    kept = None
    if present is not None:
        if document.reads_as_memory(present):
            kept = _restored(path, data, wanted)
        else:
            kept = _put_aside(path)
            _restored(path, data, wanted)
    else:
        _restored(path, data, wanted)
    _tell(asked.json, difference, chosen, kept, dry=False)
    return 0


def _restored(path: str, data: bytes, wanted: Graph) -> str | None:
    """Have the store write the wanted graph; the backup of what it replaces, None if there was nothing to replace."""

    def change(graph: Graph) -> tuple[Graph, str | None]:
        present = whole(path) if os.path.exists(path) else None
        if present is not None and present.rstrip(b"\n") == data.rstrip(b"\n"):
            return graph, None
        return wanted, None if present is None else backups.made(path, present)[0]

    with opened(path) as store:
        return changed(store, change)


def _put_aside(path: str) -> str:
    """A present file that is no memory cannot be the store's: under the lock it becomes a backup as a whole."""
    lock = Lock(path)
    lock.acquire(time.monotonic() + WAIT)
    try:
        return backups.moved_away(path)
    finally:
        lock.release()


def _chosen(which: str, path: str, folder: str | None) -> str:
    found = backups.listed(path, folder)
    if which.isdecimal() and len(which) < 5:
        if not found:
            raise UsageError(f"there are no backups of {shown(path)}. Name the file that is to be brought back.")
        if not 1 <= int(which) <= len(found):
            raise UsageError(f"there are {counted(len(found), 'backup')}, but no number {which}. Try: restore --list")
        return found[int(which) - 1].path
    match = next((one.path for one in found if which in (one.stamp, os.path.basename(one.path))), None)
    if match is None and not os.path.exists(which):
        raise UsageError(f"{shown(which)} is neither a backup of {shown(path)} nor a file. Try: restore --list")
    return match or which


def _graph(data: bytes | None) -> Graph:
    try:
        return Graph.empty() if data is None else Graph.of(document.read(data))
    except document.NotAMemory:
        return Graph.empty()


def _tell(as_json: bool, difference: Difference, chosen: str, kept: str | None, *, dry: bool) -> None:
    if as_json:
        write_json(
            {"restored": chosen, "presentBackedUpTo": kept, "dryRun": dry, **difference.as_json("first", "second")}
        )
        return
    out = output()
    if dry:
        out.line(f"Restoring {safe(chosen)} would change:")
        difference.show(out, "only in the present memory, would go", "only in the backup, would come back")
        return
    if kept is None and difference.is_empty:
        out.line(f"The memory is the same as {safe(chosen)} already.")
        return
    out.line(f"Restored {safe(chosen)}")
    if kept:
        say(f"The memory as it was is kept in {safe(kept)}")
