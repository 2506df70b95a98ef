"""Recovery: random changes by several processes, some of them killed, then everything undone.

Fewer changes take something away than generations are kept. Things that were in the first file are deleted, and things
that were added since. Afterwards:

1. undoing all of them brings back all that the first file held, and all that was added and acknowledged is there;
2. every generation is a whole memory;
3. undoing the undos, the last one first, gives back the graph before them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from memory_app.commands.upkeep import past
from memory_app.commands.upkeep.past import Step
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.records import new_entity, new_relation
from memory_app.storage.history import NEWEST, generations
from memory_app.storage.store import Store
from tests.driver import Driver
from tests.faults.folders import folder
from tests.placing import put
from tests.stress import servers
from tests.stress.figures import Figures

_ENTITIES: Final = 12
_ANSWER: Final = 20.0
_MOST: Final = NEWEST // 3
"""Generations that the changes make: as many undos follow, and as many undos of these."""

Said = tuple[str, ...]


def run(
    seed: int,
    rounds: int,
    processes: int = 3,
    most: int = _MOST,
    command: list[str] | None = None,
    undo: Callable[[Step, Graph], Graph] = Step.undo,
) -> Figures:
    """So many memories, each changed until it has `most` generations, killed at and undone."""
    figures = Figures("recovery")
    for number in range(rounds):
        with folder() as inside, contextlib.ExitStack() as stack:
            one = _Round(inside, random.Random(f"{seed}/{number}"), figures, f"memory {number}", command, undo)
            one.run(stack, processes, most)
    return figures


def said(graph: Graph) -> set[Said]:
    """Everything that a graph says, each thing by itself."""
    found: set[Said] = {(name,) for name in graph.entities}
    found |= {(name, text) for name, line in graph.entities.items() for text in line.observations()}
    return found | {(one.source, one.relation_type, one.target) for one in graph.first_relations()}


class _Round:
    def __init__(
        self,
        inside: Path,
        chance: random.Random,
        figures: Figures,
        name: str,
        command: list[str] | None,
        undo: Callable[[Step, Graph], Graph],
    ) -> None:
        self.memory = inside / "memory.jsonl"
        self._random = chance
        self._figures = figures
        self._name = name
        self._command = command
        self._undone = undo
        self._added: set[Said] = set()
        self._mutex = threading.Lock()

    def run(self, stack: contextlib.ExitStack, processes: int, most: int) -> None:
        names = [f"e{number}" for number in range(_ENTITIES)]
        store = self._store()
        lines = [new_entity(name, "t", [f"{name}-{n}" for n in range(3)]).raw for name in names]
        lines += [new_relation(one, other, "r").raw for one, other in itertools.pairwise(names)]
        put(self.memory, b"\n".join(lines) + b"\n")
        first = said(store.graph())
        store.close()
        drivers: list[Driver] = []
        for _ in range(most):  # each time leaves one at least
            if len(generations(str(self.memory))) >= most:
                break
            wanted = processes - len(drivers)
            missing = servers.started_together(self.memory, wanted, self._command, self._figures)
            drivers += map(stack.enter_context, missing)
            self._change_and_kill(drivers, names)
            drivers.pop(0)
        self._undo(first)

    def _store(self) -> Store:
        return Store(str(self.memory), lambda text: None)

    def _change_and_kill(self, drivers: list[Driver], names: list[str]) -> None:
        """Several servers change the memory at once; the first is killed while it has calls in flight."""
        calls = [self._calls(names) for _ in drivers]
        threads = [
            threading.Thread(target=self._write, args=(driver, calls[place], place == 0))
            for place, driver in enumerate(drivers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _calls(self, names: list[str]) -> list[tuple[str, dict[str, Any], set[Said]]]:
        found: list[tuple[str, dict[str, Any], set[Said]]] = []
        for _ in range(2):
            name = self._random.choice(names)
            kind = self._random.randrange(3)
            if kind == 0:
                found.append(("delete_entities", {"entityNames": [name]}, set()))
            elif kind == 1:
                gone = [f"{name}-{self._random.randrange(3)}"]
                found.append(
                    ("delete_observations", {"deletions": [{"entityName": name, "observations": gone}]}, set())
                )
            else:
                other = names[names.index(name) - 1]
                found.append(
                    ("delete_relations", {"relations": [{"from": other, "to": name, "relationType": "r"}]}, set())
                )
        if earlier := sorted(thing for thing in self._added if len(thing) == 1):
            found.append(("delete_entities", {"entityNames": list(self._random.choice(earlier))}, set()))
        for _ in range(3):
            new = f"new-{self._random.getrandbits(64):x}"
            found.append(("create_entities", servers.entity(new, "a fact"), {(new,), (new, "a fact")}))
        self._random.shuffle(found)
        return found

    def _write(self, driver: Driver, calls: list[tuple[str, dict[str, Any], set[Said]]], dies: bool) -> None:
        asked = [(driver.start_call(tool, arguments), adds) for tool, arguments, adds in calls]
        for place, (request, adds) in enumerate(asked):
            if dies and place == len(asked) // 2:
                driver.kill()
                self._figures.count("kills")
                return
            if servers.is_stored(driver.answer(request)):
                with self._mutex:
                    self._figures.count("changes")
                    self._added |= adds

    def _undo(self, first: set[Said]) -> None:
        store = self._store()
        try:
            path = str(self.memory)
            before = store.graph()
            for one in generations(path):
                if document.read(Path(one.path).read_bytes()).tail:
                    self._figures.lost(f"{self._name}: the generation {one.stamp} cannot be read whole")
            wanted = [os.path.basename(step.generation.path) for step in past.undoable(path, before)]
            self._undo_each(store, wanted)
            after = said(store.graph())
            for lost in sorted((first | self._added) - after):
                self._figures.lost(f"{self._name}: {lost} is not there after all was undone")
            undos = [one for one in generations(path) if one.reason == "undo"]
            self._undo_each(store, [os.path.basename(one.path) for one in undos])
            if said(store.graph()) != said(before):
                self._figures.lost(f"{self._name}: undoing the undos did not give back the graph before them")
        finally:
            store.close()

    def _undo_each(self, store: Store, names: list[str]) -> None:
        for name in names:

            def change(graph: Graph, name: str = name) -> tuple[Graph, None]:
                return self._undone(past.choose(name, str(self.memory), graph), graph), None

            store.submit(change, "undo").result(_ANSWER)
            self._figures.count("undos")
