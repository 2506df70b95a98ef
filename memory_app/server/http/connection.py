"""uvicorn's connection and server: all that is used of them without being in uvicorn's documentation, with its reason.

None of it has a leading underscore, and any release may change it, so it is bound to the version `READ`, whose
`H11Protocol` and `Server` were read (https://github.com/Kludex/uvicorn/tree/0.54.0/uvicorn: protocols/http/h11_impl.py,
server.py). A test compares the version and the names with what is installed. No other module knows them.

| of uvicorn | why |
|---|---|
| `H11Protocol` as a class to derive from | limits of time for heads, bodies and answers are not offered as options |
| `connections` | how many there are; an idle one is closed in favour of a new one |
| `timeout_keep_alive_task` | a connection between two requests has one: it is idle |
| `cycle`, `scope` | whether a request is being received or answered, and its state (ASGI) |
| `conn` | the state of h11, whose own interface is documented |
| `transport`, `loop` | asyncio's, to close and to time |
| `send_400_response` | what is no HTTP gets an error in our form, with an id |
| `Server.capture_signals` | signals are ours |
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

READ: Final = "0.54.0"
"""The version of uvicorn that all this was read in."""


class HttpConnection(H11Protocol):
    """One connection of uvicorn's, under names of ours."""

    @property
    def open_connections(self) -> int:
        """How many the server has, this one among them."""
        return len(self.connections)

    def close_an_idle_one(self) -> bool:
        """Whether another connection, between two requests, was closed in favour of this one."""
        for other in self.connections:
            if isinstance(other, HttpConnection) and other is not self and other.timeout_keep_alive_task is not None:
                other.abort()
                return True
        return False

    @property
    def awaits(self) -> Any:
        """h11.IDLE while a head is to be received, h11.SEND_BODY for the rest of a body; anything else for nothing."""
        return self.conn.their_state

    @property
    def is_answering(self) -> bool:
        """Whether a request has come whose answer is not complete."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def has_whole_request(self) -> bool:
        """Whether nothing more of the request that is being answered is to come."""
        return self.is_answering and not self.cycle.more_body

    @property
    def answer_has_begun(self) -> bool:
        return self.cycle is None or self.cycle.response_started

    @property
    def state(self) -> dict[str, Any]:
        """What the application keeps with the request that came last."""
        found: dict[str, Any] = self.scope["state"]
        return found

    def end_after_answer(self) -> None:
        """The connection is not kept for another request."""
        self.cycle.keep_alive = False

    def send_whole(self, status: int, reason: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """Answer by hand, unless an answer has begun; then close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            head = h11.Response(status_code=status, headers=headers, reason=reason)
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def abort(self) -> None:
        """Close at once; what was not sent yet is lost."""
        self.transport.abort()

    def unsent_bytes(self) -> int:
        """Bytes of answers that the system has not taken yet."""
        return self.transport.get_write_buffer_size()

    def send_400_response(self, msg: str) -> None:
        """Called for what is no HTTP, with h11's words for it."""
        self.refuse_garbage()

    @abstractmethod
    def refuse_garbage(self) -> None:
        """Answer what is no HTTP, and close."""


class Server(uvicorn.Server):
    """Signals are ours: uvicorn would raise each again after the end, and so spoil the exit status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
