"""Subscriptions: one notification for each change, in order; coalesced for slow clients.

Two sources: our own saves (`saved`), announced before the answers of that save are sent (`flush`), and changes by other
processes, counted by the store (`count_foreign`). While somebody is subscribed a task watches the file. Everything runs
on the event loop's thread. This module knows neither the protocol nor the file.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Final

from memory_app.errors import StoreError

Tell = Callable[[], Coroutine[Any, Any, None]]

_LOOK_EVERY: Final = 0.5  # seconds; once a second is promised, and the look itself may take a while
# Seconds an answer waits for a subscriber that does not take its notification. It does so once: then that one is slow.
_SLOW: Final = 1.0
# Subscribers at once, as many as the SDK's own listen handler takes; each costs a tenth of a millisecond a change.
_MOST_SUBSCRIBERS: Final = 1024


class _Subscriber:
    """Sends its pending notifications one after the other, so that a slow connection delays nobody else.

    Nobody waits for a slow subscriber to receive everything. Meanwhile at most one notification is pending for it,
    which is all it needs in order to read again.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._owed = self._under_way = self._taken = 0
        self._slow = False
        self._sending: asyncio.Task[None] | None = None
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def enqueue(self) -> None:
        self._owed = 1 if self._slow else self._owed + 1
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    def delivered(self) -> asyncio.Future[None] | None:
        """A future that is done when all that is pending now was sent, or nothing more can be sent. None: nothing to
        wait for.
        """
        if self._sending is None or self._slow:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._taken + self._under_way + self._owed, future))
        return future

    def mark_slow(self) -> None:
        self._slow = True
        self._owed = min(self._owed, 1)
        self._release(None)

    def cancel(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        self._release(None)

    async def _send(self) -> None:
        try:
            while self._owed:
                self._owed, self._under_way = self._owed - 1, 1
                await self._tell()
                self._under_way, self._taken = 0, self._taken + 1
                self._release(self._taken)
        finally:
            self._sending, self._slow, self._owed, self._under_way = None, False, 0, 0
            self._release(None)

    def _release(self, taken: int | None) -> None:
        """Release those who wait for this many, or all of them."""
        while self._waiting and (taken is None or self._waiting[0][0] <= taken):
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)


class Updates:
    """`check` looks at the file and returns how many foreign changes were ever noticed. It may take its time, or raise
    `StoreError` (the file cannot be read now: no news).
    """

    def __init__(self, check: Callable[[], Awaitable[int]]) -> None:
        self._check = check
        self._subscribers: dict[Hashable, _Subscriber] = {}
        self._coming = 0  # that wait for the first look at the file
        self._foreign = 0
        self._watch: asyncio.Task[None] | None = None
        self.closed = asyncio.Event()
        self.changes = 0  # that were told of so far

    def __len__(self) -> int:
        return len(self._subscribers)

    async def subscribe(self, key: Hashable, tell: Tell) -> bool:
        """Once this returns, `tell` is called once for each change. The same key again replaces the previous
        subscription.

        False if the limit of subscribers is reached.
        """
        if key not in self._subscribers and len(self._subscribers) + self._coming >= _MOST_SUBSCRIBERS:
            return False
        self._coming += 1  # others must not take the place while this one waits
        try:
            await self._look()  # what happened before is no news
        finally:
            self._coming -= 1
        if self.closed.is_set():
            return True
        self.unsubscribe(key)
        self._subscribers[key] = _Subscriber(tell)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._watch_file())
        return True

    def unsubscribe(self, key: Hashable) -> None:
        """Forget this subscriber, if it exists. The watching ends with the last one."""
        subscriber = self._subscribers.pop(key, None)
        if subscriber is not None:
            subscriber.cancel()
        if not self._subscribers and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def saved(self) -> None:
        """One of our saves changed the graph."""
        self.changes += 1
        for subscriber in self._subscribers.values():
            subscriber.enqueue()

    def resend(self, key: Hashable) -> None:
        """Tell this subscriber, if it exists, that something has changed: the last notification may not have
        arrived.
        """
        subscriber = self._subscribers.get(key)
        if subscriber is not None:
            subscriber.enqueue()

    def count_foreign(self, foreign_changes: int) -> None:
        """Other processes have changed the graph this many times so far."""
        news, self._foreign = foreign_changes - self._foreign, max(foreign_changes, self._foreign)
        for _ in range(news):
            self.saved()

    async def flush(self) -> None:
        """Wait until all notifications so far are on their way to everybody except slow subscribers."""
        waiting = [(each, future) for each in self._subscribers.values() if (future := each.delivered()) is not None]
        if not waiting:
            return
        await asyncio.wait([future for _, future in waiting], timeout=_SLOW)
        for subscriber, future in waiting:
            if not future.done():
                subscriber.mark_slow()

    def close(self) -> None:
        """End all subscriptions; `closed` tells those who wait for that."""
        self.closed.set()
        for key in list(self._subscribers):
            self.unsubscribe(key)

    async def _look(self) -> None:
        try:
            self.count_foreign(await self._check())
        except (StoreError, MemoryError):
            pass  # whoever calls a tool is told; the next look may succeed

    async def _watch_file(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            await self._look()
