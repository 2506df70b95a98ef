"""Restore a backup, or a state of the history: the memory as it was right before the change at that time. The present
file is backed up first, so another restore can reverse this one. To bring back only what a change removed, and to keep
what is newer, use undo. Running servers see the restored memory at their next call.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any, Final

from memory_app.commands import backup
from memory_app.commands.memory import apply_change, locate, open_store, read_whole, refuse_read_only, write_over
from memory_app.commands.screen.terminal import output, safe, say, write_json
from memory_app.commands.upkeep import states
from memory_app.commands.upkeep.differences import Difference
from memory_app.commands.upkeep.states import State
from memory_app.disk.copies import Copy
from memory_app.errors import StoreError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.lock.lock import WAIT, Lock
from memory_app.storage.history import Generation
from memory_app.text import shown

EXAMPLES: Final = (
    ("restore", "restore the newest backup"),
    ("restore --list", "show the backups and the states of the history"),
    ("restore 3 --dry-run", "show what restoring the third newest backup would change"),
    ('restore "2026-01-31 19:00:00"', "restore the state with this time in the list"),
    ("restore ~/backups/memory.jsonl.20260131T180000Z.bak", "restore a file from any place"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "backup",
        nargs="?",
        metavar="WHICH",
        help="a number or a time from --list, or a path (default: the newest whole backup)",
    )
    parser.add_argument(
        "--from", dest="folder", metavar="FOLDER", help="the folder of the copies (default: beside the file)"
    )
    parser.add_argument("--list", action="store_true", help="list backups and states of the history; restore none")
    parser.add_argument("--dry-run", action="store_true", help="show what would change; change nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(asked: argparse.Namespace) -> int:
    path = locate(asked, writes=not asked.dry_run and not asked.list).path
    if asked.list:
        _list(path, asked.folder, as_json=asked.json)
        return 0
    if asked.backup is None:
        state = states.newest(path, asked.folder, _tell_note)
    else:
        state = states.choose(asked.backup, path, asked.folder, _tell_note)
    wanted = Graph.of(state.contents)
    present = read_whole(path) if os.path.exists(path) else None
    difference = Difference.between(_graph(present), wanted)
    if asked.dry_run:
        _tell(asked.json, difference, state, None, dry=True)
        return 0
    refuse_read_only(path)
    if present is None or document.reads_as_memory(present):
        kept = _restore(path, state.data, wanted)
    else:
        kept = _replace(path, wanted)
    _tell(asked.json, difference, state, kept, dry=False)
    return 0


def _list(path: str, folder: str | None, *, as_json: bool) -> None:
    """Print all states, newest first. Backups have the numbers of `backup --list`; a state of the history has its
    time.
    """
    found = states.all_of(path, folder)
    if as_json:
        write_json([backup.as_json_of(one) if isinstance(one, Copy) else _kept_as_json(one) for one in found])
        return
    out = output()
    if not found:
        out.line(f"There are neither backups nor a history of {safe(path)}{' in ' + safe(folder) if folder else ''}.")
        return
    number = 0
    for one in found:
        if isinstance(one, Copy):
            number += 1
            backup.show_one(out, number, one)
        else:
            before = f"before the {one.reason}" if one.reason else "before a change"
            out.line(f"     {states.time_of(one)}  {one.size:>12,} bytes  {one.stamp}  {out.styled(before, 'dim')}")
    out.line(out.styled("restore accepts the number of a backup, or the time of any of them", "dim"))


def _kept_as_json(one: Generation) -> dict[str, Any]:
    return {"generation": one.path, "time": one.stamp, "bytes": one.size, "command": one.reason or None}


def _tell_note(note: str) -> None:
    say(f"memory-server: {note}")


def _restore(path: str, data: bytes, wanted: Graph) -> str | None:
    """Write the chosen graph through the store, and return the backup of the file that it replaces; None if there was
    no file.
    """

    def change(graph: Graph) -> tuple[Graph, str | None]:
        present = read_whole(path) if os.path.exists(path) else None
        if present is not None and present.rstrip(b"\n") == data.rstrip(b"\n"):
            return graph, None
        return wanted, None if present is None else states.back_up(path, present)[0]

    with open_store(path) as store:
        return apply_change(store, change, "restore")


def _replace(path: str, wanted: Graph) -> str:
    """Replace a present file that is not a memory, and so cannot be opened by the store; return its backup.

    It is copied under the lock first, then replaced as a whole: the file exists at every moment.
    """
    lock = Lock(path)
    lock.acquire(time.monotonic() + WAIT)
    try:
        present = read_whole(path)
        kept = states.back_up(path, present)[0]

        def check() -> None:
            if not lock.held() or read_whole(path) != present:
                raise StoreError(f"{shown(path)} was changed by another program just now, so it was left unchanged.")

        write_over(path, wanted.chunks(), check)
        return kept
    finally:
        lock.release()


def _graph(data: bytes | None) -> Graph:
    try:
        return Graph.empty() if data is None else Graph.of(document.read(data))
    except document.NotAMemory:
        return Graph.empty()


def _tell(as_json: bool, difference: Difference, state: State, kept: str | None, *, dry: bool) -> None:
    chosen = state.path
    if as_json:
        write_json(
            {"restored": chosen, "presentBackedUpTo": kept, "dryRun": dry, **difference.as_json("first", "second")}
        )
        return
    out = output()
    if dry:
        out.line(f"Restoring {safe(chosen)} would change:")
        difference.show(out, "only in the present memory, would be removed", f"only {state.where}, would come back")
        return
    if kept is None and difference.is_empty:
        out.line(f"The memory is already the same as {safe(chosen)}.")
        return
    out.line(f"Restored {safe(chosen)}")
    if kept:
        say(f"The old memory is kept in {safe(kept)}")
