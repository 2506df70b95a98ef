"""One HTTP request and its answer in ASGI, the interface of uvicorn: headers, body, sending.

Rules:
- Every answer carries the request's id in `x-request-id`. An error is one JSON-RPC error with that id.
- A body has a largest size, a time within which it must be there, and a share of one budget for all bodies in flight.
- What is sent after the end of an answer is dropped.

Knows neither the SDK nor the memory.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

INVALID_REQUEST: Final = -32600
PIECE: Final = 256 << 10
"""Bytes handed over at once: the loop serves others between two pieces of a large answer."""

_BUDGET: Final = 64 << 20
"""Bytes of all bodies in flight."""

_SMALL: Final = 64 << 10
_KEPT_FOR_SMALL: Final = _BUDGET // 8
"""Bytes of the budget that only bodies up to `_SMALL` get: large uploads never keep small calls waiting."""

_BUDGET_SECONDS: Final = 10.0
"""Seconds that a body waits for its share before the answer is 503."""

_NO_HEADERS: Final[Mapping[str, str]] = {}


class Refused(Exception):
    """Ends a request with an HTTP status and one JSON-RPC error. The text repeats nothing of the request."""

    def __init__(
        self,
        status: int,
        text: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        code: int = INVALID_REQUEST,
        data: Any = None,
        message_id: str | int | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers
        self.code = code
        self.data = data
        self.message_id = message_id


class Disconnected(Exception):
    """The client disconnected before its request was complete: nobody is left to answer."""


class Headers:
    """The headers of a request, with names in lower case. A header that controls access and occurs twice counts as
    missing.
    """

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = [(key.decode("latin-1").lower(), value.decode("latin-1").strip()) for key, value in raw]

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self._raw)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._raw)

    def only(self, name: str) -> str:
        """The header's value; the empty string if there is none, or more than one."""
        values = [value for key, value in self._raw if key == name]
        return values[0] if len(values) == 1 else ""

    def joined(self, name: str) -> str:
        """All values of the header, joined by commas as RFC 9110 allows for lists."""
        return ", ".join(value for key, value in self._raw if key == name)

    def as_dict(self) -> dict[str, str]:
        return dict(self._raw)


class Bodies:
    """Reads bodies within one budget for all of them. `largest`: the largest size of one body in bytes."""

    def __init__(self, largest: int, seconds: float) -> None:
        self.largest = largest
        self._seconds = seconds
        self._held = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def read(self, headers: Headers, receive: Receive) -> tuple[bytes, int]:
        """The body, and its share of the budget, to be returned with `give_back` once it is no longer needed.

        Raises `Refused` (413, 408, 503) or `Disconnected`.
        """
        declared = headers.only("content-length")
        size = int(declared) if declared.isascii() and declared.isdigit() else self.largest
        if size > self.largest:
            raise self._too_large()
        await self._take(size)
        try:
            body = await self._receive(receive)
        except BaseException:
            self.give_back(size)
            raise
        self.give_back(size - len(body))  # of a body of unknown length the largest was taken
        return body, len(body)

    def give_back(self, size: int) -> None:
        self._held -= size
        for _ in range(len(self._waiting)):
            wanted, future = self._waiting.popleft()
            if future.done():
                continue
            if self._fits(wanted):
                self._held += wanted
                future.set_result(None)
            else:
                self._waiting.append((wanted, future))

    def _fits(self, size: int) -> bool:
        return self._held + size <= (_BUDGET if size <= _SMALL else _BUDGET - _KEPT_FOR_SMALL)

    async def _take(self, size: int) -> None:
        if self._fits(size):
            self._held += size
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, future))
        try:
            await asyncio.wait({future}, timeout=_BUDGET_SECONDS)
        except asyncio.CancelledError:
            if not future.cancel():  # it was granted meanwhile
                self.give_back(size)
            raise
        if not future.done():
            future.cancel()
            raise Refused(503, "The server is busy with other large requests; try again", {"retry-after": "5"})

    async def _receive(self, receive: Receive) -> bytes:
        task, late = asyncio.current_task(), False
        assert task is not None

        def stop() -> None:
            nonlocal late
            late = True
            task.cancel()

        timer = asyncio.get_running_loop().call_later(self._seconds, stop)  # `wait_for` would cost a task each time
        chunks: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Disconnected
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > self.largest:
                    raise self._too_large()
                if not message.get("more_body", False):
                    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except asyncio.CancelledError:
            if not late:
                raise
            uncancel(task)
            raise Refused(408, "The body did not arrive in time", {"connection": "close"}) from None
        finally:
            timer.cancel()

    def _too_large(self) -> Refused:
        mebibytes = self.largest / (1 << 20)
        return Refused(413, f"A body may have {mebibytes:g} MiB; the server's option --max-body raises that")


class Answer:
    """Sends one answer. `status` 0: none yet. `request` is its id."""

    def __init__(self, receive: Receive, send: Send, request: str) -> None:
        self._receive = receive
        self._send = send
        self.request = request
        self.status = 0
        self.sent = 0
        self.more_headers: list[tuple[bytes, bytes]] = [(b"x-request-id", request.encode())]
        self._ended = False

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        raw = [(key.encode(), value.encode()) for key, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw + self.more_headers})

    async def send(self, data: bytes) -> None:
        """Send a further piece of the body; nothing after the end."""
        if not self._ended:
            self.sent += len(data)
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        if not self._ended:
            self._ended = True
            self.sent += len(data)
            await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def whole(
        self, status: int, chunks: Sequence[bytes], headers: Mapping[str, str], kind: str = "application/json"
    ) -> None:
        """Send an answer with a length. Large chunks are sent in pieces, so that others are served in between."""
        size = sum(map(len, chunks))
        await self.begin(status, {"content-type": kind, "content-length": str(size), **headers})
        if size <= PIECE:
            await self.end(b"".join(chunks))
            return
        await self.pieces(chunks)
        await self.end()

    async def pieces(self, chunks: Sequence[bytes]) -> None:
        """Send further parts of the body; small ones are joined."""
        if sum(map(len, chunks)) <= PIECE:
            await self.send(b"".join(chunks))
            return
        for chunk in chunks:
            if len(chunk) <= PIECE:
                await self.send(chunk)
                continue
            for start in range(0, len(chunk), PIECE):
                await self.send(chunk[start : start + PIECE])
                await asyncio.sleep(0)  # a client that reads fast never makes `send` wait

    async def gone(self) -> None:
        """Return once the client has disconnected. Call it after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def refuse(self, refused: Refused) -> None:
        """Send one JSON-RPC error, unless an answer has begun."""
        if self.status:
            await self.end()
            return
        error: dict[str, Any] = {"code": refused.code, "message": str(refused)}
        error["data"] = {**(refused.data if isinstance(refused.data, dict) else {}), "requestId": self.request}
        body = {"jsonrpc": "2.0", "id": refused.message_id, "error": error}
        await self.whole(refused.status, [json.dumps(body, separators=(",", ":")).encode()], refused.headers)


def uncancel(task: asyncio.Task[Any]) -> None:
    """Let the task go on although it was cancelled. Nothing needs to be undone before Python 3.11."""
    if hasattr(task, "uncancel"):
        task.uncancel()
