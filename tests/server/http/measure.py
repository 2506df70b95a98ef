"""Where one process ends, measured over HTTP: `python -m tests.server.http.measure [--write] [SECONDS [SIZE …]]`.

Clients keep their connections, as real ones do, and never rest; a third of their calls each opens two entities,
searches, and creates an entity. Clients and server share this machine, so the figures are what is had at least. Last,
for each size, small calls are made beside one `read_graph` after another: how long the longest of them waits.
MEMORY_SERVER_PYZ names an archive to measure in place of the source. `--write` puts the figures into the guide's page.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_app import __version__
from tests.placing import put
from tests.server.http.keeping import Kept, Step, opened, rate
from tests.server.http.raw import Client
from tests.server.http.serving import ROOT, SOURCE, Serving, serving

SIZES: Final = (1_000, 10_000, 100_000)
CLIENTS: Final = (1, 50, 200, 500)
SUBSCRIBERS: Final = 20
_PAGE: Final = ROOT / "memory_app" / "guide" / "scale.md"
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


async def measure(server: Serving, size: int, seconds: float, say: Callable[[str], None]) -> None:
    clients = await opened(server.port, max(CLIENTS))
    await clients[0].call(*STEPS["search"](0, 0))  # the first one loads
    idle = resident(server)
    say(f"{size:,} entities; {idle >> 20} MiB")
    for count in CLIENTS:
        worked = cpu_seconds(server)
        found = await rate(clients[:count], STEPS, seconds)
        total = sum(one.calls_per_second for one in found.values())
        each = (cpu_seconds(server) - worked) / (total * seconds) * 1000
        times = ", ".join(f"{name} {one.p50 * 1000:.1f} / {one.p99 * 1000:.0f}" for name, one in found.items())
        say(f"  {count:>3} clients: {total:6.0f} calls/s, {each:.2f} ms of processor each; p50 / p99 in ms: {times}")
    hearing = [await Client(server.port).__aenter__() for _ in range(SUBSCRIBERS)]
    for client in hearing:
        await client.subscribe()
    found = await rate(clients[:50], STEPS, seconds)
    total = sum(one.calls_per_second for one in found.values())
    say(f"   50 clients beside {SUBSCRIBERS} subscribers: {total:.0f} calls/s")
    for client in hearing:
        client.vanish()
    await asyncio.sleep(2.0)  # for what was begun before: files that were replaced, streams that ended
    stall = await whole_graphs(server, clients[0], clients[1])
    waits = f"beside it small calls wait {stall.worst * 1000:.0f} ms at most"
    say(f"  read_graph {stall.took:.2f} s; {waits}; {stall.peak >> 20} MiB at most")
    assert sum(client.errors for client in clients) == 0, "some calls failed"
    for kept in clients:
        kept.close()


class Stall(NamedTuple):
    """The seconds of a read_graph (the median), the longest wait of a small call beside it, and the peak of the working
    memory in bytes (0 where the platform does not tell it)."""

    took: float
    worst: float
    peak: int


async def whole_graphs(server: Serving, large: Kept, beside: Kept) -> Stall:
    """One client fetches the whole graph, several times; another one makes small calls meanwhile."""
    waits: list[float] = []
    done = asyncio.Event()

    async def small(client: Kept) -> None:
        while not done.is_set():
            began = time.monotonic()
            await client.call(*STEPS["read"](0, 0))
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.002)

    _forget_peak(server)
    calling = asyncio.ensure_future(small(beside))
    took = []
    for _ in range(_GRAPHS):
        began = time.monotonic()
        await large.call("read_graph", {})
        took.append(time.monotonic() - began)
    done.set()
    await calling
    return Stall(sorted(took)[_GRAPHS // 2], max(waits), resident(server, "VmHWM"))


def resident(server: Serving, what: str = "VmRSS") -> int:
    """Bytes of working memory; 0 where that cannot be told."""
    try:
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition(f"{what}:")[2].split()[0]) << 10


def _forget_peak(server: Serving) -> None:
    """Have Linux count the most memory from now on."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def cpu_seconds(server: Serving) -> float:
    """Seconds of processor that it has used so far; 0 where that cannot be told."""
    try:
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.server.http.measure", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("seconds", nargs="?", type=float, default=_SECONDS, help="for each figure")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="size", help="entities of each memory")
    parser.add_argument("--write", action="store_true", help="put the figures into the guide's page")
    asked = parser.parse_args()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        print(line, flush=True)

    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    say(f"memory-server {__version__} on Python {platform.python_version()}, {machine}")
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    say(f"{time.strftime('%Y-%m-%d', time.gmtime())}; load average of other programs: {load}")
    archive = os.environ.get("MEMORY_SERVER_PYZ")
    for size in asked.sizes:
        with tempfile.TemporaryDirectory() as folder:
            put(Path(folder) / "memory.jsonl", graph(size).encode())
            with serving(Path(folder), program=(sys.executable, archive) if archive else SOURCE) as server:
                asyncio.run(measure(server, size, asked.seconds, say))
    if asked.write:
        before, _, rest = _PAGE.read_text("utf-8").partition("```\n")
        _PAGE.write_text(before + "\n".join(["```", *said, ""]) + "```" + rest.partition("```")[2], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
