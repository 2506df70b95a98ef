"""The store on the event loop: what a failed call leaves in the process."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_app.errors import MemoryServerError
from memory_app.graph.graph import Graph
from memory_app.graph.wordindex import WordIndex
from memory_app.jsonl.records import new_entity
from memory_app.server.service import Service
from memory_app.storage.store import Store
from memory_app.tools.plans import Answer


@pytest.fixture
def garbage() -> Iterator[Callable[[], list[object]]]:
    """What only the cyclic collector has found since it was asked the last time; by itself it finds nothing."""

    def collected() -> list[object]:
        gc.collect()
        found = list(gc.garbage)
        gc.garbage.clear()
        return found

    gc.collect()  # what other tests have left is none of this one's
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield collected
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize(
    ("tool", "entity", "in_the_way", "text"),
    [
        pytest.param("add_observations", "Bo", None, "Entity with name Bo not found", id="a broken rule"),
        pytest.param("add_observations", "Ann", "memory.jsonl", "It is a folder", id="a file that cannot be written"),
        pytest.param("add_observations", "Ann", "memory.jsonl.lock", "is a folder", id="a lock that cannot be had"),
        pytest.param("read_graph", "", "memory.jsonl", "It is a folder", id="a file that cannot be read"),
    ],
)
def test_the_error_of_a_call_goes_with_the_call(
    tmp_path: Path, garbage: Callable[[], list[object]], tool: str, entity: str, in_the_way: str | None, text: str
) -> None:
    """Frames that hold their own error keep the graph as well, and for ever once they are frozen with a large one."""
    memory = tmp_path / "memory.jsonl"
    memory.write_bytes(new_entity("Ann", "t", ()).raw + b"\n")
    arguments: Any = {"observations": [{"entityName": entity, "contents": ["x"]}]} if entity else {}

    async def run() -> Answer:
        service = Service(lambda on_save: Store(str(memory), print, on_save=on_save, lock_wait=0.01))
        await service.graph()
        if in_the_way is not None:
            (tmp_path / in_the_way).unlink(missing_ok=True)
            (tmp_path / in_the_way).mkdir()
        garbage()
        try:
            return await service.call(tool, arguments, lambda answer: answer)
        finally:
            await service.close()

    answer = asyncio.run(run())
    assert answer.is_error and text in str(answer.text)
    assert not [one for one in garbage() if isinstance(one, MemoryServerError)]


def test_a_search_that_may_have_to_make_an_index_is_never_made_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_bytes(
        b"".join(new_entity(f"Person {number}", "t", ["likes tea"]).raw + b"\n" for number in range(1100))
    )
    made_in: list[int] = []
    follow = WordIndex.follow

    def followed(index: WordIndex, graph: Graph) -> None:
        made_in.append(threading.get_ident())
        follow(index, graph)

    monkeypatch.setattr(WordIndex, "follow", followed)
    monkeypatch.setattr("memory_app.server.service._QUICK_SECONDS", 60.0)

    async def run() -> None:
        service = Service(lambda on_save: Store(str(memory), print, on_save=on_save))
        for query in ("tea", "zzyzx tea of persons"):
            await service.call("search_nodes", {"query": query}, lambda answer: answer)
        await service.close()

    asyncio.run(run())
    assert made_in and threading.get_ident() not in made_in
