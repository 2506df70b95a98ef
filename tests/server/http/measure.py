"""The limits of one process over HTTP, at four sizes of the graph: `python -m tests.server.http.measure [SECONDS]`.

Clients and server share this machine, and every call has a connection of its own, so that the figures are what is had
at least. MEMORY_SERVER_PYZ names an archive to measure in place of the source.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from tests.server.http.raw import Client
from tests.server.http.serving import SOURCE, Serving, serving

SIZES: Final = (10, 1_000, 10_000, 100_000)
CLIENTS: Final = (1, 32, 200)
SUBSCRIBERS: Final = 50
_SECONDS: Final = 3.0  # for each figure

Step = Callable[[Client, int], Awaitable[Any]]


def graph(size: int) -> str:
    """So many entities of three observations, and as many relations."""
    lines: list[dict[str, Any]] = []
    for n in range(size):
        facts = [f"Fact {letter} of {n}" for letter in ("abc" if n else ("a", "b", "needle"))]
        lines.append({"type": "entity", "name": f"Entity {n}", "entityType": "thing", "observations": facts})
    for n in range(size):
        end = f"Entity {(n + 1) % size}"
        lines.append({"type": "relation", "from": f"Entity {n}", "to": end, "relationType": "next to"})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


async def write(client: Client, number: int) -> Any:
    name = f"New {id(client)} {number}"
    entity = {"name": name, "entityType": "thing", "observations": ["Fact"]}
    return await client.call("create_entities", {"entities": [entity]})


async def read(client: Client, number: int) -> Any:
    return await client.call("open_nodes", {"names": ["Entity 1", "Entity 2"]})


async def search(client: Client, number: int) -> Any:
    return await client.call("search_nodes", {"query": "needle"})


async def rate(clients: list[Client], step: Step, seconds: float) -> str:
    """Steps a second of all clients, and the time of the one that took longest but for one in a hundred."""
    end = time.monotonic() + seconds
    times: list[float] = []

    async def live(client: Client) -> None:
        number = 0
        while (began := time.monotonic()) < end:
            await step(client, number)
            times.append(time.monotonic() - began)
            number += 1

    began = time.monotonic()
    await asyncio.gather(*map(live, clients))
    times.sort()
    return f"{len(times) / (time.monotonic() - began):7.0f}/s ({times[int(len(times) * 0.99) - 1] * 1000:5.0f} ms)"


async def measure(server: Serving, size: int, seconds: float) -> None:
    clients = [await Client(server.port).__aenter__() for _ in range(max(CLIENTS))]
    began = time.monotonic()
    await clients[0].call("read_graph", {})
    first = time.monotonic() - began
    began = time.monotonic()
    await clients[0].call("read_graph", {})
    again = time.monotonic() - began
    print(f"{size:,} entities: whole graph {first:.2f} s the first time, then {again:.2f} s", flush=True)
    for count in CLIENTS:
        found = [f"{what.__name__} {await rate(clients[:count], what, seconds)}" for what in (read, search, write)]
        print(f"  {count:>3} clients: {', '.join(found)}", flush=True)
    hearing = [await Client(server.port).__aenter__() for _ in range(SUBSCRIBERS)]
    for client in hearing:
        await client.subscribe()
    writes = await rate(clients[:32], write, seconds)
    print(f"   32 clients beside {SUBSCRIBERS} subscribers: write {writes}; {_memory(server)}", flush=True)
    for client in hearing:
        client.vanish()


def _memory(server: Serving) -> str:
    try:
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    except OSError:
        return "memory unknown"
    return f"{int(status.partition('VmRSS:')[2].split()[0]) // 1024} MiB"


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else _SECONDS
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "memory.jsonl").write_text(graph(size))
            with serving(Path(folder), program=(sys.executable, archive) if archive else SOURCE) as server:
                asyncio.run(measure(server, size, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
