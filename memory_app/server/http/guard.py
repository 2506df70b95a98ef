"""What stands before the SDK's HTTP application: who may ask, how much, how long, and the orderly end.

A plain ASGI application around another. In this order a request is refused, each time with one JSON-RPC error that
carries the request's id, and nothing of what was asked (every answer has that id in the header `x-request-id`):

| answer | when |
|---|---|
| 404 | the path is neither `/mcp` nor `/health` |
| 421 | the Host header names another machine, so that a page on the web reached us by a rebound name |
| 403 | the Origin header names a page of another machine |
| 405 | `/health` is asked for with another method than GET or HEAD |
| 401 | a token is asked for, and the request has none, a wrong one or several |
| 503 | as many requests are in flight as may be, or the server is stopping |
| 408 | the body did not arrive in time |

Knows neither the SDK nor the memory.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final

from memory_app.server.http.access import Access, host_of, matches
from memory_app.server.http.limits import BODY_SECONDS

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH: Final = "/mcp"
HEALTH_PATH: Final = "/health"

# Requests at once, open streams among them: some hundred clients with a stream and a call each, and no more memory
# than a small machine has.
_MOST_IN_FLIGHT: Final = 2048
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_INVALID_REQUEST: Final = -32600
_NO_HEADERS: Final[Mapping[str, str]] = {}


class Guard:
    """`stop` ends open streams and lets in nothing more. `log` is told one line for each request that is over,
    `stream_began` the session of a stream of which the head was sent."""

    def __init__(
        self,
        inner: Application,
        access: Access,
        log: Callable[[str], None] | None = None,
        stream_began: Callable[[str], None] | None = None,
    ) -> None:
        self._inner = inner
        self._access = access
        self._log = log
        self._stream_began = stream_began
        self._hosts = _LOOPBACK | {host.lower() for host in access.hosts}
        if not access.address.is_loopback:
            self._hosts = self._hosts | {access.address.host.lower()}
        # With a token every name will do at an address that others reach: they cannot know which one a proxy uses.
        self._any_host = not access.address.is_loopback and not access.hosts
        self._in_flight = 0
        self._streams: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = secrets.token_hex(8)
        answer = _Answer(send, request)
        began = time.monotonic()
        try:
            await self._decide(scope, receive, answer)
        finally:
            if self._log is not None:
                self._log(f"{request} {scope['method']} {answer.status} {(time.monotonic() - began) * 1000:.0f} ms")

    async def _decide(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = _Headers(scope["headers"])
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            status, text, more = refusal
            await answer.refuse(status, text, more)
        elif scope["path"] == HEALTH_PATH:
            await answer.whole(200, {"status": "ok"})
        else:
            if scope["method"] == "GET" and self._stream_began is not None:
                began, session = self._stream_began, headers.only("mcp-session-id")
                answer.on_success = lambda: began(session)
            await self._serve(scope, receive, answer)

    def stop(self) -> None:
        """The end has come: what is being answered may finish, streams end."""
        self._stopping = True
        for stream in self._streams:
            stream.cancel()

    def _refusal(self, scope: Scope, headers: _Headers) -> tuple[int, str, dict[str, str]] | None:
        if scope["path"] not in (PATH, HEALTH_PATH):
            return 404, f"There is nothing here; the memory is at {PATH}", {}
        if not self._any_host and host_of(f"//{headers.only('host')}") not in self._hosts:
            return 421, "This server is not known by that Host name; name it with --allow-host", {}
        if "origin" in headers and not self._any_host and host_of(headers.only("origin")) not in self._hosts:
            return 403, "Requests from that Origin are not allowed", {}
        if scope["path"] == HEALTH_PATH:
            return None if scope["method"] in ("GET", "HEAD") else (405, "Ask with GET", {"allow": "GET, HEAD"})
        if self._access.token is not None and not matches(headers.only("authorization"), self._access.token):
            wrong = ', error="invalid_token"' if "authorization" in headers else ""
            return 401, "A valid bearer token is needed", {"www-authenticate": f'Bearer realm="memory"{wrong}'}
        if self._stopping or self._in_flight >= _MOST_IN_FLIGHT:
            return 503, "The server is stopping or busy; try again", {"retry-after": "1"}
        return None

    async def _serve(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        body = _Body(receive, answer)
        task = asyncio.ensure_future(_run(self._inner, scope, body.receive, answer.send))
        self._in_flight += 1
        if scope["method"] == "GET":
            self._streams.add(task)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():  # we are being cancelled, not the stream
                task.cancel()
                raise
            await answer.end()
        finally:
            self._in_flight -= 1
            self._streams.discard(task)


class _Headers:
    """Of a request. One that decides who may ask, and is there twice, counts as neither."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = [(key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in raw]

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self._raw)

    def only(self, name: str) -> str:
        """Its value; the empty string where there is none, or more than one."""
        values = [value for key, value in self._raw if key == name]
        return values[0] if len(values) == 1 else ""


class _Body:
    """Receives, but not for ever: where the whole body is not there in time the request is refused, and for the
    application the client is gone."""

    def __init__(self, receive: Receive, answer: _Answer) -> None:
        self._receive = receive
        self._answer = answer
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:  # what comes now is the end of the connection, whenever that is
            return await self._receive()
        left = self._until - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0))
        except asyncio.TimeoutError:
            await self._answer.refuse(408, "The body did not arrive in time", {"connection": "close"})
            message = {"type": "http.disconnect"}
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class _Answer:
    """Sends with the request's id among the headers, and can end an answer that was cut off. `status` 0: none yet.
    What comes after the end is dropped. `on_success` is called once the head of status 200 was sent."""

    def __init__(self, send: Send, request: str) -> None:
        self._send = send
        self._request = request
        self._ended = False
        self.status = 0
        self.on_success: Callable[[], None] | None = None

    async def send(self, message: Message) -> None:
        if self._ended:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self._request.encode())]
        elif not message.get("more_body", False):
            self._ended = True
        await self._send(message)
        if message["type"] == "http.response.start" and self.status == 200 and self.on_success is not None:
            self.on_success()

    async def refuse(self, status: int, text: str, more: Mapping[str, str]) -> None:
        if self.status:
            return
        error = {"code": _INVALID_REQUEST, "message": text, "data": {"requestId": self._request}}
        await self.whole(status, {"jsonrpc": "2.0", "id": None, "error": error}, more)

    async def whole(self, status: int, body: Mapping[str, Any], more: Mapping[str, str] = _NO_HEADERS) -> None:
        content = json.dumps(body, separators=(",", ":")).encode()
        headers = {"content-type": "application/json", "content-length": str(len(content)), **more}
        raw = [(key.encode(), value.encode()) for key, value in headers.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": content})

    async def end(self) -> None:
        if not self.status:
            await self.refuse(503, "The server is stopping", {"retry-after": "1"})
        else:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _run(inner: Application, scope: Scope, receive: Receive, send: Send) -> None:
    await inner(scope, receive, send)
