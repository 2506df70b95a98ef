"""The history of a memory: earlier states of the file, kept without a copy before a save that takes something away.

A generation is the file that a save replaced: `<name>.history/<UTC time>.jsonl`, a hard link that is made right before
the rename. Nothing is copied or synced for it. The time is that of the replacing; a word behind it, as in
`<UTC time>.undo.jsonl`, names the command that replaced the file. Rules:

- One is kept before a save that takes something away, before a save of a command that asks for it, right after such
  a one (so that the state it made can be told from what came later), and at the first save of a day (UTC).
- The step is part of the save (`memory_file`): the last check allows exactly the link. If the save is given up the link
  goes. A process that is killed between link and rename leaves a generation that is the memory's own file: it is none,
  and the next save removes it.
- Failing to keep one never fails the save; it is reported once.
- Where there are no hard links a file of at most 1 MiB is copied (written, synced, then named), others are not kept.
- What is too much is removed when no call has come for a moment: see `surplus`.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import stat
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from memory_app.disk import calls, whole
from memory_app.disk.calls import Signature
from memory_app.disk.folders import remove_folders
from memory_app.graph.graph import Graph
from memory_app.graph.losses import takes_away
from memory_app.jsonl.notices import Notice
from memory_app.storage.replaced import link_present

DAYS: Final = 30
"""Days that generations are kept if nobody says otherwise; MEMORY_HISTORY may."""

NEWEST: Final = 50
"""Generations that are kept whatever their day; of older ones the last of each day."""

LEAST_BYTES: Final = 64 << 20
FILES_KEPT: Final = 10
"""All generations together take at most as much space as ten files of the present size, or 64 MiB if that is more."""

LARGEST_COPY: Final = 1 << 20
"""Bytes of a file that is copied where no link can be made: what a save can write twice without being felt."""

NOT_KEPT: Final = "its earlier states cannot be kept"
"""How a notice of a save without a generation begins."""

_NAME: Final = re.compile(r"(\d{8}T\d{6})\.(\d{3})Z(?:\.([a-z-]+))?\.jsonl")
_FORM: Final = "%Y%m%dT%H%M%S"
_DAY: Final = 86_400


class Generation(NamedTuple):
    """An earlier state of the file. `milliseconds` is the time since the epoch at which it was replaced, `reason` the
    command that replaced it, if any; `written` is the time of its content, in seconds.
    """

    path: str
    stamp: str
    milliseconds: int
    reason: str
    size: int
    written: float

    @property
    def seconds(self) -> float:
        return self.milliseconds / 1000


class Kept(NamedTuple):
    """A generation that is being made, named as in `Generation`. `signature` is what the last check must find at the
    memory's name.
    """

    path: str
    signature: Signature
    milliseconds: int
    reason: str


def folder_of(target: str) -> str:
    """The folder of the generations of the real file `target`."""
    return f"{target}.history"


def generations(target: str) -> list[Generation]:
    """The generations of the real file `target`, newest first; none if the folder cannot be listed."""
    own = None
    with contextlib.suppress(OSError):
        status = os.stat(target)
        own = (status.st_dev, status.st_ino)
    folder = folder_of(target)
    found = []
    for milliseconds, reason, entry in _names(folder):
        path = os.path.join(folder, entry)
        with contextlib.suppress(OSError):  # it has just gone
            status = calls.lstat(path)
            if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) != own:
                stamp = entry.split("Z", 1)[0] + "Z"
                found.append(Generation(path, stamp, milliseconds, reason, status.st_size, status.st_mtime))
    return found


def surplus(found: Sequence[Generation], size: int, now: float, days: int) -> list[Generation]:
    """The generations that must be removed, of all of them, newest first. `size` is that of the present file.

    The newest one is always kept. Of the others, these are removed: first those older than `days`, then all but the
    last of each day beyond the newest 50, then those that exceed the space.
    """
    gone: list[Generation] = []
    total, most = 0, max(FILES_KEPT * size, LEAST_BYTES)
    day = None
    for place, one in enumerate(found):
        its_day = one.milliseconds // (_DAY * 1000)
        old = now - one.seconds > days * _DAY
        again = place >= NEWEST and its_day == day
        if place and (old or again or total + one.size > most):
            gone.append(one)
            if not old and not again:
                total = most  # nor is there space for any older one
        else:
            total += one.size
            day = its_day
    return gone


class History:
    """The generations that this process makes. One thread at a time. `days` 0 keeps none."""

    def __init__(self, days: int, now: Callable[[], float], report: Callable[[Notice], None]) -> None:
        self._days = days
        self._now = now
        self._report = report
        self._seen: tuple[int, int] | None = None  # inode and content time of the folder as it was last known
        self._newest: tuple[int, str] | None = None  # its newest generation: when, and by which command
        self._leftovers: list[str] = []  # temporary files that could not be removed yet
        self._untidy = days > 0  # something may have to go; so it is at the start

    def wants(self, target: str, before: Graph, after: Graph, reason: str) -> bool:
        """Whether the file that this save replaces must be kept."""
        if not self._days:
            return False
        if reason or takes_away(before, after):
            return True
        newest = self._look(folder_of(target))
        if newest is None or newest[1]:
            return True
        # A later day means a clock that was ahead: a generation for each save until then would thin out all others.
        return newest[0] // (_DAY * 1000) < int(self._now()) // _DAY

    def keep(self, target: str, expected: Signature, like: os.stat_result, reason: str) -> Kept | None:
        """Give the file at `target` a second name in the history. None, with nothing left behind, if that fails or if
        the file is not the expected one any more, which the last check of the save notices too.
        """
        try:
            folder = folder_of(target)
            self._make_folder(folder, like)
            newest = self._look(folder)
            moment = int(self._now() * 1000)
            if newest is not None:
                moment = max(moment, newest[0] + 1)
            kept = self._named(target, expected, like, folder, moment, reason)
        except Exception as error:  # noqa: BLE001 (the save must not fail for want of a generation)
            said = error.strerror if isinstance(error, OSError) else None
            where = os.path.basename(folder_of(target))
            self._report(Notice(f"{NOT_KEPT} in {where}: {said or type(error).__name__}"))
            return None
        if kept is not None:
            self._untidy = True
            try:
                self._remember(folder, kept)
            except BaseException:  # the save knows of no generation yet, and could not remove it
                self.undo(kept)
                raise
        return kept

    def undo(self, kept: Kept) -> None:
        """Remove the name again: the save was given up."""
        self._seen = None
        calls.remove_if_possible(kept.path)

    def remove_own(self, target: str, status: os.stat_result) -> bool:
        """Remove generations that are the memory's own file, and return whether there were any. `status` is that of the
        file.
        """
        if status.st_nlink < 2:
            return False
        found = False
        folder = folder_of(target)
        for *_, entry in _names(folder):
            with contextlib.suppress(OSError):
                path = os.path.join(folder, entry)
                there = calls.lstat(path)
                if (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino):
                    found = calls.remove_if_possible(path) or found
        return found

    def sweep(self) -> None:
        """Remove temporary files that could not be removed when they failed. Called before a save is answered."""
        if self._leftovers:
            self._leftovers = [path for path in self._leftovers if not calls.remove_if_possible(path)]

    def tidy(self, target: str) -> None:
        """Remove surplus generations. Costs nothing if there are none; otherwise do not wait for it, because a large
        file's blocks are freed here.
        """
        self.sweep()
        if not self._untidy:
            return
        self._untidy = False
        folder = folder_of(target)
        with contextlib.suppress(OSError):
            whole.remove_old_temporaries(os.path.join(folder, _COPY), self._now())
        size = 0
        with contextlib.suppress(OSError):
            size = calls.signature_at(target).size
        for one in surplus(generations(target), size, self._now(), self._days):
            calls.remove_if_possible(one.path)

    def _look(self, folder: str) -> tuple[int, str] | None:
        """The newest generation. Costs one stat if the folder has not changed."""
        try:
            status = calls.lstat(folder)
        except OSError:
            return None
        seen = (status.st_ino, status.st_mtime_ns)
        if seen != self._seen:
            self._newest = next(((when, reason) for when, reason, _ in _names(folder)), None)
            self._seen = seen
        return self._newest

    def _remember(self, folder: str, kept: Kept) -> None:
        """Know the folder as it is with this newest generation, so that the next save need not list it."""
        self._seen = None
        with contextlib.suppress(Exception):  # then it is listed
            status = calls.lstat(folder)
            self._seen, self._newest = (status.st_ino, status.st_mtime_ns), (kept.milliseconds, kept.reason)

    def _make_folder(self, folder: str, like: os.stat_result) -> None:
        try:
            if not stat.S_ISDIR(calls.lstat(folder).st_mode):  # a link is not followed
                raise NotADirectoryError(errno.ENOTDIR, "it is not a folder", folder)
        except FileNotFoundError:
            calls.make_folder(folder)
            try:
                calls.set_folder_owner_and_mode(folder, like, _mode(like.st_mode))
            except BaseException:
                remove_folders([folder])
                raise
        ignoring = os.path.join(folder, ".gitignore")
        if not os.path.lexists(ignoring):
            with contextlib.suppress(OSError):  # a courtesy: what a memory forgot should not be committed by mistake
                try:
                    whole.write_new(ignoring, [b"*\n"], like)
                except BaseException:
                    self._leftovers += whole.temporaries(ignoring)  # ours: the lock is
                    raise

    def _named(
        self, target: str, expected: Signature, like: os.stat_result, folder: str, moment: int, reason: str
    ) -> Kept | None:
        while True:
            path = os.path.join(folder, _entry(moment, reason))
            try:
                signature = link_present(target, path, expected)
                return None if signature is None else Kept(path, signature, moment, reason)
            except FileExistsError:
                moment += 1
            except FileNotFoundError:
                return None
            except OSError as error:
                _remove_link(target, path)  # a network file system may have made it and lost the answer
                if expected.size <= LARGEST_COPY:
                    return Kept(path, expected, moment, reason) if _copied(target, path, expected, like) else None
                said = error.strerror or str(error)
                self._report(Notice(f"{NOT_KEPT}, no hard link can be made ({said})"))
                return None
            except BaseException:
                _remove_link(target, path)
                raise


_COPY: Final = "copy"


def _copied(target: str, path: str, expected: Signature, like: os.stat_result) -> bool:
    """Make a copy in place of a link. It gets its name when it is whole and synced. Nothing can have that name yet: the
    lock is ours, and the time is new. False if the file is not the expected one any more.
    """
    reading = whole.open_whole(target)
    calls.close_if_possible(reading.fd)
    if reading.signature != expected:
        return False
    made = whole.temporary(os.path.join(os.path.dirname(path), _COPY))
    try:
        calls.close(whole.write_temporary(made, (reading.data,), like))
        calls.set_time(made, expected.mtime_ns // 1_000_000_000)
        calls.rename(made, path)
    except BaseException:
        calls.remove_if_possible(made)
        raise
    return True


def _remove_link(target: str, path: str) -> None:
    """Remove a second name of the memory, if it is one."""
    with contextlib.suppress(OSError):
        one, other = calls.lstat(target), calls.lstat(path)
        if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino):
            calls.remove_if_possible(path)


def _entry(moment: int, reason: str) -> str:
    seconds, milliseconds = divmod(moment, 1000)
    stamp = f"{time.strftime(_FORM, time.gmtime(seconds))}.{milliseconds:03}Z"
    return f"{stamp}.{reason}.jsonl" if reason else f"{stamp}.jsonl"


def _names(folder: str) -> list[tuple[int, str, str]]:
    """The generations, from their names alone, newest first: time, command, folder entry."""
    try:
        entries = os.listdir(folder)
    except OSError:
        return []
    return sorted(filter(None, map(_read_name, entries)), reverse=True)


@functools.lru_cache(maxsize=256)  # the folder is listed again and again, and reading a time takes longer than that
def _read_name(entry: str) -> tuple[int, str, str] | None:
    """Time, command and name of a folder's entry; None if it is no generation."""
    match = _NAME.fullmatch(entry)
    if match is None:
        return None
    from calendar import timegm  # slow to load, and the start is to be fast

    try:
        seconds = timegm(time.strptime(match[1], _FORM))
    except ValueError:  # its time is none
        return None
    return seconds * 1000 + int(match[2]), match[3] or "", entry


def _mode(mode: int) -> int:
    """The folder's mode, from that of the file: the group may list the folder if it may read the file, and add to it if
    it may write the file. Others get no rights.
    """
    group = mode >> 3 & 0o6
    return 0o700 | (group | (1 if group & 4 else 0)) << 3
