"""Bytes in and out of the process, on every platform, without ever blocking the event loop.

Owns file descriptors 0 and 1. `claim` takes them away from everyone else, so that only protocol reaches the client:
prints to stdout go to stderr, and reads from stdin find nothing. There are two ways to work, with one interface:

| | reading | writing |
|---|---|---|
| where the loop can watch | `add_reader`, one `os.read` per wake-up | pieces that cannot block, then `add_writer` |
| Windows, regular files as stdin | one thread that reads | one thread that writes |

The descriptors stay in blocking mode: that flag belongs to the open pipe or terminal, which the parent shares.
Everything here is called on the loop's thread. This module does not know what the bytes mean.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

_READ_SIZE: Final = 1 << 18  # four times a Linux pipe's capacity: one system call takes all there is
_JOIN_BELOW: Final = 1 << 16  # copying chunks together is cheaper than one system call each, up to about here
_WRITE_TURN: Final = 1 << 20  # then other work gets its turn: about a millisecond
_SAFE_PIECE: Final = getattr(select, "PIPE_BUF", 512)  # a pipe that polls writable takes this much without blocking


def claim() -> tuple[int, int]:
    """Take stdin and stdout for the protocol, and return private descriptors for them.

    Afterwards descriptor 0 is the null device and 1 is stderr. If the process was started without one of them, the null
    device takes its place: no input, no reader. Its number may belong to some other file and is left alone.
    """
    source, sink = (_private(number, stream) for number, stream in enumerate((sys.__stdin__, sys.__stdout__)))
    null = os.open(os.devnull, os.O_RDWR)
    if sys.__stdin__ is not None:
        os.dup2(null, 0)
    if sys.__stdout__ is not None:
        os.dup2(null if sys.__stderr__ is None else 2, 1)
    os.close(null)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (source, sink):
            msvcrt.setmode(descriptor, os.O_BINARY)  # text mode would end lines in CR LF and stop at Ctrl-Z
    return source, sink


def _private(number: int, stream: object) -> int:
    return os.open(os.devnull, os.O_RDWR) if stream is None else os.dup(number)


def fill_standard() -> None:
    """Open the null device in place of closed standard descriptors, so that no file of ours gets their numbers and with
    them what is printed. Call it before any file is opened to stay open.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number: this one


class Input:
    """Passes each piece of input to `on_bytes` as it arrives, then b"" once at the end; both on the loop's thread.

    `pause` stops reading (the client then waits), `resume` continues; `stop` ends it for good without an end mark.
    """

    def __init__(self, source: int, on_bytes: Callable[[bytes], None]) -> None:
        self._source = source
        self._on_bytes = on_bytes
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._may_read = threading.Event()
        self._watched = self._watch()
        if not self._watched:
            self._may_read.set()
            threading.Thread(target=self._pump, name="stdin", daemon=True).start()

    def _watch(self) -> bool:
        mode = os.fstat(self._source).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(self._source)):
            return False  # epoll refuses regular files, kqueue takes them and never tells of their end
        try:
            self._loop.add_reader(self._source, self._readable)
        except (OSError, NotImplementedError):  # the Windows loop has no add_reader
            return False
        return True

    def _readable(self) -> None:
        self._take(_read(self._source))

    def _take(self, data: bytes) -> None:
        if not self._open:
            return
        if not data:
            self.stop()
        self._on_bytes(data)

    def _pump(self) -> None:
        data = b"-"
        while data:
            self._may_read.wait()
            data = _read(self._source)
            taken = threading.Event()
            try:
                self._loop.call_soon_threadsafe(self._hand_over, data, taken)
            except RuntimeError:  # the loop is closed: the process is about to end
                return
            taken.wait()  # so that a large file is not read ahead of what is processed

    def _hand_over(self, data: bytes, taken: threading.Event) -> None:
        self._take(data)
        taken.set()

    def pause(self) -> None:
        if self._watched and self._open:
            self._loop.remove_reader(self._source)
        self._may_read.clear()

    def resume(self) -> None:
        if self._watched and self._open:
            self._loop.add_reader(self._source, self._readable)
        self._may_read.set()

    def stop(self) -> None:
        if self._watched and self._open:
            self._loop.remove_reader(self._source)
        self._open = False


def _read(source: int) -> bytes:
    try:
        return os.read(source, _READ_SIZE)
    except OSError:  # a reset connection, a terminal that went away: no more input
        return b""


class Output(Protocol):
    """The sink for finished lines. `put` never blocks and keeps the order; large chunks are not copied.

    `queued` is the number of bytes that the client has not taken yet, `taken` the number that it has. When the client
    is gone, `on_gone` is called once and everything else is dropped silently; `abandon` treats it as gone.
    """

    queued: int
    taken: int

    def put(self, chunks: Sequence[bytes]) -> None: ...

    async def drain(self, below: int) -> None:
        """Wait until fewer than `below` bytes are queued, or the client is gone."""
        ...

    def abandon(self) -> None: ...


def open_output(sink: int, on_gone: Callable[[], None]) -> Output:
    """The kind of output that works on this platform for this descriptor."""
    return _WatchedOutput(sink, on_gone) if hasattr(select, "poll") else _ThreadedOutput(sink, on_gone)


class _Waiters(ABC):
    """What both kinds of output share: how much is queued, and who waits for which level."""

    def __init__(self, on_gone: Callable[[], None]) -> None:
        self.queued = 0
        self.taken = 0
        self._gone = False
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def put(self, chunks: Sequence[bytes]) -> None:
        if self._gone:
            return
        size = sum(map(len, chunks))
        self.queued += size
        self._enqueue([b"".join(chunks)] if size < _JOIN_BELOW else chunks)

    @abstractmethod
    def _enqueue(self, chunks: Sequence[bytes]) -> None:
        """Write the chunks, or keep them until they can be written."""

    async def drain(self, below: int) -> None:
        while self.queued >= below:
            waiter = (below, self._loop.create_future())
            self._waiting.append(waiter)
            try:
                await waiter[1]
            finally:
                self._waiting.remove(waiter)

    def _take(self, count: int) -> None:
        if not self._gone:
            self.queued -= count
            self.taken += count
            self._tell()

    def _tell(self) -> None:
        for below, future in self._waiting:
            if self.queued < below and not future.done():
                future.set_result(None)

    def abandon(self) -> None:
        if not self._gone:
            self._gone = True
            self.queued = 0
            self._tell()
            self._on_gone()


class _WatchedOutput(_Waiters):
    """Writes at once what cannot block, and the rest when the loop sees room."""

    def __init__(self, sink: int, on_gone: Callable[[], None]) -> None:
        super().__init__(on_gone)
        self._sink = sink
        self._pending: deque[memoryview] = deque()
        self._watching = False
        self._poll = select.poll()
        self._poll.register(sink, select.POLLOUT)

    def _enqueue(self, chunks: Sequence[bytes]) -> None:
        self._pending.extend(map(memoryview, chunks))
        if not self._watching:
            self._write()

    def _write(self) -> None:
        """Write one turn while the descriptor polls writable, which regular files and the null device always do."""
        count = written = 0
        try:
            while self._pending and written < _WRITE_TURN and self._poll.poll(0):
                piece = self._pending[0]
                count = os.write(self._sink, piece[:_SAFE_PIECE])
                written += count
                if count == len(piece):
                    self._pending.popleft()
                else:
                    self._pending[0] = piece[count:]
        except OSError:
            self.abandon()
        else:
            self._watch(bool(self._pending))
            self._take(written)

    def abandon(self) -> None:
        self._watch(False)
        self._pending.clear()
        super().abandon()

    def _watch(self, on: bool) -> None:
        if on and not self._watching:
            try:
                self._loop.add_writer(self._sink, self._write)
            except OSError:  # epoll refuses regular files, which never make anyone wait
                self._loop.call_soon(self._write)
                return
        elif self._watching and not on:
            self._loop.remove_writer(self._sink)
        self._watching = on


class _ThreadedOutput(_Waiters):
    """One thread that writes and may block; it dies with the process."""

    def __init__(self, sink: int, on_gone: Callable[[], None]) -> None:
        super().__init__(on_gone)
        self._sink = sink
        self._pending: deque[bytes] = deque()
        self._filled = threading.Semaphore(0)
        threading.Thread(target=self._drain, name="stdout", daemon=True).start()

    def _enqueue(self, chunks: Sequence[bytes]) -> None:
        for chunk in chunks:
            self._pending.append(chunk)
            self._filled.release()

    def _drain(self) -> None:
        with suppress(RuntimeError):  # from call_soon_threadsafe: the loop is closed, the process is about to end
            while self._filled.acquire():
                piece = memoryview(self._pending.popleft())
                try:
                    while piece:
                        count = os.write(self._sink, piece)
                        self._loop.call_soon_threadsafe(self._take, count)
                        piece = piece[count:]
                except OSError:
                    self._loop.call_soon_threadsafe(self.abandon)
                    return
