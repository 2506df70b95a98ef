"""The SDK's own client, in both eras, against the real process; once through the archive."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp_types as t
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from memory_app.tools.table import LISTED as TOOLS
from tests.server.http.raw import PATIENCE, URI
from tests.server.http.serving import TOKEN, Serving, serving

Mode = Literal["legacy", "auto"]
MODES = pytest.mark.parametrize("mode", [pytest.param("legacy", id="2025"), pytest.param("auto", id="2026")])
ANN = {"entities": [{"name": "Ann", "entityType": "person", "observations": ["Likes tea"]}]}


async def use(url: str, mode: Mode) -> tuple[str, Any, Any]:
    """Write and read; the protocol version, the graph as a tool gives it, and as the resource has it."""
    async with Client(url, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool["name"] for tool in TOOLS]
        await client.call_tool("create_entities", ANN)
        graph = (await client.call_tool("read_graph", {})).structured_content
        (content,) = (await client.read_resource(URI)).contents
        assert isinstance(content, t.TextResourceContents)
        return client.protocol_version, graph, json.loads(content.text)


@MODES
def test_tools_and_resource_are_the_same_over_http(tmp_path: Path, mode: Mode) -> None:
    with serving(tmp_path) as server:
        version, graph, resource = asyncio.run(use(server.url, mode))
        assert json.loads(server.memory.read_text())["name"] == "Ann"
    assert (version >= "2026") == (mode == "auto")
    assert graph == resource == {"entities": ANN["entities"], "relations": []}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that can be caught")
@MODES
def test_a_client_goes_on_after_a_restart(tmp_path: Path, mode: Mode) -> None:
    async def work() -> None:
        with contextlib.ExitStack() as first:
            server = first.enter_context(serving(tmp_path))
            at = f"127.0.0.1:{server.port}"
            async with Client(server.url, mode=mode) as client:
                await client.call_tool("create_entities", ANN)
                server.process.terminate()
                assert await asyncio.to_thread(server.ended) == 0
                second = contextlib.ExitStack()
                await asyncio.to_thread(second.enter_context, serving(tmp_path, at=at))
                with second:
                    graph = (await client.call_tool("read_graph", {})).structured_content
                    assert graph is not None and graph["entities"] == ANN["entities"]

    asyncio.run(work())


def test_the_archive_serves_over_http(tmp_path: Path, archive: Path) -> None:
    with serving(tmp_path, program=(sys.executable, archive)) as server:
        for mode in ("legacy", "auto"):
            _, graph, _ = asyncio.run(use(server.url, mode))
            assert graph["entities"] == ANN["entities"]


@MODES
def test_a_client_with_the_token_is_served(guarded: Serving, mode: Mode) -> None:
    async def work() -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            transport = streamable_http_client(guarded.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                assert not (await client.call_tool("read_graph", {})).is_error

    asyncio.run(work())


def test_the_client_of_2026_hears_of_changes_of_another_client(plain: Serving) -> None:
    async def work() -> None:
        async with (
            Client(plain.url) as hearing,
            Client(plain.url, mode="legacy") as writing,
            hearing.listen(resource_subscriptions=[URI]) as changes,
        ):
            await writing.call_tool("create_entities", {"entities": [{**ANN["entities"][0], "name": "Bo"}]})
            assert await asyncio.wait_for(anext(changes), PATIENCE) == ResourceUpdated(uri=URI)

    asyncio.run(work())


def test_the_client_of_2025_hears_of_changes_of_another_client(plain: Serving) -> None:
    heard = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, t.ResourceUpdatedNotification):
            heard.set()

    async def work() -> None:
        async with Client(plain.url, mode="legacy", message_handler=hear) as hearing, Client(plain.url) as writing:
            with pytest.warns(MCPDeprecationWarning):
                await hearing.subscribe_resource(URI)
            for number in range(100):  # the client opens its stream when it likes; before that nothing can come
                added = {"observations": [{"entityName": "Ann", "contents": [f"Fact {number}"]}]}
                await writing.call_tool("create_entities", ANN)
                await writing.call_tool("add_observations", added)
                if heard.is_set():
                    break
            await asyncio.wait_for(heard.wait(), PATIENCE)

    asyncio.run(work())


@MODES
def test_a_graph_of_some_megabytes_comes_whole(tmp_path: Path, mode: Mode) -> None:
    """The client takes no event of a stream that is larger than a mebibyte."""
    fact = "x" * (3 << 20)
    line = {"type": "entity", "name": "Ann", "entityType": "person", "observations": [fact]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(line) + "\n")

    async def work(url: str) -> None:
        async with Client(url, mode=mode) as client:
            graph = (await client.call_tool("read_graph", {})).structured_content
            assert graph is not None and graph["entities"][0]["observations"] == [fact]

    with serving(tmp_path) as server:
        asyncio.run(work(server.url))


@MODES
def test_a_read_only_server_offers_the_three_reads_alone(tmp_path: Path, mode: Mode) -> None:
    line = '{"type":"entity","name":"Ann","entityType":"person","observations":[]}\n'
    (tmp_path / "memory.jsonl").write_text(line)

    async def work(url: str) -> None:
        async with Client(url, mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["read_graph", "search_nodes", "open_nodes"]
            found = (await client.call_tool("read_graph", {})).structured_content
            assert found is not None and found["entities"][0]["name"] == "Ann"
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("delete_entities", {"entityNames": ["Ann"]})

    with serving(tmp_path, "--read-only") as server:
        asyncio.run(work(server.url))
        assert "read only" in server.stderr
    assert (tmp_path / "memory.jsonl").read_text() == line
