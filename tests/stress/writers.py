"""Many writers on one file: servers of ours and writers for Node that follow the lock. None of their writes may be
missing at the end, none may be there twice, and no line may be damaged.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Final

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.driver import Driver
from tests.faults.folders import folder
from tests.stress import servers
from tests.stress.figures import Figures

_PEER: Final = servers.ROOT / "tests" / "peers" / "locking_writer.mjs"
_SHARED: Final = "shared"  # the entity that all servers add to
_IN_FLIGHT: Final = 4  # calls that a server has in its queue
_PATIENCE: Final = 600.0  # seconds for all that a peer has to write


def run(seed: int, *, ours: int, peers: int, calls: int, each_peer: int, command: list[str] | None = None) -> Figures:
    """Let `ours` servers make `calls` calls each, and `peers` writers for Node `each_peer` writes each, all at once."""
    figures = Figures("many writers")
    node = shutil.which("node")
    if node is None and peers:
        figures.remark("no writers for Node: there is no node")
        peers = 0
    with folder(on_disk=True) as inside:
        memory = inside / "memory.jsonl"
        drivers = servers.started_together(memory, ours, command, figures)
        drivers[0].call("create_entities", servers.entity(_SHARED))
        others = [
            subprocess.Popen(
                [str(node), str(_PEER), str(memory), "write", str(each_peer), f"peer{number}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                cwd=inside,
            )
            for number in range(peers)
        ]
        created, observed = _drive(drivers, calls, random.Random(seed), figures)
        for number, other in enumerate(others):
            said, _ = other.communicate(timeout=_PATIENCE)
            if other.returncode or said != b"done\n":
                figures.lost(f"writer {number} for Node ended with {other.returncode}")
            created += Counter(f"peer{number}-{index}" for index in range(each_peer))
        for driver in drivers:
            with driver:
                driver.finish()
        figures.count("processes of ours", ours)
        figures.count("writers for Node", peers)
        figures.count("writes", sum(created.values()) + sum(observed.values()))
        _compare(memory, created, observed, figures)
        there = {name for name in os.listdir(inside) if not name.endswith(".replaced")}  # they go after a minute
        left = there - {"memory.jsonl", "memory.jsonl.history"}
        if left:
            figures.lost(f"left behind: {sorted(left)}")
    return figures


def _drive(
    drivers: list[Driver], calls: int, chance: random.Random, figures: Figures
) -> tuple[Counter[str], Counter[str]]:
    """Keep every server's queue filled until each has had its calls; what was acknowledged."""
    created: Counter[str] = Counter()
    observed: Counter[str] = Counter()
    asked: list[dict[object, tuple[Counter[str], str]]] = [{} for _ in drivers]
    for number in range(calls + _IN_FLIGHT):
        for index, driver in enumerate(drivers):
            waiting = asked[index]
            if number < calls:
                name = f"writer{index}-{number}"
                if chance.random() < 0.5:
                    waiting[driver.start_call("create_entities", servers.entity(name))] = (created, name)
                else:
                    added = {"observations": [{"entityName": _SHARED, "contents": [name]}]}
                    waiting[driver.start_call("add_observations", added)] = (observed, name)
            if waiting and (number >= calls or len(waiting) >= _IN_FLIGHT):
                first = next(iter(waiting))
                into, name = waiting.pop(first)
                answer = driver.answer(first)
                if servers.is_stored(answer):
                    into[name] += 1
                else:
                    figures.lost(f"{name} was not stored: {answer}")
    return created, observed


def _compare(memory: Path, created: Counter[str], observed: Counter[str], figures: Figures) -> None:
    contents = document.read(memory.read_bytes())
    if contents.notices or contents.head or contents.tail:
        figures.lost("a line cannot be read")
    graph = Graph.of(contents)
    there = Counter(line.name for line in graph.entity_lines)
    shared = graph.entities[_SHARED].observations() if _SHARED in graph.entities else []
    for what, wanted, found in (
        ("entity", created + Counter([_SHARED]), there),
        ("observation", observed, Counter(shared)),
    ):
        for name, times in sorted((wanted - found).items()):
            figures.lost(f"the {what} {name} is missing {times} times")
        for name, times in sorted((found - wanted).items()):
            figures.lost(f"the {what} {name} is there {times} times too often")
