"""The heartbeat: one daemon thread in a process, which refreshes every lock file that the process holds.

It starts with the first lock and then stays, asleep while nothing is held, so that taking a lock starts no thread;
being a daemon it keeps no process alive. A fork's child begins anew, with nothing held: the locks are the parent's.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Final

from memory_app.lock.lockfile import Held

INTERVAL: Final = 15.0
"""Seconds; half of what makes a lock count as abandoned, so that one missed beat costs nothing."""


class Heartbeat:
    """The locks that this process holds; they are refreshed from one thread. All methods may be called from any
    thread.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self.forget()

    def forget(self) -> None:
        """Forget all locks and the thread; for the child of a fork."""
        self._mutex = threading.Lock()
        self._held: dict[str, Held] = {}
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()

    def add(self, held: Held) -> None:
        """Refresh this lock from now on. Call it before the file is created, so that our own token is always known."""
        with self._mutex:
            self._held[held.token] = held
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="lock heartbeat", daemon=True)
                # A process that may start no thread can still write: no save takes as long as a lock lives unrefreshed.
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread
            if not self._wanted.is_set():
                self._wanted.set()

    def discard(self, held: Held) -> None:
        with self._mutex:
            self._held.pop(held.token, None)

    def holds(self, token: str) -> bool:
        """Whether this process holds a lock with this token, or is creating one."""
        with self._mutex:
            return token in self._held

    def beat(self) -> None:
        """Refresh all locks now. A failed refresh is repeated at the next beat. The holder notices a lost lock
        itself.
        """
        with self._mutex:
            held = list(self._held.values())
        for one in held:
            with contextlib.suppress(OSError):
                one.refresh()

    def _run(self) -> None:
        while True:
            with self._mutex:
                if not self._held:
                    self._wanted.clear()
            self._wanted.wait()
            time.sleep(self._interval)
            self.beat()


HEARTBEAT: Final = Heartbeat()
"""The process's own. It holds what only the process as a whole knows: which tokens are its own."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=HEARTBEAT.forget)
