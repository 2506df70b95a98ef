"""The HTTP part of `make bench`: clients that keep their connections, beside stdio, and beside npm behind a bridge.

A graph of 1,000 entities; a third of the calls each opens two entities, searches, and creates one. Clients never rest.
The npm server speaks stdio alone, so supergateway serves it; that starts a process for each session, so it is asked by
few clients. `make bench BENCH_ARGS=--http` measures this part alone, in three minutes.
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
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from tests.bench import servers
from tests.bench.client import Server
from tests.driver import Driver
from tests.server.http.keeping import Figures, figures, opened, rate
from tests.server.http.measure import STEPS, Stall, cpu_seconds, graph, resident, whole_graphs
from tests.server.http.serving import Serving, serving

SIZE: Final = 1_000
CLIENTS: Final = (1, 50, 200, 500)
FEW: Final = (1, 10)
BRIDGE: Final = "supergateway@4.0.0"
_SECONDS: Final = 10.0
_LARGE: Final = 100_000  # entities of the graph that is read whole
_ROUNDS: Final = 3
_BRIEF: Final = 0.3  # of the time of a row: a round of what is compared
_PATIENCE: Final = 60.0


NOTE: Final = """Clients keep their connections and never rest; a third of their calls each opens two entities,
searches, and creates an entity in a graph of 1,000. Clients and server share the machine. `processor` is the time that
the server computes for a call, in ms. supergateway starts an npm server for each session, so few clients ask it; those
take no lock, so that some writes of several clients are lost."""


class Row(NamedTuple):
    what: str
    clients: int
    figures: dict[str, Figures]
    memory: int = 0  # bytes; 0: not measured
    processor: float = 0.0  # seconds for a call; 0: not measured

    def cells(self) -> str:
        total = sum(one.calls_per_second for one in self.figures.values())
        times = " | ".join(f"{one.p50 * 1000:.1f} / {one.p99 * 1000:.0f}" for one in self.figures.values())
        memory = f"{self.memory >> 20} MiB" if self.memory else ""
        processor = f"{self.processor * 1000:.2f}" if self.processor else ""
        return f"| {self.what} | {self.clients} | {total:.0f} | {times} | {processor} | {memory} |"


class Bound(NamedTuple):
    """A figure that has to be within a bound."""

    what: str
    figure: str
    wanted: str
    is_met: bool

    def cells(self) -> str:
        return f"| {self.what} | {self.figure} | {self.wanted} | {'yes' if self.is_met else '**no**'} |"


def report(ours: Server, npm: Server, seconds: float = _SECONDS) -> str:
    """The whole part, in Markdown."""
    return f"## Over HTTP\n\n{NOTE}\n\n{table(ours, npm, seconds)}\n\n{bounds(ours, seconds)}\n"


def bounds(ours: Server, seconds: float) -> str:
    """What is wanted, in Markdown."""
    times = beside_delayed(seconds * _BRIEF)
    idle, stall = beside_whole_graphs(ours)
    ratio = stall.peak / idle if idle else 0.0
    rows = [
        Bound(
            "one client, beside the same without TCP_NODELAY, as in 1.0", f"{times:.0f} times", "≥ 20", times >= 20
        ),
        Bound(
            f"a small call beside `read_graph` of {_LARGE:,} entities, the longest wait",
            f"{stall.worst * 1000:.0f} ms", "≤ 50 ms", stall.worst <= 0.05,
        ),
        Bound(f"memory at most then, beside the idle {idle >> 20} MiB", f"{ratio:.2f} times", "≤ 2.5", ratio <= 2.5),
    ]  # fmt: skip
    return "\n".join(["| what | measured | wanted |  |", "|---|---|---|---|", *(row.cells() for row in rows)])


def table(ours: Server, npm: Server, seconds: float) -> str:
    """Calls a second and their times, in Markdown."""
    rows = [*over_stdio("memory-server, stdio", ours, seconds), *ours_over_http(ours, seconds)]
    rows += [*over_stdio("npm, stdio", npm, seconds), *npm_over_http(npm, seconds)]
    head = (
        "| server | clients | calls a second | read p50 / p99 ms | search | write | processor | memory |\n"
        + "|---" * 8
        + "|"
    )
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
        yield Row(what, 1, {name: figures(found, seconds) for name, found in times.items()})


def ours_over_http(server: Server, seconds: float) -> Iterator[Row]:
    with _memory() as folder, serving(folder, program=server.command, env=server.environment) as one:
        for count in CLIENTS:
            worked = cpu_seconds(one)
            found = asyncio.run(_rate(one.port, count, seconds))
            calls = sum(each.calls_per_second for each in found.values()) * seconds
            yield Row("memory-server, HTTP", count, found, resident(one), (cpu_seconds(one) - worked) / calls)


def npm_over_http(server: Server, seconds: float) -> Iterator[Row]:
    with _memory() as folder, _bridge(server, folder) as port:
        for count in FEW:
            yield Row("npm behind supergateway", count, asyncio.run(_rate(port, count, seconds)))


def beside_delayed(seconds: float) -> float:
    """How many times as often one client is served as over connections of the kind that 1.0 had; both in turn."""
    sources = servers.source(), servers.source("tests.bench.delayed")
    ratios = []
    for number in range(_ROUNDS):
        rates = [0.0, 0.0]
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            with _memory() as folder, serving(folder, program=sources[which].command) as one:
                found = asyncio.run(_rate(one.port, 1, seconds))
            rates[which] = sum(each.calls_per_second for each in found.values())
        ratios.append(rates[0] / rates[1])
    return median(ratios)


def beside_whole_graphs(server: Server) -> tuple[int, Stall]:
    """The bytes of the idle server, and what it takes to hand out the whole of a large graph."""

    async def work(one: Serving) -> tuple[int, Stall]:
        large, beside = await opened(one.port, 2)
        await beside.call(*STEPS["search"](0, 0))  # the first one loads
        idle = resident(one)
        found = await whole_graphs(one, large, beside)
        large.close()
        beside.close()
        return idle, found

    with _memory(_LARGE) as folder, serving(folder, program=server.command, env=server.environment) as one:
        return asyncio.run(work(one))


async def _rate(port: int, count: int, seconds: float) -> dict[str, Figures]:
    clients = await opened(port, count)
    found = await rate(clients, STEPS, seconds)
    for client in clients:
        client.close()
    return found


@contextlib.contextmanager
def _memory(size: int = SIZE) -> Iterator[Path]:
    servers.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=servers.CACHE) as folder:
        (Path(folder) / "memory.jsonl").write_text(graph(size))
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
