"""The guard in front of the memories: access, limits, and the orderly shutdown.

A plain ASGI application. In this order a request is refused, each time with one JSON-RPC error that carries the
request's id, and nothing of what was asked (every answer has that id in the header `x-request-id`):

| answer | when |
|---|---|
| 400 | the body's length is told in two ways |
| 404 | there is nothing at that path |
| 421 | the Host header names another machine, so that a page on the web reached us by a rebound name |
| 403 | the Origin header names a page of another machine |
| 405 | `/health`, `/ready` or `/metrics` is asked for with another method than GET or HEAD |
| 401 | a token is asked for, and the request has none, a wrong one or several |
| 403 | the token is not for that memory, or for `/metrics` not for all of them |
| 429 | the token had its share of requests for this second |
| 503 | as many requests are in flight as may be, or the server is stopping |

Knows neither the SDK nor the memory.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol

from memory_app.server.http import hosts
from memory_app.server.http.access import Access
from memory_app.server.http.asgi import Answer, Disconnected, Headers, Receive, Refused, Scope, Send
from memory_app.server.http.tokens import Token

HEALTH, READY, METRICS, MCP = "/health", "/ready", "/metrics", "/mcp"

_MOST_IN_FLIGHT: Final = 2048
"""Requests at once, open streams among them: some hundred clients with a stream and a call each."""

_LONGEST_METHOD: Final = 16
"""Characters of a method that are logged: what was sent may have 64 KiB, and no token was shown yet."""

_INTERNAL_ERROR: Final = -32603


class Request(NamedTuple):
    """A request that has passed the guard. `holder` is the token's name, "" without one; `token` None: none is
    required. `begin_another` is called before each further message of a batch; it raises `Refused` if the token
    had its share of requests, or the server is stopping.
    """

    id: str
    method: str
    headers: Headers
    receive: Receive
    scope: Scope
    holder: str
    token: Token | None
    client: str
    begin_another: Callable[[], None]


class Memory(Protocol):
    """The application at one memory's path."""

    async def serve(self, request: Request, answer: Answer) -> None:
        """Answer the request. Raises `Refused`."""

    async def is_ready(self) -> bool:
        """Whether the memory can be read, and written where it should be."""


class Guard:
    """`memories` by name; the name "" means the one at `/mcp` itself."""

    def __init__(
        self,
        memories: Mapping[str, Memory],
        access: Access,
        log: Callable[[str], None] | None = None,
        metrics: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        self._access = access
        self._log = log
        self._metrics = metrics
        self._paths = {f"{access.prefix}{'/' + name if name else ''}{MCP}": name for name in memories}
        self._memories = memories
        self._own = {access.prefix + path: path for path in (HEALTH, READY, METRICS)}
        address = access.address
        own = () if address.is_unix else (hosts.host_of(f"[{address.host}]" if ":" in address.host else address.host),)
        self._hosts = hosts.LOOPBACK.union(access.hosts, own)
        # With a token every name will do at an address that others reach: they cannot know which one a proxy uses.
        self._any_host = address.is_unix or not (address.is_loopback or access.hosts)
        self._origins = frozenset(access.origins)
        self._rate = _Rate(access.rate)
        self._stopping = False
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request_id = scope["state"].setdefault("request_id", secrets.token_hex(8))
        answer = Answer(receive, send, request_id)
        began = time.monotonic()
        client = self._client(scope, headers := Headers(scope["headers"]))
        try:
            await self._decide(scope, headers, receive, answer, client)
        except Refused as refused:
            await answer.refuse(refused)
        except Disconnected:
            pass
        except Exception:  # noqa: BLE001 (the edge of a request: uvicorn would answer without an id)
            await answer.refuse(Refused(500, "Internal error", {"connection": "close"}, code=_INTERNAL_ERROR))
        finally:
            if self._log is not None:
                status = scope["state"].get("status") or answer.status or 499  # as others log it: the client left
                method = scope["method"][:_LONGEST_METHOD]
                took = (time.monotonic() - began) * 1000
                whose = f" {client}" if self._access.proxies else ""
                self._log(f"{request_id} {method} {status} {took:.0f} ms{whose}")

    def stop(self) -> None:
        """Begin the shutdown: answers in progress may finish, no further request is let in."""
        self._stopping = True

    async def _decide(self, scope: Scope, headers: Headers, receive: Receive, answer: Answer, client: str) -> None:
        if "transfer-encoding" in headers and "content-length" in headers:
            raise Refused(400, "State the body's length once", {"connection": "close"})
        path, host = _target(scope, headers)
        if path not in self._paths and path not in self._own:
            raise Refused(404, "There is nothing here; a memory is at /mcp")
        self._check_names(headers, host)
        method = scope["method"]
        origin = headers.only("origin")
        if origin in self._origins:
            answer.more_headers += _cors(origin)
            if method == "OPTIONS" and "access-control-request-method" in headers:
                await answer.whole(204, [], _PREFLIGHT)
                return
        own = self._own.get(path)
        if own is not None:
            if method not in ("GET", "HEAD"):
                raise Refused(405, "Ask with GET", {"allow": "GET, HEAD"})
            if own != METRICS:
                await self._tell_state(own, answer)
                return
        token = self._token(headers)
        if own is not None:
            if token is not None and not all(token.may_use(name) for name in self._memories):
                raise Refused(403, "This token is not for all memories")
            if self._metrics is not None:
                await answer.whole(200, [(await self._metrics()).encode()], {}, "text/plain; version=0.0.4")
            return
        name = self._paths[path]
        if token is not None and not token.may_use(name):
            raise Refused(403, "This token is not for this memory")
        holder = token.name if token is not None else ""
        self._rate.take(holder)
        if self._stopping or self.in_flight >= _MOST_IN_FLIGHT:
            raise Refused(503, "The server is stopping or busy; try again", {"retry-after": "1"})
        self.in_flight += 1
        try:
            another = partial(self._begin_another, holder)
            request = Request(answer.request, method, headers, receive, scope, holder, token, client, another)
            await self._memories[name].serve(request, answer)
        finally:
            self.in_flight -= 1

    def _begin_another(self, holder: str) -> None:
        if self._stopping:
            raise Refused(503, "The server is stopping; try again", {"retry-after": "1"})
        self._rate.take(holder)

    async def _tell_state(self, path: str, answer: Answer) -> None:
        ready = path == HEALTH or all([await memory.is_ready() for memory in self._memories.values()])
        if not ready or (self._stopping and path == READY):
            await answer.whole(503, [b'{"status":"not ready"}'], {})
        else:
            await answer.whole(200, [b'{"status":"ok"}'], {})

    def _check_names(self, headers: Headers, given: str) -> None:
        host = hosts.host_of(given)
        if not self._any_host and host not in self._hosts:
            raise Refused(421, "This server is not known by that Host name; name it with --allow-host")
        if "origin" not in headers or headers.only("origin") in self._origins:
            return
        origin = hosts.origin_of(headers.only("origin"))
        if origin not in self._hosts and not (self._any_host and origin and origin == host):
            raise Refused(403, "Requests from that Origin are not allowed")

    def _token(self, headers: Headers) -> Token | None:
        if self._access.tokens is None:
            return None
        token = self._access.tokens.match(headers.only("authorization"))
        if token is None:
            wrong = ', error="invalid_token"' if "authorization" in headers else ""
            raise Refused(401, "A valid bearer token is needed", {"www-authenticate": f'Bearer realm="memory"{wrong}'})
        return token

    def _client(self, scope: Scope, headers: Headers) -> str:
        """The address of the client; behind trusted proxies the last one that they did not add themselves."""
        peer = scope["client"][0] if scope.get("client") else "unix"
        for name in reversed([peer_of.strip() for peer_of in headers.joined("x-forwarded-for").split(",")]):
            if peer not in self._access.proxies or not name:
                break
            peer = name[:45]  # the longest IPv6 address
        return "".join(letter for letter in peer if letter.isalnum() or letter in ".:%")


class _Rate:
    """Requests per second for each holder, with a burst of two seconds; 0 for no limit."""

    def __init__(self, a_second: int) -> None:
        self._a_second = a_second
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, holder: str) -> None:
        if not self._a_second:
            return
        now, most = time.monotonic(), 2.0 * self._a_second
        left, then = self._left.get(holder, (most, now))
        left = min(left + (now - then) * self._a_second, most)
        if left < 1:
            self._left[holder] = left, now
            raise Refused(429, "Too many requests; try again in a second", {"retry-after": "1"})
        self._left[holder] = left - 1, now


_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "authorization, content-type, accept, last-event-id, mcp-session-id, "
    "mcp-protocol-version, mcp-method, mcp-name",
    "access-control-max-age": "7200",
}


def _cors(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"mcp-session-id, x-request-id, www-authenticate"),
        (b"vary", b"origin"),
    ]


def _target(scope: Scope, headers: Headers) -> tuple[str, str]:
    """The path as written, without a slash at its end, and the host.

    If the target contains a host (`GET http://name/path`), that one counts, as RFC 9112 says.
    """
    raw = bytes(scope["raw_path"]).decode("latin-1")
    host = headers.only("host")
    if raw.lower().startswith(("http://", "https://")):
        host, slash, path = raw.partition("//")[2].partition("/")
        raw = slash + path
    if raw.endswith("/mcp/"):
        raw = raw[:-1]
    return raw, host
