"""What is kept of a session of the 2025 era, and that nothing is kept after its end."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any

from memory_app.server.http.run import _Connections
from memory_app.server.updates import Updates


async def unchanged() -> int:
    return 0


class Connection:
    def __init__(self, name: str) -> None:
        self.session_id = name
        self.exit_stack = contextlib.AsyncExitStack()


class Session:
    """What the SDK hands to a handler, as far as it is used."""

    def __init__(self, name: str) -> None:
        connection = Connection(name)
        self.ends = connection.exit_stack
        self.ctx: Any = SimpleNamespace(session=SimpleNamespace(_connection=connection))
        self.told = 0

    async def tell(self) -> None:
        self.told += 1


def test_the_subscription_ends_with_its_session() -> None:
    async def work() -> None:
        changes = Updates(unchanged)
        service: Any = SimpleNamespace(updates=changes)
        connections = _Connections(service)
        one, two = Session("one"), Session("two")
        for session in (one, two, one):
            await changes.subscribe(connections(session.ctx), session.tell)
        assert len(changes) == 2
        await one.ends.aclose()
        assert len(changes) == 1
        connections.stream_began("one")  # late, and of nobody
        changes.saved()
        await changes.told()
        assert (one.told, two.told) == (0, 1)
        await two.ends.aclose()
        assert len(changes) == 0 and connections._known == {}
        changes.close()

    asyncio.run(work())


def test_a_new_stream_is_told_only_where_something_may_have_been_missed() -> None:
    async def work() -> None:
        changes = Updates(unchanged)
        service: Any = SimpleNamespace(updates=changes)
        connections, session = _Connections(service), Session("one")
        await changes.subscribe(connections(session.ctx), session.tell)
        connections.stream_began("one")
        connections.stream_began("nobody's")
        assert session.told == 0
        changes.saved()
        changes.saved()
        await changes.told()
        for expected in (3, 3):
            connections.stream_began("one")
            await changes.told()
            assert session.told == expected
        changes.close()

    asyncio.run(work())
