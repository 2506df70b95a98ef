"""Hundreds of clients over HTTP that never rest, a SIGTERM in the middle of it, and a server that comes back.

Half of the clients speak the revision of 2025, in a session that has to go on, half that of 2026. No write that was
acknowledged may be missing, no call may fail but those that the end of the server met, and every subscriber has to
hear of the last change. Some subscribers know of the graph only what they read after an update.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Final
from unittest import mock

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.driver import Era
from tests.faults.folders import folder
from tests.server.http import raw
from tests.server.http.keeping import Kept
from tests.server.http.raw import Client
from tests.server.http.serving import Serving, serving
from tests.stress import servers
from tests.stress.figures import Figures

_ERAS: Final[tuple[Era, Era]] = ("2025", "2026")
_LISTENING: Final = 8  # subscribers of each era that only hear
_WATCHING: Final = 2  # subscribers of each era that read what there is after each update
_PATIENCE: Final = 180.0  # seconds for one call beside all the others


class _Crowd:
    """The clients. `up` is set while a server is there; they live until `over`."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self.acknowledged: set[str] = set()
        self.times: list[float] = []
        self.up = asyncio.Event()
        self.up.set()
        self.over = False

    async def live(self, client: Kept, which: int) -> None:
        """Write, read and search; each write has a name of its own."""
        number = 0
        while not self.over:
            name, number = f"{which} {number}", number + 1
            try:
                if await self._call(client, "create_entities", servers.entity(name)):
                    self.acknowledged.add(name)
                await self._call(client, "open_nodes", {"names": [name]})
                await self._call(client, "search_nodes", {"query": name})
            except (OSError, EOFError):
                self.figures.count("connections refused or broken off meanwhile")
                await self.up.wait()

    async def _call(self, client: Kept, tool: str, arguments: dict[str, object]) -> bool:
        """Whether it was answered as it should be. A call that met the end of the server may fail."""
        began, was_up, before = time.monotonic(), self.up.is_set(), client.errors
        await asyncio.wait_for(client.call(tool, arguments), _PATIENCE)
        self.times.append(time.monotonic() - began)
        self.figures.count("calls")
        good = client.errors == before
        if not good and was_up and self.up.is_set():
            self.figures.lost(f"{tool} failed: {client.wrong.decode('utf-8', 'replace')}")
        return good


class _Watcher:
    """Knows of the graph only what it has read after an update, or after it subscribed anew."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.names: set[str] = set()
        self._seen = 0

    async def look(self) -> None:
        self._seen = self.client.updates
        graph = (await self.client.call("read_graph", {"namesOnly": True}))["structuredContent"]
        self.names = set(graph["names"])

    async def watch(self) -> None:
        """For ever."""
        while True:
            await self.client.updated(self._seen + 1)
            await self.look()


def run(*, clients: int, seconds: float, command: list[str] | None = None, patience: float = _PATIENCE) -> Figures:
    """One run: half of the time before the SIGTERM, half after the start of a new server at the same address.

    `patience` is how many seconds a client waits for an answer, and a subscriber for the last change.
    """
    figures = Figures("http")
    with folder(on_disk=True) as inside, mock.patch.object(raw, "PATIENCE", patience):
        asyncio.run(_run(figures, inside, clients, seconds, command or servers.command(), patience))
    return figures


async def _run(figures: Figures, inside: Path, count: int, seconds: float, command: list[str], patience: float) -> None:
    with contextlib.ExitStack() as stack:
        server = await asyncio.to_thread(stack.enter_context, serving(inside, program=command))
        at = f"127.0.0.1:{server.port}"
        clients = [Kept(server.port, era=_ERAS[number % 2]) for number in range(count)]
        for client in clients:
            await client.open()
        hearing = [await Client(server.port, era).__aenter__() for era in _ERAS for _ in range(_LISTENING + _WATCHING)]
        await asyncio.gather(*(client.subscribe() for client in hearing))
        watchers = [_Watcher(client) for client in hearing if hearing.index(client) % (_LISTENING + _WATCHING) < 2]
        crowd = _Crowd(figures)
        living = [asyncio.ensure_future(crowd.live(client, which)) for which, client in enumerate(clients)]
        watching = [asyncio.ensure_future(watcher.watch()) for watcher in watchers]
        await asyncio.sleep(seconds / 2)  # the load itself
        crowd.up.clear()
        for task in watching:
            task.cancel()
        await _end(server, figures)
        before = len(crowd.acknowledged)
        server = await asyncio.to_thread(stack.enter_context, serving(inside, program=command, at=at))
        crowd.up.set()
        await asyncio.gather(*(_subscribe_anew(client) for client in hearing))
        await asyncio.gather(*(watcher.look() for watcher in watchers))
        watching = [asyncio.ensure_future(watcher.watch()) for watcher in watchers]
        await asyncio.sleep(seconds / 2)
        crowd.over = True
        await asyncio.gather(*living)
        heard = [client.updates for client in hearing]
        await Client(server.port).call("create_entities", servers.entity("The end"))
        unheard = "a subscriber did not hear of the last change"
        known = crowd.acknowledged | {"The end"}
        expected = [
            *((one.updated(updates + 1), unheard) for one, updates in zip(hearing, heard, strict=True)),
            *((_knows(watcher, known), "a watcher missed an update") for watcher in watchers),
        ]
        await asyncio.gather(*(_expect(wait, otherwise, patience, figures) for wait, otherwise in expected))
        for task in watching:
            task.cancel()
        for subscriber in hearing:
            subscriber.vanish()
        for client in clients:
            client.close()
        await _end(server, figures)
    figures.count("clients", count)
    figures.count("writes acknowledged", len(crowd.acknowledged))
    figures.count("of them before the SIGTERM", before)
    times = sorted(crowd.times)
    middle, most = times[len(times) // 2] * 1000, times[int(len(times) * 0.99)] * 1000
    figures.remark(f"{min(heard)} to {max(heard)} updates at each of {len(hearing)} subscribers")
    figures.remark(f"a call takes {middle:.0f} ms, 99 of 100 at most {most:.0f} ms")
    _compare(inside / "memory.jsonl", crowd.acknowledged, figures)


async def _end(server: Serving, figures: Figures) -> None:
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = await asyncio.to_thread(server.ended)
    figures.remark(f"SIGTERM: ended after {time.monotonic() - began:.1f} s")
    if status:
        figures.lost(f"the server ended with status {status}")
    if len(server.said) > 2:
        figures.lost(f"the server said {server.said[2:]}")


async def _subscribe_anew(client: Client) -> None:
    """As real clients do when their stream has ended."""
    await client.stream_ended()
    client.vanish()
    if client.era == "2025":
        await client.open_stream()
    else:
        await client.subscribe()


async def _knows(watcher: _Watcher, names: set[str]) -> None:
    while not names <= watcher.names:
        await asyncio.sleep(0.05)  # what is waited for is bounded by the caller


async def _expect(waiting: Awaitable[None], otherwise: str, patience: float, figures: Figures) -> None:
    try:
        await asyncio.wait_for(waiting, patience)
    except (asyncio.TimeoutError, TimeoutError):
        figures.lost(otherwise)


def _compare(memory: Path, acknowledged: set[str], figures: Figures) -> None:
    """Every write that was acknowledged is in the file once."""
    data = memory.read_bytes() if memory.exists() else b""
    there = Counter(line.name for line in Graph.of(document.read(data)).entity_lines)
    for name in sorted(acknowledged - there.keys()):
        figures.lost(f"{name} is missing, though it was acknowledged")
    for name, times in there.items():
        if times > 1:
            figures.lost(f"{name} is there {times} times")
