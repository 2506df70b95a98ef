"""Where one process ends: `python -m tests.server.http.measure [SECONDS [SIZE …]]` measures it over HTTP.

Clients keep their connections, as real ones do, and never rest; a third of their calls each opens two entities,
searches, and creates an entity. Clients and server share this machine, so the figures are what is had at least. Last,
for each size, small calls are made beside one `read_graph` after another: how long the longest of them waits.
MEMORY_SERVER_PYZ names an archive to measure in place of the source.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.server.http.keeping import Kept, Step, opened, rate
from tests.server.http.raw import Client
from tests.server.http.serving import SOURCE, Serving, serving

SIZES: Final = (1_000, 10_000, 100_000)
CLIENTS: Final = (1, 50, 200, 500)
SUBSCRIBERS: Final = 20
_SECONDS: Final = 5.0  # for each figure
_GRAPHS: Final = 5

STEPS: Final[dict[str, Step]] = {
    "read": lambda which, number: ("open_nodes", {"names": ["Entity 1", "Entity 2"]}),
    "search": lambda which, number: ("search_nodes", {"query": "needle"}),
    "write": lambda which, number: (
        "create_entities",
        {"entities": [{"name": f"New {which} {number}", "entityType": "thing", "observations": ["Fact"]}]},
    ),
}


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


async def measure(server: Serving, size: int, seconds: float) -> None:
    clients = await opened(server.port, max(CLIENTS))
    await clients[0].call(*STEPS["search"](0, 0))  # the first one loads
    idle = resident(server)
    print(f"{size:,} entities; {idle} MiB", flush=True)
    for count in CLIENTS:
        found = await rate(clients[:count], STEPS, seconds)
        total = sum(one.calls_per_second for one in found.values())
        times = ", ".join(f"{name} {one.p50 * 1000:.1f} / {one.p99 * 1000:.0f}" for name, one in found.items())
        print(f"  {count:>3} clients: {total:6.0f} calls/s; p50 / p99 in ms: {times}", flush=True)
    hearing = [await Client(server.port).__aenter__() for _ in range(SUBSCRIBERS)]
    for client in hearing:
        await client.subscribe()
    found = await rate(clients[:50], STEPS, seconds)
    total = sum(one.calls_per_second for one in found.values())
    print(f"   50 clients beside {SUBSCRIBERS} subscribers: {total:.0f} calls/s", flush=True)
    for client in hearing:
        client.vanish()
    await _stall(server, clients)
    assert sum(client.errors for client in clients) == 0, "some calls failed"
    for kept in clients:
        kept.close()


async def _stall(server: Serving, clients: list[Kept]) -> None:
    """The longest wait of a small call while others fetch the whole graph."""
    waits: list[float] = []
    done = asyncio.Event()

    async def small(client: Kept) -> None:
        while not done.is_set():
            began = time.monotonic()
            await client.call(*STEPS["read"](0, 0))
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.002)

    beside = asyncio.ensure_future(small(clients[1]))
    took = []
    for _ in range(_GRAPHS):
        began = time.monotonic()
        await clients[0].call("read_graph", {})
        took.append(time.monotonic() - began)
    done.set()
    await beside
    middle, worst = sorted(took)[_GRAPHS // 2], max(waits) * 1000
    print(f"  read_graph {middle:.2f} s; beside it small calls wait {worst:.0f} ms at most", end="")
    print(f"; {resident(server)} MiB", flush=True)


def resident(server: Serving) -> int:
    """MiB of working memory; 0 where that cannot be told."""
    try:
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else _SECONDS
    sizes = [int(size) for size in sys.argv[2:]] or SIZES
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "memory.jsonl").write_text(graph(size))
            with serving(Path(folder), program=(sys.executable, archive) if archive else SOURCE) as server:
                asyncio.run(measure(server, size, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
