"""Stale locks: when a waiter may break another process's lock, and how.

A lock is stale if its process is known to be gone from this machine (`record.known_gone`), or if it was not refreshed
for 30 s. The steps follow those of `lock`; what a crash right after each leaves stands behind it:

| step | who | what | a crash after it leaves |
|---|---|---|---|
| a | waiter | finds the lock's holder gone, or the lock unrefreshed for 30 s | nothing |
| b | waiter | creates the guard `<memory file>.lock.break` (O_EXCL) | a guard: removed by age, as in d and e |
| c | waiter | judges again: still the same record, still to be broken? | the same |
| d | waiter | renames the lock to an unguessable name, looks at it | a guard, a temporary file for the store to clear |
| e | waiter | removes it; links it back instead if it is not what was judged | a guard |
| f | waiter | removes the guard and tries for the lock again | nothing |

One waiter breaks at a time. A lock that is not the judged one any more is never removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from memory_app.lock import identity, lockfile
from memory_app.lock import record as lockrecord
from memory_app.lock.heartbeat import HEARTBEAT
from memory_app.lock.identity import Identity
from memory_app.lock.lockfile import Held, Sighting

UNREFRESHED: Final = 30.0
"""Seconds: two heartbeats missed. By the file's time, or as long as a waiter saw the same record by its own clock."""


class StaleLocks:
    """Judges and breaks the locks that one waiter meets. `make` creates the guard's file."""

    def __init__(self, make: Callable[[Held], bool], me: Identity | None = None) -> None:
        self._make = make
        self._me = me
        self._seen: dict[str, tuple[Sighting, float]] = {}
        self.obstacle = ""
        """Why a stale lock could not be removed, as a sentence for the error of the waiter."""

    def forget(self) -> None:
        """Forget what was seen: the waiting is over."""
        self._seen.clear()

    def break_at(self, path: str) -> bool:
        """Steps a to f for the lock at `path`. True if it is worth trying for the lock at once."""
        seen = lockfile.inspect(path)
        if seen is None:
            return True
        if seen.kind or not self._is_stale(path, seen):
            return False
        try:
            return self._break(path, seen)
        except OSError as error:
            self.obstacle = f" It is abandoned but could not be removed: {error.strerror or error}."
            return False

    def _break(self, path: str, judged: Sighting) -> bool:
        guard = Held(path + ".break", lockfile.new_token(), self._me or identity.this_process())
        if not self._make(guard):
            self._clear_guard(guard.path)
            return False
        try:
            again = lockfile.inspect(path)
            return again == judged and self._is_stale(path, judged) and lockfile.remove_stale(path, judged)
        finally:
            guard.release()

    def _clear_guard(self, path: str) -> None:
        seen = lockfile.inspect(path)
        if seen is not None and seen.kind:
            self.obstacle = f" It is abandoned but cannot be removed, because {path} is {seen.kind}: remove that."
        elif seen is not None and self._is_unrefreshed(path, seen):
            lockfile.remove_stale(path, seen)

    def _is_stale(self, path: str, seen: Sighting) -> bool:
        record = seen.record
        me = self._me or identity.this_process()
        if record is not None and lockrecord.known_gone(record, me, HEARTBEAT.holds):
            return True
        return self._is_unrefreshed(path, seen)

    def _is_unrefreshed(self, path: str, seen: Sighting) -> bool:
        """Whether the lock was not refreshed, by the file's time or by our own clock: the machine's clock may have been
        set back.
        """
        now = time.monotonic()
        earlier, since = self._seen.get(path, (None, now))
        if earlier != seen:
            self._seen[path] = (seen, now)
            since = now
        return time.time() - seen.mtime > UNREFRESHED or now - since > UNREFRESHED
