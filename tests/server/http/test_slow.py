"""Whoever does not take its updates holds up nobody for longer than once, and is owed one notification at most."""

from __future__ import annotations

import asyncio
import time

import pytest

from memory_app.server import updates
from memory_app.server.updates import Updates

PATIENCE = 20.0


class Taker:
    """A subscriber that takes a notification only when it may."""

    def __init__(self, *, takes: bool) -> None:
        self.may = asyncio.Event()
        self.asked = self.taken = 0
        if takes:
            self.may.set()

    async def tell(self) -> None:
        self.asked += 1
        await self.may.wait()
        self.taken += 1

    async def has_taken(self, count: int) -> None:
        async def look() -> None:
            while self.taken < count:
                await asyncio.sleep(0)

        await asyncio.wait_for(look(), PATIENCE)


async def unchanged() -> int:
    return 0


async def save(changes: Updates) -> float:
    """One save, told: the seconds that its answer waited."""
    began = time.monotonic()
    changes.saved()
    await changes.flush()
    return time.monotonic() - began


def test_a_silent_subscriber_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "_SLOW", 0.2)

    async def work() -> None:
        changes, silent, other = Updates(unchanged), Taker(takes=False), Taker(takes=True)
        await changes.subscribe("silent", silent.tell)
        await changes.subscribe("other", other.tell)
        assert await save(changes) >= 0.2
        assert sum([await save(changes) for _ in range(500)]) < 0.2 * 50
        await other.has_taken(501)
        assert (silent.asked, silent.taken, other.asked) == (1, 0, 501)
        changes.close()

    asyncio.run(work())


def test_one_that_comes_back_hears_once_and_then_of_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "_SLOW", 0.05)

    async def work() -> None:
        changes, slow = Updates(unchanged), Taker(takes=False)
        await changes.subscribe("slow", slow.tell)
        for _ in range(50):
            await save(changes)
        slow.may.set()
        await slow.has_taken(2)  # the one on its way, and one for all the others
        for count in range(3, 10):
            await save(changes)
            assert slow.taken == count  # it is waited for again
        changes.close()

    asyncio.run(work())


def test_one_that_leaves_is_not_waited_for_any_more() -> None:
    async def work() -> None:
        changes, silent = Updates(unchanged), Taker(takes=False)
        await changes.subscribe("silent", silent.tell)
        changes.saved()
        waiting = asyncio.ensure_future(changes.flush())
        await asyncio.sleep(0)
        changes.unsubscribe("silent")
        await asyncio.wait_for(waiting, updates._SLOW / 2)
        changes.close()

    asyncio.run(work())


def test_many_saves_at_once_wait_for_their_own_notification_alone() -> None:
    async def work() -> None:
        changes, taker = Updates(unchanged), Taker(takes=True)
        await changes.subscribe("taker", taker.tell)
        waits = await asyncio.gather(*[save(changes) for _ in range(1000)])
        assert taker.taken == 1000
        assert max(waits) < updates._SLOW
        changes.close()

    asyncio.run(work())


def test_a_subscriber_that_fails_is_not_waited_for() -> None:
    async def work() -> None:
        changes = Updates(unchanged)

        async def fail() -> None:
            raise ConnectionError

        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        await changes.subscribe("broken", fail)
        assert await save(changes) < updates._SLOW
        changes.close()

    asyncio.run(work())
