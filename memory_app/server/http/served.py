"""One memory served over HTTP: its store, service and transport, its state, and its shutdown.

Errors name "the memory file" to clients, because its path concerns only the operator. The operator gets the whole text
on stderr, once until the problem is over.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Final

from memory_app.errors import GraphError, StoreError
from memory_app.server.encoded import Finishing
from memory_app.server.handlers import RESOURCE_URI, Context, build_server
from memory_app.server.http.access import Access
from memory_app.server.http.asgi import Answer, Bodies, Refused
from memory_app.server.http.audit import Audit
from memory_app.server.http.guard import Request
from memory_app.server.http.metrics import Metrics, State
from memory_app.server.http.sessions import Sessions
from memory_app.server.http.streams import Streams
from memory_app.server.http.transport import Caller, SessionSubscriptions, Transport, caller
from memory_app.server.service import Service, opening
from memory_app.server.stderr import Notices
from memory_app.tools.plans import Answer as ToolAnswer
from memory_app.tools.table import TOOLS, reads

_READY_SECONDS: Final = 1.0
"""Seconds that an answer about readiness holds: it is given to whoever asks."""

_LOAD_SECONDS: Final = 5.0
"""Seconds in which a memory has to be readable in order to count as ready."""


class Served:
    """`name` is "" for the memory at /mcp itself."""

    def __init__(
        self,
        name: str,
        path: str,
        report: Notices,
        access: Access,
        sessions: Sessions,
        bodies: Bodies,
        audit: Audit,
        metrics: Metrics,
    ) -> None:
        self._name = name
        self._path = path
        self._report = report
        self._audit = audit
        self._metrics = metrics
        self._told: set[str] = set()
        self._ready: tuple[float, bool] = float("-inf"), False
        self._looking: asyncio.Future[bool] | None = None
        self._service = Service(opening(path, report), read_only=access.read_only, text_of=self._text_of)
        self.streams = Streams(self._service.updates, RESOURCE_URI, access.streams)
        subscriptions = SessionSubscriptions(self.streams)
        servers = []
        for offers in (self._service.offers, reads):
            server = build_server(self._service, report, subscriptions, offers)
            server.middleware.append(Finishing(server, self._service, greeted=True, offers=offers, told=_told))
            # The SDK would list the tools for each call, to find arguments that are to be sent as headers.
            server.get_tool_input_schema = lambda name: None
            servers.append(server)
        self._transport = Transport(name, servers[0], servers[1], sessions, self.streams, bodies)

    async def serve(self, request: Request, answer: Answer) -> None:
        """Answer the request, and record it in the audit log and the metrics."""
        began = time.monotonic()
        callers: Sequence[Caller] = ()
        try:
            callers = await self._transport.serve(request, answer)
        except Refused as refused:
            self._metrics.refuse(refused.status)
            raise
        finally:
            for one in callers:
                self._tell(request, answer, one, time.monotonic() - began)

    async def is_ready(self) -> bool:
        """Whether the memory was loaded and, where writing is offered, can be written."""
        at, ready = self._ready
        if time.monotonic() - at > _READY_SECONDS:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.ensure_future(self._look())
            looking = self._looking  # one for all who ask meanwhile: a file system that hangs holds one thread
            await asyncio.wait({looking}, timeout=_LOAD_SECONDS)
            ready = looking.done() and looking.result()
            self._ready = time.monotonic(), ready
        return ready

    def state(self) -> State:
        """The state for the metrics. Does not touch the file system."""
        store = self._service.store
        counted = store.figures()
        return State(
            gauges={
                "streams": len(self.streams),
                "sessions_kept": self.streams.kept,
                "subscribers": len(self._service.updates),
                "unsent_bytes": self._transport.unsent,
                "waits_for_lock": store.waits(),
                "ready": self._ready[1],
                "entities": counted.entities,
                "file_bytes": counted.file_bytes,
            },
            counters={"saves": counted.saves, "foreign_changes": counted.foreign_changes},
            times={
                "save": (counted.saves, counted.save_seconds),
                "lock_wait": (counted.lock_waits, counted.lock_wait_seconds),
            },
        )

    def stop(self) -> None:
        """Begin the shutdown."""
        self._service.stop()
        self.streams.close()

    async def close(self) -> bool:
        """Finish a started save. False if a thread is stuck."""
        return await self._service.close()

    async def _look(self) -> bool:
        try:
            await self._service.expect_usable()
        except (StoreError, GraphError) as error:
            self._text_of(error)
            return False
        except MemoryError:
            return False
        self._told.clear()
        return True

    def _text_of(self, error: GraphError | StoreError) -> str:
        text = str(error)
        shown = conceal(text, self._path)
        if shown != text and text not in self._told:
            self._told.add(text)
            self._report(text)
        return shown

    def _tell(self, request: Request, answer: Answer, one: Caller, seconds: float) -> None:
        outcome = "error" if one.failed or answer.status >= 400 else "ok"
        known = one.tool if one.method == "tools/call" else one.method
        what = known if known is not None and (known in TOOLS or known in _METHODS) else "other"
        self._metrics.count(self._name, what, outcome, seconds, answer.sent)
        self._audit.tell(
            request=request.id,
            token=request.holder,
            memory=self._name,
            method="tools/call" if one.method == "tools/call" else what,
            tool=one.tool,
            arguments=one.arguments,
            status=answer.status,
            failed=outcome == "error",
            milliseconds=seconds * 1000,
        )


_METHODS: Final = frozenset({
    "initialize", "ping", "server/discover", "tools/list", "resources/list", "resources/read", "resources/subscribe",
    "resources/templates/list", "resources/unsubscribe", "subscriptions/listen", "prompts/list", "prompts/get",
    "completion/complete",
})  # fmt: skip


def conceal(text: str, path: str) -> str:
    """The text without the paths of the memory file, its lock and its folder."""
    for written in sorted({path, os.path.abspath(path), os.path.realpath(path)}, key=len, reverse=True):
        text = text.replace(f"{written}.lock.break", "the guard of the lock")
        for said in (f"the lock {written}.lock", f"The lock {written}.lock", f"{written}.lock"):
            text = text.replace(said, "the lock")
        text = text.replace(written, "the memory file")
        folder = os.path.dirname(written)
        if len(folder) > 1:
            text = text.replace(folder, "its folder")
    return text[:1].upper() + text[1:]


def _told(ctx: Context, answer: ToolAnswer) -> None:
    caller(ctx).failed = answer.is_error
