"""The snapshot of the memory file that all readers share: loaded when the file has changed, replaced by each save.

One thread loads or saves at a time, so that what others have changed is parsed once, and never while a save of ours
makes the file new. Whoever reads the current graph meanwhile is not kept waiting (`peek`).

What was tolerated in the file is reported once. Files that saves have replaced are kept open until `release`, since the
last one who closes such a file waits for the disk.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable
from typing import TypeAlias

from memory_app.disk.calls import close_unwanted
from memory_app.errors import StoreError
from memory_app.graph.graph import Graph
from memory_app.jsonl.notices import Notice
from memory_app.storage.history import DAYS
from memory_app.storage.memory_file import MemoryFile, Snapshot

Loader: TypeAlias = Callable[[Callable[[], Snapshot]], Snapshot]
"""Calls what it is given, and returns its snapshot: for a process that has something to do around each load."""


def load_plainly(read: Callable[[], Snapshot]) -> Snapshot:
    """The loader of a process that needs no preparation for a load."""
    return read()


class Snapshots:
    """The snapshots of the file at `path`. `file` is public for everything but reading and saving a snapshot.

    Threads: every method may be called from any thread. `peek` never waits; the others may wait for a load or a save.
    """

    def __init__(
        self, path: str, report: Callable[[str], None], loader: Loader = load_plainly, history_days: int = DAYS
    ) -> None:
        self.file = MemoryFile(path, report=self._tell, history_days=history_days)
        self.foreign_changes = 0  # changes of the graph by other processes, as far as they were noticed
        self._path = path
        self._report = report
        self._reported: set[Hashable] = set()
        self._loader = loader
        self._snapshot: Snapshot | None = None
        self._changing = threading.Lock()  # held while the snapshot is being replaced
        self._replaced: list[int] = []

    @property
    def last(self) -> Snapshot | None:
        """What was loaded or saved last, whatever has become of the file. Asks no file system."""
        return self._snapshot

    def peek(self) -> Graph | None:
        """The current graph if the file is still the one that was loaded, else None. Costs one stat."""
        snapshot = self._snapshot
        try:
            return snapshot.graph if snapshot is not None and self.file.is_current(snapshot) else None
        except StoreError:
            return None

    def current(self, *, afresh: bool = False) -> Snapshot:
        """The current snapshot, read again if the file has changed or with `afresh`. StoreError if that fails."""
        with self._changing:
            before = self._snapshot
            if before is not None and not afresh and self.file.is_current(before):
                return before
            snapshot = self._loader(lambda: self.file.read(before))
            self._snapshot = snapshot
            if before is not None:
                self.foreign_changes += snapshot.graph is not before.graph
        for notice in snapshot.notices:
            self._tell(notice)
        return snapshot

    def save(self, current: Snapshot, graph: Graph, lock_held: Callable[[], bool], reason: str = "") -> bool:
        """As `MemoryFile.save`. False if nothing was saved because the file must be read again."""
        with self._changing:
            saved = self.file.save(current, graph, lock_held, reason)
            if saved is None:
                return False
            self._snapshot = saved
            if saved.replaced is not None:
                with contextlib.suppress(MemoryError):  # it is saved: nothing may make that look otherwise
                    self._replaced.append(saved.replaced)
        return True

    def release(self) -> None:
        """Close the files that saves have replaced, which may take some time."""
        with contextlib.suppress(IndexError):  # another thread may take the last one
            while True:
                close_unwanted(self._replaced.pop())

    def close(self) -> None:
        """Forget the snapshot and close every file."""
        with self._changing:
            self._snapshot = None
        self.release()
        self.file.close()

    def _tell(self, notice: Notice) -> None:
        """Report what was not reported yet, wherever in the file it is."""
        if notice.kind not in self._reported:
            self._reported.add(notice.kind)
            self._report(f"{self._path}: {notice}")
