"""What one connection may cost: how long a request may take to arrive, how long an answer may be left unread, and how
many connections may be open.

uvicorn waits for ever on all of these. Here, too, is how a connection behaves: small packets go out at once, a client
that closes its sending side is still answered, and what is no HTTP gets an answer with an id. Nothing is known of who
asks, or for what. How uvicorn is made to do so is in `connection`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import sys
from collections.abc import Callable
from typing import Any, Final, cast

import h11
import uvicorn

from memory_app.server.http.connection import HttpConnection

KEEP_ALIVE_SECONDS: Final = 150
"""Seconds an idle connection is kept: longer than proxies keep theirs (Caddy 120, nginx 60), since a request that meets
the end of its connection is a 502 for whoever sent it."""

HEAD_SECONDS: Final = 10.0  # for the head of a request; nobody types it
BODY_SECONDS: Final = 30.0  # for a body of the largest size over a slow line
_REFUSED_SECONDS: Final = 5.0  # more, so that whoever reads the body can answer that it came too late
_HALF_CLOSED_SECONDS: Final = 1.0
"""Seconds that a call may still take to be answered once its client has closed its sending side: it may have gone away
altogether, which looks the same, and then a call of the 2026 era is cancelled."""

_PROBE_SECONDS: Final = 60
_PROBES: Final = 3
"""A client that vanished without a word is noticed after two to four minutes, and its streams end."""

_UNTAKEN_SECONDS: Final = 60.0  # without one byte of an answer taken, while there is more than the system buffers
_MOST_CONNECTIONS: Final = 4096  # beyond that new ones are closed before anything is read
_FILES: Final = 128  # descriptors that are not for connections: the memory file, its lock, its folder, pipes


class Config(uvicorn.Config):
    """With the bound that this machine allows."""

    def __init__(self, application: Any, log: Callable[[str], None] | None = None, **options: Any) -> None:
        """`log` is told of each request that is no HTTP; the others are the application's to tell."""
        super().__init__(application, http=Connection, **options)
        self.log = log
        self.most_connections = min(_MOST_CONNECTIONS, _descriptors() - _FILES)


class Connection(HttpConnection):
    """With those bounds."""

    _waiting: asyncio.TimerHandle | None = None
    _waits_for: Any = None  # h11.IDLE: a head, h11.SEND_BODY: the rest of a body
    _untaken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        _tune(transport.get_extra_info("socket"))
        if self.open_connections > cast(Config, self.config).most_connections and not self.close_an_idle_one():
            self.abort()
        else:
            self._expect(h11.IDLE)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio takes a bool
        """A client that has sent a whole request and no more (`nc -N`) still gets its answer."""
        if not self.has_whole_request or self.state.get("is_stream"):
            return False
        self.end_after_answer()
        self.loop.call_later(_HALF_CLOSED_SECONDS, self._end_unless_answering)
        return True

    def _end_unless_answering(self) -> None:
        if not self.answer_has_begun:
            self.abort()

    def refuse_garbage(self) -> None:
        """In the form that all our errors have, with an id, and told in the log."""
        begun = self.is_answering
        request_id = secrets.token_hex(8)
        if begun:  # the application tells it
            request_id = self.state.setdefault("request_id", request_id)
            self.state["status"] = 400
        error = {"code": -32600, "message": "This is not a valid HTTP request", "data": {"requestId": request_id}}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}, separators=(",", ":")).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        self.send_whole(400, b"Bad Request", headers, body)
        log = cast(Config, self.config).log
        if log is not None and not begun:
            log(f"{request_id} - 400")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.awaits is not self._waits_for:
            self._expect(self.awaits)

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
        self.abort()

    def _watch_buffer(self) -> None:
        self._untaken = self.loop.call_later(_UNTAKEN_SECONDS, self._check_taken, self.unsent_bytes())

    def _check_taken(self, before: int) -> None:
        if self.unsent_bytes() < before:
            self._watch_buffer()
        else:
            self._untaken = None
            self.abort()


def _tune(connection: socket.socket | None) -> None:
    """Small packets go out at once, since head and body are written separately and the body would wait for the client's
    delayed acknowledgement; and a client that vanished is noticed."""
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    wanted = [
        (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", _PROBE_SECONDS),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", _PROBE_SECONDS),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", _PROBES),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", _PROBE_SECONDS * (_PROBES + 1) * 1000),
    ]
    for level, name, value in wanted:
        if hasattr(socket, name):  # not every system has all of them
            with contextlib.suppress(OSError):
                connection.setsockopt(level, getattr(socket, name), value)


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
