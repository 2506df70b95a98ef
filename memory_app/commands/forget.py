"""Remove entities with their facts and relations. Earlier states keep them for up to 30 days, so undo brings them back.

With --everywhere they are also erased from the history, the backups and the other files beside the memory: use it for
secrets. This cannot be undone, so it asks first. It does not reach copies that you made elsewhere (name a folder of
backups with --from), nor freed blocks of the disk.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from memory_app.commands.memory import apply_change, locate, no_memory, open_store, refuse_read_only
from memory_app.commands.screen.terminal import output, safe, say, write_json
from memory_app.commands.upkeep import correction, erasure
from memory_app.commands.upkeep.erasure import Erased
from memory_app.errors import UsageError
from memory_app.graph import changes
from memory_app.graph.graph import Graph
from memory_app.text import counted, shown

EXAMPLES: Final = (
    ("forget Ann", "remove Ann; undo brings her back"),
    ("forget Ann --everywhere", "erase her from the history and the backups too"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        type=correction.stored_text,
        nargs="+",
        metavar="NAME",
        help="an entity's name, exactly as it is stored",
    )
    parser.add_argument("--everywhere", action="store_true", help="erase it from history and backups too, after asking")
    parser.add_argument("--from", dest="folder", metavar="FOLDER", help="a folder of backups to erase it from as well")
    parser.add_argument("--yes", action="store_true", help="with --everywhere: do not ask")
    correction.register(parser)


def run(asked: argparse.Namespace) -> int:
    if asked.everywhere:
        return _everywhere(asked)
    if asked.folder or asked.yes:
        raise UsageError("--from and --yes need --everywhere.")

    def change(graph: Graph) -> Graph:
        after, missing = changes.delete_entities(graph, asked.names)
        correction.expect_all(missing)
        return after

    return correction.correct(asked, "forget", change)


def _everywhere(asked: argparse.Namespace) -> int:
    location = locate(asked, writes=not asked.dry_run)
    path = location.path
    names = frozenset(asked.names)
    with open_store(path, quiet=True) as store:
        found = erasure.found(path, asked.folder, names, store.graph())
        if not found.holders and not found.present:
            if not os.path.exists(path):
                raise no_memory(location)
            say(
                f"memory-server: no entity is or was named {', '.join(map(shown, asked.names))} here. Try: history NAME"
            )
            return 1
        if not asked.dry_run:
            refuse_read_only(path)
            _expect_consent(asked, found)
            apply_change(store, lambda graph: (_without(graph, names), None), "forget")
            found = erasure.erase(path, asked.folder, names, found.texts)
    if asked.json:
        write_json({"dryRun": asked.dry_run, "files": found.holders, "stillIn": found.left})
    else:
        out = output()
        out.line(f"{'Would erase' if asked.dry_run else 'Erased'} from the memory and {_files(found.holders)}:")
        for holder in found.holders:
            out.line(f"  {safe(holder)}")
        for left in found.left:
            say(f"memory-server: words of it are still in {shown(left)}")
    return 1 if found.left and not asked.dry_run else 0


def _without(graph: Graph, names: frozenset[str]) -> Graph:
    return changes.delete_entities(graph, erasure.names_in(graph, names))[0]


def _expect_consent(asked: argparse.Namespace, found: Erased) -> None:
    if asked.yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--everywhere cannot be undone and asks first: run it in a terminal, or add --yes.")
    names = ", ".join(map(shown, asked.names))
    sys.stderr.write(f"Erase {names} from the memory and {_files(found.holders)} for ever? Type yes: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise UsageError("nothing was changed.")


def _files(holders: list[str]) -> str:
    return counted(len(holders), "other file")
