"""Lines on stderr for the person who runs the server: short, and without the content of the memory.

Their number is limited: a client that never reads our stderr would otherwise stop the server when the pipe is full.
Other programs may have filled it already: a line that would have to wait is dropped.
"""

from __future__ import annotations

import os
import select
import threading
from typing import Final

_LIMIT: Final = 4000  # characters: below the smallest pipe (4 KiB on Windows)


class Notices:
    """Callable from any thread. A lost stderr is no error."""

    def __init__(self, limit: int = _LIMIT) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def __call__(self, text: str) -> None:
        """Write one line, up to the limit."""
        line = f"memory-server: {text}\n".encode("utf-8", "backslashreplace")
        with self._lock:
            if self._left <= 0 or not _takes_a_line():
                return
            self._left -= len(line)
            if self._left <= 0:
                line += b"memory-server: further messages are left out\n"
            try:
                os.write(2, line)
            except OSError:
                self._left = 0


def _takes_a_line() -> bool:
    """Whether stderr accepts a short line at once. Windows cannot tell."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return bool(poll.poll(0))  # closed is ready, too: the write tells
