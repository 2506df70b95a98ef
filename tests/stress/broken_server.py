"""Programs that break one promise, for the checkers to be seen catching them.

python -m tests.stress.broken_server FAULT [ARGUMENT ...]
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Final

from memory_app import cli
from memory_app.disk import calls as disk
from memory_app.lock.lock import Lock
from memory_app.storage import history, inplace
from memory_app.storage.snapshots import Snapshots
from memory_app.storage.store import Store

_GAP: Final = 0.004  # seconds between the last check and the rename: what otherwise takes an hour to happen


def _without_lock() -> None:
    """Takes no lock, and has more time between the last check and the rename."""
    broken: Any = Lock
    broken.acquire = lambda self, deadline, abandoned=None: None
    broken.held = lambda self: True
    broken.release = lambda self: None
    replace = disk.replace

    def late(source: str, target: str) -> None:
        time.sleep(_GAP)
        replace(source, target)

    slow: Any = disk
    slow.replace = late


def _without_saving() -> None:
    """Says that it has stored what it has not."""
    broken: Any = Store
    broken._transact = lambda self, calls, graph, after: 1


def _with_stale_reads() -> None:
    """Reads what it has read before, until it writes itself."""
    broken: Any = Snapshots
    broken.peek = lambda self: None if self.last is None else self.last.graph


def _without_sync() -> None:
    """Leaves to the system when anything comes to the disk."""
    broken: Any = disk
    broken.sync = broken.sync_folder = lambda _: None


def _without_waiting() -> None:
    """Takes every file that it reads for whole, and keeps nothing of one that it replaces."""
    broken: Any = inplace
    broken.may_be_unfinished = lambda signature, reading, present: False
    broken.stillness_missing = lambda signature, reading, present: 0.0
    broken_history: Any = history.History
    broken_history.wants = lambda *_: False


def _without_history() -> None:
    """Keeps a generation at the first save of a day, but none before a delete."""
    broken: Any = history
    broken.takes_away = lambda before, after: False


def _without_answers() -> None:
    """Passes over each line that is cut."""
    from memory_app.server.messages import Lines  # here, since the SDK takes its time

    broken: Any = Lines
    feed = broken.feed

    def pass_over(self: Lines, data: bytes) -> list[bytes | None]:
        return [line for line in feed(self, data) if line is None or line.rstrip().endswith(b"}")]

    broken.feed = pass_over


def _with_open_files() -> None:
    """Keeps each file open that it has saved."""
    broken: Any = Snapshots
    save = broken.save
    kept: list[int] = []

    def keep(self: Snapshots, *arguments: Any) -> bool:
        saved: bool = save(self, *arguments)
        kept.append(os.open(self.file.path, os.O_RDONLY))
        return saved

    broken.save = keep


def _ordinary() -> None:
    """Breaks nothing."""


FAULTS: Final = {
    "no-lock": _without_lock,
    "no-save": _without_saving,
    "stale": _with_stale_reads,
    "no-sync": _without_sync,
    "no-wait": _without_waiting,
    "no-history": _without_history,
    "no-answer": _without_answers,
    "open-files": _with_open_files,
    "none": _ordinary,
}


if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.exit(cli.main(sys.argv[2:]))
