"""Whether the loaded graph is still the file's: one stat for each call, on a thread of its own.

A stat takes microseconds, and for ever on a file system that does not answer (a dead network mount). So the event loop
never makes one. It hands the question to the thread and waits for it for two milliseconds at most, which is cheaper
than a turn of the loop; what takes longer it awaits, with a bound, while it serves others.

The thread is a daemon: one that hangs in the kernel ends with the process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from memory_app.errors import StoreError
from memory_app.graph.graph import Graph

_BRIEF_SECONDS: Final = 0.002
"""The loop stands still that long at most, and only for the first stat of a file system that has become slow."""

_STAT_SECONDS: Final = 30.0
"""Then the call gets an error; a mount that comes back answers the next one."""

_NO_ANSWER: Final = "The file system of the memory file does not answer. Try again later."


class _Question:
    """One stat that was asked for, and its answer."""

    __slots__ = ("answered", "future", "graph")

    def __init__(self) -> None:
        self.answered = threading.Lock()
        self.answered.acquire()
        self.future: asyncio.Future[None] | None = None  # set by the loop once it awaits
        self.graph: Graph | None = None


class Freshness:
    """Asks `peek` on its thread; all methods are called on the loop's thread."""

    def __init__(self, peek: Callable[[], Graph | None]) -> None:
        self._peek = peek
        self._questions: SimpleQueue[_Question] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._unanswered = 0

    async def peek(self) -> Graph | None:
        """The current graph if the file is still the one that was loaded when this was called, or later.

        None too if no thread can be had: the load that follows says so. Raises `StoreError` after thirty seconds.
        """
        if self._thread is None and not self._start():
            return None
        question = _Question()
        self._questions.put(question)
        if not self._unanswered and question.answered.acquire(timeout=_BRIEF_SECONDS):
            return question.graph
        return await self._wait_for(question)

    async def _wait_for(self, question: _Question) -> Graph | None:
        self._unanswered += 1
        loop = asyncio.get_running_loop()
        question.future = loop.create_future()
        try:
            until = loop.time() + _STAT_SECONDS
            while not question.answered.acquire(blocking=False):
                if loop.time() >= until:
                    raise StoreError(_NO_ANSWER)
                # The answer may have come right before the future was set: look again soon, then rarely.
                await asyncio.wait([question.future], timeout=0.05)
            return question.graph
        finally:
            self._unanswered -= 1

    def _start(self) -> bool:
        thread = threading.Thread(target=self._answer, args=(asyncio.get_running_loop(),), daemon=True, name="stat")
        try:
            thread.start()
        except RuntimeError:  # too many threads on this system
            return False
        self._thread = thread
        return True

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            question = self._questions.get()
            question.graph = self._peek()
            question.answered.release()
            if question.future is not None:
                try:
                    loop.call_soon_threadsafe(_settle, question.future)
                except RuntimeError:  # the loop is closed: the process is about to end
                    return


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
