"""The page of `view`, served on loopback to this person's browser only.

Rules:
- The page itself holds nothing of a memory. It is asked for without a token; everything else needs the token, which
  is random, stands in no URL that is sent, and travels in the Authorization header.
- A request must be addressed to our own loopback address and port (a name that was rebound to it is refused), and one
  that tells where it comes from must come from our own page.
- What changes something is a POST of JSON, which no form of another page can send.

| answer | when |
|---|---|
| 421 | the Host header is not our own address |
| 403 | the Origin or Sec-Fetch-Site header tells of another page |
| 404, 405 | there is no such path, or not with this method |
| 401 | the token is missing or wrong |
| 413, 415, 400 | a body that is too large, no JSON, or none that is understood |
| 409 | the edit cannot be made: the text says why |
| 503 | the memory cannot be read or written: the text says why |

It ends by a signal, or when no page has been open for a while.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from memory_app.errors import GraphError, StoreError
from memory_app.server import lifetime
from memory_app.server.http.connection import Server
from memory_app.server.http.edits import read_edit
from memory_app.server.http.feed import Feed
from memory_app.server.http.limits import Config
from memory_app.server.http.lookback import Past
from memory_app.server.stderr import Notices
from memory_app.tools.arguments import LONGEST_QUERY

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HOST: Final = "127.0.0.1"

_LARGEST_BODY: Final = 1 << 20  # bytes: a long observation
_BODY_SECONDS: Final = 10.0
_LEFT_SECONDS: Final = 60.0  # without any page, after which the program ends: a page that is reloaded is back sooner
_READS: Final = ("/memories", "/graph", "/changes", "/history", "/state", "/difference")
_SENT: Final = ("/edit", "/undo", "/search")
_METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "/": ("GET", "HEAD"),
    **dict.fromkeys(_READS, ("GET",)),
    **dict.fromkeys(_SENT, ("POST",)),
}
_LOGGERS: Final = ("uvicorn", "asyncio")
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",  # the rest stands in the page
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class View(NamedTuple):
    """What is served: the page's text, and the memory files by the names that the page shows, in order."""

    page: str
    memories: Mapping[str, str]
    token: str
    past: Past
    read_only: bool = False
    left_seconds: float = _LEFT_SECONDS


class Events(NamedTuple):
    """`ready` is called with the address, `first_page` when a page has connected: both on the loop's thread, so they
    must be quick.
    """

    ready: Callable[[str], None]
    first_page: Callable[[], None]


def run(view: View, report: Notices, events: Events) -> int:
    """Serve until a signal arrives or all pages are closed, and return the exit status. Main thread only."""
    listening = socket.create_server((HOST, 0))
    return lifetime.run(lambda: _serve(view, report, events, listening), report, _LOGGERS)


async def _serve(view: View, report: Notices, events: Events, listening: socket.socket) -> bool:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report(f"{type(context.get('exception')).__name__} in a task"))
    port = listening.getsockname()[1]
    application = Application(view, report, port, events.first_page)
    config = Config(
        application,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=lifetime.HTTP_DRAIN_SECONDS,
    )
    server = Server(config)

    def end() -> None:
        application.stop()
        server.should_exit = True

    application.left = end
    with lifetime.stopping_on_signals(loop, end):
        events.ready(f"http://{HOST}:{port}/")
        try:
            await server.serve(sockets=[listening])
        finally:
            clean = await application.close()
    return clean


class Application:
    """The ASGI application. `left` is called when the last page has been closed for a while."""

    def __init__(self, view: View, report: Callable[[str], None], port: int, first_page: Callable[[], None]) -> None:
        self.left: Callable[[], None] = lambda: None
        self._view = view
        self._report = report
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._first_page: Callable[[], None] | None = first_page
        self._feeds: dict[str, Feed] = {}
        self._pages = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        try:
            self._admit(scope["method"], scope["path"], headers)
            if scope["path"] == "/":
                await _answer(send, 200, self._view.page.encode(), "text/html; charset=utf-8")
            elif scope["path"] == "/changes":
                await self._stream(scope, receive, send)
            else:
                body = await self._asked(scope, headers, receive)
                await _answer(send, 200, body, "application/json")
        except _Refused as refused:
            await _refuse(send, refused.status, str(refused))
        except GraphError as error:
            await _refuse(send, 409, str(error))
        except StoreError as error:
            await _refuse(send, 503, str(error))

    def stop(self) -> None:
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        for feed in self._feeds.values():
            feed.stop()

    async def close(self) -> bool:
        return all([await feed.close() for feed in self._feeds.values()])

    def _admit(self, method: str, path: str, headers: list[tuple[str, str]]) -> None:
        def only(name: str) -> str | None:
            values = [value for key, value in headers if key == name]
            return values[0] if len(values) == 1 else None if not values else ""

        if only("host") not in self._hosts:
            raise _Refused(421, "This server is not known by that Host name.")
        if (only("origin") or "null") not in self._origins and only("origin") is not None:
            raise _Refused(403, "Requests from that Origin are not allowed.")
        if path not in _METHODS:
            raise _Refused(404, "There is nothing here.")
        if method not in _METHODS[path]:
            raise _Refused(405, "This method is not allowed here.")
        if path == "/":
            return  # any page may lead here, the file that opens ours does
        if only("sec-fetch-site") not in (None, "same-origin"):
            raise _Refused(403, "Requests from other pages are not allowed.")
        scheme, _, given = (only("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self._view.token.encode()):
            raise _Refused(401, "The token is missing or wrong. Open the page anew with `view`.")
        if self._stopping:
            raise _Refused(503, "The program is ending.")

    async def _asked(self, scope: Scope, headers: list[tuple[str, str]], receive: Receive) -> bytes:
        if scope["path"] == "/memories":
            memories = [{"name": name, "path": path} for name, path in self._view.memories.items()]
            return json.dumps({"memories": memories, "readOnly": self._view.read_only}).encode()
        feed = self._feed(scope)
        if scope["path"] == "/graph":
            return await feed.graph()
        if scope["path"] == "/history":
            return await feed.lookback.changes()
        if scope["path"] == "/state":
            return await feed.lookback.state(_query(scope, "time"))
        if scope["path"] == "/difference":
            return await feed.difference(_query(scope, "from"), _query(scope, "to"))
        if ("content-type", "application/json") not in headers:
            raise _Refused(415, "Send JSON.")
        try:
            given = json.loads(await _body(receive))
        except (ValueError, RecursionError):
            raise _Refused(400, "The body is not valid JSON.") from None
        if scope["path"] == "/search":
            query = given.get("query") if isinstance(given, dict) else None
            if not isinstance(query, str) or len(query) > LONGEST_QUERY:
                raise _Refused(400, "Search for a few words.")
            return json.dumps({"names": await feed.search(query)}).encode()
        if scope["path"] == "/edit":
            number = await feed.edit(read_edit(given))
        else:
            if not isinstance(given, dict) or not isinstance(given.get("number"), int):
                raise _Refused(400, "Say which change.")
            number = await feed.take_back(given["number"])
        return json.dumps({"number": number}).encode()

    def _feed(self, scope: Scope) -> Feed:
        name = _query(scope, "memory")
        if name not in self._view.memories:
            raise _Refused(404, "There is no such memory.")
        if name not in self._feeds:
            path = self._view.memories[name]
            self._feeds[name] = Feed(path, self._report, self._view.past, read_only=self._view.read_only)
        return self._feeds[name]

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send changes to a page for as long as it is open."""
        feed, after = self._feed(scope), _query(scope, "after")
        if not after.isascii() or not after.isdigit():
            raise _Refused(400, "Say after which change.")
        lines = feed.changes(int(after[:9]))
        await _start(send, 200, {"content-type": "application/x-ndjson"})
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            self._came()
            await send({"type": "http.response.body", "body": b"\n", "more_body": True})
            while not gone.done():
                line = asyncio.ensure_future(anext(lines, None))
                await asyncio.wait([line, gone], return_when=asyncio.FIRST_COMPLETED)
                if not line.done():
                    line.cancel()
                    break
                told = line.result()
                if told is None:
                    break
                await send({"type": "http.response.body", "body": told, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            self._went()

    def _came(self) -> None:
        self._pages += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._first_page is not None:
            first, self._first_page = self._first_page, None
            first()

    def _went(self) -> None:
        self._pages -= 1
        if self._pages == 0 and not self._stopping:
            self._timer = asyncio.get_running_loop().call_later(self._view.left_seconds, lambda: self.left())


class _Refused(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def _query(scope: Scope, name: str) -> str:
    try:
        given: bytes = scope["query_string"]
        return parse_qs(given.decode(), keep_blank_values=True).get(name, [""])[0]
    except (UnicodeDecodeError, ValueError):
        return ""


async def _body(receive: Receive) -> bytes:
    async def whole() -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise _Refused(400, "The body is incomplete.")
            body += message.get("body", b"")
            if len(body) > _LARGEST_BODY:
                raise _Refused(413, "That is too long.")
            if not message.get("more_body", False):
                return bytes(body)

    try:
        return await asyncio.wait_for(whole(), _BODY_SECONDS)
    except asyncio.TimeoutError:
        raise _Refused(408, "The body did not arrive in time.") from None


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in {**_HEADERS, **headers}.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _answer(send: Send, status: int, body: bytes, kind: str) -> None:
    await _start(send, status, {"content-type": kind, "content-length": str(len(body))})
    await send({"type": "http.response.body", "body": body})


async def _refuse(send: Send, status: int, text: str) -> None:
    await _answer(send, status, json.dumps({"error": text}).encode(), "application/json")
