"""Our stdio transport for the SDK's `Server`: one connection over stdin and stdout.

Rules:
- Every line that arrives is answered or is a valid notification or response; nothing ends the connection but its end.
- Nothing is lost at the end of input: the SDK, which cancels what is in flight when it hears of the end, hears of it
  only when everything was answered.
- A client that writes without reading never waits for itself: answers queue up. Only when very many bytes are unread,
  or very many requests in flight, do its further requests wait in the pipe: so memory is bounded whatever it does.
All of it runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse

from memory_app.server.stdio.messages import Lines, Malformed, encode, parse
from memory_app.server.stdio.pipes import Input, Output, claim, open_output

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_READ_AHEAD: Final = 1 << 20  # bytes of unprocessed lines: enough to stay busy, small beside what one line may need
_UNREAD_LIMIT: Final = 256 << 20  # bytes of answers the client leaves unread before its requests have to wait
_MOST_IN_FLIGHT: Final = 4096  # requests, of some ten kilobytes each; further ones wait in the pipe
_LASTING: Final = "subscriptions/listen"  # answered at its end alone, so no reason to wait


class Wire:
    """One connection over stdin and stdout: `reader` and `writer` are what `Server.run` wants.

    `on_end` is called once when no more input will come, for whatever reason; requests in flight are still answered
    then, as long as one of them is answered in `patience` seconds.
    """

    def __init__(self, on_end: Callable[[], None], *, patience: float) -> None:
        source, sink = claim()
        self._on_end = on_end
        self._patience = patience
        self._in_flight = 0
        self._lasting: set[int | str | None] = set()
        self._ended = False
        self._lines = Lines()
        self._taken_back: deque[SessionMessage] = deque()
        self._arrived: deque[bytes | None] = deque()
        self._arrived_size = 0
        self._paused = False
        self._going_on: asyncio.Future[None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._settled = ServerMessageMetadata(on_request_unanswered=self._request_unanswered)
        self.output: Output = open_output(sink, self.stop)
        self._input = Input(source, self._take)
        self.reader = _Reader(self)
        self.writer = _Writer(self)

    def stop(self) -> None:
        """Take no more input. A line that has not come to its end is not a message."""
        if not self._ended:
            self._lines.end()
            self._end()

    def _end(self) -> None:
        self._ended = True
        self._input.stop()
        self._nudge()
        self._on_end()

    def _take(self, data: bytes) -> None:
        lines = self._lines.feed(data) if data else [self._lines.end()]  # the last line may lack its line end
        self._arrived.extend(lines)
        if lines:
            self._arrived_size += len(data)
        if not data:
            self._end()
        elif not self._paused and (self._arrived_size > _READ_AHEAD or self.output.queued > _UNREAD_LIMIT):
            self._paused = True
            self._input.pause()
        if lines or self._paused:
            self._nudge()

    def _nudge(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def next(self) -> SessionMessage | None:
        """The next message; None when all input was read and all requests were answered."""
        if self._taken_back:
            return self._taken_back.popleft()
        while True:
            while self._arrived and not self._is_crowded():
                message = self._read(self._arrived.popleft())
                if message is not None:
                    return message
            if not self._arrived:
                self._arrived_size = 0
                if self._ended and not self._in_flight:
                    return None
            if self._paused and self._going_on is None and not self._is_crowded():
                self._going_on = asyncio.ensure_future(self._go_on_reading())
            self._wake = asyncio.get_running_loop().create_future()
            if not self._ended:
                await self._wake
                continue
            in_flight = self._in_flight
            woken, _ = await asyncio.wait([self._wake], timeout=self._patience)
            if not woken and self._in_flight == in_flight:
                return None

    def take_back(self, messages: Iterable[SessionMessage]) -> None:
        """Have `next` return these again (see `sdk.skip_relay`)."""
        self._taken_back.extend(messages)

    async def _go_on_reading(self) -> None:
        await self.output.drain(_UNREAD_LIMIT)
        self._paused, self._going_on = False, None
        self._input.resume()

    def _read(self, line: bytes | None) -> SessionMessage | None:
        try:
            message = parse(line)
        except Malformed as error:
            told = ErrorData(code=error.code, message=str(error))
            self.output.put(encode(JSONRPCError(jsonrpc="2.0", id=error.request_id, error=told)))
            return None
        if type(message) is not JSONRPCRequest:
            return None if message is None else SessionMessage(message)
        self._in_flight += 1
        if message.method != _LASTING:
            return SessionMessage(message, self._settled)
        self._lasting.add(message.id)

        async def unanswered() -> None:
            self._request_settled(message.id)

        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=unanswered))

    def send(self, message: JSONRPCMessage) -> None:
        self.output.put(encode(message))
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._request_settled(message.id)

    def _is_crowded(self) -> bool:
        return self._in_flight - len(self._lasting) >= _MOST_IN_FLIGHT

    def _request_settled(self, request_id: int | str | None = None) -> None:
        self._lasting.discard(request_id)
        self._in_flight -= 1
        if self._arrived or self._paused or (self._ended and not self._in_flight):
            self._nudge()

    async def _request_unanswered(self) -> None:
        self._request_settled()


class _Stream:
    """What the SDK's stream protocols ask of both directions beside their work."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return None


class _Reader(_Stream):
    async def receive(self) -> SessionMessage | Exception:
        message = await self._wire.next()
        if message is None:
            raise anyio.EndOfStream
        return message

    def take_back(self, messages: Iterable[SessionMessage]) -> None:
        self._wire.take_back(messages)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        message = await self._wire.next()
        if message is None:
            raise StopAsyncIteration
        return message


class _Writer(_Stream):
    async def send(self, item: SessionMessage, /) -> None:
        self._wire.send(item.message)
