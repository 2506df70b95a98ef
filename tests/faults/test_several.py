"""A fault while several calls wait, and while a file of the old name is moved: true answers, and nothing is lost."""

from __future__ import annotations

from concurrent.futures import wait
from typing import Final

from memory_app.errors import GraphError, StoreError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.location import choice, migration
from memory_app.storage.store import Store
from tests.faults.folders import beside, descriptors, folder
from tests.faults.loop import Fault, Injector
from tests.faults.scenes import LINES, NAME, change
from tests.faults.seam import through
from tests.placing import put

_PATIENCE: Final = 20.0
_OLD_NAME: Final = "memory.json"
_KINDS: Final = ("EIO", "ENOSPC", "MemoryError")


def _together(fault: Fault | None) -> tuple[Injector, str]:
    """Four calls at once, of which the last breaks a rule; what is wrong with the answers, if anything."""
    injector = Injector(fault)
    with folder() as inside, through(injector):
        memory = inside / NAME
        put(memory, LINES)
        store = Store(str(memory), lambda text: None, lock_wait=2)
        names = ["one", "two", "three"]
        entities = [{"entities": [{"name": name, "entityType": "t", "observations": []}]} for name in names]
        asked = [change(store, "create_entities", arguments) for arguments in entities]
        missing = {"observations": [{"entityName": "nobody", "contents": ["x"]}]}
        refused = change(store, "add_observations", missing)
        if wait([*asked, refused], _PATIENCE).not_done:
            return injector, "a call has no answer"
        store.close()
        there = Graph.of(document.read(memory.read_bytes())).entities.keys()
        for name, future in zip(names, asked, strict=True):
            error = future.exception()
            stored = error is None or (isinstance(error, StoreError) and error.stored)
            if stored != (name in there):
                return injector, f"{name}: {error!r}, and {sorted(there)} are there"
        if not isinstance(refused.exception(), GraphError | StoreError):
            return injector, f"the call that breaks a rule: {refused.exception()!r}"
        return injector, "" if beside(inside) == [NAME] else f"left behind: {beside(inside)}"


def test_each_of_several_calls_gets_its_own_true_answer() -> None:
    before = descriptors()
    most = len(_together(None)[0].names)
    for at in range(1, most + 1, 2):
        injector, wrong = _together(Fault(_KINDS[at % len(_KINDS)], at, "once"))
        assert wrong == "", f"{injector.fault}, {injector.names[at - 1 : at]}"
    assert descriptors() == before


def _moved(fault: Fault | None) -> tuple[Injector, str]:
    injector = Injector(fault)
    with folder() as inside, through(injector):
        put(inside / _OLD_NAME, LINES)
        location = choice.Location(str(inside / NAME), "", (), str(inside / _OLD_NAME))
        settled = migration.move_old(location, document.reads_as_memory)
        left = set(beside(inside))
        if left not in ({NAME}, {_OLD_NAME}):
            return injector, f"there is {sorted(left)}"
        used = inside / left.pop()
        if settled.path != str(used):
            return injector, f"{settled.path} is used, {used.name} is there"
        return injector, "" if used.read_bytes() == LINES else "the file is another one"


def test_a_fault_while_the_old_name_is_given_up_loses_nothing() -> None:
    before = descriptors()
    most = len(_moved(None)[0].names)
    assert most > 10
    for at in range(1, most + 1):
        for kind in ("EIO", "EACCES"):
            for late in (False, True):
                injector, wrong = _moved(Fault(kind, at, "once", late))
                assert wrong == "", f"{injector.fault}, {injector.names[at - 1 : at]}"
    assert descriptors() == before
