"""Temporary files: those that a save could not remove, and those that a crash left.

Every call of the file system goes through `disk`. A temporary file that cannot be removed when its save failed is
remembered, and removed by the next save; those of processes that died are removed once they are old.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from memory_app.disk import calls, whole


class SideFiles:
    """The temporary files of the memory file at `path`, as configured. A `target` is the real file, with its links
    resolved.
    """

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        self._leftovers: list[str] = []  # temporary files that could not be removed yet
        self._swept = False

    def discard(self, fd: int, path: str) -> None:
        """Close (unless -1) and remove a file of ours. If it cannot be removed now, `sweep` removes it later."""
        self._leftovers.append(path)  # first, so that whatever goes wrong now, it is not forgotten
        try:
            if fd >= 0:
                calls.close_if_possible(fd)
        finally:
            if calls.remove_if_possible(path):
                self._leftovers.remove(path)

    def sweep(self, target: str) -> None:
        """Remove temporary files that nobody uses: ours that could not be removed, and, once, old ones of processes
        that died.
        """
        self._leftovers = [path for path in self._leftovers if not calls.remove_if_possible(path)]
        if self._swept:
            return
        with contextlib.suppress(OSError):
            # The lock's own stand beside the path as configured, which may be a link that leads elsewhere.
            for place in dict.fromkeys((target, os.path.abspath(self._path))):
                whole.remove_old_temporaries(place, self._now())
            self._swept = True
