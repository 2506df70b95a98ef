"""Clients that never rest, each on one connection that is kept: how measurements ask, in as little time as may be.

A client sends bytes that were made before and reads no more of an answer than its length and whether it is an error,
so that what is measured is the server.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.driver import VERSIONS, Era
from tests.server.http.raw import headers_of, message

_PATIENCE: Final = 120.0  # seconds for one answer


class Figures(NamedTuple):
    """Of one kind of call. Times in seconds."""

    calls_per_second: float
    p50: float
    p99: float
    worst: float


class Kept:
    """One connection. It counts in `errors` what was no 200, or a tool's error; `wrong` is the last of those."""

    def __init__(self, port: int, path: str = "/mcp", era: Era = "2025") -> None:
        self._port = port
        self._path = path
        self._era: Era = era
        self._headers: dict[str, str] = {}
        self._number = 0
        self.errors = 0
        self.wrong = b""

    async def open(self) -> None:
        await self._connect()
        if self._era == "2026":
            return
        hello = {"protocolVersion": VERSIONS["2025"], "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        head, _ = await self._exchange({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"mcp-session-id:"):
                self._headers["Mcp-Session-Id"] = line.partition(b":")[2].strip().decode()
        await self._exchange({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        if self._era == "2026":
            asked = message("tools/call", params, self._number)
        else:
            asked = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        head, body = await self._exchange(asked)
        if b" 200 " not in head[:20] or b'"isError":true' in body[-400:]:
            self.errors += 1
            self.wrong = head.partition(b"\r\n")[0] + b" " + body[:200]
        return body

    def close(self) -> None:
        self._writer.close()

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)

    async def _exchange(self, asked: Mapping[str, Any]) -> tuple[bytes, bytes]:
        body = json.dumps(asked).encode()
        lines = [f"POST {self._path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in {**headers_of(self._era, asked), **self._headers}.items()]
        whole = "\r\n".join([*lines, "", ""]).encode() + body
        self._writer.write(whole)
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError):  # it was closed while nothing was asked
            self._writer.close()
            await self._connect()
            self._writer.write(whole)
            head = await self._reader.readuntil(b"\r\n\r\n")
        low = head.lower()
        if b"content-length:" in low:
            size = int(low.partition(b"content-length:")[2].partition(b"\r\n")[0])
            return head, await self._reader.readexactly(size)
        if b"transfer-encoding: chunked" not in low:
            return head, b""
        pieces = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return head, b"".join(pieces)


Step = Callable[[int, int], tuple[str, Mapping[str, Any]]]
"""The tool and the arguments of a client's nth call."""


async def opened(port: int, count: int, path: str = "/mcp") -> list[Kept]:
    clients = [Kept(port, path) for _ in range(count)]
    for client in clients:
        await client.open()
    return clients


async def rate(clients: Sequence[Kept], steps: Mapping[str, Step], seconds: float) -> dict[str, Figures]:
    """All clients call for so long, each step in turn; the figures of each step, by its name."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    end = time.monotonic() + seconds

    async def live(client: Kept, which: int) -> None:
        number = which  # not all at the same step
        names = list(steps)
        while (began := time.monotonic()) < end:
            name = names[number % len(names)]
            await asyncio.wait_for(client.call(*steps[name](which, number)), _PATIENCE)
            times[name].append(time.monotonic() - began)
            number += 1

    began = time.monotonic()
    await asyncio.gather(*(live(client, which) for which, client in enumerate(clients)))
    took = time.monotonic() - began
    return {name: figures(found, took) for name, found in times.items() if found}


def figures(times: Sequence[float], took: float) -> Figures:
    """Of calls that took these times, all within `took` seconds."""
    ordered, last = sorted(times), len(times) - 1
    middle, late = ordered[len(times) // 2], ordered[min(int(len(times) * 0.99), last)]
    return Figures(len(times) / took, middle, late, ordered[last])
