"""A private file for another program to edit: 0600, in a new folder (0700, unguessable name), removed after use."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator

from memory_app.disk import calls


@contextlib.contextmanager
def private_file(name: str, data: bytes) -> Iterator[str]:
    """Create a file that holds `data` in the folder for temporary files, and yield its path.

    At the end the file is removed, together with anything that the other program left beside it.
    """
    inside = os.path.join(tempfile.gettempdir(), f"memory-{secrets.token_hex(8)}")
    if not calls.make_folder(inside):
        raise FileExistsError(inside)
    try:
        path = os.path.join(inside, name)
        fd = calls.create(path, 0o600)
        try:
            calls.write_all(fd, [data])
        finally:
            calls.close(fd)
        yield path
    finally:
        for entry in os.listdir(inside):  # an editor's copies and swap files too
            calls.remove_if_possible(os.path.join(inside, entry))
        calls.remove_folder(inside)
