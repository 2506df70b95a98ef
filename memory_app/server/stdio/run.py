"""One client over stdin and stdout: from the claimed pipes to the exit status.

The server stops at end of input, on a signal, or when the client no longer listens; the steps are always the same. No
more input is taken, calls in flight are answered (see `Service.stop`), the store is closed, and output continues as
long as the client takes it. Every wait is bounded, and `lifetime` holds all bounds.
"""

from __future__ import annotations

import asyncio

from memory_app.server import collector, lifetime, sdk
from memory_app.server.encoded import MOST_UNREAD, Finishing
from memory_app.server.handlers import build_server
from memory_app.server.service import Service, opening
from memory_app.server.stderr import Notices
from memory_app.server.stdio.pipes import Output
from memory_app.server.stdio.transport import Transport


def run(path: str, report: Notices, *, read_only: bool = False) -> int:
    """Serve until the end, and return the exit status. Must be called from the main thread."""
    return lifetime.run(lambda: _serve(path, report, read_only), report, ("mcp", "asyncio"))


async def _serve(path: str, report: Notices, read_only: bool) -> bool:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report(f"{type(context.get('exception')).__name__} in a task"))
    ending: list[asyncio.Task[None]] = []

    def end() -> None:
        service.stop()
        ending.append(loop.create_task(_expect_a_reader(transport.output)))

    transport = Transport(end, patience=lifetime.IN_FLIGHT_SECONDS)
    service = Service(opening(path, report), read_only=read_only, drain=lambda: transport.output.drain(MOST_UNREAD))
    server = build_server(service, report)
    if sdk.is_carried():
        server.middleware.append(Finishing(server, service))
        sdk.skip_relay()
    collector.settle()
    with lifetime.stopping_on_signals(loop, transport.stop):
        try:
            await server.run(transport.reader, transport.writer, server.create_initialization_options())
        finally:
            clean = await service.close()
            await transport.output.drain(1)  # `_expect_a_reader` sees to it that this ends
    return clean


async def _expect_a_reader(output: Output) -> None:
    """Abandon the output once the client takes nothing of what is queued for it."""
    while True:
        queued, taken = output.queued, output.taken
        await asyncio.sleep(lifetime.UNREAD_SECONDS)
        if queued and output.queued and output.taken == taken:
            output.abandon()
