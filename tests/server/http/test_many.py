"""Many clients at once, some that do not read: nothing is lost, no update is missed, nobody waits for the silent."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any, Final

import pytest

from tests.driver import Era
from tests.server.http import raw
from tests.server.http.raw import Client, Stream, headers_of, message, opened
from tests.server.http.serving import Serving, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CLIENTS: Final = 200
ROUNDS: Final = 10
WATCHING: Final = 5  # of each era: they read the whole graph after each update
PATIENCE: Final = 180.0  # seconds for one call beside two hundred others, on a machine that does other things as well
A_MOMENT: Final = 5.0  # seconds for one call on a machine that is busy with the other clients, too


def entity(name: str, *observations: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "entityType": "thing", "observations": list(observations)}]}


class Watcher:
    """Knows of the graph only what it read after an update."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.names: set[str] = set()
        self._task = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        seen = 0
        while True:
            await self.client.updated(seen + 1)
            seen = self.client.updates
            graph = (await self.client.call("read_graph", {}))["structuredContent"]
            self.names = {one["name"] for one in graph["entities"]}

    async def knows(self, names: set[str]) -> None:
        async def look() -> None:
            while not names <= self.names:
                await asyncio.sleep(0.05)  # what is waited for is bounded below

        await asyncio.wait_for(look(), PATIENCE)
        self._task.cancel()


async def live(client: Client, number: int) -> set[str]:
    """What one client does: writes, reads what it wrote, reads what others wrote. The names that it stored."""
    stored = set()
    for turn in range(ROUNDS):
        name = f"{number} {turn}"
        await client.call("create_entities", entity(name))
        stored.add(name)
        await client.call("add_observations", {"observations": [{"entityName": name, "contents": [f"Said {turn}"]}]})
        found = (await client.call("open_nodes", {"names": [name]}))["structuredContent"]["entities"]
        assert found == [{"name": name, "entityType": "thing", "observations": [f"Said {turn}"]}]
        found = (await client.call("search_nodes", {"query": f"{number} "}))["structuredContent"]["entities"]
        assert stored <= {one["name"] for one in found}
    return stored


def test_two_hundred_clients_lose_nothing_and_miss_no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "PATIENCE", PATIENCE)

    async def work(port: int) -> None:
        eras: tuple[Era, Era] = ("2025", "2026")
        clients = [await Client(port, eras[number % 2]).__aenter__() for number in range(CLIENTS)]
        hearing = clients[: CLIENTS // 2]
        await asyncio.gather(*(client.subscribe() for client in hearing))
        watchers = [Watcher(client) for client in hearing[: 2 * WATCHING]]
        began = time.monotonic()
        stored: set[str] = set().union(*await asyncio.gather(*(live(one, n) for n, one in enumerate(clients))))
        took = time.monotonic() - began
        assert len(stored) == CLIENTS * ROUNDS
        graph = (await clients[-1].call("read_graph", {}))["structuredContent"]
        assert {one["name"] for one in graph["entities"]} == stored
        assert all(len(one["observations"]) == 1 for one in graph["entities"])
        for watcher in watchers:
            await watcher.knows(stored)
        before = [client.updates for client in hearing]
        await clients[0].call("create_entities", entity("The end"))
        for client, count in zip(hearing, before, strict=True):
            await client.updated(count + 1)
        print(
            f"{CLIENTS} clients, {CLIENTS * ROUNDS * 4} calls in {took:.1f} s, updates: {min(before)} to {max(before)}"
        )
        await asyncio.gather(*(client.close() for client in clients))

    with serving(tmp_path) as server:
        asyncio.run(work(server.port))
        assert len(server.said) == 2, server.stderr
        lines = [json.loads(line) for line in server.memory.read_text().splitlines()]
        assert len(lines) == CLIENTS * ROUNDS + 1


async def silent_subscriber(port: int) -> Stream:
    """Takes nothing of its stream, of which each update is large, since it carries the request's id."""
    wanted = message("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["memory://knowledge-graph"]}})
    wanted["id"] = "x" * (1 << 20)
    return await opened(port, "POST", headers_of("2026", wanted), json.dumps(wanted).encode(), receive_buffer=4096)


async def silent_reader(port: int) -> Stream:
    """Asks for the whole graph and takes the head of the answer."""
    wanted = message("tools/call", {"name": "read_graph", "arguments": {}})
    return await opened(port, "POST", headers_of("2026", wanted), json.dumps(wanted).encode(), receive_buffer=4096)


def test_who_does_not_read_stalls_nobody(tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(
        "".join(
            json.dumps({"type": "entity", "name": f"Old {n}", "entityType": "thing", "observations": ["x" * 100]})
            + "\n"
            for n in range(20_000)
        )
    )

    async def work(server: Serving) -> None:
        port = server.port
        async with Client(port, "2025") as old, Client(port, "2026") as new:
            await old.subscribe()
            await new.subscribe()
            silent = [await silent_subscriber(port) for _ in range(5)]
            silent += [await silent_reader(port) for _ in range(10)]
            waits = []
            for number in range(100):
                began = time.monotonic()
                await (old, new)[number % 2].call("create_entities", entity(f"New {number}"))
                await (old, new)[number % 2].call("open_nodes", {"names": [f"New {number}"]})
                waits.append(time.monotonic() - began)
            waits.sort()
            assert waits[-10] < 1.0, waits  # each silent one is waited for once, for a second
            assert waits[-1] < A_MOMENT, waits
            await old.updated(100)
            await new.updated(100)
            print(f"100 writes and reads beside 15 silent readers: middle {waits[50]:.3f} s, worst {waits[-1]:.3f} s")
            for stream in silent:
                stream.close()

    with serving(tmp_path) as server:
        asyncio.run(work(server))
