"""The lock: `<memory file>.lock` beside the path as configured, held only during a write.

If the path is a symbolic link, a second lock file beside the real file is taken after the first, always in that order,
so that writers who come by either name meet. `lockfile` is one such file, `stale` judges and breaks another's; this
module takes the lock, waits for it and releases it.

| step | who | what | a crash after it leaves |
|---|---|---|---|
| 1 | taker | creates the lock file (O_EXCL) | an empty record: broken by age |
| 2 | taker | writes its record | the record of a process that is gone: broken at once, or by age |
| 3 | holder | heartbeat refreshes the time through the open descriptor, every 15 s | the same |
| 4 | holder | `held`: the last check before the rename of the memory file | the same |
| 5 | holder | removes the lock file, if it is still its own | nothing |

A holder that was stopped for so long that its lock was broken finds that out at step 4. The time between that check and
the rename, two system calls, is what no lock file can cover.

Must not: follow or open what is no regular file at a lock's path, remove what is not ours or judged, hold two threads'
locks in one object (each `Lock` belongs to one thread at a time; several `Lock`s exclude each other).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Final

from memory_app.disk.advice import explain
from memory_app.errors import StoreError
from memory_app.lock import identity, lockfile
from memory_app.lock.heartbeat import HEARTBEAT
from memory_app.lock.identity import Identity
from memory_app.lock.lockfile import Held
from memory_app.lock.stale import StaleLocks

WAIT: Final = 60.0
"""Seconds from a call's arrival that it may wait: what clients commonly give a tool call."""

_LOOK: Final = 0.25
"""Seconds between two looks at who holds the lock; a look costs ten polls, and a dead holder is found soon enough."""

_FIRST_LOOK: Final = 0.005
"""Seconds; a live holder of a small file is done by then, and need not be judged at all."""

_FIRST_WAIT: Final = 0.0003
_LONGEST_WAIT: Final = 0.002
"""Seconds between two polls, growing by half: a free lock should not wait for sleepers, nor its holder for polls."""

_GAP: Final = 0.003
"""Seconds after which every waiter has polled once, with the most that chance adds to its wait."""

_TURN: Final = 0.05
_LONGEST_TURN: Final = 1.0
"""Seconds that a writer with much to do may take the lock again at once, before it leaves a gap for the others. The
second is reached by doubling while nobody is met, so that a writer who is alone hardly pays for it."""


class LockAbandoned(StoreError):
    """The call that wanted the lock was cancelled while it waited: nothing was stored, and nobody waits for an
    answer.
    """


class Lock:
    """The lock of one memory file. `path` is the file as it was configured."""

    def __init__(self, path: str, *, me: Identity | None = None) -> None:
        self._path = os.path.abspath(path)
        self._me = me
        self._held: list[Held] = []
        self._unfinished: list[Held] = []  # those whose making failed, and which could not be removed yet
        self._stale = StaleLocks(self._make, me)
        self._turn = _TURN
        self._turn_began = self._released = time.monotonic()
        self.target = self._path
        """The real file, as the path led to it when the lock was taken: where the holder has to write."""
        self.waiting = False
        """Whether `acquire` has met another holder, and waits for it."""
        self.waits, self.waited_seconds = 0, 0.0
        """How often `acquire` has met another holder, and how long it waited then, all together."""

    def acquire(self, deadline: float, abandoned: Callable[[], bool] = lambda: False) -> None:
        """Take the lock, waiting until `deadline` (time.monotonic()) or until `abandoned` says that nobody wants it.

        Raises StoreError (nothing was stored) if the lock cannot be had, LockAbandoned if it is not wanted any more;
        then, as on any other error, nothing of ours is left on the disk that can be removed.
        """
        self.release()  # what a caller lost or a fork's parent holds
        self._yield_to_waiters()
        began = time.monotonic()
        try:
            self._held.append(self._wait_for(self._path, deadline, abandoned))
            self._follow(deadline, abandoned)
        except BaseException:
            self.release()
            raise
        finally:
            if self.waiting:
                self.waits, self.waited_seconds = self.waits + 1, self.waited_seconds + time.monotonic() - began
            self.waiting = False
        self._stale.forget()

    def held(self) -> bool:
        """Whether the lock is ours at this moment and still covers the file that the path leads to."""
        return bool(self._held) and all(held.is_ours() for held in self._held) and self._real_path() == self.target

    def release(self) -> None:
        """Release the lock. A file that belongs to another process by now is left alone. Raises no OSError."""
        try:
            while self._held:
                self._release_one(self._held.pop())
                self._released = time.monotonic()
        finally:
            if self._held:  # one that could not be given back does not keep the other
                self.release()
        if self._unfinished:
            self._unfinished = [held for held in self._unfinished if not held.remove_unfinished()]

    def _yield_to_waiters(self) -> None:
        """Leave the lock alone for a moment if this writer took it several times in a row, or the waiters would
        starve.
        """
        now = time.monotonic()
        if now - self._released > _GAP:
            self._turn_began = now
        elif now - self._turn_began > self._turn:
            time.sleep(_GAP)
            self._turn_began = time.monotonic()
            self._turn = min(self._turn * 2, _LONGEST_TURN)

    def _follow(self, deadline: float, abandoned: Callable[[], bool]) -> None:
        """If the path is a link, take the lock beside the real file too; take it again if the link changes
        meanwhile.
        """
        self.target = self._real_path()
        while self.target != self._path:
            second = self._wait_for(self.target, deadline, abandoned)
            self._held.append(second)
            target = self._real_path()
            if target == self.target:
                return
            self._release_one(self._held.pop())
            self.target = target

    def _real_path(self) -> str:
        return os.path.realpath(self._path) if os.path.islink(self._path) else self._path

    def _wait_for(self, memory: str, deadline: float, abandoned: Callable[[], bool]) -> Held:
        path = memory + ".lock"
        started = now = time.monotonic()
        next_look, wait = started + _FIRST_LOOK, _FIRST_WAIT
        self._obstacle = ""
        while True:
            if abandoned():
                raise LockAbandoned(f"The call was cancelled while it waited for the lock {path}. Nothing was stored.")
            held = None if now > started and lockfile.exists(path) else self._create(path)
            if held is not None:
                return held
            self._turn = _TURN
            self.waiting = True
            now = time.monotonic()
            if now >= deadline:
                raise StoreError(self._timeout_text(memory, path, now - started), stored=False)
            if now >= next_look:
                next_look = now + _LOOK
                if self._stale.break_at(path):
                    continue
            time.sleep(min(wait * random.uniform(0.5, 1.5), max(deadline - now, 0)))
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def _create(self, path: str) -> Held | None:
        held = Held(path, lockfile.new_token(), self._me or identity.this_process())
        created = False
        HEARTBEAT.add(held)
        try:
            created = self._make(held)
        except OSError as error:
            raise StoreError(_creation_text(path, error), stored=False) from error
        finally:
            if not created:
                HEARTBEAT.discard(held)
        return held if created else None

    def _make(self, held: Held) -> bool:
        try:
            return held.create()
        except BaseException:
            self._unfinished.append(held)
            raise

    def _release_one(self, held: Held) -> None:
        try:
            held.release()
        finally:
            HEARTBEAT.discard(held)

    def _timeout_text(self, memory: str, path: str, waited: float) -> str:
        begin = f"Could not lock {memory} within {waited:.0f} s, so nothing was stored: {path} "
        seen = lockfile.inspect(path)
        if seen is None:
            return f"{begin}was taken by other writers again and again. Try again."
        if seen.kind:
            return f"{begin}is {seen.kind}, not a lock file. Remove it, then try again."
        age = max(time.time() - seen.mtime, 0)
        record = seen.record
        holder = f"process {record.pid} on {record.hostname}" if record else "a process that left no readable record"
        return (
            f"{begin}is held by {holder}, refreshed {age:.0f} s ago.{self._stale.obstacle} "
            f"Try again; if that process does not run any more, remove {path}."
        )


def _creation_text(path: str, error: OSError) -> str:
    reason, step = explain(error, path)
    return f"Could not create the lock {path}: {reason}. Nothing was stored. {step}"
