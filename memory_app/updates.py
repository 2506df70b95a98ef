"""Who wants to hear of changes of the graph, and telling them: one notification a change, in order.

Two sources: saves of ours (`saved`), told before the answers of that save go out (`told`), and changes by other
processes, counted by the store (`noticed`). While somebody is subscribed a task looks at the file. Runs on the event
loop's thread; knows neither protocol nor file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Final

from memory_app.errors import StoreError

Tell = Callable[[], Coroutine[Any, Any, None]]

_LOOK_EVERY: Final = 0.5  # seconds; once a second is promised, and the look itself may take a while
_SLOW: Final = 1.0  # seconds an answer waits for a subscriber that does not take its notification


class _Subscriber:
    """Sends what it owes, one after the other, so that a slow connection holds up nobody else."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._owed = 0
        self.sending: asyncio.Task[None] | None = None

    def owe(self) -> None:
        self._owed += 1
        if self.sending is None:
            self.sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        try:
            while self._owed:
                self._owed -= 1
                await self._tell()
        finally:
            self.sending = None

    def cancel(self) -> None:
        if self.sending is not None:
            self.sending.cancel()


class Updates:
    """`check` looks at the file and returns how many foreign changes were ever noticed; it may take its time, or raise
    `StoreError` (the file cannot be read now: no news)."""

    def __init__(self, check: Callable[[], Awaitable[int]]) -> None:
        self._check = check
        self._subscribers: dict[Hashable, _Subscriber] = {}
        self._foreign = 0
        self._watch: asyncio.Task[None] | None = None
        self.closed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._subscribers)

    async def subscribe(self, key: Hashable, tell: Tell) -> None:
        """From the return on, `tell` is called once for each change. The same key again replaces the one before."""
        await self._look()  # what happened before is no news
        if self.closed.is_set():
            return
        self.unsubscribe(key)
        self._subscribers[key] = _Subscriber(tell)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._keep_looking())

    def unsubscribe(self, key: Hashable) -> None:
        """Forget this subscriber, if it is one. With the last one the watching ends."""
        subscriber = self._subscribers.pop(key, None)
        if subscriber is not None:
            subscriber.cancel()
        if not self._subscribers and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def saved(self) -> None:
        """A save of ours changed the graph."""
        for subscriber in self._subscribers.values():
            subscriber.owe()

    def noticed(self, foreign_changes: int) -> None:
        """Other processes have changed the graph this many times so far."""
        news, self._foreign = foreign_changes - self._foreign, max(foreign_changes, self._foreign)
        for _ in range(news):
            self.saved()

    async def told(self) -> None:
        """Wait until what was told so far is on its way to everybody (or to all but the slow)."""
        sending = [each.sending for each in self._subscribers.values() if each.sending is not None]
        if sending:
            await asyncio.wait(sending, timeout=_SLOW)

    def close(self) -> None:
        """No more subscribers; `closed` tells those who wait for the end."""
        self.closed.set()
        for key in list(self._subscribers):
            self.unsubscribe(key)

    async def _look(self) -> None:
        try:
            self.noticed(await self._check())
        except StoreError:
            pass  # whoever calls a tool is told

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            await self._look()
