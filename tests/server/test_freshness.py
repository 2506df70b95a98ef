"""Freshness: what a call gets when the stat of the memory file fails."""

from __future__ import annotations

import asyncio

from memory_app.graph.graph import Graph
from memory_app.server.freshness import Freshness


def test_a_stat_that_fails_leaves_later_stats_their_answers() -> None:
    graph = Graph.empty()
    failures = [MemoryError()]

    def peek() -> Graph | None:
        if failures:
            raise failures.pop()
        return graph

    async def look_twice() -> tuple[Graph | None, Graph | None]:
        freshness = Freshness(peek)  # not told that the disk is local: a thread looks
        first = await asyncio.wait_for(freshness.peek(), 20)
        return first, await asyncio.wait_for(freshness.peek(), 20)

    assert asyncio.run(look_twice()) == (None, graph)
