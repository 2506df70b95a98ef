"""A Python client across a restart of its server: `restarted.py KIND URL`. Runs in an environment of the client's own.

It calls, prints `called`, waits for a line, calls again and prints what it found. KIND is `legacy` or `auto` for the
SDK 2.x in that mode, `1` for the SDK 1.x, or `fastmcp`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

ANN: Final = {"entities": [{"name": "Ann", "entityType": "person", "observations": []}]}


async def connected(stack: AsyncExitStack, kind: str, url: str) -> Callable[[str, Any], Awaitable[Any]]:
    """A function that calls a tool and returns its structured content."""
    calling: Any
    if kind == "fastmcp":
        import fastmcp  # type: ignore[import-not-found]

        calling = (await stack.enter_async_context(fastmcp.Client(url))).call_tool
    elif kind == "1":
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined]

        reading, writing, _ = await stack.enter_async_context(streamablehttp_client(url))
        session = await stack.enter_async_context(ClientSession(reading, writing))
        await session.initialize()
        calling = session.call_tool
    else:
        from mcp import Client

        calling = (await stack.enter_async_context(Client(url, mode=kind))).call_tool

    async def call(tool: str, arguments: Any) -> Any:
        result = await calling(tool, arguments)
        return result.structuredContent if kind == "1" else result.structured_content

    return call


async def main(kind: str, url: str) -> None:
    async with AsyncExitStack() as stack:
        call = await connected(stack, kind, url)
        await call("create_entities", ANN)
        print("called", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(json.dumps(await call("read_graph", {})), flush=True)


asyncio.run(main(*sys.argv[1:]))
