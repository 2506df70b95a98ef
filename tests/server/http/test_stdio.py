"""`serve` without --http: the server of one client over stdin and stdout, also read-only."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.driver import Driver, Era, WireError
from tests.server.http.serving import environment

LINE = '{"type":"entity","name":"Ann","entityType":"person","observations":[]}\n'
ENTITY = {"entities": [{"name": "Bo", "entityType": "person", "observations": []}]}


def started(folder: Path, era: Era, *options: str) -> Driver:
    return Driver(
        [sys.executable, "-m", "memory_app", *options],
        era=era,
        env=environment(folder / "memory.jsonl"),
        cwd=os.getcwd(),
    )


@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_read_only_server_on_stdio_offers_the_three_reads_alone(tmp_path: Path, era: Era) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text(LINE)
    with started(tmp_path, era, "serve", "--read-only") as server:
        server.open()
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        assert names == ["read_graph", "search_nodes", "open_nodes"]
        assert server.call("read_graph")["structuredContent"]["entities"][0]["name"] == "Ann"
        with pytest.raises(WireError, match="Unknown tool"):
            server.call("create_entities", ENTITY)
        assert server.finish() == 0
    assert memory.read_text() == LINE


def test_serve_without_http_is_what_no_command_is(tmp_path: Path) -> None:
    told = []
    for options in ((), ("serve",)):
        folder = tmp_path / str(len(options))  # what is said at the start depends on what is stored
        folder.mkdir()
        with started(folder, "2026", *options) as server:
            told.append((server.open(), server.request("tools/list")))
            server.call("create_entities", ENTITY)
            assert server.finish() == 0
    assert told[0] == told[1]


def test_a_read_only_server_does_not_move_a_file_of_the_old_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "memory.json").write_text(LINE)
    env = {**environment(tmp_path / "unused"), "MEMORY_SERVER_HOME": str(home)}
    del env["MEMORY_FILE_PATH"]
    command = [sys.executable, "-m", "memory_app", "serve", "--read-only"]
    with Driver(command, era="2025", env=env, cwd=os.getcwd()) as server:
        server.open()
        assert server.call("read_graph")["structuredContent"]["entities"][0]["name"] == "Ann"
        assert server.finish() == 0
    assert sorted(os.listdir(home)) == ["memory.json"]
