"""Event streams of the 2025 era: one for each session, carrying its notifications.

Such a client opens its stream again after it broke (a laptop that slept, a proxy that restarted). Notifications sent
meanwhile are lost, so with a new stream the client is notified once more if anything has changed since the last one
began. A session of an earlier process counts as a subscriber: a needless notification costs one read, a missing one a
stale answer. A newer stream of a session replaces the older one, whose end may not have been noticed yet.

Only sessions that subscribed or have a stream are kept. Runs on the event loop's thread; knows the updates, not the
SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

from memory_app.server.http.asgi import Answer, Refused
from memory_app.server.http.tokens import Token
from memory_app.server.updates import Updates

PING_SECONDS: Final = 15.0
"""Seconds of silence after which a comment is sent: proxies close what is silent for a minute."""

PING: Final = b": ping\r\n\r\n"
HEADERS: Final = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",  # nginx would hold events back
}

_MOST_KEPT: Final = 1000
"""Sessions of which something is kept; beyond that the one that was silent longest, without a stream, is forgotten."""

_MOST_FORGOTTEN: Final = 10_000


class _Session:
    def __init__(self) -> None:
        self.token: Token | None = None
        self.stream: _Stream | None = None
        self.is_subscribed = False
        self.changes = 0  # that there were when it subscribed, or when its stream began


class _Stream:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.ended = asyncio.Event()


class Streams:
    """The streams of one memory. `uri` is the resource that updates are about; each token may have `most` streams at
    once, and as many sessions that subscribed.
    """

    def __init__(self, updates: Updates, uri: str, most: int) -> None:
        self._updates = updates
        self._most = most
        self._open: dict[asyncio.Task[Any], Token | None] = {}
        message = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}
        self._event = b"event: message\r\ndata: %s\r\n\r\n" % json.dumps(message, separators=(",", ":")).encode()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()  # the one that was silent longest first
        self._forgotten: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def place(self, token: Token | None) -> Iterator[None]:
        """A place for a stream of the current task, of either era. Raises `Refused` if the token has all of its streams
        open.
        """
        if sum(holder == token for holder in self._open.values()) >= self._most:
            raise Refused(429, "Too many streams are open; close one", {"retry-after": "30"})
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = token
        try:
            yield
        finally:
            del self._open[task]

    def revoke(self, holds: Callable[[Token], bool]) -> None:
        """End the streams and the subscriptions of tokens that are no longer valid."""
        for session, kept in list(self._sessions.items()):
            if kept.token is not None and not holds(kept.token):
                self.end(session)
        for task, token in list(self._open.items()):
            if token is not None and not holds(token):
                task.cancel()

    @property
    def kept(self) -> int:
        return len(self._sessions)

    async def subscribe(self, session: str, token: Token | None) -> bool:
        """Whether it is subscribed now: False if there are too many."""
        kept = self._keep(session, token)
        others = (one for one in self._sessions.values() if one is not kept and one.is_subscribed)
        if sum(one.token == token for one in others) >= self._most:
            self._drop_unused(session)
            return False
        if not await self._updates.subscribe(session, lambda: self._tell(session)):
            self._drop_unused(session)
            return False
        kept.is_subscribed, kept.changes = True, self._updates.changes
        return True

    def unsubscribe(self, session: str) -> None:
        self._updates.unsubscribe(session)
        if session in self._sessions:
            self._sessions[session].is_subscribed = False
            self._drop_unused(session)

    async def serve(self, answer: Answer, session: str, token: Token | None, *, is_ours: bool) -> None:
        """Hold a stream open until the client, the session or the server ends."""
        revived = session not in self._sessions and (not is_ours or session in self._forgotten)
        kept = self._keep(session, token)
        if kept.stream is not None:
            kept.stream.ended.set()
        stream = kept.stream = _Stream(answer)
        try:
            if revived and await self.subscribe(session, token):
                kept.changes -= 1  # something may have changed since
            await answer.begin(200, HEADERS)
            await answer.send(PING)  # proxies and clients see that it has begun
            self._began(session, kept)
            await self._hold(stream)
            await answer.end()
        finally:
            if kept.stream is stream:
                kept.stream = None
                self._drop_unused(session)

    def end(self, session: str) -> None:
        """The session is over: its stream and its subscription end."""
        self._updates.unsubscribe(session)
        self._forgotten.pop(session, None)
        kept = self._sessions.pop(session, None)
        if kept is not None and kept.stream is not None:
            kept.stream.ended.set()

    def close(self) -> None:
        """End all streams."""
        for session in list(self._sessions):
            self.end(session)

    def _began(self, session: str, kept: _Session) -> None:
        """Notifications since the last stream began may not have arrived."""
        missed, kept.changes = kept.changes != self._updates.changes, self._updates.changes
        if missed and kept.is_subscribed:
            self._updates.resend(session)

    async def _hold(self, stream: _Stream) -> None:
        loop = asyncio.get_running_loop()
        ended = loop.create_task(stream.ended.wait())
        gone = loop.create_task(stream.answer.gone())
        try:
            while not (await asyncio.wait({ended, gone}, timeout=PING_SECONDS, return_when="FIRST_COMPLETED"))[0]:
                await stream.answer.send(PING)
        finally:
            ended.cancel()
            gone.cancel()

    async def _tell(self, session: str) -> None:
        kept = self._sessions.get(session)
        if kept is not None and kept.stream is not None and kept.stream.answer.status:
            await kept.stream.answer.send(self._event)

    def _keep(self, session: str, token: Token | None) -> _Session:
        self._forgotten.pop(session, None)
        kept = self._sessions.setdefault(session, _Session())
        kept.token = token
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MOST_KEPT:
            unused = (one for one, other in self._sessions.items() if other.stream is None and other is not kept)
            silent = next(unused, None)
            if silent is not None:
                self.end(silent)
                self._forgotten[silent] = None
                if len(self._forgotten) > _MOST_FORGOTTEN:
                    self._forgotten.popitem(last=False)
        return kept

    def _drop_unused(self, session: str) -> None:
        kept = self._sessions.get(session)
        if kept is not None and kept.stream is None and not kept.is_subscribed:
            del self._sessions[session]
