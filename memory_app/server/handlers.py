"""The SDK's `Server` with our handlers: tools, the resource and its updates, in both protocol eras.

`build_server` makes it for any transport; `server.stdio.run` serves it over stdin and stdout, `server.http.run` over
HTTP. The handlers hold no state: it is in the `Service`. No exception of a handler reaches the wire directly: `_Edge`
is the one place that catches everything.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

import mcp_types as t
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json

from memory_app import __version__
from memory_app.errors import GraphError, StoreError
from memory_app.server.completion import Guidance
from memory_app.server.service import Service
from memory_app.tools import table
from memory_app.tools.lenient import as_object
from memory_app.tools.plans import Answer
from memory_app.tools.schemas import instructions
from memory_app.tools.table import LISTED

NAME: Final = "memory-server"
TITLE: Final = "Memory"
RESOURCE_URI: Final = "memory://knowledge-graph"
RESOURCE_TYPE: Final = "application/json"

_MOST_LISTENING: Final = 1024  # as many as the SDK's own listen handler takes
_TOO_MANY: Final = "Subscription limit reached"
_NOT_FOUND_2025: Final = -32002  # the code for an unknown resource up to 2025-11-25, retired by 2026-07-28

Context = ServerRequestContext[Any, Any]
_T = TypeVar("_T")


class Subscriptions(Protocol):
    """The subscribers of the 2025 era. A transport with one client has one subscriber, HTTP has one for each
    session.
    """

    async def subscribe(self, ctx: Context) -> bool:
        """False if the limit of subscribers is reached."""

    def unsubscribe(self, ctx: Context) -> None: ...


def build_server(
    service: Service,
    report: Callable[[str], None],
    subscriptions: Subscriptions | None = None,
    offers: Callable[[str], bool] | None = None,
) -> Server[Any]:
    """The server, to be run by a transport. `offers` says which tools its clients get, by default all of the
    service's.
    """
    handlers = _Handlers(service, subscriptions or _OneClient(service), offers or service.offers)
    guidance = Guidance(service)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=instructions(None),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
        on_subscriptions_listen=handlers.listen,
        on_list_prompts=guidance.list_prompts,
        on_get_prompt=guidance.get_prompt,
        on_completion=guidance.complete,
    )

    async def discover(ctx: Context, params: t.RequestParams) -> t.DiscoverResult:
        found = server.get_capabilities(protocol_version=ctx.protocol_version)
        for part in (found.tools, found.resources, found.prompts):
            if part is not None:
                part.list_changed = False  # the SDK infers from `listen` that lists change; ours never do
        return t.DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=found,
            instructions=instructions(await service.size()),
        )

    server.add_request_handler("server/discover", t.RequestParams, discover)
    server.middleware[:] = [_Edge(server, service, report)]  # instead of the SDK's tracing, which nobody uses here
    return server


async def call_tool(
    service: Service,
    name: str,
    arguments: object,
    shape: Callable[[Answer], _T],
    offers: Callable[[str], bool] | None = None,
) -> _T:
    """`service.call`, with the protocol's error for an unknown tool."""
    try:
        if offers is not None and not offers(name):
            raise table.UnknownTool(name)
        return await service.call(name, arguments, shape)
    except table.UnknownTool:
        near = table.nearest(name, filter(offers or service.offers, table.TOOLS))
        hint = f"Did you mean {near}?"
        if name in table.TOOLS:
            hint = "This token may only read" if service.offers(name) else "This server is read-only"
        raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {name}. {hint}") from None


async def read_resource(service: Service, ctx: Context, uri: str, shape: Callable[[bytes], _T]) -> _T:
    """`service.resource`, with the protocol's errors."""
    _expect_ours(ctx, uri)
    try:
        return await service.resource(shape)
    except (GraphError, StoreError) as error:
        raise MCPError(t.INTERNAL_ERROR, service.text_of(error), {"uri": uri}) from None


def _expect_ours(ctx: Context, uri: str) -> None:
    if uri != RESOURCE_URI:
        code = t.INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND_2025
        raise MCPError(code, f"Resource not found: {uri}", {"uri": uri})


class _OneClient:
    """The subscription of a transport with one client."""

    def __init__(self, service: Service) -> None:
        self._updates = service.updates

    async def subscribe(self, ctx: Context) -> bool:
        session = ctx.session
        return await self._updates.subscribe(None, lambda: session.send_resource_updated(RESOURCE_URI))

    def unsubscribe(self, ctx: Context) -> None:
        self._updates.unsubscribe(None)


class _Handlers:
    def __init__(self, service: Service, subscriptions: Subscriptions, offers: Callable[[str], bool]) -> None:
        self._service = service
        self._subscriptions = subscriptions
        self._offers = offers
        self._listening = 0

    async def list_tools(self, ctx: Context, params: object) -> t.ListToolsResult:
        return t.ListToolsResult(
            tools=[t.Tool.model_validate(tool, by_name=False) for tool in LISTED if self._offers(tool["name"])]
        )

    async def call_tool(self, ctx: Context, params: t.CallToolRequestParams) -> t.CallToolResult:
        content, structured, is_error = await call_tool(
            self._service, params.name, params.arguments, _parts, self._offers
        )
        return t.CallToolResult(
            content=[t.TextContent(type="text", text=text) for text in content],
            structured_content=structured,
            is_error=is_error,
        )

    async def list_resources(self, ctx: Context, params: object) -> t.ListResourcesResult:
        graph = t.Resource(
            uri=RESOURCE_URI,
            name="knowledge-graph",
            title="Knowledge Graph",
            description="Everything that is stored, as read_graph returns it.",
            mime_type=RESOURCE_TYPE,
        )
        return t.ListResourcesResult(resources=[graph])

    async def list_resource_templates(self, ctx: Context, params: object) -> t.ListResourceTemplatesResult:
        """An empty list. Clients ask for it wherever there are resources, and some take an error for a broken
        server.
        """
        return t.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(self, ctx: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        text = await read_resource(self._service, ctx, str(params.uri), lambda content: content.decode())
        return t.ReadResourceResult(
            contents=[t.TextResourceContents(uri=RESOURCE_URI, mime_type=RESOURCE_TYPE, text=text)]
        )

    async def subscribe(self, ctx: Context, params: t.SubscribeRequestParams) -> t.EmptyResult:
        """2025: one subscription for a connection, until it unsubscribes or ends."""
        _expect_ours(ctx, str(params.uri))
        if not await self._subscriptions.subscribe(ctx):
            raise MCPError(t.INTERNAL_ERROR, _TOO_MANY)
        return t.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        _expect_ours(ctx, str(params.uri))
        self._subscriptions.unsubscribe(ctx)
        return t.EmptyResult()

    async def listen(self, ctx: Context, params: t.SubscriptionsListenRequestParams) -> t.SubscriptionsListenResult:
        """2026: a stream of updates that ends when the client cancels the request, or with the server.

        It acknowledges only what will be delivered; the SDK's own handler would also promise changes of lists.
        """
        updates, key, acknowledged = self._service.updates, object(), asyncio.Event()
        if self._listening >= _MOST_LISTENING:
            raise MCPError(t.INTERNAL_ERROR, _TOO_MANY)
        self._listening += 1  # before the first wait: many may arrive at once
        meta: Any = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        ours = RESOURCE_URI in (params.notifications.resource_subscriptions or ())

        async def tell() -> None:
            await acknowledged.wait()  # which goes out first
            updated = t.ResourceUpdatedNotificationParams(uri=RESOURCE_URI, _meta=meta)
            await ctx.session.send_notification(
                t.ResourceUpdatedNotification(params=updated), related_request_id=ctx.request_id
            )

        try:
            if ours and not await updates.subscribe(key, tell):
                raise MCPError(t.INTERNAL_ERROR, _TOO_MANY)
            honored = t.SubscriptionFilter(resource_subscriptions=[RESOURCE_URI] if ours else None)
            told = t.SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
            await ctx.session.send_notification(
                t.SubscriptionsAcknowledgedNotification(params=told), related_request_id=ctx.request_id
            )
            acknowledged.set()
            await updates.closed.wait()
        finally:
            self._listening -= 1
            updates.unsubscribe(key)
        return t.SubscriptionsListenResult(_meta=meta)


def _with_arguments(ctx: Context) -> Context:
    """The request with its arguments as an object. Models also send them as text, and clients pass that on."""
    params = ctx.params or {}
    name, arguments = params.get("name"), params.get("arguments")
    if type(arguments) is dict and type(name) is str:
        return ctx
    if not isinstance(name, str):
        raise MCPError(t.INVALID_PARAMS, 'Invalid request parameters: "name" must be a string, the name of a tool')
    if arguments is None or isinstance(arguments, dict):
        return ctx
    return replace(ctx, params={**params, "arguments": as_object(name, arguments)})


def _failure(kind: str, tool: object) -> str:
    """What a model is told about an error of ours or of the machine."""
    what = "there is not enough memory" if kind == MemoryError.__name__ else kind
    if isinstance(tool, str) and tool in table.TOOLS and table.TOOLS[tool].reads:
        return f"The memory server failed ({what}). Nothing was changed. Ask for less, or try again."
    return f"The memory server failed ({what}). Read before you try again: the change may have been stored."


def _parts(answer: Answer) -> tuple[list[str], Any, bool]:
    """An answer as texts, structured content, and whether it is an error."""
    structured = None if answer.structured is None else from_json(answer.structured)
    text = (answer.structured or b"").decode() if answer.text is None else answer.text
    return [text, *answer.more], structured, answer.is_error


class _Edge:
    """The outermost middleware: no exception of ours reaches the client; stderr gets a line without user facts."""

    def __init__(self, server: Server[Any], service: Service, report: Callable[[str], None]) -> None:
        self._server = server
        self._service = service
        self._report = report

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        try:
            if ctx.method == "tools/call" and ctx.request_id is not None:
                return await call_next(_with_arguments(ctx))
            done = await call_next(ctx)
            if ctx.method == "initialize" and isinstance(done, dict):
                done["instructions"] = instructions(await self._service.size())
            return done
        except (MCPError, ValidationError):
            raise
        except Exception as error:  # noqa: BLE001 (the edge)
            kind = type(error).__name__
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._report(f"{ctx.method} failed: {kind} at {place.name}, line {place.lineno}")
            if ctx.method != "tools/call":
                raise MCPError(t.INTERNAL_ERROR, f"Internal error ({kind})") from None
            text = _failure(kind, (ctx.params or {}).get("name"))
            result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
            if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                result["resultType"] = "complete"
                result["_meta"] = {t.SERVER_INFO_META_KEY: self._server.server_info_stamp}
            return result
