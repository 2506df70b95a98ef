"""The attack list: each with the answer that it gets, and an honest client that is served meanwhile.

What takes one request is in test_refusals. Here is what takes many connections, or time. Loopback alone, bounded in
count and time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from memory_app.server.http.limits import BODY_SECONDS, HEAD_SECONDS
from tests.server.http.raw import Client, Stream, ask, asyncio_timeout, headers_of, message, opened
from tests.server.http.serving import SOURCE, TOKEN, Serving, serving

resource = pytest.importorskip("resource", reason="Windows has no bound on descriptors")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONNECTIONS: Final = 3000
TRICKLING: Final = 300
SESSIONS: Final = 1200
SLACK: Final = 15.0  # seconds more than a bound on a machine that is busy
A_MOMENT: Final = 5.0


@pytest.fixture(autouse=True)
def _descriptors() -> None:
    """As many as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * CONNECTIONS:
        pytest.skip("too few descriptors for an attack")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * CONNECTIONS, hard))


async def is_served(port: int, token: str | None = None) -> None:
    """An honest client of each era writes and reads, in a moment."""
    for era in ("2025", "2026"):
        async with asyncio_timeout(A_MOMENT), Client(port, era, token) as client:
            name = f"{era} {time.monotonic_ns()}"
            await client.call("create_entities", {"entities": [{"name": name, "entityType": "x", "observations": []}]})
            found = await client.call("open_nodes", {"names": [name]})
            assert len(found["structuredContent"]["entities"]) == 1


@contextlib.asynccontextmanager
async def connections(port: int, count: int) -> AsyncIterator[list[socket.socket]]:
    """So many connections, of which nothing is known to the server but that they are there."""
    made: list[socket.socket] = []
    try:
        for _ in range(count):
            one = socket.socket()
            made.append(one)
            one.setblocking(False)
            async with asyncio_timeout():
                await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", port))
        yield made
    finally:
        for one in made:
            one.close()


async def end_of(one: socket.socket) -> bytes:
    """What it gets until the server closes it."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while piece := await asyncio.get_running_loop().sock_recv(one, 65536):
            got += piece
    return got


async def trickle(one: socket.socket, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        for byte in data:
            await asyncio.get_running_loop().sock_sendall(one, bytes([byte]))
            await asyncio.sleep(1)  # the attack itself


def test_silent_connections_are_closed_and_nobody_else_is_kept_waiting(tmp_path: Path) -> None:
    async def work(server: Serving) -> None:
        async with connections(server.port, CONNECTIONS) as silent:
            await is_served(server.port)
            async with asyncio_timeout(HEAD_SECONDS + SLACK):
                ends = await asyncio.gather(*(end_of(one) for one in silent))
            assert set(ends) == {b""}
        await is_served(server.port)

    with serving(tmp_path) as server:
        asyncio.run(work(server))


def test_more_connections_than_may_be_are_closed_at_once(tmp_path: Path) -> None:
    async def work(server: Serving) -> None:
        async with connections(server.port, 300) as made:
            ends = [asyncio.ensure_future(end_of(one)) for one in made]
            done, _ = await asyncio.wait(ends, timeout=HEAD_SECONDS / 2)
            assert len(done) >= 300 - 72, len(done)  # 200 descriptors, of which 128 are for other things
            for end in ends:
                end.cancel()

    limited = ("sh", "-c", 'ulimit -n 200; exec "$0" "$@"', *SOURCE)
    with serving(tmp_path, program=limited) as server:
        asyncio.run(work(server))
        asyncio.run(is_served(server.port))


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_heads_that_trickle_are_cut_off(tmp_path: Path, token: str | None) -> None:
    async def work(server: Serving) -> None:
        async with connections(server.port, TRICKLING) as slow:
            sending = [
                asyncio.ensure_future(trickle(one, b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n" * 3)) for one in slow
            ]
            await is_served(server.port, token)
            async with asyncio_timeout(HEAD_SECONDS + SLACK):
                ends = await asyncio.gather(*(end_of(one) for one in slow))
            assert set(ends) == {b""}
            for attack in sending:
                attack.cancel()

    with serving(tmp_path, env={"MEMORY_HTTP_TOKEN": token} if token else None) as server:
        asyncio.run(work(server))


@pytest.mark.parametrize(
    ("token", "answer"),
    [pytest.param(None, b"HTTP/1.1 408 ", id="served"), pytest.param(TOKEN, b"HTTP/1.1 401 ", id="refused")],
)
def test_bodies_that_trickle_are_cut_off(tmp_path: Path, token: str | None, answer: bytes) -> None:
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nContent-Type: application/json\r\n"
    head += "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\r\n"

    async def work(server: Serving) -> None:
        async with connections(server.port, TRICKLING) as slow:
            for one in slow:
                await asyncio.get_running_loop().sock_sendall(one, head.encode())
            sending = [asyncio.ensure_future(trickle(one, b" " * 1000)) for one in slow]
            await is_served(server.port, token)
            async with asyncio_timeout(BODY_SECONDS + SLACK):
                ends = await asyncio.gather(*(end_of(one) for one in slow))
            assert {end[: len(answer)] for end in ends} == {answer}
            for attack in sending:
                attack.cancel()
        await is_served(server.port, token)

    with serving(tmp_path, env={"MEMORY_HTTP_TOKEN": token} if token else None) as server:
        asyncio.run(work(server))


def test_sessions_that_nobody_uses_cost_nothing(tmp_path: Path) -> None:
    async def begin(port: int) -> Stream:
        hello = message("initialize")
        hello["params"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        stream = await opened(port, "POST", headers_of("2025", hello), json.dumps(hello).encode())
        await stream.body()
        stream.close()
        return stream

    async def work(server: Serving) -> None:
        async with Client(server.port, "2025") as before:
            assert {(await begin(server.port)).status for _ in range(SESSIONS)} == {200}
            await before.call("read_graph", {})
        text = (await asyncio.to_thread(ask, server.port, "GET", "/metrics")).body.decode()
        assert 'memory_sessions_kept{memory=""} 0' in text

    with serving(tmp_path) as server:
        asyncio.run(work(server))
        assert len(server.said) == 2, server.stderr
