"""The fast import of the SDK and the finished answers: the same messages, and a whole SDK afterwards."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.driver import Era, Message, serve
from tests.variants import (
    ERAS,
    POSIX,
    ROOT,
    THREADS,
    entity,
    variant,
)

URI = "memory://knowledge-graph"


WAYS = {
    "fast": "",
    "by threads": THREADS,
    "plain import": "from memory_app.server import sdk; sdk.CARRIED['mcp'] = '0.0.0'",
    "plain import of what the archive holds": (
        "from tests.lean import leave_out\nleave_out()\nfrom memory_app.server import sdk; sdk.CARRIED['mcp'] = '0.0.0'"
    ),
    "plain handlers": (
        "import memory_app.server.stdio.faststart as q; from memory_app.server import sdk\n"
        "q.load(); sdk.is_carried = lambda: False; q.load = lambda: False"
    ),
    "failing fast import": (
        "from memory_app.server.stdio import faststart as q\n"
        "def fail(name): raise RuntimeError\n"
        "q._run_init_on_demand = fail"
    ),
}


def session(folder: Path, era: Era, way: str) -> list[Message]:
    """Every kind of message once, in a fixed order."""
    with variant(folder, WAYS[way], era=era) as driver:
        driver.open()
        driver.request("tools/list")
        driver.subscribe(URI)
        driver.call("create_entities", entity('é"\\\n\u2028\U0001f600\ud83d'))
        for tool, arguments in (
            ("create_entities", entity("Ann")),
            ("create_entities", entity("Ann")),
            ("create_entities", {"entities": 1}),
            ("delete_entities", {"entityNames": ["Ann", "Zed"]}),
            ("read_graph", None),
            ("read_graph", {}),
            ("search_nodes", {"query": "e"}),
        ):
            driver.call(tool, arguments)
        for method, params in (
            ("tools/call", {"name": "none"}),
            ("tools/call", {"name": 1}),
            ("tools/call", {"arguments": {}}),
            ("tools/call", {"name": "read_graph", "arguments": []}),
            ("tools/call", {"name": "read_graph", "arguments": {}, "_meta": 5}),
            ("resources/list", {}),
            ("resources/read", {"uri": URI}),
            ("resources/read", {"uri": "x:y"}),
            ("resources/read", {"uri": 1}),
            ("resources/read", {}),
            ("prompts/list", {}),
            ("prompts/get", {"name": "tidy_memory"}),
            ("resources/templates/list", {}),
            ("none", {}),
        ):
            driver.answer(driver.start(method, params))
        driver.close_stdin()
        driver.drain()
        assert driver.wait() == 0
        assert driver.stderr.count("\n") == 1
        return driver.messages


@pytest.fixture(scope="module")
def told_fast(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Era], list[Message]]:
    """What a server that has started the fast way says, asked once for each era."""
    return functools.cache(lambda era: session(tmp_path_factory.mktemp("fast"), era, "fast"))


@ERAS
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=POSIX if way == "by threads" else ()) for way in WAYS if way != "fast"]
)
def test_every_way_of_importing_and_answering_says_the_same(
    tmp_path: Path, era: Era, way: str, told_fast: Callable[[Era], list[Message]]
) -> None:
    assert session(tmp_path, era, way) == told_fast(era)


AFTERWARDS = """
from memory_app.server.stdio import faststart as quickstart
assert quickstart.load() is {fast}
import sys
import mcp.server.lowlevel
assert ("mcp.client" not in sys.modules) is {fast}
assert ("starlette" not in sys.modules) is {fast}
assert ("email" not in sys.modules) is {fast}
import importlib.metadata, pydantic, pydantic.networks, typing, typing_extensions
assert pydantic.networks.version("pydantic") == importlib.metadata.version("pydantic") == pydantic.VERSION
assert pydantic.BaseModel.model_rebuild.__func__.__module__ == "pydantic.main"
assert all(type(module.TypedDict).__name__ != "_PlainTypedDict" for module in (typing, typing_extensions))
from pydantic_core import core_schema
assert type(core_schema.CoreConfig(title="x")) is dict and "title" in core_schema.CoreConfig.__annotations__
assert "compile" not in vars(sys.modules[typing.ForwardRef.__module__])
assert "defer_build" not in pydantic.BaseModel.model_config
assert pydantic.TypeAdapter.__name__ == "TypeAdapter" and pydantic.TypeAdapter(int).validate_python("1") == 1
from mcp.server import streamable_http_manager, transport_security
for name, value in quickstart.CONSTANTS.items():
    real = [getattr(m, name) for m in (streamable_http_manager, transport_security) if hasattr(m, name)]
    assert real and set(real) == {{value}}, name
import mcp, mcp.server
assert mcp.Client.__name__ == "Client" and mcp.server.MCPServer.__name__ == "MCPServer"
from mcp.server.lowlevel import Server
assert mcp.server.Server is Server
import starlette.applications
assert isinstance(Server("x").streamable_http_app(), starlette.applications.Starlette)
import asyncio
async def talk():
    async with mcp.Client(mcp.server.MCPServer("x")) as client:
        await client.list_tools()
asyncio.run(talk())
print("fine")
"""


@pytest.mark.parametrize("way", ["fast", "plain import", "failing fast import"])
def test_after_the_fast_import_the_sdk_is_whole(way: str) -> None:
    code = WAYS[way] + AFTERWARDS.format(fast=way == "fast")
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == ("fine\n", "")


def test_the_archive_starts_the_fast_way(archive: Path, tmp_path: Path) -> None:
    """Seen from outside: the SDK's client was not imported, and of HTTP nothing real."""
    with serve(archive, tmp_path, env={"PYTHONPROFILEIMPORTTIME": "1"}) as driver:
        driver.open()
        assert driver.finish() == 0
    assert "mcp.server.lowlevel" in driver.stderr
    assert "mcp.client" not in driver.stderr
    assert "starlette.datastructures" not in driver.stderr
