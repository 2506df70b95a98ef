"""Folders for a new file: created for the owner alone, removed again if the file is not written.

1. Make the outermost missing folder. A crash here leaves an empty folder at most, which the next one finds and takes.
2. Sync it into its parent, also if another process made it, since that one may not have got there.
3. Go on with the next one inside it.
"""

from __future__ import annotations

import contextlib
import os

from memory_app.disk import calls


def make_folders(path: str) -> list[str]:
    """Create the folder and its missing parents, 0700 each, every one synced into its parent; outermost first.

    The result names what was created. If this fails, what it had created is gone again.
    """
    missing: list[str] = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    created: list[str] = []
    try:
        for folder in reversed(missing):
            if calls.make_folder(folder):
                created.append(folder)
            calls.sync_folder(os.path.dirname(folder))
    except BaseException:
        remove_folders(created)
        raise
    return created


def remove_folders(created: list[str]) -> None:
    """Remove the folders that `make_folders` created, as long as they are still empty."""
    for folder in reversed(created):
        with contextlib.suppress(OSError):
            calls.remove_folder(folder)
