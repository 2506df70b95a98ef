"""Real clients across a restart of their server: each goes on by itself, in its session where it has one."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.driver import Driver
from tests.server.http.packages import environment, installed, node
from tests.server.http.raw import ask
from tests.server.http.serving import Serving, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_HERE: Final = Path(__file__).parent
_PATIENCE: Final = 60.0
ANN: Final = {"entities": [{"name": "Ann", "entityType": "person", "observations": []}]}

Command = Callable[[str], list[Any]]
"""How a client that speaks as `restarted.mjs` and `restarted.py` do is started for a URL."""


def typescript(package: str, kind: str, mode: str) -> Command:
    def command(url: str) -> list[Any]:
        modules = installed(package)
        return [node(), shutil.copy(_HERE / "restarted.mjs", modules.parent), kind, url, mode]

    return command


def python(package: str, kind: str) -> Command:
    return lambda url: [environment(package) if package else sys.executable, _HERE / "restarted.py", kind, url]


@contextlib.contextmanager
def restarting(folder: Path) -> Iterator[tuple[Serving, Callable[[], Serving]]]:
    """A server, and what ends it and starts another one at its address."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(folder))

        def restart() -> Serving:
            server.process.terminate()
            assert server.ended() == 0
            return stack.enter_context(serving(folder, at=f"127.0.0.1:{server.port}"))

        yield server, restart


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(typescript("@modelcontextprotocol/sdk@1.32.2", "sdk", ""), id="TypeScript 1"),
        pytest.param(typescript("@modelcontextprotocol/client@2.4.0", "client", "legacy"), id="TypeScript 2, 2025"),
        pytest.param(typescript("@modelcontextprotocol/client@2.4.0", "client", "auto"), id="TypeScript 2, 2026"),
        pytest.param(python("mcp==1.30.0", "1"), id="Python 1"),
        pytest.param(python("", "legacy"), id="Python 2, 2025"),
        pytest.param(python("", "auto"), id="Python 2, 2026"),
        pytest.param(python("fastmcp==4.2.3", "fastmcp"), id="FastMCP"),
    ],
)
def test_a_client_goes_on_after_a_restart(tmp_path: Path, command: Command) -> None:
    with restarting(tmp_path) as (server, restart):
        pipe = subprocess.PIPE
        with subprocess.Popen(command(server.url), stdin=pipe, stdout=pipe, text=True) as client:
            try:
                assert client.stdout is not None and client.stdout.readline() == "called\n"
                restart()
                said, _ = client.communicate("go on\n", timeout=_PATIENCE)
            finally:
                client.kill()
    assert [entity["name"] for entity in json.loads(said)["entities"]] == ["Ann"]


def test_mcp_remote_goes_on_after_a_restart(tmp_path: Path) -> None:
    bridge = installed("mcp-remote@0.15.1") / "mcp-remote" / "dist" / "proxy.js"
    with restarting(tmp_path) as (server, restart), Driver([node(), bridge, server.url], era="2025") as client:
        client.open()
        client.call("create_entities", ANN)
        restart()
        answer = client.call("read_graph", {})  # its stream may have been given up by then, its calls go on
        client.kill()
    assert [entity["name"] for entity in answer["structuredContent"]["entities"]] == ["Ann"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_goes_on_after_a_restart(tmp_path: Path, era: str) -> None:
    """Its load test keeps one connection and goes on after a call that failed."""
    inspector = installed("@modelcontextprotocol/inspector@2.12.0") / ".bin" / "mcp-inspector"
    options = ["--cli", "--transport", "http", "--protocol-era", era, "--method", "tools/call"]
    options += ["--tool-name", "open_nodes", "--tool-args-json", '{"names":["Ann"]}']
    options += ["--load", "--load-concurrency", "1", "--load-rate", "20", "--load-duration", "120"]

    def until_called(server: Serving) -> None:
        until = time.monotonic() + _PATIENCE
        while not re.search(
            r'memory_calls_total{memory="",call="open_nodes",outcome="ok"} \d\d',
            ask(server.port, "GET", "/metrics").body.decode(),
        ):
            assert time.monotonic() < until, "ten calls never came"
            time.sleep(0.1)  # what is waited for is bounded above

    with restarting(tmp_path) as (server, restart):
        null = subprocess.DEVNULL
        command = [node(), str(inspector), *options, "--server-url", server.url]
        with subprocess.Popen(command, stdin=null, stdout=null, stderr=null) as client:
            try:
                until_called(server)
                until_called(restart())
            finally:
                client.kill()
