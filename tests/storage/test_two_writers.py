"""Several processes on one file: two of our servers, and a writer for Node that follows the same rules of the lock."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.driver import Driver, serve
from tests.gating import PATIENCE
from tests.locks import NODE_PEER, Child

EACH = 25
NODE = pytest.mark.skipif(shutil.which("node") is None, reason="no node here")


def entity(name: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "entityType": "t", "observations": []}]}


def names(folder: Path) -> list[str]:
    lines = (folder / "memory.jsonl").read_text().splitlines()
    return [record["name"] for record in map(json.loads, lines) if record["type"] == "entity"]


def finish(*drivers: Driver) -> None:
    for driver in drivers:
        assert driver.finish() == 0


@NODE
def test_two_servers_and_a_writer_for_node_keep_all_writes(archive: Path, tmp_path: Path) -> None:
    peer = subprocess.Popen(
        ["node", NODE_PEER, tmp_path / "memory.jsonl", "write", str(EACH), "node"], stdout=subprocess.PIPE, text=True
    )
    with serve(archive, tmp_path) as one, serve(archive, tmp_path, era="2026") as other:
        one.open()
        other.open()
        # One sends all at once, the other waits for each answer: gathered saves and single ones take turns.
        ids = [one.start_call("create_entities", entity(f"one-{n}")) for n in range(EACH)]
        for n in range(EACH):
            assert not other.call("create_entities", entity(f"other-{n}"))["isError"]
            assert f"other-{n}" in [
                found["name"] for found in other.call("read_graph")["structuredContent"]["entities"]
            ]
        assert not any(one.answer(request_id)["result"]["isError"] for request_id in ids)
        assert peer.communicate(timeout=PATIENCE)[0] == "done\n"
        expected = {f"{writer}-{n}" for writer in ("one", "other", "node") for n in range(EACH)}
        for driver in (one, other):
            found = [one["name"] for one in driver.call("read_graph")["structuredContent"]["entities"]]
            assert len(found) == 3 * EACH and set(found) == expected
        finish(one, other)
    assert sorted(names(tmp_path)) == sorted(expected)
    beside = (".replaced", ".history")  # Node's renames look young, and it is the first save of the day
    left = [path.name for path in tmp_path.iterdir() if path.suffix not in beside]
    assert left == ["memory.jsonl"]


def test_servers_that_change_one_entity_keep_each_others_facts(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path) as one, serve(archive, tmp_path) as other:
        for driver in (one, other):
            driver.open()
        one.call("create_entities", entity("Ann"))
        ids = [
            (
                driver,
                driver.start_call("add_observations", {"observations": [{"entityName": "Ann", "contents": [text]}]}),
            )
            for n in range(EACH)
            for driver, text in ((one, f"one {n}"), (other, f"other {n}"))
        ]
        for driver, request_id in ids:
            (result,) = driver.answer(request_id)["result"]["structuredContent"]["results"]
            assert len(result["addedObservations"]) == 1
        found = one.call("open_nodes", {"names": ["Ann"]})["structuredContent"]["entities"][0]["observations"]
        assert sorted(found) == sorted(f"{who} {n}" for who in ("one", "other") for n in range(EACH))
        assert [text for text in found if text.startswith("one")] == [f"one {n}" for n in range(EACH)]
        assert other.call("open_nodes", {"names": ["Ann"]}) == one.call("open_nodes", {"names": ["Ann"]})
        finish(one, other)


@NODE
def test_after_a_killed_writer_the_next_goes_on_at_once(archive: Path, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    with Child(["node", str(NODE_PEER), str(file), "hold"]) as peer:
        peer.expect("held")
        peer.process.kill()
        peer.process.wait(PATIENCE)
    assert (tmp_path / "memory.jsonl.lock").exists()
    goes_on_at_once(archive, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_after_a_server_that_was_killed_while_it_saved_the_next_goes_on_at_once(archive: Path, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text('{"type":"entity","name":"Old","entityType":"t","observations":[]}\n')
    # The process stops itself right before the rename, so the kill always hits a save.
    code = (
        "import os, signal, sys\n"
        "from memory_app.disk import calls as disk\n"
        "disk.replace = lambda *_: (print('saving', flush=True), signal.pause())\n"
        "from memory_app.storage.store import Store\n"
        "from memory_app.graph.changes import NewEntity\n"
        "from memory_app.graph.changes import create_entities\n"
        "store = Store(sys.argv[1], print)\n"
        "store.submit(lambda graph: (create_entities(graph, [NewEntity('Lost', 't', ())])[0], None)).result()\n"
    )
    with Child([sys.executable, "-c", code, str(file)]) as dying:
        dying.expect("saving")
        dying.process.send_signal(signal.SIGKILL)
        dying.process.wait(PATIENCE)
    assert (tmp_path / "memory.jsonl.lock").exists()
    assert names(tmp_path) == ["Old"]
    goes_on_at_once(archive, tmp_path)
    assert names(tmp_path) == ["Old", "Next"]


def goes_on_at_once(archive: Path, folder: Path) -> None:
    with serve(archive, folder) as driver:
        driver.open()
        driver.call("read_graph")
        start = time.monotonic()
        assert not driver.call("create_entities", entity("Next"))["isError"]
        assert time.monotonic() - start < 15  # nothing that is judged by age is had before 30 s
        finish(driver)
    assert not (folder / "memory.jsonl.lock").exists()
