"""The memory as pages see it: the current graph, each change since, edits, and undo.

The graph that a page gets belongs to a number; each later change has the next one and tells what differs. Changes by
other programs are noticed by the updates of the Service, edits go through its Store: one locked change each.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

from memory_app.errors import GraphError, StoreError
from memory_app.graph import queries, relevance, revisions
from memory_app.graph.graph import Graph
from memory_app.graph.revisions import Revision
from memory_app.server.http.edits import Edit
from memory_app.server.http.lookback import Lookback, Past
from memory_app.server.service import Service, opening
from memory_app.text import counted
from memory_app.tools import plans

_KEPT: Final = 50  # changes: as many as a person looks back over; history is for more
_LARGEST_TO_TAKE_BACK: Final = 20_000  # entities and relations; the records of a change stay in memory
_LARGEST_TOLD: Final = 2000  # entities and relations; a page is quicker to load the graph again
_ALIVE_SECONDS: Final = 10.0  # between two signs of life on a stream on which nothing happens


class Change(NamedTuple):
    """`revision` None: the change is too large to be kept."""

    number: int
    time: float
    label: str
    own: bool
    renamed: tuple[str, str] | None
    told: bytes
    revision: Revision | None


class Feed:
    """The changes of one memory. Made on the loop that it serves."""

    def __init__(self, path: str, report: Callable[[str], None], past: Past, *, read_only: bool) -> None:
        self.path = path
        self.lookback = Lookback(path, past)
        self._read_only = read_only
        self._service = Service(opening(path, report), read_only=read_only)
        self._graph: Graph | None = None
        self._number = 0
        self._changes: deque[Change] = deque(maxlen=_KEPT)
        self._edit: tuple[Graph, Edit] | None = None  # what an edit of ours made, until it is in the list
        self._news = asyncio.Event()
        self._one = asyncio.Lock()
        self._closed = False

    async def graph(self) -> bytes:
        """The graph and the changes so far, as JSON. StoreError if the memory cannot be read."""
        graph = await self._started()
        number, changes = self._number, [self._about(change) for change in self._changes]
        body = await asyncio.to_thread(plans.graph_json, graph)
        about = json.dumps({"number": number, "changes": changes, "path": self.path, "readOnly": self._read_only})
        return about[:-1].encode() + b',"graph":' + body + b"}"

    async def search(self, query: str) -> list[str]:
        """The names of the entities that search_nodes finds, best first. StoreError if the memory cannot be read."""
        graph = await self._started()

        def found() -> list[str]:
            matches, loose = queries.search(graph, query)
            return [line.name for line in (matches if loose else relevance.ranked(matches, query))]

        return await asyncio.to_thread(found)

    async def difference(self, first: str, second: str) -> bytes:
        """What two states do not have in common, each a time of the history or `now`. GraphError, StoreError."""
        return await self.lookback.difference(first, second, await self._started())

    async def changes(self, after: int) -> AsyncIterator[bytes]:
        """A line of JSON for each change after that number, without end; an empty line now and then is a sign of
        life.
        """
        await self._started()
        while not self._closed:
            news = self._news
            oldest = self._changes[0].number if self._changes else self._number + 1
            if after > self._number or after + 1 < oldest:
                yield b'{"reload":true}\n'
                return
            for change in list(self._changes):
                if change.number > after:
                    after = change.number
                    yield change.told + b"\n"
            if news is self._news:
                try:
                    await asyncio.wait_for(news.wait(), _ALIVE_SECONDS)
                except asyncio.TimeoutError:
                    yield b"\n"

    async def edit(self, edit: Edit) -> int:
        """Make one change, and return the number of the last change after it. GraphError, StoreError."""
        if self._read_only:
            raise GraphError("This page only shows the memory; it was opened with --read-only.")
        await self._started()

        def apply(graph: Graph) -> tuple[Graph, None]:
            after = edit.apply(graph)
            self._edit = (after, edit)
            return after, None

        await self._service.change(apply, edit.command)
        await self._changed()  # if a slow disk was quicker than the notification
        return self._number

    async def take_back(self, number: int) -> int:
        """Undo a change, whoever made it. GraphError if that would lose something later."""
        change = next((one for one in self._changes if one.number == number), None)
        if change is None or change.revision is None:
            raise GraphError("This change is too long ago, or too large, to be undone here.")
        revision = change.revision
        back = None if change.renamed is None else (change.renamed[1], change.renamed[0])
        return await self.edit(
            Edit("undo", f"Undone: {change.label}", lambda graph: revisions.take_back(graph, revision), back)
        )

    def stop(self) -> None:
        self._closed = True
        self._service.stop()
        self._wake()

    async def close(self) -> bool:
        """False if a thread is stuck, as for `Service.close`."""
        self.stop()
        return await self._service.close()

    async def _started(self) -> Graph:
        async with self._one:
            if self._graph is None:
                self._graph = await self._service.graph()
                await self._service.updates.subscribe(self, self._changed)
            return self._graph

    async def _changed(self) -> None:
        """The graph may differ from the last one that was sent."""
        async with self._one:
            try:
                graph = await self._service.graph()
            except StoreError:
                return  # whoever asks for the graph, or edits, is told; the next look may succeed
            before = self._graph
            if before is None or graph is before:
                return
            revision = await asyncio.to_thread(revisions.between, before, graph)
            self._graph = graph
            if not revision:
                return
            self._number += 1
            edit = self._edit[1] if self._edit is not None and self._edit[0] is graph else None
            self._edit = None
            kept = revision if revision.size <= _LARGEST_TO_TAKE_BACK else None
            label = describe(revision) if edit is None else edit.label
            renamed = None if edit is None else edit.renamed
            change = Change(self._number, time.time(), label, edit is not None, renamed, b"", kept)
            self._changes.append(change._replace(told=_told(self._about(change), revision)))
            self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _about(self, change: Change) -> dict[str, object]:
        undo = change.revision is not None and not self._read_only
        return {
            "number": change.number,
            "time": round(change.time * 1000),
            "label": change.label,
            "own": change.own,
            "renamed": change.renamed,
            "undo": undo,
        }


def describe(revision: Revision) -> str:
    """A revision in a few words."""
    added = [one.name for one in revision.entities if one.before is None]
    gone = [one.name for one in revision.entities if one.after is None]
    changed = [one.name for one in revision.entities if one.before is not None and one.after is not None]
    parts = [
        f"{verb} {_named(names)}"
        for verb, names in (("Added", added), ("Deleted", gone), ("Changed", changed))
        if names
    ]
    if revision.new:
        parts.append(f"{counted(len(revision.new), 'new relation')}")
    if revision.gone:
        parts.append(f"{counted(len(revision.gone), 'relation')} deleted")
    return "; ".join(parts)


def _named(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _told(about: dict[str, object], revision: Revision) -> bytes:
    """A change as it is sent to a page, in one line."""
    if revision.size > _LARGEST_TOLD:
        return json.dumps(about | {"reload": True}).encode()
    return json.dumps(about)[:-1].encode() + b"," + revisions.as_json(revision)[1:]
