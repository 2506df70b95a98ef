"""Every private name of the MCP SDK that the program relies on, each with its reason and the version it is bound to.

Rules: a name is used only with the versions in `CARRIED`, which are in the archive. With any other version the plain,
public way is used, which is slower or less convenient, as each function says. One test compares the names with the
installed SDK, so that a new version shows at once what must be checked.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import AsyncIterator
from typing import Any, Final

CARRIED: Final = {"mcp": "2.3.0", "mcp_types": "2.3.0", "pydantic": "2.14.4"}


def is_carried() -> bool:
    """Whether the SDK that would be imported is the one this module knows, judged by the folders of its
    distributions.
    """
    for package, version in CARRIED.items():
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            return False
        folder = os.path.dirname(os.path.dirname(spec.origin))
        if not os.path.isdir(os.path.join(folder, f"{package}-{version}.dist-info")):
            return False
    return True


def skip_relay() -> None:
    """Spare every message the way through a second stream. For a process that serves one client on stdio.

    The SDK must see the first request to know the connection's era. To look at it without taking it, the SDK passes
    everything through a stream of its own (`mcp.server.runner._replay_from_opening_request`). A stream of ours has
    `take_back` and gets the request back instead. Without this a small call takes a third longer than 0.45 of the npm
    server's (`make bench`). It stays in force for the life of the process.
    """
    from mcp.server import runner
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCRequest

    relayed = runner._replay_from_opening_request

    @contextlib.asynccontextmanager
    async def looked_at(read_stream: Any) -> AsyncIterator[tuple[JSONRPCRequest | None, Any]]:
        if not hasattr(read_stream, "take_back"):
            async with relayed(read_stream) as replayed:
                yield replayed
            return
        opening: JSONRPCRequest | None = None
        seen: list[Any] = []
        async for item in read_stream:
            if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
                opening = item.message
            elif len(seen) >= runner._PRE_REQUEST_REPLAY_LIMIT:
                continue
            seen.append(item)
            if opening is not None:
                break
        read_stream.take_back(seen)
        yield opening, read_stream

    runner._replay_from_opening_request = looked_at
