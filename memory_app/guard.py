"""What stands before the SDK's HTTP application: who may ask, how much, how long, and the orderly end.

A plain ASGI application around another. In this order a request is refused, each time with one JSON-RPC error that
carries the request's id (also in the header `x-request-id`), and nothing of what was asked:

| answer | when |
|---|---|
| 404 | the path is neither `/mcp` nor `/health` |
| 421 | the Host header names another machine, so that a page on the web reached us by a rebound name |
| 403 | the Origin header names a page of another machine |
| 401 | a token is asked for, and the request has none or a wrong one |
| 503 | as many requests are in flight as may be, or the server is stopping |
| 408 | the body did not arrive in time |

Knows neither the SDK nor the memory.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from memory_app.access import Access, matches

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
_BODY_SECONDS: Final = 30.0  # for a body of the largest size over a slow line; a slow-loris gives up earlier
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_INVALID_REQUEST: Final = -32600


class Guard:
    """`stop` ends open streams and lets in nothing more."""

    def __init__(self, inner: Application, access: Access) -> None:
        self._inner = inner
        self._access = access
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
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            status, text, more = refusal
            await _answer(send, request, status, _error(text, request), more)
        elif scope["path"] == HEALTH_PATH:
            await _answer(send, request, 200, {"status": "ok"})
        else:
            await self._serve(scope, receive, send, request)

    def stop(self) -> None:
        """The end has come: what is being answered may finish, streams end."""
        self._stopping = True
        for stream in self._streams:
            stream.cancel()

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        if scope["path"] not in (PATH, HEALTH_PATH):
            return 404, f"There is nothing here; the memory is at {PATH}", {}
        if not self._any_host and _host_of(f"//{headers.get('host', '')}") not in self._hosts:
            return 421, "This server is not known by that Host name; name it with --allow-host", {}
        origin = headers.get("origin")
        if origin is not None and not self._any_host and _host_of(origin) not in self._hosts:
            return 403, "Requests from that Origin are not allowed", {}
        if scope["path"] == HEALTH_PATH:
            return None if scope["method"] in ("GET", "HEAD") else (405, "Ask with GET", {"allow": "GET, HEAD"})
        if self._access.token is not None and not matches(headers.get("authorization", ""), self._access.token):
            wrong = ', error="invalid_token"' if "authorization" in headers else ""
            return 401, "A valid bearer token is needed", {"www-authenticate": f'Bearer realm="memory"{wrong}'}
        if self._stopping or self._in_flight >= _MOST_IN_FLIGHT:
            return 503, "The server is stopping or busy; try again", {"retry-after": "1"}
        return None

    async def _serve(self, scope: Scope, receive: Receive, send: Send, request: str) -> None:
        answer = _Answer(send, request)
        body = _Body(receive)
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
        except TimeoutError:
            if not answer.started:
                late = _error("The body did not arrive in time", request)
                await _answer(send, request, 408, late, {"connection": "close"})
        finally:
            self._in_flight -= 1
            self._streams.discard(task)


class _Body:
    """Receives, but not for ever: the whole body has to be there in time."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._until = asyncio.get_running_loop().time() + _BODY_SECONDS
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:  # what comes now is the end of the connection, whenever that is
            return await self._receive()
        left = self._until - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0))
        except asyncio.TimeoutError:  # until 3.11 another class than the one below
            raise TimeoutError from None
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class _Answer:
    """Sends with the request's id among the headers, and can end an answer that was cut off."""

    def __init__(self, send: Send, request: str) -> None:
        self._send = send
        self._request = request
        self.started = self._ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self._request.encode())]
        elif not message.get("more_body", False):
            self._ended = True
        await self._send(message)

    async def end(self) -> None:
        if not self.started:
            await _answer(self._send, self._request, 503, _error("The server is stopping", self._request))
        elif not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _run(inner: Application, scope: Scope, receive: Receive, send: Send) -> None:
    await inner(scope, receive, send)


def _host_of(url: str) -> str:
    """The host that a URL names, in lower case, without port and brackets; the empty string where there is none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _error(text: str, request: str) -> dict[str, Any]:
    error = {"code": _INVALID_REQUEST, "message": text, "data": {"requestId": request}}
    return {"jsonrpc": "2.0", "id": None, "error": error}


async def _answer(
    send: Send, request: str, status: int, body: dict[str, Any], more: dict[str, str] | None = None
) -> None:
    content = json.dumps(body, separators=(",", ":")).encode()
    headers = {"content-type": "application/json", "content-length": str(len(content)), "x-request-id": request}
    raw = [(key.encode(), value.encode()) for key, value in (headers | (more or {})).items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
