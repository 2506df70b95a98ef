"""Many clients over HTTP: memories behind our guard, served by uvicorn.

The `Service` of a memory is the same as on stdio, so tools, resource and updates are the same; updates reach every
subscriber of every session. The SDK is imported plainly: start-up time matters little here.

Shutdown begins with a signal and is orderly: streams end, a started save is finished and answered, connections close.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from typing import Final

from memory_app.server import collector, lifetime
from memory_app.server.http import sockets
from memory_app.server.http.access import Access, expect_token
from memory_app.server.http.asgi import Bodies
from memory_app.server.http.audit import Audit
from memory_app.server.http.connection import Server
from memory_app.server.http.guard import MCP, Guard
from memory_app.server.http.limits import BODY_SECONDS, KEEP_ALIVE_SECONDS, Config
from memory_app.server.http.metrics import Metrics
from memory_app.server.http.served import Served
from memory_app.server.http.sessions import Sessions
from memory_app.server.http.tokens import Tokens
from memory_app.server.stderr import Notices

_LARGEST_HEAD: Final = 32 << 10  # bytes of a request's head
_TOKENS_SECONDS: Final = 1.0  # after which a revoked token's streams end
_LOGGERS: Final = ("mcp", "uvicorn", "asyncio")


def run(paths: Mapping[str, str], report: Notices, access: Access, key: bytes) -> int:
    """Serve until a signal arrives, and return the exit status. UsageError if the address is not available. Main thread
    only.

    `paths`: each memory's file by its name, "" for the one at /mcp. `key` signs the ids of sessions.
    """
    with (
        sockets.listening(access.address) as (address, listening),
        contextlib.closing(Audit(access.audit, report)) as audit,
    ):
        granted = access._replace(address=address)
        expect_token(granted)
        for name in paths:
            path = f"{access.prefix}{'/' + name if name else ''}{MCP}"
            at = f"{address.url} at {path}" if address.is_unix else f"{address.url}{path}"
            report(f"serving at {at}" + (", read only" if access.read_only else ""))
        sessions = Sessions(key)
        return lifetime.run(lambda: _serve(paths, report, granted, sessions, audit, listening), report, _LOGGERS)


async def _serve(
    paths: Mapping[str, str],
    report: Notices,
    access: Access,
    sessions: Sessions,
    audit: Audit,
    listening: socket.socket,
) -> bool:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report(f"{type(context.get('exception')).__name__} in a task"))
    bodies, metrics = Bodies(access.largest_body, BODY_SECONDS), Metrics()
    memories = {
        name: Served(name, path, report, access, sessions, bodies, audit, metrics) for name, path in paths.items()
    }
    guard = Guard(memories, access, report if access.log else None, lambda: metrics.text(guard.in_flight, memories))
    server = Server(
        Config(
            guard,
            report if access.log else None,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=lifetime.HTTP_DRAIN_SECONDS,
        )
    )

    def end() -> None:
        for memory in memories.values():
            memory.stop()
        guard.stop()
        server.should_exit = True

    watching = loop.create_task(_watch_tokens(access.tokens, memories, report)) if access.tokens is not None else None
    collector.settle()
    sockets.tell_ready()
    with lifetime.stopping_on_signals(loop, end):
        try:
            await server.serve(sockets=[listening])
        finally:
            if watching is not None:
                watching.cancel()
            clean = all(await asyncio.gather(*(memory.close() for memory in memories.values())))
    return clean


async def _watch_tokens(tokens: Tokens, memories: Mapping[str, Served], report: Notices) -> None:
    """Watch the token file; end the streams of tokens that were revoked or have expired."""
    tokens.report = report
    while True:
        await asyncio.sleep(_TOKENS_SECONDS)
        tokens.refresh()
        for memory in memories.values():
            memory.streams.revoke(tokens.holds)
