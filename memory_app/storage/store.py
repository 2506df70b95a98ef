"""The memory as the program sees it: the current snapshot, and one writer that gathers the changes that wait.

Reads take no lock: they get the snapshot, which is parsed anew only when the file is no longer the one that was
loaded. A change is a pure function from one snapshot to the next. One writer thread takes all changes that wait, in
the order of their arrival, and under one lock loads once, applies each and saves once; each still succeeds or fails by
itself. If all of them change nothing there is no lock and no save. A change whose future was cancelled before the
writer took it does nothing; once taken it is stored whole.

Threads: every method may be called from any; `peek` never waits.
"""

from __future__ import annotations

import contextlib
import gc
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, TypeVar

from memory_app.disk.calls import close_if_possible
from memory_app.errors import MemoryServerError, StoreError
from memory_app.graph.graph import Graph
from memory_app.lock.lock import WAIT, Lock, LockAbandoned
from memory_app.storage.history import DAYS
from memory_app.storage.memory_file import MemoryFile, Snapshot
from memory_app.storage.pending import Call, Saved, answer, apply, refuse

T = TypeVar("T")

# Lines from which on the interpreter's cyclic collector is told to leave the loaded graph alone.
_LARGE: Final = 2000
# Where the lines of a notice stand, which changes with every save above them: no reason to tell it again.
_PLACES: Final = re.compile(r"(?<=^line )\d+|\(.*?\)")
_NO_THREAD: Final = (
    "The system gives the memory server no thread to write with (too little memory, or a limit on processes); "
    "nothing was changed. Try again later, or raise the limit."
)
_STOPPING: Final = "The memory server is stopping; this change was not stored. Send it again to a new server."


class Store:
    """The memory in the file at `path`. `report` gets each thing that was tolerated in the file, once, as one line."""

    def __init__(
        self, path: str, report: Callable[[str], None], *, lock_wait: float = WAIT, history_days: int = DAYS
    ) -> None:
        self.path = path
        self.on_save: Callable[[int], None] | None = None  # in the writer's thread, before the answers of that save
        self.foreign_changes = 0  # changes of the graph by other processes, as far as they were noticed
        self.saves = 0
        self._report = report
        self._reported: set[str] = set()
        self._lock_wait = lock_wait
        self._file = MemoryFile(path, report=self._tell, history_days=history_days)
        self._lock = Lock(path)
        self._snapshot: Snapshot | None = None
        self._written: Graph | None = None  # what the running transaction has stored by now
        self._loading = threading.Lock()  # held while the snapshot is being replaced
        self._frozen = 0  # lines of the graph that the cyclic collector was told to leave alone
        self._replaced: list[int] = []  # files to let go of: the last one who closes a file waits for the disk
        self._calls: list[Call] = []
        self._arrived = threading.Condition()
        self._writer: threading.Thread | None = None
        self._stop_at: float | None = None  # when calls that wait for the lock give up, once closing has begun

    def peek(self) -> Graph | None:
        """The current graph if the file is still the one that was loaded. Costs one stat."""
        snapshot = self._snapshot
        try:
            return snapshot.graph if snapshot is not None and self._file.is_current(snapshot) else None
        except StoreError:
            return None

    def graph(self) -> Graph:
        """The current graph, loaded if the file has changed, which takes its time. StoreError if it cannot be had."""
        return self._current().graph

    def check(self) -> int:
        """Look at the file, load it if it has changed, and say how often other processes have changed the graph."""
        self.graph()
        return self.foreign_changes

    def size(self) -> int:
        """The bytes of the file, 0 if there is none. Costs one stat. StoreError if it cannot be had."""
        signature = self._file.signature()
        return 0 if signature is None else signature.size

    def submit(self, change: Callable[[Graph], tuple[Graph, T]], reason: str = "") -> Future[Saved[T]]:
        """Have the writer apply a change. Its GraphError, or a StoreError, comes out of the future.

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

    def expect_writable(self) -> None:
        """StoreError if a save would be refused as things are now, because of the file's or its folder's rights."""
        self._file.expect_writable()

    def waits(self) -> bool:
        """Whether the writer is kept waiting by another program's lock."""
        return self._lock.waiting

    def close(self, patience: float = 1.0, most: float = 30.0) -> None:
        """End the writer; returns when that is done, after `most` seconds in any case.

        A started save is finished; calls that still wait for the lock after `patience` seconds get an error.
        """
        with self._arrived:
            if self._stop_at is None:
                self._stop_at = time.monotonic() + patience
            self._arrived.notify()
        if self._writer is not None:
            self._writer.join(most)
        with self._loading:
            self._snapshot = None
        self._let_go()
        self._file.close()

    def _current(self, *, afresh: bool = False) -> Snapshot:
        """The snapshot, of a file that has changed or, with `afresh`, of any read again."""
        with self._loading:
            before = self._snapshot
            if before is not None and not afresh and self._file.is_current(before):
                return before
            collecting = gc.isenabled()
            gc.disable()  # all that is being built is alive: passes over it find nothing and cost as much as parsing
            try:
                snapshot = self._file.read(before)
            finally:
                if collecting:
                    gc.enable()
            size = snapshot.graph.entity_lines.size + snapshot.graph.relation_lines.size
            if size > max(_LARGE, 2 * self._frozen):
                # Not at each load: of the calls in flight too, all that is in cycles stays for ever.
                self._frozen = size
                gc.freeze()
            self._snapshot = snapshot
            if before is not None:
                self.foreign_changes += snapshot.graph is not before.graph
        for notice in snapshot.notices:
            self._tell(notice)
        return snapshot

    def _tell(self, notice: str) -> None:
        """Report what was not reported yet, wherever in the file it is."""
        what = _PLACES.sub("", notice)
        if what not in self._reported:
            self._reported.add(what)
            self._report(f"{self.path}: {notice}")

    def _start_writer(self) -> None:
        """RuntimeError if the system gives this process no further thread; the next change tries again."""
        if self._writer is None:
            writer = threading.Thread(target=self._write, name="memory-writer", daemon=True)
            writer.start()
            self._writer = writer

    def _write(self) -> None:
        while True:
            with self._arrived:
                while not self._calls:
                    if self._stop_at is not None:
                        return
                    self._arrived.wait()
            try:
                self._turn()
            except BaseException as error:  # noqa: BLE001 (the edge of this thread: nobody may wait for ever)
                self._fail(_as_store_error(error, self.path, stored=False))
            with contextlib.suppress(BaseException):  # all were answered; what could not be let go is at the next turn
                self._let_go()
                self._file.tidy()

    def _let_go(self) -> None:
        with contextlib.suppress(IndexError):  # another thread may take the last one
            while True:
                close_if_possible(self._replaced.pop())

    def _turn(self) -> None:
        """One round for all calls that wait: without the lock if nothing is to be written, else one save for all."""
        current = self._current()
        if current.lost is not None:
            self._file.rest_if_cut(current)
            current = self._current()
        graph = current.graph
        waiting = self._live()
        after = apply(waiting, graph)
        if after is graph:
            answer(self._take(waiting), 0)
            return
        if current.signature is None:
            self._file.make_folder()
        if not self._acquire():
            return
        taken = self._take(self._live())
        failure: BaseException | None = None
        try:  # these calls are taken: each has to get an answer, and a true one
            save = self._transact(taken, graph if taken == waiting else None, after) if taken else 0
        except BaseException as error:  # noqa: BLE001 (as said)
            failure = error
        try:
            self._lock.release()  # before the answers: whoever has one finds no lock of ours
        except BaseException as error:  # noqa: BLE001 (as said)
            failure = failure or error
        if failure is None:
            answer(taken, save)
        else:
            refuse(taken, _as_store_error(failure, self.path, stored=self._written is not None))
        self._written = None

    def _transact(self, calls: Sequence[Call], graph: Graph | None, after: Graph) -> int:
        """Under the lock: apply the calls to the file as it is by now and save; again where that came too late.

        The number of the save, 0 if there was nothing to write. `after` is what the calls made of `graph`, if that.
        """
        afresh = False
        while True:
            current = self._current(afresh=afresh)
            if current.graph is not graph:
                graph = current.graph
                after = apply(calls, graph)
            if after is graph:
                return 0
            if self._save(current, after, next((call.reason for call in calls if call.reason), "")):
                self._file.make_durable()
                return self.saves
            if time.monotonic() >= max(call.deadline for call in calls):
                raise StoreError(f"{self.path} kept changing; nothing was changed. Stop the program that writes it.")
            self._file.rest()
            afresh = True
            if not self._lock.held():
                self._lock.release()
                self._lock.acquire(max(call.deadline for call in calls), self._stopping)

    def _save(self, current: Snapshot, after: Graph, reason: str) -> bool:
        with self._loading:
            saved = self._file.save(current, after, self._lock.held, reason)
            if saved is None:
                return False
            self._snapshot, self._written = saved, after
            if saved.replaced is not None:
                self._replaced.append(saved.replaced)
        self.saves += 1
        if self.on_save is not None:
            self.on_save(self.saves)
        return True

    def _acquire(self) -> bool:
        """Take the lock for the calls that wait. False if none is left: each was cancelled or has its error."""
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
        """The calls that wait, without those that were cancelled."""
        with self._arrived:
            if any(call.future.cancelled() for call in self._calls):
                self._calls = [call for call in self._calls if not call.future.cancelled()]
            return list(self._calls)

    def _take(self, calls: Sequence[Call]) -> list[Call]:
        """Take these calls out of the queue; from here on they can no longer be cancelled. Without those that were."""
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
