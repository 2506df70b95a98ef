"""Earlier states of a memory, for the timeline of its pages.

The list of states is that of the history, and costs a look at its folder; a state is a whole file, which is read when
somebody goes there. Files of the history never change, so the last two that were read are kept. A state is named by its
time and looked for in the list: no part of a request becomes part of a path. Nothing here changes anything.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from memory_app.errors import GraphError
from memory_app.graph.graph import Graph
from memory_app.storage import history
from memory_app.tools import plans

_KEPT: Final = 2  # states: two are compared
NOW: Final = "now"


class Past(NamedTuple):
    """How commands read the past: the graph of a file, None if it is no memory or cannot be read; what two graphs do
    not have in common, as JSON with `before` and `after`."""

    graph_at: Callable[[str], Graph | None]
    difference: Callable[[Graph, Graph], dict[str, Any]]


class Lookback:
    """The past of one memory file."""

    def __init__(self, path: str, past: Past) -> None:
        self._path = path
        self._past = past
        self._read: dict[str, Graph] = {}  # by the time, the one used last at the end
        self._one = asyncio.Lock()  # a large memory is not read many times at once

    async def changes(self) -> bytes:
        """The changes before which a state was kept, newest first, as JSON."""
        found = await asyncio.to_thread(self._generations)
        changes = [
            {"time": one.stamp, "at": one.milliseconds, "command": one.reason or None, "bytes": one.size}
            for one in found
        ]
        return json.dumps({"changes": changes}).encode()

    async def state(self, time: str) -> bytes:
        """The graph as it was before the change of that time, as JSON. GraphError if it is not kept."""
        graph = await self._graph(time, None)
        return b'{"graph":' + await asyncio.to_thread(plans.graph_json, graph) + b"}"

    async def difference(self, first: str, second: str, present: Graph) -> bytes:
        """What two states do not have in common, as JSON; each is a time or NOW. GraphError if one is not kept."""
        before, after = await self._graph(first, present), await self._graph(second, present)
        return await asyncio.to_thread(lambda: json.dumps(self._past.difference(before, after)).encode())

    async def _graph(self, time: str, present: Graph | None) -> Graph:
        if time == NOW and present is not None:
            return present
        async with self._one:
            graph = self._read.pop(time, None) or await asyncio.to_thread(self._load, time)
            if graph is None:
                raise GraphError("This state is not kept any more, or cannot be read.")
            self._read[time] = graph
            while len(self._read) > _KEPT:
                del self._read[next(iter(self._read))]
            return graph

    def _load(self, time: str) -> Graph | None:
        found = next((one for one in self._generations() if one.stamp == time), None)
        return None if found is None else self._past.graph_at(found.path)

    def _generations(self) -> list[history.Generation]:
        return history.generations(os.path.realpath(self._path))
