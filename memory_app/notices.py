"""Lines on stderr for the person who runs the server: short, and without anything that the memory holds.

There is an end to them: a client that never reads our stderr would otherwise stop the server when the pipe is full.
"""

from __future__ import annotations

import os
import threading
from typing import Final

_LIMIT: Final = 4000  # characters: below the smallest pipe (4 KiB on Windows)


class Notices:
    """Callable from any thread; a lost stderr is no error."""

    def __init__(self, limit: int = _LIMIT) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def __call__(self, text: str) -> None:
        """Say one line; beyond the limit nothing."""
        line = f"memory-server: {text}\n".encode("utf-8", "backslashreplace")
        with self._lock:
            if self._left <= 0:
                return
            self._left -= len(line)
            if self._left <= 0:
                line += b"memory-server: further messages are left out\n"
            try:
                os.write(2, line)
            except OSError:
                self._left = 0
