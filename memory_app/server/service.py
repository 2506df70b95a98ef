"""The store for the event loop: tool calls, the resource, updates, shutdown.

Rules:
- Nothing here waits on the loop for a file system that may not answer, not even for a stat (see `freshness`). Every
  wait of a call has a bound, and the error text says what is known about the change.
- Long work runs in a worker thread; small reads of a loaded graph run at once.
- Calls that need the same load share it, and large answers are made one at a time, so that waiting work never piles up.
- A call that was cancelled before the store took its change writes nothing.
Knows nothing of the protocol: a transport turns `Answer` into its own form.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from memory_app.disk import mounts
from memory_app.errors import GraphError, StoreError
from memory_app.graph.graph import Graph
from memory_app.location.environment import history_days
from memory_app.server import lifetime
from memory_app.server.collector import Collector
from memory_app.server.freshness import NO_ANSWER, Freshness
from memory_app.server.updates import Updates
from memory_app.storage.store import Store
from memory_app.tools import plans, table
from memory_app.tools.plans import Answer

_T = TypeVar("_T")

_SIZE_SECONDS: Final = 0.05  # for the word on the memory's size: no client waits longer for a handshake because of it
_LARGE: Final = 1000  # entities: a millisecond or so for each pass over all of them
_THREADS: Final = 4  # a load, a large answer, a look at the file, one to spare
_LOAD_SECONDS: Final = 60.0
"""A call waits for a load at most that long; a million entities take five. The load itself goes on."""

_WRITE_SECONDS: Final = 120.0
"""A call waits for its save at most that long: twice what it may wait for the lock, so a disk is the reason."""

_WHOLE: Final = frozenset({"read_graph"})
"""Tools whose answer is the whole graph: made one at a time, and never in the way of a search."""

_QUICK_SECONDS: Final = 0.003
"""A search that takes less is made on the loop; a hop to a thread makes it wait three times longer under load."""

_STOPPING: Final = "The memory server is stopping and could not get the lock. Nothing was stored."
_UNKNOWN: Final = (
    "The file system of the memory file does not answer. The change may still be stored: read before you try again."
)
_NO_THREAD: Final = (
    "The system gives the memory server no thread to read with (too little memory, or a limit on processes). "
    "Try again later, or raise the limit."
)


def opening(path: str, report: Callable[[str], None]) -> Callable[[Callable[[], None]], Store]:
    """The opener of a memory's store for `Service`, with the steps that a serving process takes around a load."""
    days = history_days(os.environ, sys.platform)
    return lambda on_save: Store(path, report, on_save=on_save, loader=Collector().load, history_days=days)


class Service:
    """One per memory, made on the loop that it serves. Its `store` is closed with it."""

    def __init__(
        self,
        open_store: Callable[[Callable[[], None]], Store],
        *,
        read_only: bool = False,
        drain: Callable[[], Awaitable[None]] | None = None,
        text_of: Callable[[GraphError | StoreError], str] = str,
    ) -> None:
        """`open_store` makes the store, which must call its argument after each save. `drain` waits while the client
        leaves too much unread. `text_of` is what a client is told about an error.
        """
        self.text_of = text_of
        self._drain = drain or _nothing_queued
        self._read_only = read_only
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="work")
        self._jobs: set[Future[Any]] = set()
        self._loading: asyncio.Future[Graph] | None = None
        self._large = asyncio.Lock()
        self._together = _Together(self._in_thread)
        self._took = float("inf")  # seconds of work of the last search of a large graph; the first one folds its texts
        self._waiting: set[Future[Any]] = set()
        self._given_up: set[Future[Any]] = set()
        self._answered = 0  # writes that are no longer waited for
        self._grace: asyncio.TimerHandle | None = None
        self._save_until = 0.0  # in the loop's time, once the end has come
        self._loop = asyncio.get_running_loop()
        self.store = open_store(self._saved)
        self._freshness = Freshness(self.store.peek)
        self.updates = Updates(lambda: self._in_thread(self.store.check))

    def offers(self, tool: str) -> bool:
        """Whether this server has the tool. A read-only server has only the three reading ones."""
        return not self._read_only or table.reads(tool)

    async def call(self, name: str, arguments: object, shape: Callable[[Answer], _T]) -> _T:
        """Call a tool and return its answer in the transport's form. `shape` may run in a thread.

        A mistake of the caller and trouble with the file are answers with `is_error`. Raises `table.UnknownTool`.
        Returns after every subscriber was told of the change.
        """
        if not self.offers(name):
            raise table.UnknownTool(name)
        try:
            plan = table.plan(name, arguments)
            if isinstance(plan, plans.Write):
                answer = await self._write(plan.apply)
            else:
                graph = await self.graph()
                if plan.heavy(graph):
                    if name in _WHOLE:
                        async with self._large:
                            await self._drain()
                            return await self._in_thread(lambda: shape(plan.run(graph)))
                    await self._drain()
                    if self._took > _QUICK_SECONDS or not graph.word_index:  # which this search may have to make
                        return await self._together.run(lambda: self._timed(lambda: shape(plan.run(graph))))
                    return self._timed(lambda: shape(plan.run(graph)))
                await self._drain()
                answer = plan.run(graph)
        except (GraphError, StoreError) as error:
            answer = Answer(None, self.text_of(error), (), is_error=True)
        return shape(answer)

    def _saved(self) -> None:
        """Called in the writer's thread."""
        if len(self.updates):  # to wake the loop once more costs a tenth of a small write
            _from_thread(self._loop, self.updates.saved)

    def _timed(self, work: Callable[[], _T]) -> _T:
        began = time.thread_time()
        try:
            return work()
        finally:
            self._took = time.thread_time() - began

    async def change(self, apply: Callable[[Graph], tuple[Graph, _T]], command: str) -> _T:
        """Have the store apply a change that is no tool's, and wait until it is saved.

        `command` names it in the history. Raises what `apply` raises, and `StoreError`. Returns after every subscriber
        was told.
        """
        return await self._write(apply, command)

    async def resource(self, shape: Callable[[bytes], _T]) -> _T:
        """The whole graph as JSON, in the transport's form; `shape` runs in a thread. Raises `StoreError`."""
        graph = await self.graph()
        async with self._large:
            await self._drain()
            return await self._in_thread(lambda: shape(plans.graph_json(graph)))

    async def look(self, at: Callable[[Graph], _T]) -> _T:
        """The result of `at` for the graph; for a large graph it runs in a thread. Raises `StoreError`."""
        graph = await self.graph()
        if len(graph.entities) < _LARGE:
            return at(graph)
        async with self._large:
            return await self._in_thread(lambda: at(graph))

    async def size(self) -> int | None:
        """The size of the memory file in bytes, from one stat in a thread. None if that takes too long, or fails."""
        looking = asyncio.ensure_future(self._in_thread(self.store.size))
        done, _ = await asyncio.wait([looking], timeout=_SIZE_SECONDS)
        looking.add_done_callback(lambda one: one.cancelled() or one.exception())  # nobody else may be left to ask
        return None if not done or looking.exception() is not None else looking.result()

    async def graph(self) -> Graph:
        """The graph as the file has it now, or had it at some time since the call. Raises `StoreError`."""
        graph = await self._freshness.peek()
        if graph is not None:
            return graph
        if (loading := self._loading) is not None:
            await _bounded(loading)  # began before this call: may have read an older file
            graph = await self._freshness.peek()
            if graph is not None:
                return graph
        if self._loading is None or self._loading is loading:
            self._loading = asyncio.ensure_future(self._in_thread(self._load))
            self._loading.add_done_callback(self._loaded)
        loading = self._loading
        try:
            await _bounded(loading)
            return loading.result()
        finally:
            del loading  # as in `_write`

    async def expect_usable(self) -> None:
        """Raises `StoreError` or `GraphError` unless the memory can be read and, where that is offered, written."""
        await self.graph()
        if not self._read_only:
            await self._in_thread(self.store.expect_writable)

    def _load(self) -> Graph:
        """The current graph. Runs in a thread."""
        graph = self.store.graph()
        self._freshness.is_local = mounts.is_local(self.store.path)
        return graph

    def _loaded(self, loading: asyncio.Future[Graph]) -> None:
        if self._loading is loading:
            self._loading = None
        self.updates.count_foreign(self.store.foreign_changes)
        if not loading.cancelled():
            loading.exception()  # whoever waits for it gets it; nobody may be left

    async def _write(self, apply: Callable[[Graph], tuple[Graph, _T]], command: str = "") -> _T:
        future = self.store.submit(apply, command)
        self._waiting.add(future)
        saving = asyncio.wrap_future(future)
        try:
            await asyncio.wait([saving], timeout=_WRITE_SECONDS)
            if not saving.done():
                raise StoreError(NO_ANSWER if future.cancel() else _UNKNOWN)
            result = saving.result()
        except asyncio.CancelledError:
            future.cancel()  # if the writer has not taken it; at once, before anything later is answered
            saving.cancel()
            if future not in self._given_up:
                raise
            raise StoreError(_STOPPING) from None
        finally:
            self._answered += 1
            self._waiting.discard(future)
            self._given_up.discard(future)
            del future, saving  # their error holds this frame: a cycle, which would keep the graph
        self.updates.count_foreign(self.store.foreign_changes)
        await self.updates.flush()
        return result

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            job = self._threads.submit(work)
        except RuntimeError as error:
            raise StoreError(_NO_THREAD) from error
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        try:
            return await asyncio.wrap_future(job)
        finally:
            del job  # as in `_write`

    def stop(self) -> None:
        """Begin the shutdown: subscriptions end, and calls that wait for the lock wait for one second at most.

        Calls that wait for the load or for a save are served.
        """
        if self._grace is None:
            self._save_until = asyncio.get_running_loop().time() + lifetime.SAVE_SECONDS
            self.updates.close()
            self._wait_on()

    def _wait_on(self) -> None:
        self._grace = asyncio.get_running_loop().call_later(
            lifetime.LOCK_GRACE_SECONDS, self._check_progress, self._answered
        )

    def _check_progress(self, answered: int) -> None:
        """Calls that wait for others, which are being saved or just were, wait in their turn: not for the lock."""
        if self._answered == answered and self.store.waits():
            self._give_up()
        self._wait_on()

    def _give_up(self) -> None:
        for future in list(self._waiting):
            self._given_up.add(future)
            if not future.cancel():  # taken: its save has started
                self._given_up.discard(future)

    async def close(self) -> bool:
        """Finish a started save and close the store. False if a thread is stuck, so that only `os._exit` can help."""
        self.stop()
        self._give_up()
        if self._grace is not None:
            self._grace.cancel()
        closing = asyncio.ensure_future(self._in_thread(self.store.close))
        left = self._save_until - asyncio.get_running_loop().time()
        await asyncio.wait([closing], timeout=max(left, lifetime.LEAST_SAVE_SECONDS))
        self._threads.shutdown(wait=False)
        return not self._jobs


class _Together:
    """Runs short work in a thread, all waiting pieces at once.

    While the loop is busy, a round trip to a thread costs a switch interval (5 ms) of waiting for the interpreter, many
    times what a search takes. So work that arrives during a round trip shares the next one; each piece is answered as
    soon as it is done.
    """

    def __init__(self, in_thread: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        self._in_thread = in_thread
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._running: asyncio.Task[None] | None = None

    async def run(self, work: Callable[[], _T]) -> _T:
        """What `work` returns or raises. If cancelled before it has begun, it does not run."""
        future: asyncio.Future[_T] = self._loop.create_future()
        self._waiting.append((work, future))
        if self._running is None:
            self._running = self._loop.create_task(self._run())
        return await future

    async def _run(self) -> None:
        taken: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        try:
            while self._waiting:
                taken, self._waiting = self._waiting, []
                await self._in_thread(lambda taken=taken: self._work(taken))  # type: ignore[misc]
        except StoreError as error:  # there is no thread
            for _, future in taken:
                _settle(future, None, error)
        finally:
            self._running = None

    def _work(self, taken: list[tuple[Callable[[], Any], asyncio.Future[Any]]]) -> None:
        """In the thread."""
        for work, future in taken:
            if future.cancelled():
                continue
            result, failure = None, None
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 (the edge of a call: its waiter gets it)
                failure = error
            _from_thread(self._loop, partial(_settle, future, result, failure))


def _settle(future: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    else:
        future.set_exception(failure)


async def _nothing_queued() -> None:
    return None


async def _bounded(loading: asyncio.Future[Graph]) -> None:
    """Wait until a load has ended, in whatever way. Raises `StoreError` after `_LOAD_SECONDS`; the load goes on."""
    done, _ = await asyncio.wait([loading], timeout=_LOAD_SECONDS)
    if not done:
        raise StoreError(NO_ANSWER)


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop is closed: nobody is left to be told
        pass
