"""What one TCP connection may cost: how long a request may take to arrive, how long an answer may be left untaken, and
how many connections may be open.

uvicorn waits for ever on all of these. Nothing is known here of who asks, or for what.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 10.0  # for the head of a request; nobody types it
BODY_SECONDS: Final = 30.0  # for a body of the largest size over a slow line
_REFUSED_SECONDS: Final = 5.0  # more, so that whoever reads the body can answer that it came too late
_UNTAKEN_SECONDS: Final = 60.0  # without one byte of an answer taken, while there is more than the system buffers
_MOST_CONNECTIONS: Final = 4096  # beyond that new ones are closed before anything is read
_FILES: Final = 128  # descriptors that are not for connections: the memory file, its lock, its folder, pipes


class Config(uvicorn.Config):
    """With the bound that this machine allows."""

    def __init__(self, application: Any, **options: Any) -> None:
        super().__init__(application, http=Connection, **options)
        self.most_connections = min(_MOST_CONNECTIONS, _descriptors() - _FILES)


class Connection(H11Protocol):
    """uvicorn's, with those bounds."""

    _waiting: asyncio.TimerHandle | None = None
    _waits_for: Any = None  # h11.IDLE: a head, h11.SEND_BODY: the rest of a body
    _untaken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > cast(Config, self.config).most_connections:
            transport.abort()
        else:
            self._expect(h11.IDLE)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        state = self.conn.their_state
        if state is not self._waits_for:
            self._expect(state)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_buffer()

    def resume_writing(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None
        super().resume_writing()

    def _expect(self, state: Any) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        self._waits_for = state
        if state is h11.IDLE:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)
        elif state is h11.SEND_BODY:
            self._waiting = self.loop.call_later(BODY_SECONDS + _REFUSED_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._waiting = None
        self.transport.abort()

    def _watch_buffer(self) -> None:
        size = self.transport.get_write_buffer_size()
        self._untaken = self.loop.call_later(_UNTAKEN_SECONDS, self._check_taken, size)

    def _check_taken(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch_buffer()
        else:
            self._untaken = None
            self.transport.abort()


def _descriptors() -> int:
    """How many files and sockets this process may have open, after having asked for enough."""
    if sys.platform == "win32":
        return _MOST_CONNECTIONS + _FILES
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return max(soft, _FILES + 1)
    return max(wanted, _FILES + 1)
