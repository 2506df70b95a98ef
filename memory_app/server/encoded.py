"""Answers as finished bytes, for tools/call and resources/read; `messages.encode` splices them into the envelope.

The plain handlers of `handlers` give the same answers through the SDK's models, which read and write each answer
several times; a test compares the two. Protocol checks remain the SDK's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp_types import SERVER_INFO_META_KEY, methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from memory_app.server.handlers import RESOURCE_TYPE, RESOURCE_URI, Context, call_tool, read_resource
from memory_app.server.messages import finished
from memory_app.server.service import Service
from memory_app.text import without_lone_surrogates
from memory_app.tools.plans import Answer

MOST_UNREAD: Final = 64 << 20
"""Bytes that a client may leave unread: beyond this no answer is made before it took some of what it asked for."""

_PIECE: Final = 1 << 20  # bytes, which are quoted in a millisecond


class Finishing:
    """The innermost middleware: for one connection, or with `greeted` for requests that need no handshake.

    `offers` says whether a tool is offered. `told` is called with each answer of a tool.
    """

    def __init__(
        self,
        server: Server[Any],
        service: Service,
        *,
        greeted: bool = False,
        offers: Callable[[str], bool] | None = None,
        told: Callable[[Context, Answer], None] | None = None,
    ) -> None:
        self._service = service
        self._greeted = greeted  # requests before `initialize` are the SDK's to refuse
        self._offers = offers
        self._told = told
        self._stamp = b',"_meta":' + to_json({SERVER_INFO_META_KEY: server.server_info_stamp})

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if ctx.request_id is None or not (self._greeted or modern):
            result = await call_next(ctx)
            self._greeted = self._greeted or ctx.method in ("initialize", "notifications/initialized")
            return result
        if ctx.method not in ("tools/call", "resources/read"):
            return await call_next(ctx)
        params = ctx.params or {}
        if not _plain_call(params):
            methods.validate_client_request(ctx.method, ctx.protocol_version, params)
        if ctx.method == "tools/call":
            name, arguments = params["name"], params.get("arguments")

            def shape(answer: Answer) -> Sequence[bytes]:
                if self._told is not None:
                    self._told(ctx, answer)
                return tool_result(answer, modern, self._stamp)

            return finished(await call_tool(self._service, name, arguments, shape, self._offers))
        uri = params["uri"]
        return finished(await read_resource(self._service, ctx, uri, lambda j: resource_result(j, modern, self._stamp)))


def _plain_call(params: Mapping[str, Any]) -> bool:
    """Whether these are the params of a tools/call that must be valid, as most are."""
    return len(params) == 2 and type(params.get("name")) is str and type(params.get("arguments")) is dict


def tool_result(answer: Answer, modern: bool, stamp: bytes) -> Sequence[bytes]:
    """The JSON of a CallToolResult, in chunks; large parts are not copied."""
    structured = answer.structured
    first = _quoted(structured or b"{}") if answer.text is None else [_text(answer.text)]
    chunks = [b'{"content":[{"text":', *first, b',"type":"text"}']
    chunks += [b',{"text":%s,"type":"text"}' % _text(text) for text in answer.more]
    chunks.append(b'],"isError":true' if answer.is_error else b'],"isError":false')
    if modern:
        chunks.append(b',"resultType":"complete"')
    if structured is not None:
        chunks += [b',"structuredContent":', structured]
    chunks += [stamp, b"}"] if modern else [b"}"]
    return chunks


def resource_result(text: bytes, modern: bool, stamp: bytes) -> Sequence[bytes]:
    """The JSON of a ReadResourceResult that holds this JSON text, in chunks."""
    head = b'{"contents":[{"mimeType":%s,"uri":%s,"text":' % (to_json(RESOURCE_TYPE), to_json(RESOURCE_URI))
    tail = [b'}],"cacheScope":"private","resultType":"complete","ttlMs":0', stamp, b"}"] if modern else [b"}]}"]
    return [head, *_quoted(text), *tail]


def _quoted(json_text: bytes) -> Sequence[bytes]:
    """JSON without white space as a JSON string. It contains no control characters, so two replacements suffice.

    In pieces, because a replacement holds the interpreter lock: one over 20 MB would block the event loop for 50 ms.
    """
    pieces = range(0, len(json_text), _PIECE)
    quoted = [json_text[at : at + _PIECE].replace(b"\\", b"\\\\").replace(b'"', b'\\"') for at in pieces]
    return [b'"', *quoted, b'"']


def _text(text: str) -> bytes:
    try:
        return to_json(text)
    except ValueError:  # a lone surrogate
        return to_json(without_lone_surrogates(text))
