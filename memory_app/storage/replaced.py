"""Replaced files: inodes that another program may still write to after a save has replaced them.

Such an inode gets a second name, `<name>.<UTC time>.replaced`, before the rename, so that whatever is written to it
later arrives in a file that can be found. It is no backup: it may be empty, cut, or grow, so it has an ending of its
own, which `restore` does not take for the newest backup and `backup --keep` does not count.

| step | what | a crash after it leaves |
|---|---|---|
| 1 | the present inode is linked under a new name | the memory with a second name, which the next save leaves alone |
| 2 | it is compared with what was loaded: all but the change time and the number of names | the same |
| 3 | the last check of the save, which allows just these two differences; its rename | the new memory, the old inode |
| 4 | after a minute the second name goes, if nothing was written to the inode since | the same |

Where there are no hard links the inode is watched through a descriptor for ten seconds, and copied to a backup if it
changes. Of the names that stay the newest ten are kept, and as many are watched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from memory_app.disk import calls
from memory_app.disk.calls import Signature

REPLACED: Final = re.compile(r"\.\d{8}T\d{6}Z\.replaced")
_FORM: Final = "%Y%m%dT%H%M%SZ"
_ENDING: Final = ".replaced"

_MOST: Final = 10
"""Names that stay. A program that writes in place all day beside us must not fill the disk, nor use up descriptors."""

_AGE: Final = 60.0
_AGE_AT_THE_END: Final = 10.0
"""Seconds after which nobody writes to an inode any more that lost its name while it was being written; fewer when the
process ends, which nobody could do it after."""

_WATCH: Final = 10.0
_LOOK: Final = 0.1
"""Seconds that a replaced inode without a second name is watched, and between two looks at it."""

Copy = Callable[[bytes], None]


class Kept(NamedTuple):
    """An inode that is about to be replaced: its second name, or else a descriptor.

    `signature` is what the last check must find at the memory's own name.
    """

    signature: Signature
    name: str = ""
    descriptor: int = -1


class _Link(NamedTuple):
    name: str
    signature: Signature
    made_at: float


class _Watched(NamedTuple):
    descriptor: int
    copied: tuple[int, ...]
    seen: tuple[int, ...]
    copy: Copy
    until: float


def link_present(target: str, name: str, expected: Signature) -> Signature | None:
    """Give the file at `target` the second name `name`, to keep what a save is about to replace.

    Returns what the save's last check must find at `target`: the expected signature except for the change time. None,
    with nothing left behind, if the file is not the expected one any more. FileExistsError if the name is taken,
    another OSError if no link can be made.
    """
    before = calls.lstat(target)
    if calls.signature_of(before) != expected:
        return None
    calls.link(target, name)
    after = None
    try:
        after = calls.lstat(name)
        if _is_as_before(before, after):
            return calls.signature_of(after)
        if (after.st_dev, after.st_ino) != (before.st_dev, before.st_ino) and _is_at(target, expected):
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), name)  # a copy was made, not a link
    except BaseException:
        calls.remove_if_possible(name)
        raise
    calls.remove_if_possible(name)
    return None


class Replaced:
    """The inodes that saves of this process have replaced. `report` is told what was kept of those that are watched."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._links: list[_Link] = []
        self._watched: list[_Watched] = []
        self._mutex = threading.Lock()
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None

    def keep(self, target: str, expected: Signature) -> Kept | None:
        """Steps 1 and 2. None if the file at `target` is not the expected one any more. OSError if it has
        disappeared.
        """
        # Later than all others: a name before them, free again once they were thinned, would be the next to go.
        seconds = max([self._now(), *(_time_of(entry) + 1 for entry in _names(target))])
        while True:
            name = f"{target}.{time.strftime(_FORM, time.gmtime(seconds))}{_ENDING}"
            try:
                signature = link_present(target, name, expected)
                return None if signature is None else Kept(signature, name)
            except FileExistsError:
                seconds += 1  # the name of another one of this second
            except FileNotFoundError:
                return None
            except OSError:
                break
        if calls.WINDOWS:
            return Kept(expected)  # an open file could not be replaced
        descriptor = calls.open_regular(target)
        if calls.signature(descriptor) == expected:
            return Kept(expected, descriptor=descriptor)
        calls.close_if_possible(descriptor)
        return None

    def undo(self, target: str, kept: Kept) -> None:
        """The save was given up. A name is kept if it may be the inode's only one."""
        if kept.descriptor >= 0:
            calls.close_if_possible(kept.descriptor)
        if kept.name:
            with contextlib.suppress(OSError):
                if calls.signature_at(target)[:2] == kept.signature[:2]:
                    calls.remove_if_possible(kept.name)

    def done(self, target: str, kept: Kept, copy: Copy) -> None:
        """The save has replaced the inode. If the inode is watched and changes, `copy` is called with its bytes."""
        if kept.name:
            self._links.append(_Link(kept.name, kept.signature, time.monotonic()))
            self._thin(target)
        elif kept.descriptor >= 0:
            seen = kept.signature[:4]
            with self._mutex:
                self._watched.append(_Watched(kept.descriptor, seen, seen, copy, time.monotonic() + _WATCH))
                if self._watcher is None:
                    watcher = threading.Thread(target=self._watch, name="memory-replaced", daemon=True)
                    with contextlib.suppress(RuntimeError):  # no further thread for this process: `close` looks
                        watcher.start()
                        self._watcher = watcher

    def sweep(self, age: float = _AGE) -> None:
        """Step 4, for the names that this process has made. Costs nothing if there are none."""
        while self._links and time.monotonic() - self._links[0].made_at >= age:
            link = self._links.pop(0)
            with contextlib.suppress(OSError):
                if calls.signature_of(calls.lstat(link.name))[:4] == link.signature[:4]:
                    calls.remove(link.name)

    def close(self) -> None:
        """Check the watched inodes, and the names that may be removed, for the last time."""
        self.sweep(_AGE_AT_THE_END)
        self._ending.set()
        if self._watcher is not None:
            self._watcher.join(_LOOK * 20)
        else:
            self._watch()

    def _thin(self, target: str) -> None:
        folder = os.path.dirname(target)
        for entry in sorted(_names(target))[:-_MOST]:
            calls.remove_if_possible(os.path.join(folder, entry))

    def _watch(self) -> None:
        """Check each inode until its time is over, or for the last time once the process ends."""
        while True:
            last = self._ending.wait(_LOOK)
            with self._mutex:
                watched = self._watched
                self._watched = []
                if not watched:
                    self._watcher = None
                    return
            too_many = len(watched) - _MOST
            looks = (_look(one, last or place < too_many) for place, one in enumerate(watched))
            still = [one for one in looks if one is not None]
            with self._mutex:
                self._watched = still + self._watched


def _look(one: _Watched, last: bool) -> _Watched | None:
    """Copy the inode if it has changed and is at rest. None if that was the last check."""
    last = last or time.monotonic() >= one.until
    with contextlib.suppress(BaseException):  # the edge of a thread: what cannot be copied now is tried again
        present = calls.signature(one.descriptor)[:4]
        if present != one.copied and (last or present == one.seen):
            one.copy(calls.read_again(one.descriptor))
            one = one._replace(copied=present)
        one = one._replace(seen=present)
    if not last:
        return one
    calls.close_if_possible(one.descriptor)
    return None


def _names(target: str) -> list[str]:
    """The second names beside the file, those of other processes too; none if the folder cannot be listed."""
    folder, name = os.path.split(target)
    try:
        entries = os.listdir(folder or ".")
    except OSError:
        return []
    return [entry for entry in entries if entry.startswith(name) and REPLACED.fullmatch(entry[len(name) :])]


def _time_of(name: str) -> int:
    """The time in a second name, in seconds since the epoch; 0 if it is none."""
    from calendar import timegm  # slow to load, and hardly ever needed

    try:
        return timegm(time.strptime(name.removesuffix(_ENDING).rpartition(".")[2], _FORM))
    except ValueError:
        return 0


def _is_at(path: str, expected: Signature) -> bool:
    try:
        return calls.signature_at(path)[:4] == expected[:4]
    except OSError:
        return False


def _is_as_before(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether nothing but the link has changed. Some file systems in user space do not count names."""
    same = calls.signature_of(before)[:4] == calls.signature_of(after)[:4]
    rights = (before.st_mode, before.st_uid, before.st_gid) == (after.st_mode, after.st_uid, after.st_gid)
    return same and rights and after.st_nlink - before.st_nlink in (0, 1)
