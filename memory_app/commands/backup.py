"""Make a dated copy of the memory file: <name>.<UTC time>.bak beside it, or in another folder. The copy is the file as
it was at one moment, even while a server writes. If the newest copy has the same bytes, no second one is made.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, Final

from memory_app.commands.memory import locate, read_whole, require_memory
from memory_app.commands.screen.terminal import Terminal, output, safe, write_json
from memory_app.commands.upkeep import states
from memory_app.disk.copies import Copy
from memory_app.errors import UsageError
from memory_app.text import counted

EXAMPLES: Final = (
    ("backup", "copy the memory beside itself"),
    ("backup --keep 7", "copy it and keep the newest seven copies, for a daily job"),
    ("backup --list", "list the copies"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", metavar="FOLDER", help="the folder for the copies (default: beside the memory file)")
    parser.add_argument(
        "--keep",
        type=_number,
        metavar="N",
        help="then remove all but the newest N whole copies, never that of the present state, and nothing else",
    )
    parser.add_argument("--list", action="store_true", help="list the copies; make none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(asked: argparse.Namespace) -> int:
    if asked.list:
        show(locate(asked).path, asked.to, as_json=asked.json)
        return 0
    path = require_memory(asked).path
    copy, new = states.back_up(path, read_whole(path), asked.to)
    gone = [] if asked.keep is None else states.prune(path, asked.keep, asked.to, copy)
    if asked.json:
        write_json({"backup": copy, "new": new, "removed": [old.path for old in gone]})
        return 0
    out = output()
    out.line(f"{'Backed up to' if new else 'Nothing new since'} {safe(copy)}")
    if gone:
        out.line(f"Removed {counted(len(gone), 'older copy')}")
    return 0


def as_json_of(one: Copy) -> dict[str, Any]:
    """A backup as a JSON object, for --json."""
    return {"backup": one.path, "time": one.stamp, "bytes": one.size, "whole": not states.damage(one)}


def show_one(out: Terminal, number: int, one: Copy) -> None:
    """Print a line for a backup. Its number counts from the newest."""
    damage = states.damage(one)
    mark = "  " + out.styled(damage, "yellow") if damage else ""
    name = safe(os.path.basename(one.path))
    out.line(f"{number:>3}  {states.time_of(one)}  {one.size:>12,} bytes  {name}{mark}")


def show(path: str, folder: str | None, *, as_json: bool) -> None:
    """Print the backups of a memory file."""
    found = states.list_backups(path, folder)
    if as_json:
        write_json([as_json_of(one) for one in found])
        return
    out = output()
    if not found:
        out.line(f"There are no backups of {safe(path)}{' in ' + safe(folder) if folder else ''}.")
        return
    for number, one in enumerate(found, 1):
        show_one(out, number, one)
    out.line(out.styled(f"in {safe(os.path.dirname(found[0].path))}", "dim"))


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageError("--keep takes a number of copies, 1 or more. Example: --keep 7")
    return int(text)
