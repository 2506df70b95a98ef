"""The memory file on disk: reading it as a snapshot, and replacing it by the next one.

A save happens under the lock and is these steps; what a crash right after each leaves stands behind it:

1. a file of another shape is copied to `<name>.<UTC time>.bak` and synced      the old file, a backup
2. `<name>.<32 hex>.tmp` is created beside the real file and written            the old file, a temporary file
3. the old file, only if another program may still be writing it (`inplace`):
   a. the save is given up until that file is at rest                           the old file
   b. lines that it has lost since they were loaded go to a backup, synced      the old file, a backup
   c. its inode gets a second name (`replaced`)                                 the old file with two names
   then, if it is to be kept, a second name in the history (`history`)          the same
4. the temporary file is synced; a file with a second name is compared with
   what was loaded meanwhile                                                    the same
5. last check: the lock is still ours, the target still the file we loaded      the same
6. `os.replace`                                                                 the new file, perhaps not yet its name
7. the folder is synced                                                         the new file

A failure before step 6 leaves the old file and removes what it made; what cannot be removed then is removed by the
next save, or by any save once it is ten minutes old. A failure in step 7 is told as such: the change is stored, but
might not survive a power cut.

"The file we loaded" is a matter of its signature, once the clock of the file system has moved on from its stamps. Until
then its bytes are compared too, right before the last check. So no descriptor is held between calls: a file system can
be unmounted, and a replaced file is gone. Where the clock is so coarse that it shows, our own files get a content time
two seconds back, so that a change of theirs in the same tick is seen without reading them again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from memory_app.disk import attributes, calls, copies, whole
from memory_app.disk.advice import explain
from memory_app.disk.calls import Signature
from memory_app.disk.folders import make_folders
from memory_app.errors import StoreError
from memory_app.graph.graph import Graph
from memory_app.graph.reload import reload
from memory_app.jsonl.document import NotAMemory, read
from memory_app.jsonl.notices import Notice
from memory_app.storage import history, inplace
from memory_app.storage.comparison import Comparison
from memory_app.storage.history import History
from memory_app.storage.inplace import Origin, Reading, Rest
from memory_app.storage.replaced import Kept, Replaced
from memory_app.storage.temporaries import SideFiles

# Bytes of a memory file: a graph needs several times as much, and the largest that make sense are hundredths of this.
LARGEST_FILE: Final = 2 << 30
# Bytes of a replaced file from which on its blocks are freed after the answer, by closing it: 60 MB take 20 ms.
_SLOW_TO_FREE: Final = 1 << 20

_CUT: Final = Notice("another program cut it or made it shorter in place; what it held before is kept in a backup")
_ARRIVED: Final = Notice("what another program wrote while a change was stored is kept in a backup")
_MAY_ARRIVE: Final = Notice(
    "another program may have been writing it when a change was stored; what it wrote after that is kept"
)


class Lost(NamedTuple):
    """What was loaded before another program cut the file or shortened it in place, and the size of that file."""

    graph: Graph
    size: int


class Snapshot(NamedTuple):
    """A state of the file. `signature` and `reading` are None if there is no file. `original`, only for a file of
    another shape, are the bytes to back up before the first write. `replaced` is a descriptor of the file before a
    save, to be closed when nobody waits for it.
    """

    graph: Graph
    signature: Signature | None
    reading: Reading | None = None
    original: bytes | None = None
    notices: tuple[Notice, ...] = ()
    lost: Lost | None = None
    replaced: int | None = None


class MemoryFile:
    """The file at a path as configured, which may be a symbolic link. One thread at a time.

    `report` is told what was kept of files that other programs write in place, possibly from another thread.
    """

    def __init__(
        self,
        path: str,
        now: Callable[[], float] = time.time,
        report: Callable[[Notice], None] = lambda _: None,
        history_days: int = history.DAYS,
    ) -> None:
        self.path = path
        self._report = report
        self._now = now
        self._beside = SideFiles(path, now)
        self._replaced = Replaced(now)
        self._history = History(history_days, now, report)
        self._rest = Rest()
        self._device: int | None = None  # that of the folder in which a memory was found
        self._has_coarse_clock = False
        self._saved_in = ""  # the folder of the last save
        self._linked: tuple[int, ...] = ()  # device and inode that a save has linked since the last one that succeeded

    def signature(self) -> Signature | None:
        """The signature of the present file, None if there is none."""
        try:
            return calls.signature_at(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failure("could not be read; nothing was changed", error) from error

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether the file is still the one of the snapshot. Costs one stat.

        For a file whose stamps are as new as the clock, this is certain only after it was read again, two seconds
        later.
        """
        reading = snapshot.reading
        if reading is not None and not reading.is_settled and time.monotonic() - reading.read_at >= inplace.COARSEST:
            return False
        return self.signature() == snapshot.signature

    def read(self, before: Snapshot | None) -> Snapshot:
        """The present content of the file. Lines that `before` holds are not parsed again. StoreError if the file is no
        memory.
        """
        try:
            data, signature, fd = whole.open_whole(self.path, check=self._expect_readable)
            try:
                links = calls.status(fd).st_nlink
            finally:
                calls.close_if_possible(fd)
        except (FileNotFoundError, NotADirectoryError):
            self._expect_folder()
            return Snapshot(Graph.empty() if before is None or before.signature else before.graph, None)
        except whole.KeepsChanging as error:
            raise StoreError(
                f"{self.path} keeps changing while it is read; nothing was changed. "
                "Stop the program that writes it, then try again."
            ) from error
        except OSError as error:
            raise self._failure("could not be read; nothing was changed", error) from error
        snapshot = self._parsed(data, signature, before)
        self._device = self._device_of_folder()
        return self._with_reading(snapshot, signature, links, data, before)

    def save(self, old: Snapshot, graph: Graph, lock_held: Callable[[], bool], reason: str = "") -> Snapshot | None:
        """Replace the file of `old` by one that holds `graph`, the caller having the lock. None if the lock was lost,
        the file is not the one that was loaded, or it has to come to `rest` first: then nothing has changed, and the
        file has to be read again. StoreError with nothing changed otherwise.

        The new file's name is not durable before `make_durable`. `reason` names the command that asks for a generation.
        """
        target = os.path.realpath(self.path)
        self._beside.sweep(target)
        self._replaced.sweep()
        self._history.sweep()
        wanted = self._permission(target)
        if wanted is not None and self._history.remove_own(target, wanted):
            return None  # which changed the stamps of the file
        extended: Mapping[str, bytes] = {}
        if wanted is not None:
            wanted, extended = attributes.read(target, wanted)
        if old.original is not None:
            self._back_up(target, old.original, wanted)
        temporary = whole.temporary(target)
        fd = held = -1
        kept: Kept | None = None
        generation: history.Kept | None = None
        try:
            fd = whole.write_unsynced(temporary, graph.chunks(), wanted, extended)
            if self._has_coarse_clock:  # a power cut may undo this: whoever starts then reads the file anyway
                calls.set_back(fd, int(inplace.COARSEST))
            may_replace, kept = self._judge(target, old, wanted, inplace.present_of(calls.signature(fd)))
            if may_replace and not calls.WINDOWS and old.signature and old.signature.size >= _SLOW_TO_FREE:
                held = _opened(target)
            expected = old.signature if kept is None else kept.signature
            if may_replace and expected and wanted and self._history.wants(target, old.graph, graph, reason):
                self._linked = expected[:2]
                generation = self._history.keep(target, expected, wanted, reason)
                expected = expected if generation is None else generation.signature
            comparison = None
            if expected is not None and expected != old.signature:  # it got a second name
                comparison = Comparison(self.path, expected, old.graph.chunks())
            calls.sync(fd)
            written = calls.signature(fd)
            if calls.WINDOWS:
                closing, fd = fd, -1
                calls.close(closing)
            if comparison and expected and not comparison.result() and not self._still_holds(old, expected):
                may_replace = False
            # The look at the file is the last of them: only the rename comes between it and the next writer.
            if (
                not may_replace
                or os.path.realpath(self.path) != target
                or not lock_held()
                or self.signature() != expected
            ):
                self._give_up(fd, temporary, held, target, kept, generation)
                return None
            self._saved_in = os.path.dirname(target)
            self._replace(temporary, target, written)
        except BaseException as error:
            with contextlib.suppress(BaseException):  # this error is the one to be told
                is_unknown = isinstance(error, StoreError) and error.stored is None
                self._give_up(fd, temporary, held, target, kept, None if is_unknown else generation)
            if isinstance(error, OSError):
                raise self._failure("could not be saved; nothing was changed", error) from error
            raise
        own = self._own_signature(fd, written)
        with contextlib.suppress(BaseException):  # the file is replaced: nothing may make that look otherwise
            self._saved(fd, own, target, wanted, kept)
        return Snapshot(graph, own, inplace.reading_of_our_own(own), replaced=held if held >= 0 else None)

    def make_durable(self) -> None:
        """Sync the name of the last save. On failure, a StoreError that says that the change is stored all the same."""
        try:
            calls.sync_folder(self._saved_in)
        except OSError as error:
            raise StoreError(
                f"The change is stored in {self.path}, but its folder could not be synced ({error.strerror or error}): "
                "it might not survive a power cut. Check that disk.",
                stored=True,
            ) from error
        if self._device is None:
            self._device = self._device_of_folder()

    def rest(self) -> None:
        """Wait, bounded, until the file is at rest, if the last save was given up because it was not. Otherwise return
        at once.

        Readers need not wait for this.
        """
        self._rest.wait(self.signature)

    def rest_if_cut(self, snapshot: Snapshot) -> None:
        """Wait, bounded, if another program has shortened the file: most often it is about to write it."""
        reading = snapshot.reading
        if snapshot.lost is not None and reading is not None and snapshot.signature is not None:
            needed = inplace.stillness_missing(snapshot.signature, reading, 0.0)
            if needed and self._rest.ask(needed):
                self.rest()
                self._rest.end()

    def make_folder(self) -> None:
        """Create the missing folders of the file, and those of the real file if it is a link."""
        for path in dict.fromkeys((os.path.abspath(self.path), os.path.realpath(self.path))):
            try:
                make_folders(os.path.dirname(path))
            except OSError as error:
                raise self._failure("could not be saved; nothing was changed: no folder was made", error) from error

    def tidy(self) -> None:
        """Remove surplus generations. Call it when nobody waits."""
        self._history.tidy(os.path.realpath(self.path))

    def close(self) -> None:
        """Check replaced files for the last time."""
        self._replaced.close()

    def _expect_readable(self, signature: Signature) -> None:
        if signature.size > LARGEST_FILE:
            raise StoreError(
                f"{self.path} is larger than {LARGEST_FILE >> 30} GiB; nothing was changed. Choose another memory file."
            )
        self._rest.since(signature)  # before it is read, which takes its time

    def _with_reading(
        self, snapshot: Snapshot, signature: Signature, links: int, data: bytes, before: Snapshot | None
    ) -> Snapshot:
        last = None
        if before is not None and before.signature is not None and before.reading is not None:
            last = before.signature, before.reading
        known_end = b""
        if last is not None and not last[1].is_cut and before is not None and before.graph.tail:
            known_end = before.graph.tail[-1].rstrip()
        reading = inplace.reading_of(signature, links, data, self._rest.since(signature), last, known_end)
        if last is not None and last[0] == signature and before is not None and before.graph is not snapshot.graph:
            reading = reading._replace(origin=Origin.IN_PLACE)  # a change that no stamp shows
        elif last is not None and self._linked == signature[:2] == last[0][:2] and last[0][:4] != signature[:4]:
            # A link that a save made and took back has moved the change time, as a rename does.
            reading = reading._replace(origin=Origin.IN_PLACE)
        lost = None
        if reading.origin is Origin.IN_PLACE and before is not None and before.signature is not None:
            lost = before.lost or Lost(before.graph, before.signature.size)
            if signature.size >= lost.size and not reading.is_cut:
                lost = None
        return snapshot._replace(reading=reading, lost=lost)

    def _judge(
        self, target: str, old: Snapshot, wanted: os.stat_result | None, present: float
    ) -> tuple[bool, Kept | None]:
        """Whether the old file may be replaced, and what is kept of it. `present` is the file system's time."""
        if old.signature is None or old.reading is None:
            return True, None
        if not inplace.is_settled(old.signature, old.reading, present):
            again = self.read(old)
            if again.signature != old.signature or again.graph is not old.graph:
                return False, None
        if not inplace.may_be_unfinished(old.signature, old.reading, present):
            return True, None
        needed = inplace.stillness_missing(old.signature, old.reading, present)
        if needed and self._rest.ask(needed):
            return False, None
        if old.lost is not None:
            self._back_up(target, b"".join(old.lost.graph.chunks()), wanted)
            self._report(_CUT)
        kept = self._replaced.keep(target, old.signature)
        return kept is not None, kept

    def _still_holds(self, old: Snapshot, expected: Signature) -> bool:
        """Whether a file that got a second name, and is not in our own form, still has what was loaded.

        The link changes the change time, and so would hide a write of the same size whose time was set back.
        """
        again = self.read(old)
        return again.graph is old.graph and again.signature == expected

    def _give_up(
        self, fd: int, temporary: str, held: int, target: str, kept: Kept | None, generation: history.Kept | None
    ) -> None:
        if held >= 0:
            calls.close_if_possible(held)
        try:
            self._beside.discard(fd, temporary)
        finally:
            if generation is not None:
                self._history.undo(generation)
            if kept is not None:
                self._replaced.undo(target, kept)

    def _saved(self, fd: int, own: Signature, target: str, wanted: os.stat_result | None, kept: Kept | None) -> None:
        """The steps after the rename."""
        self._linked = ()
        self._rest.end()
        self._has_coarse_clock = self._has_coarse_clock or inplace.shows_a_coarse_clock(own)
        if fd >= 0:
            calls.close_if_possible(fd)
        if kept is None:
            return

        def copy(data: bytes) -> None:
            self._back_up(target, data, wanted)
            self._report(_ARRIVED)

        self._replaced.done(target, kept, copy)
        if kept.name:
            self._report(_MAY_ARRIVE._replace(where=os.path.basename(kept.name)))

    def _back_up(self, target: str, data: bytes, wanted: os.stat_result | None) -> None:
        try:
            copies.back_up(
                copies.backups_of(target),
                data,
                wanted,
                self._now,
                once=True,
                discard=lambda path: self._beside.discard(-1, path),
            )
        except OSError as error:
            raise self._failure("could not be backed up; nothing was changed", error) from error

    def _device_of_folder(self) -> int | None:
        try:
            return calls.signature_at(os.path.dirname(os.path.realpath(self.path)) or ".").device
        except OSError:
            return None

    def _expect_folder(self) -> None:
        """StoreError if the folder of a loaded memory has disappeared: an empty one must not take its place."""
        if self._device is not None and self._device_of_folder() != self._device:
            raise StoreError(
                f"{self.path} was in a folder that is not there any more: it was moved, removed or unmounted. Nothing "
                "was changed. Bring the folder back, or start the server again to begin a new memory."
            )

    def _parsed(self, data: bytes, signature: Signature, before: Snapshot | None) -> Snapshot:
        if before is not None and before.original == data:
            return before._replace(signature=signature, replaced=None)
        try:
            if before is not None and before.original is None:
                graph, contents = reload(before.graph, data)
            else:
                contents = read(data)
                graph = Graph.of(contents)
        except NotAMemory as error:
            raise StoreError(
                f"{self.path} is not a memory file: {error}. It is left as it is. "
                "Choose another memory file, or move this one away."
            ) from error
        foreign = contents is not None and contents.foreign
        return Snapshot(graph, signature, None, data if foreign else None, contents.notices if contents else ())

    def expect_writable(self) -> None:
        """StoreError if a save would be refused at present. Changes nothing."""
        target = os.path.realpath(self.path)
        self._permission(target)
        folder = os.path.dirname(target)
        if os.path.isdir(folder) and not os.access(folder, os.W_OK):
            raise StoreError(f"The folder of {self.path} cannot be written; a memory file is replaced in its folder.")

    def _permission(self, target: str) -> os.stat_result | None:
        """The status of the file that will be replaced, None if there is none. StoreError if it may not be written."""
        try:
            status = calls.lstat(target)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failure("could not be saved; nothing was changed", error) from error
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{self.path} is not a regular file. Choose another memory file.")
        if not calls.may_write(target, status.st_mode):
            if not os.path.lexists(target):
                return None  # removed since: the last check sees that
            raise StoreError(
                f"{self.path} is read-only; nothing was changed. Make it writable (chmod u+w) if it is to be written."
            )
        return status

    def _own_signature(self, fd: int, written: Signature) -> Signature:
        """The new file's signature, if the rename changed its ctime and nothing else; otherwise the file is not as we
        wrote it.

        Where that is unknown the result equals no file's signature, so that the next check reads the file.
        """
        try:
            now = calls.signature(fd) if fd >= 0 else calls.signature_at(self.path)
        except BaseException:  # noqa: BLE001 (the file is replaced by now: nothing may make that look otherwise)
            return written._replace(mtime_ns=-1)
        return now if now[:4] == written[:4] else written._replace(mtime_ns=-1)

    def _replace(self, temporary: str, target: str, written: Signature) -> None:
        """Rename. An error after which the target is our file all the same (network file systems) is ignored."""
        try:
            calls.replace(temporary, target)
        except BaseException as error:
            try:
                if calls.signature_at(target)[:4] == written[:4]:
                    return
            except FileNotFoundError:
                pass
            except BaseException:  # noqa: BLE001 (the first error is the one to be told)
                reason = getattr(error, "strerror", None) or type(error).__name__
                raise StoreError(
                    f"{self.path} was being replaced when its disk failed ({reason}): the change may be stored or not. "
                    "Check that disk, then read before you try again.",
                    stored=None,
                ) from error
            raise

    def _failure(self, what: str, error: OSError) -> StoreError:
        reason, step = explain(error, os.path.realpath(self.path))
        return StoreError(f"{self.path} {what}: {reason}. {step}")


def _opened(path: str) -> int:
    try:
        return calls.open_regular(path)
    except OSError:
        return -1
