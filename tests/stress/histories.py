"""Histories of concurrent calls to several servers on one file: six kinds of change, and reads; recorded, checked."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from tests.driver import Driver
from tests.faults.folders import folder
from tests.stress import linear, servers
from tests.stress.figures import Figures
from tests.stress.linear import Operation

_GROUPS: Final = 2  # independent parts of one history: more of them would leave less to clash in each
_TEXTS: Final = ("p", "q", "r")
_KINDS: Final = (
    "create_entities",
    "create_entities",  # often enough that the others have something to change
    "add_observations",
    "add_observations",
    "create_relations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "open_nodes",
    "open_nodes",
)


def run(seeds: Iterable[int], *, processes: int, calls: int, command: list[str] | None = None) -> Figures:
    """For each seed one history, of `calls` calls by each of the servers; these live through all of them."""
    figures = Figures("histories")
    with folder(on_disk=True) as inside:
        drivers = servers.started_together(inside / "memory.jsonl", processes, command, figures)
        try:
            for seed in seeds:
                history = record(drivers, seed, calls)
                figures.count("histories")
                figures.count("calls", len(history))
                figures.count("of them overlapping", _overlapping(history))
                for group in linear.faults(history):
                    figures.lost(f"seed {seed}: the calls on {group}* are not linearizable")
        finally:
            for driver in drivers:
                with driver:
                    driver.finish()
    return figures


def record(drivers: list[Driver], seed: int, calls: int) -> list[Operation]:
    """What all servers were asked at the same time, and answered; with a last look by each when all is done."""
    history: list[Operation] = []
    broken: list[BaseException] = []
    ready = threading.Barrier(len(drivers))

    def client(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        try:
            ready.wait(60)
            for _ in range(calls):
                group = f"s{seed}g{chance.randrange(_GROUPS)}"
                history.append(_call(drivers[number], number, group, *_choose(chance, group)))
        except BaseException as error:  # noqa: BLE001 (told by the thread that waits)
            broken.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(drivers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    for number, driver in enumerate(drivers):
        for group in (f"s{seed}g{index}" for index in range(_GROUPS)):
            history.append(_call(driver, number, group, "open_nodes", _names(group)))
    return history


def _names(group: str) -> tuple[str, str]:
    return f"{group}a", f"{group}b"


def _choose(chance: random.Random, group: str) -> tuple[str, Any]:
    tool = chance.choice(_KINDS)
    names = _names(group)
    name = chance.choice(names)
    texts = tuple(chance.sample(_TEXTS, chance.randint(1, 2)))
    if tool in ("create_entities", "add_observations", "delete_observations"):
        return tool, ((name, texts),)
    if tool in ("create_relations", "delete_relations"):
        return tool, ((name, chance.choice(names), chance.choice(("knows", "likes"))),)
    if tool == "delete_entities":
        return tool, names if chance.random() < 0.3 else (name,)
    return tool, names


def _call(driver: Driver, process: int, group: str, tool: str, arguments: Any) -> Operation:
    sent = _SENT[tool](arguments)
    called = time.monotonic_ns()
    answer = driver.answer(driver.start_call(tool, sent))
    return Operation(process, called, time.monotonic_ns(), tool, arguments, _result(tool, answer["result"]), group)


def _relation(relation: linear.Relation) -> dict[str, str]:
    return dict(zip(("from", "to", "relationType"), relation, strict=True))


_SENT: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "create_entities": lambda asked: {
        "entities": [{"name": name, "entityType": "t", "observations": list(texts)} for name, texts in asked]
    },
    "add_observations": lambda asked: {
        "observations": [{"entityName": name, "contents": list(texts)} for name, texts in asked]
    },
    "delete_observations": lambda asked: {
        "deletions": [{"entityName": name, "observations": list(texts)} for name, texts in asked]
    },
    "create_relations": lambda asked: {"relations": [_relation(one) for one in asked]},
    "delete_relations": lambda asked: {"relations": [_relation(one) for one in asked]},
    "delete_entities": lambda names: {"entityNames": list(names)},
    "open_nodes": lambda names: {"names": list(names)},
}


def _result(tool: str, result: Any) -> Any:
    """An answer in the terms of the rules."""
    if result.get("isError"):
        return _missing(result["content"][0]["text"])
    data = result["structuredContent"]
    if tool == "create_entities":
        return tuple(one["name"] for one in data["entities"]), tuple(data.get("skipped", ()))
    if tool == "add_observations":
        return tuple((one["entityName"], tuple(one["addedObservations"])) for one in data["results"])
    if tool == "create_relations":
        return tuple((one["from"], one["to"], one["relationType"]) for one in data["relations"])
    if tool == "open_nodes":
        found = sorted((one["name"], tuple(one["observations"])) for one in data["entities"])
        return tuple(found), frozenset((one["from"], one["to"], one["relationType"]) for one in data["relations"])
    return data["message"]


def _missing(text: str) -> str:
    """The part of an error that the rules fix; names that come near may follow."""
    return text.partition(" not found")[0] + " not found"


def _overlapping(history: list[Operation]) -> int:
    """How many calls were not alone: without these a history proves little."""
    ends, count = 0, 0
    for one in sorted(history, key=lambda operation: operation.called):
        count += one.called < ends
        ends = max(ends, one.returned)
    return count
