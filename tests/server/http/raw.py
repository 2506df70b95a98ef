"""HTTP by hand: one request, and clients of both eras that hide nothing. Every wait is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.driver import ENVELOPE, VERSIONS, Era

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE = 30.0  # seconds
URI: Final = "memory://knowledge-graph"
_ACCEPT: Final = "application/json, text/event-stream"


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    port: int,
    method: str,
    path: str,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    host: str = "localhost",
) -> Reply:
    """One request with exactly these headers, besides Host (unless it is among them) and Content-Length."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if all(name.lower() != "host" for name, _ in headers):
            connection.putheader("Host", host)
        for name, value in headers:
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def post(port: int, message: object, *more: tuple[str, str]) -> Reply:
    """One message of the 2026 era, with the headers that belong to it; those in `more` come on top."""
    assert isinstance(message, dict)
    headers = [*headers_of("2026", message).items(), *more]
    return ask(port, "POST", "/mcp", headers, json.dumps(message).encode())


def message(method: str, params: Mapping[str, Any] | None = None, number: int = 1) -> dict[str, Any]:
    """A request as the 2026 era has it."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**(params or {}), "_meta": dict(ENVELOPE)}}


def headers_of(era: Era, message: Mapping[str, Any]) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": _ACCEPT}
    if era == "2026":
        headers |= {"MCP-Protocol-Version": VERSIONS[era], "Mcp-Method": message["method"]}
        name = message.get("params", {}).get("name") or message.get("params", {}).get("uri")
        if name is not None:
            headers["Mcp-Name"] = name
    return headers


class Stream:
    """An answer that is being received: its head is there, its body comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self._buffer = b""
        self.is_whole = False  # its end came as an end, and not as a connection that was cut
        self._left = -1  # bytes of a body with a length; -1: it comes in chunks

    async def head(self) -> None:
        async with asyncio_timeout():
            self.status = int((await self._reader.readline()).split()[1])
            while line := (await self._reader.readline()).strip():
                name, _, value = line.decode().partition(":")
                self.headers[name.lower()] = value.strip()
        self._left = int(self.headers.get("content-length", "-1"))

    async def body(self) -> bytes:
        """All that is left, which ends."""
        async with asyncio_timeout():
            if self._left >= 0:
                return await self._reader.readexactly(self._left)
            pieces = []
            while piece := await self._chunk():
                pieces.append(piece)
            return b"".join(pieces)

    async def event(self) -> dict[str, Any] | None:
        """The next message of an event stream; None at its end. Not bounded: whoever waits bounds it."""
        while True:
            while b"\r\n\r\n" not in self._buffer:
                piece = await self._chunk()
                if not piece:
                    return None
                self._buffer += piece
            text, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
            data = [line[5:].strip() for line in text.split(b"\r\n") if line.startswith(b"data:")]
            if data:
                found: dict[str, Any] = json.loads(b"".join(data))
                return found

    async def _chunk(self) -> bytes:
        try:
            size = int(await self._reader.readuntil(b"\n"), 16)
            piece = await self._reader.readexactly(size)
            await self._reader.readline()
            self.is_whole = size == 0
        except (ConnectionError, asyncio.IncompleteReadError):
            return b""
        return piece

    def close(self) -> None:
        self._writer.close()


async def opened(
    port: int,
    method: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    receive_buffer: int | None = None,
    path: str = "/mcp",
) -> Stream:
    """Send a request to the path on a connection of its own, and receive the head of the answer."""
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.setblocking(False)
    async with asyncio_timeout():
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=connection)
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(body)}"] if body else []
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    stream = Stream(reader, writer)
    await stream.head()
    return stream


class Client:
    """One client of one era. Its calls go over connections of their own; `updates` counts what its stream brought."""

    def __init__(self, port: int, era: Era = "2026", token: str | None = None, path: str = "/mcp") -> None:
        self.port = port
        self.path = path
        self.era: Era = era
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._number = 0
        self._listening: asyncio.Task[None] | None = None
        self._stream: Stream | None = None
        self._news = asyncio.Event()
        self.updates = 0

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The whole answer."""
        stream = await self._send(method, params)
        try:
            body = await stream.body()
        finally:
            stream.close()
        if stream.headers.get("content-type", "").startswith("text/event-stream"):
            events = [line[5:].strip() for line in body.split(b"\r\n") if line.startswith(b"data:")]
            body = events[-1]
        answer: dict[str, Any] = json.loads(body)
        return answer

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a tool; AssertionError if it failed."""
        answer = await self.request("tools/call", {"name": tool, "arguments": dict(arguments)})
        assert "result" in answer and not answer["result"].get("isError"), answer
        result: dict[str, Any] = answer["result"]
        return result

    async def subscribe(self) -> None:
        """From the return on, `updates` counts."""
        if self.era == "2025":
            await self.open_stream()
            await self.request("resources/subscribe", {"uri": URI})
            return
        self._stream = await self._send("subscriptions/listen", {"notifications": {"resourceSubscriptions": [URI]}})
        assert self._stream.status == 200, self._stream.status
        async with asyncio_timeout():
            told = await self._stream.event()
        assert told is not None and told["method"] == "notifications/subscriptions/acknowledged", told
        self._listening = asyncio.ensure_future(self._listen(self._stream))

    async def open_stream(self) -> None:
        """2025: open the stream of the session; until the server has noticed the end of the last one it refuses."""
        async with asyncio_timeout():
            while True:
                stream = await opened(self.port, "GET", {**self.headers, "Accept": "text/event-stream"}, path=self.path)
                if stream.status != 409:
                    break
                stream.close()
        assert stream.status == 200, stream.status
        self._stream = stream
        self._listening = asyncio.ensure_future(self._listen(stream))

    async def break_stream(self) -> None:
        """Have the stream end as if the network had."""
        assert self._stream is not None and self._listening is not None
        self._listening.cancel()
        self._stream.close()

    async def updated(self, count: int) -> None:
        """Wait until there were so many updates."""
        async with asyncio_timeout():
            while self.updates < count:
                self._news.clear()
                await self._news.wait()

    async def stream_ended(self, *, whole: bool = True) -> None:
        """Wait for the end of the stream, which has to be one unless it may be cut."""
        assert self._listening is not None and self._stream is not None
        await asyncio.wait_for(asyncio.shield(self._listening), PATIENCE)
        assert self._stream.is_whole or not whole

    async def close(self) -> None:
        """Leave as a good client does."""
        if self.era == "2025" and "Mcp-Session-Id" in self.headers:
            stream = await opened(self.port, "DELETE", self.headers, path=self.path)
            stream.close()
        self.vanish()

    def vanish(self) -> None:
        """Leave without a word."""
        if self._listening is not None:
            self._listening.cancel()
        if self._stream is not None:
            self._stream.close()

    async def __aenter__(self) -> Self:
        if self.era == "2025":
            hello = {
                "protocolVersion": VERSIONS["2025"],
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            }
            stream = await self._send("initialize", hello)
            assert stream.status == 200, (stream.status, await stream.body())
            self.headers["Mcp-Session-Id"] = stream.headers["mcp-session-id"]
            await stream.body()
            stream.close()
            self.headers["MCP-Protocol-Version"] = VERSIONS["2025"]
            stream = await self._send("notifications/initialized", None)
            stream.close()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            self.vanish()

    async def _send(self, method: str, params: Mapping[str, Any] | None) -> Stream:
        self._number += 1
        whole = message(method, params, self._number)
        if self.era == "2025":
            whole["params"] = dict(params or {})
        if method.startswith("notifications/"):
            del whole["id"]
        headers = {**headers_of(self.era, whole), **self.headers}
        return await opened(self.port, "POST", headers, json.dumps(whole).encode(), path=self.path)

    async def _listen(self, stream: Stream) -> None:
        while (event := await stream.event()) is not None:
            if event.get("method") == "notifications/resources/updated":
                self.updates += 1
                self._news.set()


@contextlib.asynccontextmanager
async def asyncio_timeout(seconds: float | None = None) -> AsyncIterator[None]:
    """`asyncio.timeout`, which 3.10 lacks; PATIENCE unless told otherwise."""
    seconds = PATIENCE if seconds is None else seconds
    task = asyncio.current_task()
    assert task is not None
    late = asyncio.get_running_loop().call_later(seconds, task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        if asyncio.get_running_loop().time() >= late.when():
            raise TimeoutError(f"nothing came for {seconds} s") from None
        raise
    finally:
        late.cancel()
