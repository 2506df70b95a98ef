"""Mutated files and lines for a moment, what was once found by them, and limits of size."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.errors import GraphError, StoreError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.server.messages import LINE_LIMIT
from memory_app.storage import memory_file
from memory_app.storage.store import Store
from memory_app.tools import plans
from tests.driver import Driver, serve
from tests.faults.scenes import LINES, NEXT, change
from tests.stress import inputs

SEED = 20261130


def test_any_file_is_read_and_rewritten_without_loss() -> None:
    assert inputs.files(SEED, 60, most=1500).losses == []


def test_any_line_is_answered_or_not_by_the_rules(archive: Path) -> None:
    assert inputs.lines(SEED, 60, most=250).losses == []


_chunks: Final = Graph.chunks


def _forgetful(self: Graph) -> Any:
    return [line.raw + b"\n" for line in (*self.entity_lines, *self.relation_lines)]


def _without_unknown_keys(self: Graph) -> Any:
    return [b"".join(_chunks(self)).replace(b',"note":"kept"', b"")]


@pytest.mark.parametrize("broken", [_forgetful, _without_unknown_keys])
def test_a_writer_that_loses_something_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[Graph], Any]
) -> None:
    monkeypatch.setattr(Graph, "chunks", broken)
    assert inputs.wrong_with_file(LINES)


def test_what_a_line_is_due_is_told_apart() -> None:
    assert inputs.expected(b'{"jsonrpc":"2.0","id":7,"method":"ping"}') == (7,)
    assert inputs.expected(b'{"jsonrpc":"2.0","method":"ping"}') == ()
    assert inputs.expected(b'{"jsonrpc":"2.0","id":7,"method":"ping"') == (None,)


def test_a_file_beyond_the_limit_is_refused_without_being_read(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_bytes(LINES)
    os.truncate(memory, memory_file.LARGEST_FILE + 1)  # takes no room on the disk
    store = Store(str(memory), lambda text: None)
    with pytest.raises(StoreError, match=r"is larger than 2 GiB; nothing was changed") as raised:
        change(store, *NEXT).result(20)
    store.close()
    assert str(memory) in str(raised.value)
    assert memory.stat().st_size == memory_file.LARGEST_FILE + 1


def test_an_answer_beyond_the_limit_says_how_to_ask_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "LARGEST_ANSWER", 50)
    with pytest.raises(GraphError, match="Ask for less"):
        plans.graph_json(Graph.of(document.read(LINES)))


@pytest.mark.slow
@pytest.mark.skipif(sys.maxsize < 2**32, reason="not enough memory can be addressed")
def test_a_line_beyond_the_limit_is_an_error_and_the_next_one_is_served(archive: Path, tmp_path: Path) -> None:
    server: Driver
    with serve(archive, tmp_path, patience=120) as server:
        server.open()
        piece = b"x" * (1 << 20)
        server.send_bytes(b'{"jsonrpc":"2.0","id":"huge","method":"')
        for _ in range((LINE_LIMIT >> 20) + 1):
            server.send_bytes(piece)
        server.send_bytes(b'"}\n')
        answer = server.answer(None)
        assert answer["error"]["code"] == -32600 and "256 MiB" in answer["error"]["message"]
        assert server.call("read_graph")["structuredContent"] == {"entities": [], "relations": []}
        assert server.finish() == 0
