"""One client over stdin and stdout: from the claimed pipes to the exit status.

The end comes by end of input, by a signal, or because the client no longer listens; it is always the same end: no more
input is taken, what is in flight is answered (see `Service.stop`), the store is closed, and output goes on as long as
the client takes it. Nothing can make it hang: every wait has a bound.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from typing import Final

from memory_app.server.encoded import Finishing
from memory_app.server.handlers import build_server
from memory_app.server.lifetime import on_signals
from memory_app.server.service import Service
from memory_app.server.stderr import Notices
from memory_app.server.stdio import faststart
from memory_app.server.stdio.pipes import Output
from memory_app.server.stdio.transport import Wire
from memory_app.storage.store import Store

_PATIENCE: Final = 30.0  # seconds for what is in flight at the end: a started save, a large answer
_UNREAD: Final = 64 << 20  # bytes: beyond this no answer is made before the client took some of what it asked for
_NOT_READING: Final = 2.0  # seconds without the client taking a byte, at the end, after which it is not waited for


def run(path: str, report: Notices, *, read_only: bool = False) -> int:
    """Serve until the end comes; the exit status. Must be called from the main thread."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # it would print tracebacks and texts of the client
    logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
    try:
        clean = asyncio.run(_serve(path, report, read_only))
    except Exception as error:  # noqa: BLE001 (the edge of the process)
        report(f"ended by an error of its own: {type(error).__name__}")
        return 1
    if not clean:
        os._exit(0)  # a thread hangs in the file system; the interpreter would wait for it for ever
    return 0


async def _serve(path: str, report: Notices, read_only: bool) -> bool:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report(f"{type(context.get('exception')).__name__} in a task"))
    service = Service(Store(path, report), read_only=read_only)
    ending: list[asyncio.Task[None]] = []

    def end() -> None:
        service.stop()
        ending.append(loop.create_task(_expect_a_reader(wire.output)))

    wire = Wire(end, patience=_PATIENCE)
    on_signals(loop, wire.stop)
    server = build_server(service, report)
    if faststart.is_carried():
        service.room = lambda: wire.output.room(_UNREAD)
        server.middleware.append(Finishing(server, service))
        faststart.skip_relay()
    gc.freeze()  # nothing made so far will ever be garbage
    try:
        await server.run(wire.reader, wire.writer, server.create_initialization_options())
    finally:
        clean = await service.close()
        await wire.output.room(1)  # `_expect_a_reader` sees to it that this ends
    return clean


async def _expect_a_reader(output: Output) -> None:
    """Abandon the output once the client takes nothing of what is queued for it."""
    while True:
        queued, taken = output.queued, output.taken
        await asyncio.sleep(_NOT_READING)
        if queued and output.queued and output.taken == taken:
            output.abandon()
