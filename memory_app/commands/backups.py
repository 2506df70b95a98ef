"""Dated copies of a memory file: `<name>.<UTC time as YYYYMMDDTHHMMSSZ>.bak` beside the real file, or in a folder.

The store makes such copies too, before it turns a file of another shape into lines. A copy is written whole and synced,
or it is not there; it has the mode of the original. Nothing but files of exactly this pattern is listed or removed.
"""

from __future__ import annotations

import calendar
import contextlib
import os
import re
import time
from typing import Final, NamedTuple

from memory_app.commands.memory import whole
from memory_app.disk import calls
from memory_app.disk.folders import make_folders
from memory_app.errors import StoreError
from memory_app.text import shown

_FORM: Final = "%Y%m%dT%H%M%SZ"
_STAMP: Final = re.compile(r"\.(\d{8}T\d{6}Z)\.bak")


class Backup(NamedTuple):
    """A copy that is there. `seconds` is its time in seconds of the epoch, as its name says."""

    path: str
    stamp: str
    seconds: int
    size: int


def listed(path: str, folder: str | None = None) -> list[Backup]:
    """The backups of a memory file, newest first."""
    folder, name = _place(path, folder)
    found = []
    try:
        entries = os.listdir(folder)
    except OSError:
        return []
    for entry in entries:
        match = _STAMP.fullmatch(entry[len(name) :]) if entry.startswith(name) else None
        if match:
            backup = os.path.join(folder, entry)
            with contextlib.suppress(OSError, ValueError):  # it has just gone, or its time is none
                seconds = calendar.timegm(time.strptime(match[1], _FORM))
                found.append(Backup(backup, match[1], seconds, os.stat(backup).st_size))
    return sorted(found, key=lambda one: one.stamp, reverse=True)


def made(path: str, data: bytes, folder: str | None = None, ending: str = ".bak") -> tuple[str, bool]:
    """Keep `data`, the bytes of the memory file, as a dated copy: its path, and whether it is new.

    If one of the backups holds just these bytes it is not made again.
    """
    if ending == ".bak":
        for old in listed(path, folder):
            with contextlib.suppress(StoreError):
                if old.size == len(data) and whole(old.path) == data:
                    return old.path, False
    copy = ""
    try:
        folder, name = _place(path, folder)
        if folder and not os.path.isdir(folder):
            make_folders(folder)
        fd, copy = _created(os.path.join(folder, name), ending)
        try:
            with contextlib.suppress(FileNotFoundError):
                calls.set_owner_and_mode(fd, os.stat(path))
            calls.write_all(fd, [data])
            calls.sync(fd)
        finally:
            calls.close(fd)
        calls.sync_folder(folder)
    except OSError as error:
        if copy:
            calls.remove_if_possible(copy)
        raise StoreError(
            f"{shown(path)} could not be backed up: {error.strerror or error}. Nothing was changed."
        ) from error
    return copy, True


def moved_away(path: str) -> str:
    """Give a file that is no memory the name of a backup; the caller has the lock. The new path."""
    target = os.path.realpath(path)
    fd, copy = _created(target, ".bak")
    calls.close(fd)
    calls.replace(target, copy)
    calls.sync_folder(os.path.dirname(target))
    return copy


def thinned(path: str, keep: int, folder: str | None = None) -> list[Backup]:
    """Remove all but the newest `keep` backups; those that were removed."""
    gone = []
    for old in listed(path, folder)[keep:]:
        try:
            calls.remove(old.path)
            gone.append(old)
        except OSError as error:
            raise StoreError(f"{shown(old.path)} could not be removed: {error.strerror or error}.") from error
    return gone


def when(seconds: float) -> str:
    """A time as people read it, in their own time zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _place(path: str, folder: str | None) -> tuple[str, str]:
    """The folder of the backups, and the name that theirs begin with."""
    beside, name = os.path.split(os.path.realpath(path))
    return folder or beside, name


def _created(base: str, ending: str) -> tuple[int, str]:
    seconds = time.time()
    while True:
        path = f"{base}.{time.strftime(_FORM, time.gmtime(seconds))}{ending}"
        try:
            return calls.create(path), path
        except FileExistsError:
            seconds += 1  # another copy of this second has the name
