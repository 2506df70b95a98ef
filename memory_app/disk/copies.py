"""Dated copies of a file: `<start><UTC time as YYYYMMDDTHHMMSSZ><ending>` in one folder.

A copy is written whole and synced before it gets its name, and never replaces anything. Its name's time is later than
that of every copy that was there, also after the clock was set back, so the newest is always the one made last. Nothing
but files whose names have exactly this form is listed or removed. All errors are OSErrors.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from memory_app.disk import calls, whole
from memory_app.disk.folders import make_folders, remove_folders

_FORM: Final = "%Y%m%dT%H%M%SZ"
_STAMP: Final = re.compile(r"\d{8}T\d{6}Z")


class Series(NamedTuple):
    """The copies of one file: their folder, and the text before and after the time in their names."""

    folder: str
    start: str
    ending: str

    def path(self, stamp: str) -> str:
        return os.path.join(self.folder, f"{self.start}{stamp}{self.ending}")


class Copy(NamedTuple):
    """An existing copy. `seconds` is the time in its name, in seconds since the epoch.

    `finished`: it carries the mark of a copy that `back_up` completed. A copy without the mark came from elsewhere, or
    from a version that wrote copies under their final names: only its content tells whether it is whole.
    """

    path: str
    stamp: str
    seconds: int
    size: int
    finished: bool


def backups_of(path: str, folder: str | None = None, ending: str = ".bak") -> Series:
    """The backups of the file at `path` (links resolved), beside it or in another folder."""
    beside, name = os.path.split(os.path.realpath(path))
    return Series(folder or beside, f"{name}.", ending)


def listed(series: Series) -> list[Copy]:
    """The existing copies, newest first; none if the folder cannot be listed."""
    try:
        entries = os.listdir(series.folder or ".")
    except OSError:
        return []
    from calendar import timegm  # slow to load, and the start is to be fast

    found = []
    for entry in entries:
        stamp = entry[len(series.start) : len(entry) - len(series.ending)]
        if not _STAMP.fullmatch(stamp) or entry != f"{series.start}{stamp}{series.ending}":
            continue
        path = series.path(stamp)
        with contextlib.suppress(OSError, ValueError):  # it has just gone, or its time is none
            seconds = timegm(time.strptime(stamp, _FORM))
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                found.append(Copy(path, stamp, seconds, status.st_size, status.st_mtime_ns == seconds * 10**9))
    return sorted(found, key=lambda one: one.stamp, reverse=True)


def back_up(
    series: Series,
    data: bytes,
    like: os.stat_result | None = None,
    now: Callable[[], float] = time.time,
    *,
    once: bool = False,
    discard: Callable[[str], object] = calls.remove_if_possible,
) -> tuple[str, bool]:
    """Keep `data` as the newest copy: its path, and whether it is new. It has the owner and mode of `like`.

    If the newest copy holds just these bytes, or with `once` any copy, no other one is made. Missing folders are made.
    The copy and its name are synced. If this fails nothing is left behind: `discard` gets what there is to remove.

    1. write and sync `<name>.<32 hex>.tmp` in the folder of the copies     a crash leaves a temporary file
    2. set its time to that of its name: the mark of a finished copy        the same
    3. give it its name, which nothing had before                           a whole copy
    4. sync the folder                                                      the same, durable
    """
    there = listed(series)
    for old in there if once else there[:1]:
        if old.size == len(data) and _holds(old.path, data):
            if not old.finished:  # now it is known to be whole
                with contextlib.suppress(OSError):
                    calls.set_time(old.path, old.seconds)
            return old.path, False
    created = make_folders(series.folder) if series.folder and not os.path.isdir(series.folder) else []
    try:
        seconds = int(max(now(), there[0].seconds + 1 if there else 0))
        return _written(series, data, like, seconds, discard), True
    except BaseException:
        remove_folders(created)
        raise


def prune(series: Series, keep: int, is_whole: Callable[[Copy], bool], spared: Collection[str] = ()) -> list[Copy]:
    """Remove the copies older than the newest `keep` whole ones, and return those that were removed.

    A copy that is not whole does not count. Paths in `spared` are kept in any case.
    """
    kept, removed = 0, []
    for one in listed(series):
        if kept >= keep and one.path not in spared:
            calls.remove(one.path)
            removed.append(one)
        elif kept < keep and is_whole(one):
            kept += 1
    if removed:
        calls.sync_folder(series.folder)
    return removed


def _written(
    series: Series, data: bytes, like: os.stat_result | None, seconds: int, discard: Callable[[str], object]
) -> str:
    base = os.path.join(series.folder, series.start.rstrip("."))
    with contextlib.suppress(OSError):
        whole.remove_old_temporaries(base)
    made = whole.temporary(base)
    path = ""
    try:
        calls.close(whole.write_temporary(made, (data,), like))
        while not path:
            with contextlib.suppress(OSError):  # without the mark it is judged by its content
                calls.set_time(made, seconds)
            try:
                wanted = series.path(time.strftime(_FORM, time.gmtime(seconds)))
                whole.give_name(made, wanted)
                path = wanted
            except FileExistsError:
                seconds += 1  # another process made a copy in this second, or something else has the name
        calls.sync_folder(series.folder)
    except BaseException:
        with contextlib.suppress(OSError):
            discard(made)
            if path:
                discard(path)
        raise
    return path


def _holds(path: str, data: bytes) -> bool:
    try:
        reading = whole.open_whole(path, follow=False)
    except OSError:
        return False
    calls.close_if_possible(reading.fd)
    return reading.data == data
