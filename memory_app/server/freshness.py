"""Freshness: whether the loaded graph is still that of the file, at the cost of one stat per call.

On a local disk a stat takes microseconds and is made at once. Any other file system may not answer for minutes (a dead
network mount, a stopped FUSE program). There the event loop passes the stat to a thread and waits for at most two
milliseconds; if it takes longer, the loop serves others and awaits the result, with a bound. A round trip to the thread
costs a fifth of a small call, which is why local disks do not use it. A local disk that was slow once is no longer
trusted.

The thread is a daemon: one that hangs in the kernel ends with the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from memory_app.errors import StoreError
from memory_app.graph.graph import Graph

_BRIEF_SECONDS: Final = 0.002
"""The loop stands still that long at most, and only for the first stat of a file system that has become slow."""

_SLOW_SECONDS: Final = 0.05
"""A local disk that once took so long for a stat is treated as one that may not answer."""

_LOOK_SECONDS: Final = 0.005
"""Between two looks at an answer that takes long: such a file system needs milliseconds for a stat anyway."""

_STAT_SECONDS: Final = 30.0
"""Then the call gets an error; a mount that comes back answers the next one."""

NO_ANSWER: Final = "The file system of the memory file does not answer. Try again later."


class _Question:
    """One requested stat and its answer."""

    __slots__ = ("answered", "graph")

    def __init__(self) -> None:
        self.answered = threading.Lock()
        self.answered.acquire()
        self.graph: Graph | None = None


class Freshness:
    """Calls `peek`. Its methods are called on the loop's thread. `is_local` may be set from any thread, after a
    load.
    """

    def __init__(self, peek: Callable[[], Graph | None]) -> None:
        self.is_local = False
        self._peek = peek
        self._was_slow = False
        self._questions: SimpleQueue[_Question] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._unanswered = 0

    async def peek(self) -> Graph | None:
        """The current graph if the file is still the one that was loaded, at the time of the call or later.

        None also if no thread can be started or the stat fails; the load that follows reports that. StoreError after
        thirty seconds.
        """
        if self.is_local and not self._was_slow:
            start = time.monotonic()
            graph = self._peek()
            self._was_slow = time.monotonic() - start > _SLOW_SECONDS
            return graph
        if self._thread is None and not self._start():
            return None
        question = _Question()
        self._questions.put(question)
        if self._unanswered or not question.answered.acquire(timeout=_BRIEF_SECONDS):
            await self._wait_for(question)
        return question.graph

    async def _wait_for(self, question: _Question) -> None:
        self._unanswered += 1
        until = time.monotonic() + _STAT_SECONDS
        try:
            while not question.answered.acquire(blocking=False):
                if time.monotonic() >= until:
                    raise StoreError(NO_ANSWER)
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            self._unanswered -= 1

    def _start(self) -> bool:
        thread = threading.Thread(target=self._answer, daemon=True, name="stat")
        try:
            thread.start()
        except RuntimeError:  # too many threads on this system
            return False
        self._thread = thread
        return True

    def _answer(self) -> None:
        while True:
            question = self._questions.get()
            with contextlib.suppress(Exception):  # the edge of this thread; the load that follows reports the error
                question.graph = self._peek()
            question.answered.release()
