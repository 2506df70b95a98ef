"""Our stdio transport for the SDK's `Server`: one connection over stdin and stdout.

Rules:
- Every line that arrives is answered or is a valid notification or response; only the end of input ends the connection.
- Nothing is lost at the end of input: the SDK cancels what is in flight when it learns of the end, so it is told only
  when everything was answered.
- A request without a handshake is served as the 2025 revision, for scripts: the SDK gets the `initialized` that it
  waits for. Under 2025-03-26 a batch is answered by one line, once all of its requests are.
- A client that writes without reading never waits for itself: answers are queued. Only when very many bytes are unread,
  or very many requests in flight, do its further requests wait in the pipe, so memory is bounded whatever it does.
Everything runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from memory_app.server.messages import Lines, Malformed, encode, parse, parse_batch
from memory_app.server.stdio.pipes import Input, Output, claim, open_output

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_READ_AHEAD: Final = 1 << 20  # bytes of unprocessed lines: enough to stay busy, small beside what one line may need
_WITH_BATCHES: Final = "2025-03-26"  # the only revision that has batches
_BEFORE_GREETING: Final = ("ping", "server/discover")  # requests that may come before the handshake
_UNREAD_LIMIT: Final = 256 << 20  # bytes of answers the client leaves unread before its requests have to wait
_MOST_IN_FLIGHT: Final = 4096  # requests, of some ten kilobytes each; further ones wait in the pipe
_LASTING: Final = "subscriptions/listen"  # answered at its end alone, so no reason to wait


class _Batch:
    """The answers to one batch, which are sent together."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._answers: list[bytes] = []
        self.missing = 0  # requests that are not answered yet

    def put(self, message: JSONRPCMessage) -> None:
        self._answers.append(b"".join(encode(message)).rstrip(b"\n"))

    def flush_if_whole(self) -> None:
        """Send the answers once the last one is there. A batch of notifications has none."""
        if not self.missing and self._answers:
            self._output.put([b"[" + b",".join(self._answers) + b"]\n"])
            self._answers = []


class Transport:
    """One connection over stdin and stdout: `reader` and `writer` are what `Server.run` expects.

    `on_end` is called once when no more input will come, for whatever reason. Requests in flight are still answered
    then, as long as one of them is answered within `patience` seconds.
    """

    def __init__(self, on_end: Callable[[], None], *, patience: float) -> None:
        source, sink = claim()
        self._on_end = on_end
        self._patience = patience
        self._in_flight = 0
        self._lasting: set[int | str | None] = set()
        self._ended = False
        self._lines = Lines()
        self._parsed: deque[SessionMessage] = deque()
        self._greeted = False  # the SDK takes requests
        self._initializing: str | int | None = None  # the id of the handshake's request
        self._batches = False  # the revision that was agreed on has batches
        self._batched: dict[str | int, _Batch] = {}  # by the ids of requests that are not answered yet
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
        """Take no more input. An incomplete line is not a message."""
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
        while True:
            while self._arrived and not self._parsed and not self._is_crowded():
                self._read(self._arrived.popleft())
            if self._parsed:
                return self._parsed.popleft()
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
        """Make `next` return these again (see `sdk.skip_relay`)."""
        self._parsed.extend(messages)

    async def _go_on_reading(self) -> None:
        await self.output.drain(_UNREAD_LIMIT)
        self._paused, self._going_on = False, None
        self._input.resume()

    def _read(self, line: bytes | None) -> None:
        """Parse a line: messages go to `_parsed`, an error to the client."""
        try:
            if self._batches and line is not None and line.lstrip().startswith(b"["):
                self._read_batch(line)
                return
            message = parse(line)
        except Malformed as error:
            self.output.put(encode(_refusal(error)))
            return
        if type(message) is JSONRPCRequest:
            if not self._greeted:
                self._greet(message)
            self._in_flight += 1
            self._parsed.append(SessionMessage(message, self._settlement(message)))
        elif message is not None:
            self._parsed.append(SessionMessage(message))

    def _settlement(self, request: JSONRPCRequest) -> ServerMessageMetadata:
        """What the SDK calls for a request that gets no answer."""
        if request.method != _LASTING:
            return self._settled
        self._lasting.add(request.id)

        async def unanswered() -> None:
            self._request_settled(request.id)

        return ServerMessageMetadata(on_request_unanswered=unanswered)

    def _read_batch(self, line: bytes) -> None:
        batch = _Batch(self.output)
        for message in parse_batch(line):
            if isinstance(message, Malformed):
                batch.put(_refusal(message))
            elif type(message) is not JSONRPCRequest:
                self._parsed.append(SessionMessage(message))
            elif message.id in self._batched:
                batch.put(_refusal(Malformed(INVALID_REQUEST, "Invalid Request: this id is in use", message.id)))
            else:
                batch.missing += 1
                self._in_flight += 1
                self._batched[message.id] = batch
                settled = ServerMessageMetadata(on_request_unanswered=partial(self._batched_unanswered, message.id))
                self._parsed.append(SessionMessage(message, settled))
        batch.flush_if_whole()

    def _greet(self, request: JSONRPCRequest) -> None:
        """Note the handshake. For a request without one the SDK is told that there was one, as the npm server does."""
        if request.method == "initialize":
            self._greeted, self._initializing = True, request.id
            return
        if request.method in _BEFORE_GREETING:
            return
        self._greeted = True
        meta = (request.params or {}).get("_meta")
        if not (isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta):  # the 2026 revision has no handshake
            self._parsed.append(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))

    def send(self, message: JSONRPCMessage) -> None:
        if not (type(message) in (JSONRPCResponse, JSONRPCError) and self._batched and self._send_batched(message)):
            self.output.put(encode(message))
        if self._initializing is not None and type(message) is JSONRPCResponse and message.id == self._initializing:
            self._initializing = None
            self._batches = message.result.get("protocolVersion") == _WITH_BATCHES
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._request_settled(message.id)

    def _send_batched(self, message: JSONRPCMessage) -> bool:
        """Keep an answer for its batch. False if it answers no request of one."""
        assert isinstance(message, (JSONRPCResponse, JSONRPCError))
        batch = None if message.id is None else self._batched.pop(message.id, None)
        if batch is None:
            return False
        batch.put(message)
        batch.missing -= 1
        batch.flush_if_whole()
        return True

    async def _batched_unanswered(self, request_id: str | int) -> None:
        batch = self._batched.pop(request_id, None)
        if batch is not None:
            batch.missing -= 1
            batch.flush_if_whole()
        self._request_settled()

    def _is_crowded(self) -> bool:
        return self._in_flight - len(self._lasting) >= _MOST_IN_FLIGHT

    def _request_settled(self, request_id: int | str | None = None) -> None:
        self._lasting.discard(request_id)
        self._in_flight -= 1
        if self._arrived or self._paused or (self._ended and not self._in_flight):
            self._nudge()

    async def _request_unanswered(self) -> None:
        self._request_settled()


def _refusal(error: Malformed) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=error.request_id, error=ErrorData(code=error.code, message=str(error)))


class _Stream:
    """What the SDK's stream protocols require of both directions besides their work."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

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
        message = await self._transport.next()
        if message is None:
            raise anyio.EndOfStream
        return message

    def take_back(self, messages: Iterable[SessionMessage]) -> None:
        self._transport.take_back(messages)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        message = await self._transport.next()
        if message is None:
            raise StopAsyncIteration
        return message


class _Writer(_Stream):
    async def send(self, item: SessionMessage, /) -> None:
        self._transport.send(item.message)
