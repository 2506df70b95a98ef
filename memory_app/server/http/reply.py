"""The answer to one MCP request over HTTP: one JSON object, or an event stream that ends with it.

What is sent are finished bytes; large ones go out in pieces (see `asgi`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as t

from memory_app.server.http.asgi import Answer
from memory_app.server.http.streams import HEADERS, PING, PING_SECONDS
from memory_app.server.messages import encode


class Reply:
    """The answer to one request: JSON, or an event stream.

    With `news` it becomes a stream at the first notification, or after `PING_SECONDS` without an answer, so that no
    proxy considers it dead.
    """

    def __init__(self, answer: Answer, request_id: str | int, *, stream: bool, news: bool = False) -> None:
        self._answer = answer
        self._stream = stream
        self._news = news
        self._waiting: asyncio.TimerHandle | None = None
        self._pinging: asyncio.Task[None] | None = None

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        if self._news:
            body = None if params is None else dict(params)
            message = t.JSONRPCNotification(jsonrpc="2.0", method=method, params=body)
            await self._event(encode(message))

    def wait(self) -> None:
        if self._news:
            self._waiting = asyncio.get_running_loop().call_later(PING_SECONDS, self._ping)

    def stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        if self._pinging is not None:
            self._pinging.cancel()

    async def finish(self, chunks: Sequence[bytes], status: int) -> None:
        if self._answer.status or self._stream:
            await self._event(chunks)
            await self._answer.end()
        else:
            await self._answer.whole(status, chunks, {})

    async def _begin(self) -> None:
        if not self._answer.status:
            await self._answer.begin(200, HEADERS)

    async def _event(self, chunks: Sequence[bytes]) -> None:
        await self._begin()
        *most, last = chunks  # one line, with its end
        await self._answer.pieces([b"event: message\r\ndata: ", *most, last[:-1], b"\r\n\r\n"])

    def _ping(self) -> None:
        self._pinging = asyncio.get_running_loop().create_task(self._send_ping())
        self.wait()

    async def _send_ping(self) -> None:
        await self._begin()
        await self._answer.send(PING)
