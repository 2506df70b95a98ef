"""The end: on a signal streams end, a write in flight is finished and answered, and it is over in seconds."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.driver import Era
from tests.locks import our_fields, write_record
from tests.server.http.raw import PATIENCE, Client, opened
from tests.server.http.serving import serving

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that can be caught, and no FIFO")
A_FEW_SECONDS = 10.0  # half of that in truth, on a machine that is not busy
ENTITY = {"entities": [{"name": "Last", "entityType": "thing", "observations": []}]}

# The program, which tells by one FIFO that it comes to a call of the disk, and there waits for the other one.
GATED = """
import sys
from memory_app.disk import calls as disk
from memory_app.cli import main
from tests.gating import GatedOs

call, part, reached, go = sys.argv[1:5]
del sys.argv[1:5]

def wait():
    open(reached, "w").close()
    open(go).close()

gated = GatedOs()
gated.before(call, wait, lambda arguments: str(arguments[0]).endswith(part))
disk.os = gated
sys.exit(main())
"""


@pytest.fixture
def fifos(tmp_path: Path) -> tuple[Path, Path]:
    """`reached` and `go`."""
    paths = tmp_path / "reached", tmp_path / "go"
    for path in paths:
        os.mkfifo(path)
    return paths


async def meet(path: Path, mode: str) -> None:
    """Open and close the FIFO, which waits for the other side."""
    await asyncio.wait_for(asyncio.to_thread(lambda: open(path, mode).close()), PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_nobody_uses_ends_at_once(tmp_path: Path, number: int) -> None:
    with serving(tmp_path) as server:
        server.process.send_signal(number)
        assert server.ended(A_FEW_SECONDS) == 0
        assert len(server.said) == 2, server.stderr


@pytest.mark.parametrize("era", ["2025", "2026"])
def test_open_streams_end_and_the_server_soon_after(tmp_path: Path, era: Era) -> None:
    async def work(port: int, pid: int) -> None:
        clients = [await Client(port, era).__aenter__() for _ in range(5)]
        for client in clients:
            await client.subscribe()
        os.kill(pid, signal.SIGTERM)
        for client in clients:
            await client.stream_ended()
            client.vanish()

    with serving(tmp_path) as server:
        asyncio.run(work(server.port, server.process.pid))
        assert server.ended(A_FEW_SECONDS) == 0
        assert "Traceback" not in server.stderr


def test_a_save_that_has_begun_is_finished_and_answered(tmp_path: Path, fifos: tuple[Path, Path]) -> None:
    reached, go = fifos

    async def work(port: int, pid: int) -> None:
        async with Client(port) as hearing, Client(port) as writing:
            await hearing.subscribe()
            call = asyncio.ensure_future(writing.call("create_entities", ENTITY))
            await meet(reached, "r")
            os.kill(pid, signal.SIGTERM)
            await hearing.stream_ended()  # the end has begun
            await meet(go, "w")
            assert (await call)["structuredContent"]["entities"] == ENTITY["entities"]

    program = (sys.executable, "-c", GATED, "replace", ".tmp", reached, go)
    with serving(tmp_path, program=program) as server:
        asyncio.run(work(server.port, server.process.pid))
        assert server.ended(A_FEW_SECONDS) == 0
    assert '"Last"' in server.memory.read_text()


def test_a_batch_is_answered_for_the_calls_that_have_begun(tmp_path: Path, fifos: tuple[Path, Path]) -> None:
    reached, go = fifos
    calls = [
        {"name": "create_entities", "arguments": {"entities": [{**ENTITY["entities"][0], "name": name}]}}
        for name in ("First", "Second")
    ]
    batch = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call} for n, call in enumerate(calls)]
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-03-26"}

    async def work(port: int, pid: int) -> None:
        async with Client(port) as hearing:
            await hearing.subscribe()
            sent = asyncio.ensure_future(opened(port, "POST", headers, json.dumps(batch).encode()))
            await meet(reached, "r")
            os.kill(pid, signal.SIGTERM)
            await hearing.stream_ended()  # the end has begun
            await meet(go, "w")
            first, second = json.loads(await (await sent).body())
            assert not first["result"].get("isError") and "stopping" in second["error"]["message"]

    program = (sys.executable, "-c", GATED, "replace", ".tmp", reached, go)
    with serving(tmp_path, program=program) as server:
        asyncio.run(work(server.port, server.process.pid))
        assert server.ended(A_FEW_SECONDS) == 0
    assert '"First"' in server.memory.read_text() and '"Second"' not in server.memory.read_text()


def test_a_call_that_waits_for_the_lock_gets_an_error_and_stores_nothing(
    tmp_path: Path, fifos: tuple[Path, Path]
) -> None:
    reached, go = fifos
    lock = tmp_path / "memory.jsonl.lock"
    write_record(lock, **our_fields())

    async def work(port: int, pid: int) -> None:
        async with Client(port) as writing:
            call = asyncio.ensure_future(
                writing.request("tools/call", {"name": "create_entities", "arguments": ENTITY})
            )
            await meet(reached, "r")
            await meet(go, "w")
            os.kill(pid, signal.SIGTERM)
            result = (await call)["result"]
            assert result["isError"] and "stopping" in result["content"][0]["text"]

    program = (sys.executable, "-c", GATED, "open", ".lock", reached, go)
    with serving(tmp_path, program=program) as server:
        asyncio.run(work(server.port, server.process.pid))
        began = time.monotonic()
        assert server.ended(A_FEW_SECONDS) == 0
        assert time.monotonic() - began < A_FEW_SECONDS
    assert lock.exists() and not server.memory.exists()
