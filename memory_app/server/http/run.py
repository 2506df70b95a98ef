"""Many clients over HTTP: the SDK's own Streamable HTTP application behind our guard, run by uvicorn.

The `Service` behind it is the one that stdio has, so tools, resource and updates are the same; updates reach every
subscriber of every session. The SDK is imported plainly: start-up matters little here, and HTTP needs most of it.

The end comes by a signal and is orderly: streams end, a started save is finished and answered, connections close.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import Hashable, Iterator
from typing import Any, Final

import uvicorn
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from memory_app.errors import UsageError
from memory_app.server import lifetime
from memory_app.server.handlers import Context, build_server
from memory_app.server.http.access import Access, Address
from memory_app.server.http.guard import PATH, Guard
from memory_app.server.http.limits import Config
from memory_app.server.service import Service
from memory_app.server.stderr import Notices
from memory_app.storage.store import Store

_LARGEST_BODY: Final = 16 << 20  # bytes of one request: a few hundred times what a model writes in one call
_MOST_SESSIONS: Final = 1000  # of the 2025 era; each holds some tens of kilobytes
_IDLE_SECONDS: Final = 1800.0  # after which a session without a request is closed: clients do not always say goodbye
_LARGEST_HEAD: Final = 32 << 10  # bytes of a request's head
_LOGGERS: Final = ("mcp", "uvicorn", "asyncio", "sse_starlette")


def run(path: str, report: Notices, access: Access) -> int:
    """Serve until a signal comes; the exit status. UsageError if the address cannot be had. Main thread only."""
    listening = _listen(access.address)
    address = Address(access.address.host, listening.getsockname()[1])
    report(f"serving at {address.url}" + (", read only" if access.read_only else ""))
    granted = access._replace(address=address)
    return lifetime.run(lambda: _serve(path, report, granted, listening), report, _LOGGERS)


async def _serve(path: str, report: Notices, access: Access, listening: socket.socket) -> bool:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report(f"{type(context.get('exception')).__name__} in a task"))
    service = Service(Store(path, report), read_only=access.read_only)
    connections = _Connections(service)
    mcp_server = build_server(service, report, connections)
    application = mcp_server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
        max_request_body_size=_LARGEST_BODY,
        max_sessions=_MOST_SESSIONS,
        session_idle_timeout=_IDLE_SECONDS,
    )
    # The SDK would list the tools for each call, to find arguments that are to be sent as headers; there are none.
    mcp_server.get_tool_input_schema = lambda name: None
    _answer_sessions_with_json(mcp_server.session_manager)
    guard = Guard(application, access, report if access.log else None, connections.stream_began)
    config = Config(
        guard,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_graceful_shutdown=lifetime.HTTP_DRAIN_SECONDS,
    )
    server = _Server(config)

    def end() -> None:
        service.stop()
        guard.stop()
        server.should_exit = True

    gc.freeze()  # nothing made so far will ever be garbage
    with lifetime.stopping_on_signals(loop, end):
        try:
            await server.serve(sockets=[listening])
        finally:
            clean = await service.close()
    return clean


def _answer_sessions_with_json(manager: StreamableHTTPSessionManager) -> None:
    """Answer the 2025 era's requests with JSON instead of a stream of one event, of which clients take only so much:
    the SDK's own a mebibyte, less than a graph may be. The SDK has one switch for both eras; in the 2026 era it would
    also take the cancelling of a call away."""
    admit = manager._admit_session

    def admitted(requestor: Any) -> StreamableHTTPServerTransport | None:
        transport = admit(requestor)
        if transport is not None:
            transport.is_json_response_enabled = True
        return transport

    manager._admit_session = admitted  # type: ignore[method-assign]


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=512)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "that is no address of this machine"
        raise UsageError(f"Cannot listen at {address.host}:{address.port}: {reason}. Give another one.") from None


class _Connections:
    """Tells clients of the 2025 era apart, and forgets the subscription of each that ends.

    Such a client hears of changes by a stream that it opens again when it broke (a laptop that slept, a proxy that
    restarted). What was told meanwhile is lost, so with a new stream it is told once more.
    """

    def __init__(self, service: Service) -> None:
        self._updates = service.updates
        # By session: its connection, and how many changes there were when it subscribed, or when its stream began.
        self._known: dict[str, tuple[Hashable, int]] = {}

    def __call__(self, ctx: Context) -> Hashable:
        connection = ctx.session._connection  # the only handle that lasts as long as the session
        session = str(connection.session_id)
        if session not in self._known:
            self._known[session] = connection, self._updates.changes
            connection.exit_stack.callback(self._forget, session)
        return connection

    def stream_began(self, session: str) -> None:
        """The session has a stream again, or for the first time."""
        if session in self._known:
            connection, changes = self._known[session]
            self._known[session] = connection, self._updates.changes
            if changes != self._updates.changes:
                self._updates.remind(connection)

    def _forget(self, session: str) -> None:
        connection, _ = self._known.pop(session)
        self._updates.unsubscribe(connection)


class _Server(uvicorn.Server):
    """Signals are ours: uvicorn would raise each again after the end, and so spoil the exit status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
