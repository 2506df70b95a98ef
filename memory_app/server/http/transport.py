"""MCP over HTTP for one memory: each request is answered by itself, in both protocol eras.

| request | answer |
|---|---|
| POST of a request | its result as JSON; as an event stream where only that is accepted, or once there is news |
| POST of a notification | 202 |
| GET with a session (2025) | the session's event stream |
| DELETE with a session (2025) | the session is over |

Rules:
- A session of the 2025 era is an id that we have signed, and nothing else: no call needs what a session would hold, so
  a restart ends none. A request without a session is served, as the npm server serves a call without a handshake.
- The end of a connection cancels a call of the 2026 era, and `notifications/cancelled` one of the 2025 era.
- What arrives is read as leniently as on stdio (`messages.parse`), and answered with the same finished bytes.

The SDK's own HTTP transports are not used: sessions die with the process, large answers are read and written three
times on the loop, and the 2025 one refuses what its own stdio takes. The SDK judges and dispatches each message.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
import mcp_types as t
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from memory_app.server.handlers import Context
from memory_app.server.http.asgi import PIECE, Answer, Bodies, Refused, uncancel
from memory_app.server.http.guard import Request
from memory_app.server.http.reply import Reply
from memory_app.server.http.sessions import Sessions
from memory_app.server.http.streams import Streams
from memory_app.server.messages import Malformed, encode, parse, parse_batch
from memory_app.tools.table import TOOLS, reads

_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_CANCELLED_2025: Final = -32800  # a request of that era ends with an answer, also where the client cancelled it
_MOST_UNSENT: Final = 128 << 20  # bytes of answers that clients have not taken yet
_WITH_BATCHES: Final = "2025-03-26"  # the only revision that has batches
_LONGEST_BATCH: Final = 1000  # messages: they are served one after the other
_LARGEST_BATCH: Final = 64 << 20  # bytes of answers, which are kept until the last one is there
_JSON, _STREAM = "application/json", "text/event-stream"


class Caller:
    """What a handler may know about the request and its token. `tool` and `failed` are filled in while it is served."""

    def __init__(self, request: Request, session: str | None) -> None:
        self.request = request
        self.session = session
        self.method = ""
        self.tool: str | None = None
        self.arguments: Any = None
        self.failed = False

    @property
    def has_written(self) -> bool:
        """Whether the call may have changed the memory, so that its answer has to arrive."""
        return self.tool is not None and self.tool in TOOLS and not reads(self.tool)


def caller(ctx: Context) -> Caller:
    """The caller of the request that a handler serves."""
    found = ctx.request
    assert isinstance(found, Caller)
    return found


class SessionSubscriptions:
    """The subscribers of the 2025 era: one for each session."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    async def subscribe(self, ctx: Context) -> bool:
        session, token = caller(ctx).session, caller(ctx).request.token
        if session is None:
            raise MCPError(t.INVALID_REQUEST, "Subscribing needs a session: initialize first")
        return await self._streams.subscribe(session, token)

    def unsubscribe(self, ctx: Context) -> None:
        session = caller(ctx).session
        if session is not None:
            self._streams.unsubscribe(session)


class Transport:
    """One memory, `name`. `server` has all tools, `reading` only the reading ones."""

    def __init__(
        self,
        name: str,
        server: Server[Any],
        reading: Server[Any],
        sessions: Sessions,
        streams: Streams,
        bodies: Bodies,
    ) -> None:
        self._name = name
        self._server = server
        self._reading = reading
        self._sessions = sessions
        self._streams = streams
        self._bodies = bodies
        self._running: dict[tuple[str, str | int], tuple[asyncio.Task[Any], list[bool]]] = {}
        self.unsent = 0  # bytes of large answers

    async def serve(self, request: Request, answer: Answer) -> Sequence[Caller]:
        """Answer the request, and return who called which tool, for a POST. Raises `Refused` or `Disconnected`."""
        version = request.headers.only(_VERSION)
        modern = _VERSION in request.headers and version not in HANDSHAKE_PROTOCOL_VERSIONS
        if request.method == "POST":
            return await self._post(request, answer, modern)
        if modern:
            raise Refused(405, "Method Not Allowed", {"allow": "POST"})
        if request.method not in ("GET", "DELETE"):
            raise Refused(405, "Method Not Allowed", {"allow": "GET, POST, DELETE"})
        if _SESSION not in request.headers:
            raise Refused(400, "A session is needed: initialize first, with POST")
        session, found = self._session(request)
        if request.method == "DELETE":
            self._sessions.end(session)
            self._streams.end(session)
            await answer.whole(200, [], {})
            return ()
        if not _accepts(request, _STREAM):
            raise Refused(406, f"A GET is answered with {_STREAM}")
        request.scope["state"]["is_stream"] = True
        with self._streams.place(request.token):
            await self._streams.serve(answer, session, request.token, is_ours=found)
        return ()

    def _session(self, request: Request) -> tuple[str, bool]:
        given = request.headers.only(_SESSION)
        found = self._sessions.check(given, request.holder, self._name)
        if found is None:
            raise Refused(404, "Session not found")
        return given, found.is_ours

    async def _post(self, request: Request, answer: Answer, modern: bool) -> Sequence[Caller]:
        if not (_accepts(request, _JSON) or _accepts(request, _STREAM)):
            raise Refused(406, f"Accept {_JSON} or {_STREAM}")
        kind = request.headers.joined("content-type").partition(";")[0].strip().lower()
        if kind not in ("", _JSON):
            raise Refused(415, f"Content-Type must be {_JSON}")
        if request.headers.joined("content-encoding").lower() not in ("", "identity"):
            raise Refused(415, "Send the body uncompressed", {"accept-encoding": "identity"})
        body, share = await self._bodies.read(request.headers, request.receive)
        try:
            if not modern and body.lstrip().startswith(b"["):
                return await self._batch(request, body, answer)
            message = parse(body)
            if message is None and not body.strip():
                raise Malformed(t.PARSE_ERROR, "Parse error: the body is empty")
            del body
            if isinstance(message, t.JSONRPCRequest):
                return (await (self._modern if modern else self._legacy)(request, message, answer),)
            if modern:
                self._check_modern_notification(request, message)
            elif isinstance(message, t.JSONRPCNotification):
                self._cancel(request, message)
        except Malformed as error:
            raise Refused(400, str(error), code=error.code, message_id=error.request_id) from None
        finally:
            self._bodies.give_back(share)
        await answer.whole(202, [], {})
        return ()

    # -- 2025 --------------------------------------------------------------------------------------------------------

    async def _legacy(self, request: Request, message: t.JSONRPCRequest, answer: Answer) -> Caller:
        session, version = None, request.headers.only(_VERSION) or t.DEFAULT_NEGOTIATED_VERSION
        if message.method != "initialize":
            session, version = self._agreed(request, message.id)
        one = Caller(request, session)
        reply = Reply(answer, message.id, stream=not _accepts(request, _JSON))
        if message.method == "initialize":
            connection = Connection.for_loop(_Dispatch(reply, message.id, one), protocol_version_hint=version)
        else:
            connection = Connection.from_envelope(version, None, None)
        response = await self._cancellable(one, reply, message, connection)
        if message.method == "initialize" and isinstance(response, t.JSONRPCResponse):
            begun = self._sessions.begin(request.holder, self._name, str(response.result["protocolVersion"]))
            answer.more_headers.append((_SESSION.encode(), begun.encode()))
        await self._send((one,), reply, encode(response), 200, message.id)
        return one

    def _agreed(self, request: Request, message_id: str | int | None) -> tuple[str | None, str]:
        """The session, if the client names one, and the revision that it speaks."""
        if _SESSION not in request.headers:
            return None, request.headers.only(_VERSION) or t.DEFAULT_NEGOTIATED_VERSION
        session = request.headers.only(_SESSION)
        found = self._sessions.check(session, request.holder, self._name)
        if found is None:
            raise Refused(404, "Session not found", message_id=message_id)
        return session, found.version or t.DEFAULT_NEGOTIATED_VERSION

    async def _batch(self, request: Request, body: bytes, answer: Answer) -> Sequence[Caller]:
        """Serve the messages of a batch one after the other; its answer is one array, once the last is served."""
        session, version = self._agreed(request, None)
        if version != _WITH_BATCHES:
            raise Malformed(t.INVALID_REQUEST, "Invalid Request: a batch is not part of this protocol")
        messages = parse_batch(body, _LONGEST_BATCH)
        reply = Reply(answer, "", stream=not _accepts(request, _JSON))
        callers: list[Caller] = []
        answers: list[bytes] = []
        held = 0  # bytes of the answers: they count as unsent from the moment they are there
        try:
            for number, message in enumerate(messages):
                if isinstance(message, t.JSONRPCNotification):
                    self._cancel(request, message)
                if not isinstance(message, (t.JSONRPCRequest, Malformed)):
                    continue
                if held > _LARGEST_BATCH and isinstance(message, t.JSONRPCRequest):
                    text = "The answers to this batch are too large; send this request by itself"
                    message = Malformed(t.INVALID_REQUEST, text, message.id)
                if isinstance(message, Malformed):
                    wrong = t.ErrorData(code=message.code, message=str(message))
                    chunks = encode(_error(message.request_id, wrong))
                else:
                    one = Caller(request, session)
                    callers.append(one)
                    try:
                        if number:  # the first one was counted as the request
                            request.begin_another()
                        connection = Connection.from_envelope(version, None, None)
                        chunks = encode(await self._cancellable(one, reply, message, connection))
                        self._expect_room(sum(map(len, chunks)), (one,), message.id)
                    except Refused as refused:  # the others may have changed the memory, so they have to be answered
                        one.failed = True
                        chunks = encode(_error(message.id, t.ErrorData(code=refused.code, message=str(refused))))
                answers.append(b"".join(chunks).rstrip(b"\n"))
                held += len(answers[-1])
                self.unsent += len(answers[-1])
        finally:
            self.unsent -= held
        if answers:
            await self._send(callers, reply, [b"[" + b",".join(answers) + b"]\n"], 200)
        else:
            await answer.whole(202, [], {})
        return callers

    async def _cancellable(
        self, one: Caller, reply: Reply, message: t.JSONRPCRequest, connection: Connection
    ) -> t.JSONRPCResponse | t.JSONRPCError:
        """The answer to a request; that of a cancelled one if a notification of the session cancels it."""
        key, stopped = (one.session or one.request.id, message.id), [False]
        task = asyncio.current_task()
        assert task is not None
        self._running[key] = task, stopped
        try:
            return await self._answer(one, reply, message, connection)
        except asyncio.CancelledError:
            if not stopped[0]:
                raise
            uncancel(task)
            return _error(message.id, t.ErrorData(code=_CANCELLED_2025, message="Request cancelled"))
        finally:
            if self._running.get(key, (None,))[0] is task:
                del self._running[key]

    def _cancel(self, request: Request, message: t.JSONRPCNotification) -> None:
        if _SESSION in request.headers:
            session, _ = self._session(request)
            wanted = (message.params or {}).get("requestId")
            if message.method == "notifications/cancelled" and isinstance(wanted, (int, str)):
                running = self._running.pop((session, wanted), None)
                if running is not None:
                    running[1][0] = True
                    running[0].cancel()

    # -- 2026 --------------------------------------------------------------------------------------------------------

    async def _modern(self, request: Request, message: t.JSONRPCRequest, answer: Answer) -> Caller:
        duplicated = find_duplicated_routing_header(iter(request.headers))
        if duplicated is not None:
            text = f"{duplicated} header appears more than once"
            raise Refused(400, text, code=t.HEADER_MISMATCH, message_id=message.id)
        body = {"method": message.method, "params": message.params}
        verdict = classify_inbound_request(body, headers=request.headers.as_dict())
        if isinstance(verdict, InboundLadderRejection):
            raise _rejected(verdict, message.id)
        listens = message.method == "subscriptions/listen"
        if listens and not _accepts(request, _STREAM):
            raise Refused(406, f"A subscription is answered with {_STREAM}", message_id=message.id)
        one = Caller(request, None)
        reply = Reply(answer, message.id, stream=not _accepts(request, _JSON), news=_accepts(request, _STREAM))
        request.scope["state"]["is_stream"] = listens
        place = self._streams.place(request.token) if listens else contextlib.nullcontext()
        connection = Connection.from_envelope(
            verdict.protocol_version, verdict.client_info, verdict.client_capabilities
        )
        task = asyncio.current_task()
        assert task is not None
        watching = asyncio.ensure_future(_cancel_when_gone(answer, task))
        reply.wait()
        try:
            with place:
                response = await self._answer(one, reply, message, connection)
        finally:
            reply.stop_waiting()
            watching.cancel()
        status = 200
        if isinstance(response, t.JSONRPCError):
            status = ERROR_CODE_HTTP_STATUS.get(response.error.code, 200)
        await self._send((one,), reply, encode(response), status, message.id)
        return one

    def _check_modern_notification(self, request: Request, message: object) -> None:
        if not isinstance(message, t.JSONRPCNotification):
            raise Refused(400, "The body must be one request or one notification")
        rejection = unsupported_protocol_version_rejection(request.headers.only(_VERSION))
        if rejection is not None:
            raise _rejected(rejection, None)

    # -- both --------------------------------------------------------------------------------------------------------

    async def _answer(
        self, one: Caller, reply: Reply, message: t.JSONRPCRequest, connection: Connection
    ) -> t.JSONRPCResponse | t.JSONRPCError:
        one.method, params = message.method, message.params
        if message.method == "tools/call" and params is not None:
            one.tool, one.arguments = params.get("name"), params.get("arguments")
        if self.unsent > _MOST_UNSENT and (one.tool == "read_graph" or message.method == "resources/read"):
            raise _unread(message.id)
        may_write = one.request.token is None or one.request.token.may_write
        server = self._server if may_write else self._reading
        dispatch = _Dispatch(reply, message.id, one)
        try:
            result = await serve_one(server, dispatch, message.method, params, connection=connection, lifespan_state={})
        except MCPError as error:
            one.failed = True
            return _error(message.id, error.error)
        except ValidationError:
            one.failed = True
            wrong = t.ErrorData(code=t.INVALID_PARAMS, message="Invalid request parameters", data="")
            return _error(message.id, wrong)
        return t.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)

    async def _send(
        self,
        callers: Sequence[Caller],
        reply: Reply,
        chunks: Sequence[bytes],
        status: int,
        message_id: str | int | None = None,
    ) -> None:
        size = sum(map(len, chunks))
        self._expect_room(size, callers, message_id)
        self.unsent += size
        try:
            await reply.finish(chunks, status)
        finally:
            self.unsent -= size

    def _expect_room(self, size: int, callers: Sequence[Caller], message_id: str | int | None) -> None:
        """`Refused` for a large answer, none of whose calls has written, while too much is unsent."""
        if size > PIECE and self.unsent > _MOST_UNSENT and not any(one.has_written for one in callers):
            for one in callers:
                one.failed = True
            raise _unread(message_id)


class _Dispatch:
    """The SDK's view of one request (`mcp.shared.dispatcher.DispatchContext`): it can be notified, but not asked."""

    can_send_request = False
    transport = TransportContext(kind="streamable-http", can_send_request=False)

    def __init__(self, reply: Reply, request_id: str | int, one: Caller) -> None:
        self._reply = reply
        self.request_id: t.RequestId | None = request_id
        self.message_metadata: MessageMetadata = ServerMessageMetadata(request_context=one)

    @property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        await self._reply.notify(method, params)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        return None


def _accepts(request: Request, wanted: str) -> bool:
    """Whether the Accept header accepts this kind; without one everything is accepted (RFC 9110, 12.5.1)."""
    kinds = {part.partition(";")[0].strip().lower() for part in request.headers.joined("accept").split(",")}
    return bool({wanted, wanted.partition("/")[0] + "/*", "*/*"} & kinds) or kinds == {""}


def _error(request_id: str | int | None, error: t.ErrorData) -> t.JSONRPCError:
    said = t.ErrorData(code=error.code, message=error.message)
    if error.data is not None:
        said.data = error.data
    return t.JSONRPCError(jsonrpc="2.0", id=request_id, error=said)


def _unread(request_id: str | int | None) -> Refused:
    text = "Too many large answers are waiting to be read; try again"
    return Refused(503, text, {"retry-after": "5"}, message_id=request_id)


def _rejected(rejection: InboundLadderRejection, request_id: str | int | None) -> Refused:
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, 400)
    return Refused(status, rejection.message, code=rejection.code, data=rejection.data, message_id=request_id)


async def _cancel_when_gone(answer: Answer, task: asyncio.Task[Any]) -> None:
    await answer.gone()
    task.cancel()
