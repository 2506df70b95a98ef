"""Look at the memory in the browser: a graph, a search, tables. Run in a terminal, the page is live: it shows each
change as it happens, and you can correct the memory in it. It is served only to your browser, until you press Ctrl-C or
close it.

With --output, or without a terminal, one page is written that shows the memory as it is now, needs no network and sends
nothing anywhere. It is a private file in your temporary folder, unless --output names another file.

A browser from a snap or flatpak cannot read temporary files: add --no-open and open the printed address, or write the
page to your home folder: --output ~/memory.html
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import secrets
import stat
import tempfile
import threading
import time
import webbrowser
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from memory_app import viewer
from memory_app.commands.memory import open_store, require_memory, same_file, write_new
from memory_app.commands.screen.terminal import output, safe, say
from memory_app.commands.upkeep import past
from memory_app.commands.upkeep.correction import stored_text
from memory_app.commands.upkeep.differences import Difference
from memory_app.disk import calls
from memory_app.disk.whole import TEMPORARY
from memory_app.errors import UsageError
from memory_app.text import shown
from memory_app.tools import plans

EXAMPLES: Final = (
    ("view", "look at the memory in the browser, and correct it"),
    ('view "Ann Lee"', "begin with an entity"),
    ("view --read-only", "only look"),
    ("view --output memory.html --no-open", "write the page to keep it or to show it elsewhere"),
)

_PAGE: Final = re.compile(rf"memory-view-[0-9a-f]{{32}}\.html({TEMPORARY.pattern})?")
_PROFILE: Final = re.compile(r"memory(-[A-Za-z0-9._-]{1,64})?\.jsonl")
_OLD: Final = 24 * 3600.0
"""Seconds after which nobody still reads a page among the temporary files."""
_LOGGED: Final = 4000
"""Characters on the terminal about what goes wrong while the page is open."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("entity", metavar="NAME", nargs="?", type=stored_text, help="the entity to begin with")
    parser.add_argument("--output", "-o", metavar="PATH", help="write the page as it is now to this file")
    parser.add_argument("--force", action="store_true", help="replace the file of --output if it exists")
    parser.add_argument("--no-open", action="store_true", help="start no browser, only print where the page is")
    parser.add_argument("--read-only", action="store_true", help="a page that cannot change the memory")


def run(asked: argparse.Namespace) -> int:
    location = require_memory(asked)
    if asked.output is not None and same_file(asked.output, location.path):
        raise UsageError("--output is the memory file itself. Name another file.")
    with open_store(location.path) as store:
        graph = store.graph()
    if asked.entity is not None and asked.entity not in graph.entities and asked.entity not in graph.touching:
        raise UsageError(f"no entity has the name {shown(asked.entity)}. Look for it with: search")
    if asked.output is None and output().interactive:
        return _serve(asked, location.path)
    return _write(asked, location.path, plans.graph_json(graph).decode())


def _write(asked: argparse.Namespace, path: str, graph: str) -> int:
    """Write the page of this moment."""
    target = asked.output or _temporary()
    source = viewer.Source(os.path.basename(path), path, time.strftime("%Y-%m-%d %H:%M"))
    write_new(target, [viewer.page(graph, source).encode()], force=asked.force)
    output().line(safe(os.path.abspath(target)))
    address = pathlib.Path(target).resolve().as_uri() + (f"#{quote(asked.entity, safe='')}" if asked.entity else "")
    if not asked.no_open and not _open(address):
        say("No browser could be started here. Open that file in one.")
    return 0


def _serve(asked: argparse.Namespace, path: str) -> int:
    """Serve the page until it is closed."""
    try:
        from memory_app.server.http import lookback, page
        from memory_app.server.stderr import Notices
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a package that serving the page needs is missing ({error.name}). Use --output FILE."
        ) from None
    token = secrets.token_urlsafe(32)
    fragment = urlencode({"token": token} | ({"open": asked.entity} if asked.entity else {}))
    door = _Door()

    def ready(address: str) -> None:
        if asked.no_open:
            output().line(f"{address}#{fragment}")
        else:
            threading.Thread(target=door.open, args=(f"{address}#{fragment}",), daemon=True).start()
        say(f"Looking at {shown(path)}. Press Ctrl-C or close the page to end.")

    reading = lookback.Past(past.graph_at, lambda one, other: Difference.between(one, other).as_json("before", "after"))
    view = page.View(viewer.served_page(), _memories(asked, path), token, reading, asked.read_only)
    try:
        return page.run(view, Notices(_LOGGED), page.Events(ready, door.close))
    finally:
        door.close()


def _memories(asked: argparse.Namespace, path: str) -> Mapping[str, str]:
    """The requested memory, and the profiles beside it unless it was named as a file."""
    found = {os.path.basename(path): path}
    if asked.file is None:
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(os.path.dirname(path))):
                if _PROFILE.fullmatch(name) and os.path.isfile(os.path.join(os.path.dirname(path), name)):
                    found.setdefault(name, os.path.join(os.path.dirname(path), name))
    return found


class _Door:
    """The private file through which the browser gets the address: on a command line other users would see it."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._lock = threading.Lock()
        self._closed = False

    def open(self, address: str) -> None:
        """Start the browser. If there is none, or the file cannot be written, print the address."""
        try:
            with self._lock:
                if self._closed:
                    return
                self._folder = tempfile.mkdtemp(prefix="memory-view-")  # 0700
                path = os.path.join(self._folder, "open.html")
                fd = calls.create(path)
                try:
                    calls.write_all(fd, [_redirect_page(address).encode()])
                finally:
                    calls.close(fd)
            if _open(pathlib.Path(path).as_uri()):
                return
        except OSError:
            pass
        self.close()
        say("No browser could be started here. Open this address in one:")
        output().line(address)

    def close(self) -> None:
        """Remove the file: the page has been opened, or is gone."""
        with self._lock, contextlib.suppress(OSError):
            self._closed = True
            if self._folder is not None:
                calls.remove(os.path.join(self._folder, "open.html"))
                calls.remove_folder(self._folder)
                self._folder = None


def _redirect_page(address: str) -> str:
    """A page that leads to the address, which contains no character with a meaning in HTML."""
    return (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={address.replace("&", "&amp;")}"><title>Memory</title>'
    )


def _temporary() -> str:
    folder = tempfile.gettempdir()
    _remove_old_pages(folder)
    return os.path.join(folder, f"memory-view-{os.urandom(16).hex()}.html")


def _remove_old_pages(folder: str) -> None:
    """Remove our pages of earlier days: each is a copy of somebody's memory."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _PAGE.fullmatch(name):
                path = os.path.join(folder, name)
                status = calls.lstat(path)
                ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if ours and stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _OLD:
                    calls.remove(path)


def _open(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
