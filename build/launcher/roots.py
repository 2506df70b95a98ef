"""Where the first start may unpack: the candidates, best first, and whether one can be used.

Rules: what is unpacked is private (0700, 0600). A folder that others can write is never used, but for the one that the
user names, who answers for it. A folder on a noexec mount cannot hold compiled parts.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from typing import NamedTuple


class Root(NamedTuple):
    """A candidate; `trusted`: named by the user, so neither owner nor mode are judged."""

    path: str
    trusted: bool = False


def candidates(cache_root: str) -> tuple[list[Root], list[Root]]:
    """MEMORY_SERVER_CACHE; then, in case it fails, the user's cache folder and a private one of the temporary files."""
    chosen = os.environ.get("MEMORY_SERVER_CACHE")
    found = []
    if not cache_root and sys.platform != "win32":
        home = os.path.expanduser("~")  # HOME is unset: the user database knows
        below = "Library/Caches" if sys.platform == "darwin" else ".cache"
        cache_root = os.path.join(home, below, "memory-server") if os.path.isabs(home) else ""
    if cache_root:
        found.append(Root(cache_root))
    try:
        user = str(os.geteuid()) if sys.platform != "win32" else "cache"
        found.append(Root(os.path.join(tempfile.gettempdir(), "memory-server-" + user)))
    except OSError:  # no temporary folder at all
        pass
    return [Root(os.path.abspath(chosen), trusted=True)] if chosen else [], found


def prepare(root: Root) -> None:
    """Make the folder; OSError that says why it cannot be used."""
    os.makedirs(os.path.dirname(root.path), mode=0o700, exist_ok=True)
    try:
        os.mkdir(root.path, 0o700)
    except FileExistsError:
        pass
    if sys.platform == "win32":
        return
    if not root.trusted:
        facts = os.lstat(root.path)
        if not stat.S_ISDIR(facts.st_mode) and not (stat.S_ISLNK(facts.st_mode) and _home_made(facts)):
            raise PermissionError("it is not a folder")
        facts = os.stat(root.path)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise PermissionError("others can write it")
    if hasattr(os, "ST_NOEXEC") and os.statvfs(root.path).f_flag & os.ST_NOEXEC:
        raise PermissionError("it is mounted noexec")


def _home_made(facts: os.stat_result) -> bool:
    return facts.st_uid == os.geteuid()
