"""Write the memory as one HTML page that draws it, searches it and lists it, and open it in the browser. The page needs
no network and sends nothing anywhere. It is a private file among your temporary files, unless --output names another.

If the browser cannot read it there (a browser from a snap or flatpak cannot), write it to your home folder:
--output ~/memory.html"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import stat
import tempfile
import time
import webbrowser
from typing import Final

from memory_app import viewer
from memory_app.commands.memory import existing, opened, same_file, write_new
from memory_app.commands.screen.terminal import output, safe, say
from memory_app.disk import calls
from memory_app.disk.whole import TEMPORARY
from memory_app.errors import UsageError
from memory_app.tools import plans

EXAMPLES: Final = (
    ("view", "look at the memory in the browser"),
    ("view --output memory.html --no-open", "write the page to keep it or to show it elsewhere"),
)

_PAGE: Final = re.compile(rf"memory-view-[0-9a-f]{{32}}\.html({TEMPORARY.pattern})?")
_OLD: Final = 24 * 3600.0
"""Seconds after which nobody reads a page among the temporary files any more."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", "-o", metavar="PATH", help="the file to write (default: a private temporary one)")
    parser.add_argument("--force", action="store_true", help="replace the file of --output if it exists")
    parser.add_argument("--no-open", action="store_true", help="only write the page")


def run(asked: argparse.Namespace) -> int:
    path = existing(asked).path
    target = asked.output or _temporary()
    if same_file(target, path):
        raise UsageError("--output is the memory file itself. Name another file.")
    with opened(path) as store:
        page = viewer.page(plans.graph_json(store.graph()).decode(), os.path.basename(path))
    write_new(target, [page.encode()], force=asked.force)
    output().line(safe(os.path.abspath(target)))
    if not asked.no_open and not _open(target):
        say("No browser could be started here. Open that file in one.")
    return 0


def _temporary() -> str:
    folder = tempfile.gettempdir()
    _tidy(folder)
    return os.path.join(folder, f"memory-view-{os.urandom(16).hex()}.html")


def _tidy(folder: str) -> None:
    """Remove our pages of days before: each is a copy of somebody's memory."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _PAGE.fullmatch(name):
                path = os.path.join(folder, name)
                status = calls.lstat(path)
                ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if ours and stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _OLD:
                    calls.remove(path)


def _open(path: str) -> bool:
    try:
        return webbrowser.open(pathlib.Path(path).resolve().as_uri())
    except (webbrowser.Error, OSError):
        return False
