"""`make bench BENCH_ARGS=million`: what is promised of a million entities, over the real archive.

Each figure stands beside one of the same round: `json.loads` over the same lines, the bare write of the same bytes, or
one call of the npm server. Prints the tables. Linux only, since memory is read from /proc.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.bench import cases, graphs
from tests.bench.client import Client, Server
from tests.bench.report import Row, table

SIZE: Final = 1_000_000
_CREATES: Final = (6_000, 12_000, 25_000, 50_000)  # pipelined
_LOADS: Final = (10_000, 100_000)  # entities of the memories whose first load is compared with a call of npm's
_REPEATS: Final = 3
_LIMIT: Final = 20  # entities of an answer
_LOAD: Final = 5.0  # seconds
_MEMORY: Final = 700 << 20  # bytes
_FIND: Final = 0.3  # seconds
_PING: Final = 0.1  # seconds
_WRITE: Final = 1.3  # times the bare write
_LINEAR: Final = 1.25  # times the cost of one of the fewest: what a larger dictionary costs is allowed for

# Searches: one hit, every entity of a word, all of several words, many words, as many as may be, none and nothing near.
_SEARCHES: Final[Mapping[str, str]] = {
    "one hit": graphs.RARE,
    "some hundred thousand hits": "coffee",
    "a million hits": "entity",
    "three words": "coffee berlin train",
    "thirty words": " ".join(["coffee", "berlin", "train", "notes", "garden", "entity"] * 5),
    "1,024 words": "e a " * 512,
    "words that nothing holds": "coffee berlin zzyzx",
}
_JSON: Final = """
import gc, json, sys, time
gc.disable()
lines = open(sys.argv[1], "rb").read().splitlines()
began = time.perf_counter()
kept = [json.loads(line) for line in lines]
print(time.perf_counter() - began)
"""


def report(ours: Server, npm: Server, folder: Path, rounds: int, size: int = SIZE) -> str:
    """The tables, after `rounds` rounds."""
    found: dict[str, list[float]] = defaultdict(list)
    original = folder / "stated.jsonl"
    counts = [count * size // SIZE for count in _CREATES]  # fewer in a look at a smaller memory
    graphs.write_stated(original, size)
    for number in range(rounds):
        for measure in (_beside_json, _session, _pings):
            began = time.perf_counter()
            memory = folder / "memory.jsonl"
            shutil.copyfile(original, memory)
            for key, figure in measure(ours, memory, size).items():
                found[key].append(figure)
            print(f"round {number + 1}: {measure.__name__} {time.perf_counter() - began:.1f} s", file=sys.stderr)
        for key, figure in {**_first_loads(ours, npm, folder), **_creates(ours, folder, counts)}.items():
            found[key].append(figure)
    return _text(found, size, original.stat().st_size, counts)


def _beside_json(_: Server, memory: Path, size: int) -> Mapping[str, float]:
    said = subprocess.run([sys.executable, "-c", _JSON, str(memory)], check=True, capture_output=True, text=True)
    data = memory.read_bytes()
    return {"json": float(said.stdout), "bare": median(cases.replace(memory, data) for _ in range(_REPEATS))}


def _session(ours: Server, memory: Path, size: int) -> Mapping[str, float]:
    found: dict[str, float] = {}
    with Client(ours, memory) as client:
        found["load"] = client.timed("open_nodes", {"names": [graphs.name(1)]})
        found["memory"] = client.memory()
        found["open"] = _median(client, "open_nodes", {"names": [graphs.name(size // 2)]})
        found["first search"] = client.timed("search_nodes", _asking(graphs.RARE))
        for name, query in _SEARCHES.items():
            if name == "words that nothing holds":
                found["first loose"] = client.timed("search_nodes", _asking(query))
            found[f"find {name}"] = _median(client, "search_nodes", _asking(query))
        entity = {"entityType": "event", "observations": ["Made by the benchmark"]}
        client.timed("create_entities", {"entities": [{"name": "Before", **entity}]})
        created = [
            client.timed("create_entities", {"entities": [{"name": f"Created {number}", **entity}]})
            for number in range(_REPEATS)
        ]
        found["create"] = median(created)
        added = [
            client.timed(
                "add_observations", {"observations": [{"entityName": graphs.name(7), "contents": [f"x{number}"]}]}
            )
            for number in range(_REPEATS)
        ]
        found["add"] = median(added)
        found["memory after all"] = client.memory()
    return found


def _pings(ours: Server, memory: Path, size: int) -> Mapping[str, float]:
    works: Mapping[str, tuple[str, Mapping[str, Any]]] = {
        "the load": ("open_nodes", {"names": [graphs.name(1)]}),
        "the first search": ("search_nodes", _asking(graphs.RARE)),
        "a search of a million hits": ("search_nodes", _asking("entity")),
        "a page of 100,000 entities": ("read_graph", {"limit": 100_000, "relationLimit": 100_000}),
        "the index of the loose search": ("search_nodes", _asking("coffee berlin zzyzx")),
        "a loose search": ("search_nodes", _asking("coffee berlin zzyzx")),
        "the first save": ("create_entities", {"entities": [{"name": "P", "entityType": "t", "observations": []}]}),
        "a save": ("create_entities", {"entities": [{"name": "Q", "entityType": "t", "observations": []}]}),
        "a deletion": ("delete_entities", {"entityNames": ["P"]}),
    }
    with Client(ours, memory) as client:
        return {f"ping {name}": client.longest_ping(tool, arguments) for name, (tool, arguments) in works.items()}


def _first_loads(ours: Server, npm: Server, folder: Path) -> Mapping[str, float]:
    found: dict[str, float] = {}
    question = {"names": [graphs.name(1)]}
    for size in _LOADS:
        memory = cases.copy(size, folder)
        loads = []
        for _ in range(_REPEATS):
            with Client(ours, memory) as client:
                loads.append(client.timed("open_nodes", question))
        found[f"load {size}"] = median(loads)
        with Client(npm, memory) as client:
            found[f"npm {size}"] = _median(client, "open_nodes", question)
    return found


def _creates(ours: Server, folder: Path, counts: Sequence[int]) -> Mapping[str, float]:
    """Seconds for one of many creates that are sent at once."""
    found: dict[str, float] = {}
    for count in counts:
        memory = folder / "created.jsonl"
        memory.unlink(missing_ok=True)
        many = [
            {"entities": [{"name": f"Created {number}", "entityType": "t", "observations": ["x"]}]}
            for number in range(count)
        ]
        with Client(ours, memory) as client:
            began = time.perf_counter()
            client.pipeline("create_entities", many)
            found[f"creates {count}"] = (time.perf_counter() - began) / count
        if memory.read_bytes().count(b"\n") != count:
            raise AssertionError(f"{count} creates were answered, and the file does not hold them all")
    return found


def _median(client: Client, tool: str, arguments: Mapping[str, Any]) -> float:
    return median(client.timed(tool, arguments) for _ in range(_REPEATS))


def _asking(query: str) -> Mapping[str, Any]:
    return {"query": query, "limit": _LIMIT}


def _text(found: Mapping[str, list[float]], size: int, stored: int, counts: Sequence[int]) -> str:
    json, bare = found["json"], found["bare"]
    finds = [
        Row(f"search_nodes, limit {_LIMIT}: {name}", size, found[f"find {name}"], json, limit=_FIND)
        for name in _SEARCHES
    ]
    beside_json = [
        Row("the first call, which loads", size, found["load"], json, limit=_LOAD),
        Row("memory after it", size, found["memory"], (), unit="memory", limit=_MEMORY),
        Row("open_nodes, one name", size, found["open"], json),
        *finds,
        Row("the first search, which folds every text", size, found["first search"], json),
        Row("the first loose search, which makes its index", size, found["first loose"], json),
        Row("memory after all searches and writes", size, found["memory after all"], (), unit="memory"),
    ]
    beside_bare = [
        Row(f"{name}_entities" if name == "create" else "add_observations", size, found[name], bare, _WRITE)
        for name in ("create", "add")
    ]
    pings = [
        Row(key.removeprefix("ping "), size, took, json, limit=_PING)
        for key, took in found.items()
        if key.startswith("ping ")
    ]
    loads = [
        Row("the first call, which loads", count, found[f"load {count}"], found[f"npm {count}"], 1.0)
        for count in _LOADS
    ]
    fewest = found[f"creates {counts[0]}"]
    creates = [
        Row(f"one of {count:,} creates sent at once", 0, found[f"creates {count}"], fewest, _LINEAR) for count in counts
    ]
    return f"""## A million entities

{size:,} entities, {size // 2:,} relations, {stored / 1e6:.0f} MB; medians of {len(json)} rounds.

{table(beside_json, "json.loads, all lines")}
{table(beside_bare, "write, sync, rename")}
The longest ping while something else runs:

{table(pings, "json.loads, all lines")}
{table(loads, "one npm call")}
{table(creates, f"of {counts[0]:,}")}"""
