"""The files beside the memory file: temporary ones of a save, and the backups of files of another shape.

Every call of the file system goes through `disk`. A temporary file that cannot be removed when its save failed is
remembered, and removed by the next save; those of processes that died are removed once they are old.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from typing import Final

from memory_app.disk import calls

TEMPORARY: Final = re.compile(r"\.[0-9a-f]{32}\.tmp")
_BACKUP: Final = re.compile(r"\.\d{8}T\d{6}Z\.bak")
# Seconds after which a temporary file has no living owner: no save lasts as long, and the lock is ours by then.
_TEMPORARY_AGE: Final = 600.0


class SideFiles:
    """Those of the memory file at `path`, as configured. A `target` is the real file, with its links resolved."""

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        self._leftovers: list[str] = []  # temporary files that could not be removed yet
        self._swept = False

    def temporary(self, target: str) -> str:
        """A new temporary file's name, which nobody can guess."""
        return f"{target}.{secrets.token_hex(16)}.tmp"

    def discard(self, fd: int, path: str) -> None:
        """Close (unless -1) and remove a file of ours; if it cannot be removed now, `sweep` does it later."""
        self._leftovers.append(path)  # first, so that whatever goes wrong now, it is not forgotten
        try:
            if fd >= 0:
                calls.close_if_possible(fd)
        finally:
            if calls.remove_if_possible(path):
                self._leftovers.remove(path)

    def sweep(self, target: str) -> None:
        """Remove temporary files that nobody owns: ours that stayed, and, once, old ones of processes that died."""
        self._leftovers = [path for path in self._leftovers if not calls.remove_if_possible(path)]
        if self._swept:
            return
        with contextlib.suppress(OSError):
            # The lock's own stand beside the path as configured, which may be a link that leads elsewhere.
            for place in dict.fromkeys((target, os.path.abspath(self._path))):
                for path in _beside(place, TEMPORARY):
                    self._remove_if_old(path)
            self._swept = True

    def back_up(self, target: str, data: bytes, wanted: os.stat_result | None) -> None:
        """Copy the bytes of a file of another shape to `<name>.<UTC time>.bak`, once for the same bytes.

        `wanted` is the status whose owner and mode the copy gets. The copy and its name are synced. OSError with
        nothing left behind.
        """
        if any(_holds(path, data) for path in _beside(target, _BACKUP)):
            return
        seconds = self._now()
        while True:
            path = f"{target}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(seconds))}.bak"
            try:
                fd = calls.create(path, 0o600)
                break
            except FileExistsError:
                seconds += 1  # the name of another backup of this second
        try:
            if wanted is not None:
                calls.set_owner_and_mode(fd, wanted)
            calls.write_all(fd, (data,))
            calls.sync(fd)
            closing, fd = fd, -1
            calls.close(closing)
            calls.sync_folder(os.path.dirname(target))
        except BaseException:
            with contextlib.suppress(BaseException):
                self.discard(fd, path)
            raise

    def _remove_if_old(self, path: str) -> None:
        with contextlib.suppress(OSError):  # one that stays does not keep the others
            status = calls.lstat(path)
            if stat.S_ISREG(status.st_mode) and self._now() - status.st_mtime > _TEMPORARY_AGE:
                calls.remove(path)


def _beside(target: str, pattern: re.Pattern[str]) -> list[str]:
    folder, name = os.path.split(target)
    found = [entry for entry in os.listdir(folder) if entry.startswith(name)]
    return [os.path.join(folder, entry) for entry in found if pattern.fullmatch(entry[len(name) :])]


def _holds(path: str, data: bytes) -> bool:
    try:
        fd = calls.open_regular(path, follow=False)
    except OSError:
        return False
    try:
        return calls.signature(fd).size == len(data) and calls.read_all(fd) == data
    finally:
        calls.close_if_possible(fd)
