"""Changing the memory from a command: what the person is told while that lasts."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memory_app.commands import memory as access
from memory_app.graph import changes
from memory_app.graph.graph import Graph
from tests.gating import PATIENCE
from tests.locks import write_record


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was said; nothing is silent for long."""
    lines: list[str] = []
    monkeypatch.setattr(access, "say", lines.append)
    monkeypatch.setattr(access, "_SILENCE", 0.01)
    return lines


def test_work_that_lasts_is_not_taken_for_another_program(
    memory: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = threading.Semaphore(0)

    def work(graph: Graph) -> tuple[Graph, str]:
        for _ in range(3):  # as long as the one who waits takes to look that often
            assert looks.acquire(timeout=PATIENCE)
        return graph, "done"

    with access.open_store(str(memory)) as store:
        waits = store.waits

        def looked() -> bool:
            looks.release()
            return waits()

        monkeypatch.setattr(store, "waits", looked)
        assert access.apply_change(store, work) == "done"
    assert told == []


def test_another_program_is_named_once(memory: Path, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lock = memory.with_name(memory.name + ".lock")
    write_record(lock)
    looks: list[bool] = []

    def looked(waits: bool) -> bool:
        looks.append(waits)
        if waits and looks.count(True) == 3:
            lock.unlink()
        return waits

    with access.open_store(str(memory)) as store:
        waits = store.waits
        monkeypatch.setattr(store, "waits", lambda: looked(waits()))
        access.apply_change(store, lambda graph: changes.delete_entities(graph, ["Ann"]))
        assert not waits()
    assert told == ["memory-server: another program is writing this memory; waiting for it ..."]
