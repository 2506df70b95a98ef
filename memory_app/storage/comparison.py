"""Comparison of a file with what was loaded from it, while the disk is busy with something else."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from typing import Final

from memory_app.disk import whole
from memory_app.disk.calls import Signature

WORTH_A_THREAD: Final = 1 << 18
"""Bytes of a file that take longer to compare than a thread to start: 256 KiB take 60 us."""


class Comparison:
    """Whether the file at `path` has this signature and just these bytes. Begins at once if the file is large."""

    def __init__(self, path: str, signature: Signature, chunks: Iterable[bytes]) -> None:
        self._arguments = (path, signature, chunks)
        self._is_same = False
        self._thread: threading.Thread | None = None
        if signature.size >= WORTH_A_THREAD:
            thread = threading.Thread(target=self._compare, name="memory-comparison", daemon=True)
            with contextlib.suppress(RuntimeError, MemoryError):  # no thread can be started: it waits for `result`
                thread.start()
                self._thread = thread

    def result(self) -> bool:
        """Wait for the answer. False if the file could not be read as well; reading it says why."""
        if self._thread is None:
            self._compare()
        else:
            self._thread.join()
        return self._is_same

    def _compare(self) -> None:
        with contextlib.suppress(OSError, MemoryError):
            self._is_same = whole.holds(*self._arguments)
