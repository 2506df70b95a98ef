"""The HTTP part of `make bench`: clients that keep their connections, beside stdio, and beside npm behind a bridge.

A graph of 1,000 entities; a third of the calls each opens two entities, searches, and creates one. Clients never rest.
The npm server speaks stdio alone, so supergateway serves it; that starts a process for each session, so it is asked by
few clients. `python -m tests.bench.over_http [SECONDS]` measures this part alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench import servers
from tests.bench.client import Server
from tests.driver import Driver
from tests.server.http.keeping import Figures, opened, rate
from tests.server.http.measure import STEPS, graph, resident
from tests.server.http.serving import serving

SIZE: Final = 1_000
CLIENTS: Final = (1, 50, 200, 500)
FEW: Final = (1, 10)
BRIDGE: Final = "supergateway@4.0.0"
_SECONDS: Final = 10.0
_PATIENCE: Final = 60.0


NOTE: Final = """Clients keep their connections and never rest; a third of their calls each opens two entities,
searches, and creates an entity in a graph of 1,000. Clients and server share the machine. supergateway starts an npm
server for each session, so few clients ask it; those take no lock, so that some writes of several clients are lost."""


class Row(NamedTuple):
    what: str
    clients: int
    figures: dict[str, Figures]
    memory: int  # MiB; 0: not measured

    def cells(self) -> str:
        total = sum(one.calls_per_second for one in self.figures.values())
        times = " | ".join(f"{one.p50 * 1000:.1f} / {one.p99 * 1000:.0f}" for one in self.figures.values())
        memory = f"{self.memory} MiB" if self.memory else ""
        return f"| {self.what} | {self.clients} | {total:.0f} | {times} | {memory} |"


def table(ours: Server, npm: Server, seconds: float = _SECONDS) -> str:
    """All rows, in Markdown."""
    rows = [*over_stdio("memory-server, stdio", ours, seconds), *ours_over_http(ours, seconds)]
    rows += [*over_stdio("npm, stdio", npm, seconds), *npm_over_http(npm, seconds)]
    head = "| server | clients | calls a second | read p50 / p99 ms | search | write | memory |\n" + "|---" * 7 + "|"
    return "\n".join([head, *(row.cells() for row in rows)])


def over_stdio(what: str, server: Server, seconds: float) -> Iterator[Row]:
    with _memory() as folder:
        env = {**os.environ, **server.environment, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
        times: dict[str, list[float]] = {name: [] for name in STEPS}
        with Driver([*server.command], era="2025", env=env) as driver:
            driver.open()
            end, number = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                name = list(STEPS)[number % len(STEPS)]
                began = time.monotonic()
                driver.call(*STEPS[name](0, number))
                times[name].append(time.monotonic() - began)
                number += 1
            driver.finish()
        yield Row(what, 1, {name: _figures(sorted(found), seconds) for name, found in times.items()}, 0)


def ours_over_http(server: Server, seconds: float) -> Iterator[Row]:
    with _memory() as folder, serving(folder, program=server.command, env=server.environment) as one:
        for count in CLIENTS:
            yield Row("memory-server, HTTP", count, asyncio.run(_rate(one.port, count, seconds)), resident(one))


def npm_over_http(server: Server, seconds: float) -> Iterator[Row]:
    with _memory() as folder, _bridge(server, folder) as port:
        for count in FEW:
            yield Row("npm behind supergateway", count, asyncio.run(_rate(port, count, seconds)), 0)


async def _rate(port: int, count: int, seconds: float) -> dict[str, Figures]:
    clients = await opened(port, count)
    found = await rate(clients, STEPS, seconds)
    for client in clients:
        client.close()
    return found


@contextlib.contextmanager
def _memory() -> Iterator[Path]:
    servers.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=servers.CACHE) as folder:
        (Path(folder) / "memory.jsonl").write_text(graph(SIZE))
        yield Path(folder)


@contextlib.contextmanager
def _bridge(server: Server, folder: Path) -> Iterator[int]:
    """The npm server over HTTP: the port."""
    program = servers.CACHE / "node_modules" / "supergateway" / "dist" / "index.js"
    if not program.is_file():
        quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--no-save"]
        command = ["npm", "install", "--prefix", str(servers.CACHE), *quiet, BRIDGE]
        subprocess.run(command, check=True, stdout=sys.stderr, timeout=300)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    node = server.command[0]
    command = [node, str(program), "--stdio", " ".join(server.command), "--outputTransport", "streamableHttp"]
    command += ["--stateful", "--port", str(port), "--logLevel", "none"]
    env = {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    null = subprocess.DEVNULL
    with subprocess.Popen(command, env=env, stdin=null, stdout=null, stderr=null, start_new_session=True) as process:
        try:
            _wait_for(port)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # it, and the servers that it has started


def _wait_for(port: int) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def _figures(times: Sequence[float], took: float) -> Figures:
    last = len(times) - 1
    return Figures(len(times) / took, times[len(times) // 2], times[min(int(len(times) * 0.99), last)], times[last])


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else _SECONDS
    print(table(servers.archive(), servers.npm(), seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
