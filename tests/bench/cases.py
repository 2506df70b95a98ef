"""What is measured, and how: each function runs servers on fresh copies of a memory and returns seconds, bytes, counts.

One round of a case is one number, the median over its calls; `run` repeats rounds in turn for what is compared, so that
what else the machine does falls on both.
"""

from __future__ import annotations

import os
import select
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from memory_app.graph import queries
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.bench import graphs
from tests.bench.client import Client, Server

Figures = dict[str, float]

BURST: Final = 40
PROCESSES: Final = 8
_WRITES_EACH: Final = 25  # of each of the eight processes: enough that their start and end hardly count
_URI: Final = "memory://knowledge-graph"


def calls(size: int) -> int:
    """How often a call is repeated in a round: small ones, which vary more and cost less, more often."""
    return {10: 100, 1_000: 30, 10_000: 9}.get(size, 3)


def starts(server: Server, memory: Path, count: int) -> Figures:
    """From the start of the process to its first answer, and to the first answer of a tool."""
    first, tool = [], []
    for _ in range(count):
        began = time.perf_counter()
        with Client(server, memory) as client:
            first.append(client.started)
            client.timed("open_nodes", {"names": [graphs.name(1)]})
            tool.append(time.perf_counter() - began)
    return {"start": median(first), "start, tool": median(tool)}


def session(server: Server, memory: Path, size: int) -> Figures:
    """One client's session: every kind of call on a graph of `size`."""
    found: Figures = {}
    count = calls(size)

    def measure(label: str, tool: str, arguments: Callable[[int], Mapping[str, Any]], times: int = count) -> None:
        found[label] = median(client.timed(tool, arguments(number)) for number in range(times))

    with Client(server, memory) as client:
        measure("first call", "open_nodes", lambda n: {"names": [graphs.name(1)]}, 1)
        measure("open", "open_nodes", lambda n: {"names": [graphs.name(n * 7 % size)]})
        measure("first search", "search_nodes", lambda n: {"query": graphs.RARE}, 1)
        measure("search, rare", "search_nodes", lambda n: {"query": graphs.RARE})
        measure("search, words", "search_nodes", lambda n: {"query": _in_turn(graphs.ALL_WORDS, n), "limit": 20})
        measure("first loose search", "search_nodes", lambda n: {"query": graphs.MISSPELT}, 1)
        measure("search, none", "search_nodes", lambda n: {"query": graphs.NOWHERE})
        measure("search, misspelt", "search_nodes", lambda n: {"query": graphs.MISSPELT})
        measure("search, loose", "search_nodes", lambda n: {"query": _in_turn(graphs.COMMON, n)})
        measure("add", "add_observations", lambda n: {"observations": [_addition(n * 7 % size, f"Added {n}")]})
        measure("create", "create_entities", lambda n: {"entities": [_entity(n)]})
        measure("delete", "delete_entities", lambda n: {"entityNames": [_entity(n)["name"]]})
        measure("read", "read_graph", lambda n: {})
        found["peak"] = client.peak() if Path("/proc/self/status").exists() else 0.0
    return found


def history(server: Server, memory: Path, size: int) -> Figures:
    """Deletes with the history, each of which keeps a generation, and without it: two servers, asked by turns."""
    other = memory.with_name("without.jsonl")
    shutil.copyfile(memory, other)
    without = server._replace(environment={**server.environment, "MEMORY_HISTORY": "off"})
    times: tuple[list[float], list[float]] = [], []
    with Client(server, memory) as first, Client(without, other) as second:
        both = (first, second)
        for number in range(2 * calls(size)):
            for client in both:
                client.timed("create_entities", {"entities": [_entity(number)]})
            for place in (0, 1) if number % 2 else (1, 0):
                times[place].append(both[place].timed("delete_entities", {"entityNames": [_entity(number)["name"]]}))
    return {"history": median(times[0]), "no history": median(times[1])}


def third_stage(memory: Path) -> Figures:
    """Processor seconds in this process: of the index, and of the third stage beyond the two before, dearest query."""
    graph = Graph.of(document.read(memory.read_bytes()))
    queries.strict_search(graph, graphs.NOWHERE)
    began = time.process_time()
    queries.search(graph, graphs.NOWHERE)
    index = time.process_time() - began
    return {"index": index, "beyond": max(_beyond(graph, query) for query in graphs.DEAR)}


def _beyond(graph: Graph, query: str) -> float:
    """The least of several rounds, which is what the work itself takes."""
    alone, both = [], []
    for _ in range(7):
        began = time.process_time()
        if queries.strict_search(graph, query):
            raise AssertionError(f"no query for the third stage: {query}")
        between = time.process_time()
        queries.search(graph, query)
        alone.append(between - began)
        both.append(time.process_time() - between)
    return min(both) - min(alone)


def reload(server: Server, memory: Path, size: int) -> Figures:
    """The first load, and the next after another process has changed one line in the middle of the file."""
    again = []
    question = {"names": [graphs.name(1)]}
    with Client(server, memory) as client:
        first = client.timed("open_nodes", question)
        for number in range(calls(size)):
            lines = memory.read_bytes().split(b"\n")
            lines[size // 2] = lines[size // 2].replace(b'"]', b'","Changed %d"]' % number)
            replace(memory, b"\n".join(lines))
            again.append(client.timed("open_nodes", question))
    return {"load": first, "reload": median(again)}


def raw_save(memory: Path, size: int) -> Figures:
    """Writing, syncing and renaming the bytes of the memory, and syncing the folder: what every safe save has to do."""
    data = memory.read_bytes()
    return {"raw": median(replace(memory, data) for _ in range(calls(size)))}


def replace(memory: Path, data: bytes) -> float:
    """Put `data` in the place of the file, safely; how long that took."""
    began = time.perf_counter()
    beside = memory.with_name(memory.name + ".raw")
    with beside.open("xb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())
    beside.replace(memory)
    if os.name != "nt":
        folder = os.open(memory.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    return time.perf_counter() - began


def burst(server: Server, memory: Path) -> Figures:
    """Writes sent at once: how many saves they took (a subscriber hears of each), how many the file holds."""
    with Client(server, memory) as client:
        client.finish(client.send("resources/subscribe", {"uri": _URI}))
        many = [{"observations": [_addition(number % 10, f"Burst {number}")]} for number in range(BURST)]
        began = time.perf_counter()
        client.finish(*client.send_calls("add_observations", many))
        took = time.perf_counter() - began
        saves = client.updates
    return {"saves": saves, "stored": memory.read_bytes().count(b'"Burst '), "burst": took}


def crowd(server: Server, memory: Path) -> Figures:
    """Eight processes that write to one file, each one call after another: seconds for a write of all, the seconds that
    nineteen of twenty calls took at most, and how much of it all the file holds."""
    clients = [Client(server, memory) for _ in range(PROCESSES)]
    try:
        left = {client.stdout: (client, _WRITES_EACH) for client in clients}
        for client in clients:  # one each before the clock runs: the first one starts threads and loads
            client.timed("add_observations", {"observations": [_addition(0, f"Warm {client.stdout}")]})
        times = []
        began = time.perf_counter()
        waiting = {fd: (_write_one(client, 0), began) for fd, (client, _) in left.items()}
        while left:
            for fd in select.select(list(left), [], [])[0]:
                client, count = left[fd]
                request, sent = waiting[fd]
                client.finish(request)
                times.append(time.perf_counter() - sent)
                if count > 1:
                    left[fd] = (client, count - 1)
                    waiting[fd] = _write_one(client, count - 1), time.perf_counter()
                else:
                    del left[fd]
        took = time.perf_counter() - began
    finally:
        for client in clients:
            client.__exit__(None, None, None)
    total = PROCESSES * _WRITES_EACH
    late = sorted(times)[total * 19 // 20]
    return {"crowd": took / total, "crowd, late": late, "kept": memory.read_bytes().count(b'"Crowd ') / total}


def copy(size: int, folder: Path) -> Path:
    """A fresh memory of `size` entities to work on."""
    original = folder / f"graph-{size}.jsonl"
    if not original.exists():
        graphs.write(original, size)
    return Path(shutil.copyfile(original, folder / "memory.jsonl"))


def _in_turn(texts: Sequence[str], number: int) -> str:
    return texts[number % len(texts)]


def _write_one(client: Client, number: int) -> int:
    text = f"Crowd {client.stdout} {number}"
    return client.send_calls("add_observations", [{"observations": [_addition(number % 10, text)]}])[0]


def _addition(entity: int, text: str) -> dict[str, Any]:
    return {"entityName": graphs.name(entity), "contents": [text]}


def _entity(number: int) -> dict[str, Any]:
    return {"name": f"Created {number}", "entityType": "event", "observations": ["Made by the benchmark"]}
