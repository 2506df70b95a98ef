"""Migration: a `memory.json` of earlier releases becomes `memory.jsonl`.

`find` is the one way from the options to the file that is used: it chooses, and where the choice names an old file it
renames that (or, for a caller that must not write, uses it under its old name). A path that somebody gave is never
migrated: the choice names no old file for one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from memory_app.disk import whole
from memory_app.errors import StoreError
from memory_app.location.choice import Location, Surroundings, locate
from memory_app.location.expansion import FILE_NAME
from memory_app.lock.lock import Lock
from memory_app.text import shown

_LOCK_WAIT: Final = 5.0
"""Seconds that moving an old file waits for another process: clients give a server little time to start."""


def find(file: str | None, profile: str | None, around: Surroundings, *, moves: bool) -> Location:
    """The memory file for `--file` and `--profile`. If the caller `moves` files, an old one is renamed first.

    UsageError if the given value names no file.
    """
    location = locate(file, profile, around)
    if location.old is None:
        return location
    if not moves:
        return location._replace(path=location.old, why="under its old name", old=None)
    from memory_app.jsonl.document import reads_as_memory  # hardly any start needs the parser this early

    return move_old(location, reads_as_memory)


def move_old(location: Location, reads_as_memory: Callable[[bytes], bool]) -> Location:
    """Rename an old `memory.json` to `memory.jsonl`, under the lock, if it is a memory.

    If that is impossible now, the old name stays in use, because a new file beside it would hide it for ever.
    """
    if location.old is None:
        return location
    old, settled = location.old, location._replace(old=None)
    try:
        if not reads_as_memory(whole.read_whole(old)):
            return settled.noted(f"{shown(old)} is not a memory and stays as it is.")
        lock = Lock(location.path)
        lock.acquire(time.monotonic() + _LOCK_WAIT, lambda: False)
        try:
            if os.path.lexists(location.path):
                return settled
            whole.move_to_new_name(old, location.path)
        finally:
            lock.release()
    except (OSError, StoreError) as error:
        if os.path.lexists(location.path) or not os.path.lexists(old):  # another process was faster
            return settled
        unmoved = settled._replace(path=old, why="under its old name")
        return unmoved.noted(
            f"{shown(old)} could not be renamed to {FILE_NAME} ({shown(str(error))}); it is used as it is."
        )
    return settled.noted(f"{shown(old)} was renamed to {FILE_NAME}.")
