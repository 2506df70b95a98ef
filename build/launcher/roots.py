"""Where the first start may unpack: the candidates, best first, and whether one can be used.

Rules: what is unpacked is private (0700, 0600). A folder that others can write, or could have made, is never used and
never read: the launcher's `Place` judges it and all folders above it. The current folder is not used either, because it
may contain files that somebody sent. A folder on a noexec mount cannot hold compiled parts.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    Start = Callable[[], None]


class Place(Protocol):
    """A judged folder: the launcher's `Place`."""

    path: str

    def vet(self, facts: os.stat_result, kind: int) -> None: ...

    def open_program(self, name: str) -> Start: ...


class Judge(Protocol):
    """The launcher's `Place` as a type: judges a folder, or raises OSError."""

    @staticmethod
    def resolve(path: str, named: bool) -> str: ...

    def __call__(self, path: str, named: bool) -> Place: ...


class Root(NamedTuple):
    """A candidate; `named`: by the user, who answers for its owner and its mode."""

    path: str
    named: bool = False


def candidates(cache_root: str) -> tuple[list[Root], list[Root]]:
    """MEMORY_SERVER_CACHE; then, if that fails, the user's cache folder and a private folder among the temporary
    files.
    """
    named = os.environ.get("MEMORY_SERVER_CACHE")
    found = []
    if not cache_root and sys.platform != "win32":
        home = os.path.expanduser("~")  # HOME is unset: the user database knows
        below = "Library/Caches" if sys.platform == "darwin" else ".cache"
        cache_root = os.path.join(home, below, "memory-server") if os.path.isabs(home) else ""
    if cache_root:
        found.append(Root(cache_root))
    temporary = _temporary()
    if temporary:
        user = str(os.geteuid()) if sys.platform != "win32" else "cache"
        found.append(Root(os.path.join(temporary, "memory-server-" + user)))
    return [Root(os.path.abspath(named), named=True)] if named else [], found


def _temporary() -> str:
    """The folder for temporary files, or "". `tempfile` is not used: it falls back to the current folder."""
    if sys.platform == "win32":
        # Others can make folders in C:\Windows\Temp and C:\Temp; below the profile they cannot.
        # TEMP often has short names (RUNNER~1), so the real paths are compared.
        profile = os.path.normcase(os.path.realpath(os.environ.get("USERPROFILE") or os.sep))
        chosen = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
        chosen = [one for one in chosen if os.path.normcase(os.path.realpath(one)).startswith(profile + os.sep)]
    else:
        chosen = [*(os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp"]
    for one in chosen:
        if os.path.isabs(one) and os.path.isdir(one) and os.access(one, os.W_OK):
            return one
    return ""


def prepare(root: Root, judge: Judge) -> Place:
    """Make the folder and judge it; OSError that says why it cannot be used."""
    if sys.platform != "win32":
        above = root.path
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        judge.resolve(above, root.named)  # as root with a user's HOME: leave nothing of root's there
    make_folders(root.path)
    place = judge(root.path, root.named)
    if hasattr(os, "ST_NOEXEC") and os.statvfs(place.path).f_flag & os.ST_NOEXEC:
        raise PermissionError("it is mounted noexec")
    return place


def make_folders(path: str) -> None:
    """Make that folder and its parents, each for this user only, whatever the umask."""
    if os.path.isdir(path):
        return
    make_folders(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
