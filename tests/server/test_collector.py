"""The cyclic collector while a memory is loaded, and afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_app.jsonl.records import new_entity
from memory_app.server.collector import Collector, settle
from memory_app.storage.memory_file import Snapshot
from memory_app.storage.store import Store


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


@pytest.fixture
def store(memory: Path) -> Iterator[Store]:
    store = Store(str(memory), print, loader=Collector().load)
    yield store
    store.close(0)


def write(memory: Path, entities: int) -> None:
    memory.write_bytes(b"".join(new_entity(str(number), "t", ()).raw + b"\n" for number in range(entities)))


def test_a_large_graph_is_kept_from_the_collector_when_it_has_doubled_and_not_at_each_load(
    memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[None] = []
    told_by_size = []
    monkeypatch.setattr("memory_app.server.collector._LARGE", 3)
    monkeypatch.setattr(gc, "freeze", lambda: told.append(None))
    for size in range(1, 11):
        write(memory, size)
        store.graph()
        told_by_size.append(len(told))
    assert told_by_size == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2]


def test_the_collector_rests_during_a_load_and_goes_on_after_it() -> None:
    seen = []

    def fail() -> Snapshot:
        seen.append(gc.isenabled())
        raise ZeroDivisionError

    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        Collector().load(fail)
    assert seen == [False] and gc.isenabled()


def test_no_pass_of_the_collector_goes_over_a_graph_that_was_just_loaded(memory: Path, store: Store) -> None:
    passes: list[str] = []
    write(memory, 5000)
    gc.collect()
    gc.callbacks.append(lambda phase, info: passes.append(phase))
    try:
        store.graph()
    finally:
        gc.callbacks.pop()
    assert passes == []
    gc.unfreeze()


def test_the_objects_of_many_calls_in_flight_begin_no_pass() -> None:
    thresholds = gc.get_threshold()
    passes: list[str] = []
    gc.callbacks.append(lambda phase, info: passes.append(phase))
    try:
        settle()
        in_flight = [[number] for number in range(5000)]
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*thresholds)
        gc.unfreeze()
    assert len(in_flight) == 5000 and passes == []
