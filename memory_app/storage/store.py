"""The store: the current graph, and one writer that gathers waiting changes.

Reads take no lock: they get the graph of the current snapshot (see `snapshots`). A change is a pure function from one
graph to the next. One writer thread takes all changes that wait, in the order of their arrival, and under one lock
loads once, applies each and saves once; each still succeeds or fails by itself. If all of them change nothing there is
no lock and no save. A change whose future was cancelled before the writer took it does nothing; once taken it is
stored whole.

Threads: every method may be called from any; `peek` never waits.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple, TypeVar

from memory_app.errors import MemoryServerError, StoreError
from memory_app.graph.graph import Graph
from memory_app.lock.lock import WAIT, Lock, LockAbandoned
from memory_app.storage.history import DAYS
from memory_app.storage.pending import Call, answer, apply, refuse
from memory_app.storage.snapshots import Loader, Snapshots, load_plainly

T = TypeVar("T")

_NO_THREAD: Final = (
    "The system gives the memory server no thread to write with (too little memory, or a limit on processes); "
    "nothing was changed. Try again later, or raise the limit."
)
_STOPPING: Final = "The memory server is stopping; this change was not stored. Send it again to a new server."
_QUIET: Final = 0.25  # seconds without a call after which surplus generations go: nobody waits for that then
_MOST_UNTIDY: Final = 32  # turns after which they go in any case


class Figures(NamedTuple):
    """What a store has done so far, and the memory as it was loaded or saved last (0 and 0 before that)."""

    saves: int
    save_seconds: float
    lock_waits: int
    lock_wait_seconds: float
    foreign_changes: int
    entities: int
    file_bytes: int


def _nothing() -> None:
    return None


class Store:
    """The memory in the file at `path`. `report` gets each tolerated oddity of the file, once, as one line.

    `on_save` is called in the writer's thread after each save, before its answers. `loader` is called around each load.
    """

    def __init__(
        self,
        path: str,
        report: Callable[[str], None],
        *,
        on_save: Callable[[], None] = _nothing,
        loader: Loader = load_plainly,
        lock_wait: float = WAIT,
        history_days: int = DAYS,
    ) -> None:
        self.path = path
        self.saves, self._save_seconds = 0, 0.0
        self._on_save = on_save
        self._lock_wait = lock_wait
        self._snapshots = Snapshots(path, report, loader, history_days)
        self._file = self._snapshots.file
        self._lock = Lock(path)
        self._written = False  # whether the running transaction has stored something by now
        self._calls: list[Call] = []
        self._arrived = threading.Condition()
        self._writer: threading.Thread | None = None
        self._stop_at: float | None = None  # when calls that wait for the lock give up, once closing has begun

    @property
    def foreign_changes(self) -> int:
        """How many changes of the graph by other processes were noticed."""
        return self._snapshots.foreign_changes

    def peek(self) -> Graph | None:
        """The current graph if the file is still the one that was loaded, else None. Costs one stat."""
        return self._snapshots.peek()

    def graph(self) -> Graph:
        """The current graph. If the file has changed it is loaded, which takes time. StoreError if that fails."""
        return self._snapshots.current().graph

    def check(self) -> int:
        """Load the file if it has changed, and return how often other processes have changed the graph."""
        self.graph()
        return self.foreign_changes

    def size(self) -> int:
        """The size of the file in bytes, 0 if there is none. Costs one stat. StoreError if that fails."""
        signature = self._file.signature()
        return 0 if signature is None else signature.size

    def submit(self, change: Callable[[Graph], tuple[Graph, T]], reason: str = "") -> Future[T]:
        """Have the writer apply a change. Its GraphError, or a StoreError, is set in the future.

        `reason` is the name of a command that wants the present state kept in the history, whatever it changes.
        """
        call = Call(change, time.monotonic() + self._lock_wait, reason)
        with self._arrived:
            if self._stop_at is not None:
                call.future.set_exception(StoreError(_STOPPING))
                return call.future
            try:
                self._start_writer()
            except RuntimeError:
                call.future.set_exception(StoreError(_NO_THREAD))
                return call.future
            self._calls.append(call)
            self._arrived.notify()
        return call.future

    def figures(self) -> Figures:
        """Counted so far. Asks no file system, so that it answers at once."""
        last = self._snapshots.last
        return Figures(
            self.saves,
            self._save_seconds,
            self._lock.waits,
            self._lock.waited_seconds,
            self.foreign_changes,
            0 if last is None else len(last.graph.entities),
            0 if last is None or last.signature is None else last.signature.size,
        )

    def expect_writable(self) -> None:
        """StoreError if a save would be refused at present, because of the rights of the file or its folder."""
        self._file.expect_writable()

    def waits(self) -> bool:
        """Whether the writer waits for another program's lock."""
        return self._lock.waiting

    def close(self, patience: float = 1.0, most: float = 30.0) -> None:
        """End the writer. Returns when it has ended, after `most` seconds in any case.

        A started save is finished. Calls that still wait for the lock after `patience` seconds get an error.
        """
        with self._arrived:
            if self._stop_at is None:
                self._stop_at = time.monotonic() + patience
            self._arrived.notify()
        if self._writer is not None:
            self._writer.join(most)
        self._snapshots.close()

    def _start_writer(self) -> None:
        """RuntimeError if the system allows this process no further thread; the next change tries again."""
        if self._writer is None:
            writer = threading.Thread(target=self._write, name="memory-writer", daemon=True)
            writer.start()
            self._writer = writer

    def _write(self) -> None:
        untidy = 0  # turns since surplus generations were removed
        while True:
            with self._arrived:
                while not self._calls and self._stop_at is None:
                    if not self._arrived.wait(_QUIET if untidy else None):
                        break
                idle, ending = not self._calls, self._stop_at is not None
            if not idle:
                try:
                    self._turn()
                except BaseException as error:  # noqa: BLE001 (the edge of this thread: nobody may wait for ever)
                    self._fail(_as_store_error(error, self.path, stored=False))
                untidy += 1
            with contextlib.suppress(BaseException):  # all were answered; what could not be let go is at the next turn
                self._snapshots.release()
                if untidy and (idle or untidy >= _MOST_UNTIDY):
                    untidy = 0
                    self._file.tidy()
            if idle and ending:
                return

    def _turn(self) -> None:
        """One round for all waiting calls: without the lock if nothing is to be written, otherwise with one save for
        all.
        """
        current = self._snapshots.current()
        if current.lost is not None:
            self._file.rest_if_cut(current)
            current = self._snapshots.current()
        graph = current.graph
        waiting = self._live()
        after = apply(waiting, graph)
        if after is graph:
            answer(self._take(waiting))
            return
        if current.signature is None:
            self._file.make_folder()
        if not self._acquire():
            return
        taken = self._take(self._live())
        failure: BaseException | None = None
        try:  # these calls are taken: each has to get an answer, and a true one
            if taken:
                if taken[: len(waiting)] != waiting:  # some were cancelled: all are applied again
                    waiting, after = [], graph
                self._transact(taken, graph, after, len(waiting))
        except BaseException as error:  # noqa: BLE001 (the edge of a save)
            failure = error
        try:
            self._lock.release()  # before the answers: whoever has one finds no lock of ours
        except BaseException as error:  # noqa: BLE001 (the edge of a save)
            failure = failure or error
        if failure is None:
            answer(taken)
        else:
            refuse(taken, _as_store_error(failure, self.path, stored=self._written))
        self._written = False

    def _transact(self, calls: Sequence[Call], graph: Graph, after: Graph, applied: int) -> None:
        """Under the lock, apply the calls to the present file and save; repeat both if the file has changed meanwhile.

        `after` is the result of the first `applied` calls on `graph`. If all of them leave the graph as it is there is
        nothing to write.
        """
        afresh = False
        while True:
            current = self._snapshots.current(afresh=afresh)
            if current.graph is not graph:
                graph = after = current.graph
                applied = 0
            after = apply(calls[applied:], after)
            applied = len(calls)
            if after is graph:
                return
            reason = next((call.reason for call in calls if call.reason), "")
            began = time.monotonic()
            if self._snapshots.save(current, after, self._lock.held, reason):
                self._written = True
                self.saves += 1
                self._on_save()
                self._file.make_durable()
                self._save_seconds += time.monotonic() - began
                return
            if time.monotonic() >= max(call.deadline for call in calls):
                raise StoreError(f"{self.path} kept changing; nothing was changed. Stop the program that writes it.")
            self._file.rest()
            afresh = True
            if not self._lock.held():
                self._lock.release()
                self._lock.acquire(max(call.deadline for call in calls), self._stopping)

    def _acquire(self) -> bool:
        """Take the lock for the waiting calls. False if none is left: each was cancelled or has its error."""
        while calls := self._live():
            first = min(call.deadline for call in calls)
            try:
                self._lock.acquire(first, self._abandoned)
                return True
            except LockAbandoned:
                if self._stopping():
                    self._fail(StoreError(_STOPPING))
            except StoreError as error:
                late = [call for call in calls if call.deadline <= time.monotonic()]
                refuse(self._take(late or calls), error)
        return False

    def _abandoned(self) -> bool:
        return self._stopping() or not self._live()

    def _stopping(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at

    def _live(self) -> list[Call]:
        """The waiting calls, without those that were cancelled."""
        with self._arrived:
            if any(call.future.cancelled() for call in self._calls):
                self._calls = [call for call in self._calls if not call.future.cancelled()]
            return list(self._calls)

    def _take(self, calls: Sequence[Call]) -> list[Call]:
        """Take these calls out of the queue, without those that were cancelled. From here on they can no longer be
        cancelled.
        """
        taken = frozenset(calls)
        with self._arrived:
            self._calls = [call for call in self._calls if call not in taken]
        return [call for call in calls if call.future.set_running_or_notify_cancel()]

    def _fail(self, error: MemoryServerError) -> None:
        refuse(self._take(self._live()), error)


def _as_store_error(error: BaseException, path: str, *, stored: bool) -> MemoryServerError:
    if isinstance(error, LockAbandoned):  # of calls that were taken: nothing but the stop ends their waiting
        return StoreError(_STOPPING)
    if isinstance(error, MemoryServerError):
        return error
    reason = "there is not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    if stored:
        return StoreError(f"The change is stored in {path}, but might not survive a power cut ({reason}).", stored=True)
    return StoreError(f"{path} could not be saved: {reason}; nothing was changed. Try again.")
