"""A private file for another program to edit: 0600, in a new folder (0700, unguessable name), removed after use.

A process that is killed cannot remove it: the next one removes what is a day old.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from typing import Final

from memory_app.disk import calls

_FOLDER: Final = re.compile(r"memory-[0-9a-f]{16}")
_OLD: Final = 24 * 3600.0
"""Seconds after which nobody edits it or looks for it any more."""


@contextlib.contextmanager
def private_file(name: str, data: bytes) -> Iterator[str]:
    """Create a file that holds `data` in the folder for temporary files, and yield its path.

    At the end the file is removed, together with anything that the other program left beside it.
    """
    path = keep_private_file(name, data)
    try:
        yield path
    finally:
        _remove(os.path.dirname(path))


def keep_private_file(name: str, data: bytes) -> str:
    """Create such a file for a person to find, and return its path. It stays for a day."""
    around = tempfile.gettempdir()
    _remove_old(around)
    inside = os.path.join(around, f"memory-{secrets.token_hex(8)}")
    if not calls.make_folder(inside):
        raise FileExistsError(inside)
    try:
        path = os.path.join(inside, name)
        fd = calls.create(path, 0o600)
        try:
            calls.write_all(fd, [data])
        finally:
            calls.close(fd)
    except BaseException:
        _remove(inside)
        raise
    return path


def _remove(inside: str) -> None:
    for entry in os.listdir(inside):  # an editor's copies and swap files too
        calls.remove_if_possible(os.path.join(inside, entry))
    calls.remove_folder(inside)


def _remove_old(around: str) -> None:
    with contextlib.suppress(OSError):
        for name in filter(_FOLDER.fullmatch, os.listdir(around)):
            path = os.path.join(around, name)
            with contextlib.suppress(OSError):  # it has just gone, or is another user's
                status = calls.lstat(path)
                ours = stat.S_ISDIR(status.st_mode) and (calls.WINDOWS or status.st_uid == os.getuid())
                if ours and time.time() - status.st_mtime > _OLD:
                    _remove(path)
