"""Folders for one trial each: on memory where there is some, since thousands of trials would only wait for a disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_IN_MEMORY: Final = "/dev/shm"


@contextmanager
def folder(*, on_disk: bool = False) -> Iterator[Path]:
    """An empty folder, gone at the end of the block. `on_disk`: where a disk's file system gives numbers out again."""
    where = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) and not on_disk else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        yield Path(os.path.realpath(name))


def files(inside: Path) -> set[str]:
    """Every file and link below the folder, by its path from there."""
    found = set()
    for where, folders, names in os.walk(inside):
        linked = [name for name in folders if os.path.islink(os.path.join(where, name))]
        found |= {os.path.relpath(os.path.join(where, name), inside) for name in (*names, *linked)}
    return found


def beside(inside: Path) -> list[str]:
    """The same without a history, in order."""
    return sorted(name for name in files(inside) if ".history/" not in name)


def descriptors() -> dict[int, str]:
    """The open descriptors of this process and what each leads to; empty where the platform does not tell."""
    found = {}
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return {}
    for number in numbers:
        try:
            found[int(number)] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            pass  # the one that listed the folder
    return found
