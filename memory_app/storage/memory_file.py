"""The memory file on disk: reading it as a snapshot, and replacing it by the next one.

A save happens under the lock and is these steps; what a crash right after each leaves stands behind it:

1. a file of another shape is copied to `<name>.<UTC time>.bak` and synced     the old file, a backup
2. `<name>.<32 hex>.tmp` is created beside the real file, written and synced   the old file, a temporary file
3. last check: the lock is still ours, the target still the file we loaded     the same
4. `os.replace`                                                                 the new file, perhaps not yet its name
5. the folder is synced                                                        the new file

A failure before step 4 leaves the old file and removes what it made; what cannot be removed then is removed by the
next save, or by any save once it is ten minutes old. A failure in step 5 is told as such: the change is stored, but
might not survive a power cut.

"The file we loaded" is a matter of its signature while it is held open: an inode number returns only after that. On
Windows, where an open file could not be replaced, the signature alone serves.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from memory_app.disk import calls
from memory_app.disk.calls import Signature
from memory_app.disk.folders import make_folders
from memory_app.errors import StoreError
from memory_app.graph.graph import Graph
from memory_app.graph.reload import reload
from memory_app.jsonl.document import Contents, NotAMemory, read
from memory_app.storage.temporaries import SideFiles

# Bytes of a memory file: a graph needs several times as much, and the largest that make sense are hundredths of this.
LARGEST_FILE: Final = 2 << 30
# How often a file that changes while it is read is read again before that is told; each time costs one whole read.
_READ_TRIES: Final = 20

_NO_RIGHT: Final = (
    "Give this user the right to read it and to write to its folder, or choose another memory file."
)
_NEXT_STEP: Final = {
    errno.ENOSPC: "Free some space on that disk, then try again.",
    errno.EDQUOT: "Free some space or raise the quota, then try again.",
    errno.EFBIG: "The file may not grow that large here: raise the limit, then try again.",
    errno.EROFS: "The file system is read-only: choose another place for the memory.",
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EBUSY: "A single file that is mounted by itself cannot be replaced: mount its folder instead.",
    errno.EXDEV: "A single file that is mounted by itself cannot be replaced: mount its folder instead.",
    errno.EISDIR: "It is a folder: name a file in it.",
}


class Snapshot(NamedTuple):
    """A state of the file. `signature` and `held` are None where there is no file; `original`, only for a file of
    another shape, are the bytes that have to be backed up before the first write."""

    graph: Graph
    signature: Signature | None
    held: int | None = None
    original: bytes | None = None
    notices: tuple[str, ...] = ()

    def release(self) -> None:
        """Let go of the file. Its signature means nothing any more."""
        if self.held is not None:
            calls.close_if_possible(self.held)


class MemoryFile:
    """The file at a path as configured, which may be a symbolic link. One thread at a time."""

    def __init__(self, path: str, now: Callable[[], float] = time.time) -> None:
        self.path = path
        self._beside = SideFiles(path, now)
        self._saved_in = ""  # the folder of the last save

    def signature(self) -> Signature | None:
        """The signature of the file that is there now, None for none."""
        try:
            return calls.signature_at(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failure("could not be read; nothing was changed", error) from error

    def read(self, before: Snapshot | None) -> Snapshot:
        """The file as it is now; lines that `before` holds are not parsed again. StoreError if it is no memory."""
        for _ in range(_READ_TRIES):
            try:
                fd = calls.open_regular(self.path)
            except (FileNotFoundError, NotADirectoryError):
                return Snapshot(Graph.empty() if before is None or before.signature else before.graph, None)
            except OSError as error:
                raise self._failure("could not be read; nothing was changed", error) from error
            keep = False
            try:
                signature = calls.signature(fd)
                if signature.size > LARGEST_FILE:
                    raise StoreError(
                        f"{self.path} is larger than {LARGEST_FILE >> 30} GiB; nothing was changed. "
                        "Choose another memory file."
                    )
                data = calls.read_all(fd)
                if calls.signature(fd) != signature:
                    continue
                snapshot = self._parsed(data, signature, before)
                if not calls.WINDOWS:
                    snapshot, keep = snapshot._replace(held=fd), True
                return snapshot
            except OSError as error:
                raise self._failure("could not be read; nothing was changed", error) from error
            finally:
                if not keep:
                    calls.close_if_possible(fd)
        raise StoreError(
            f"{self.path} keeps changing while it is read; nothing was changed. "
            "Stop the program that writes it, then try again."
        )

    def save(self, old: Snapshot, graph: Graph, lock_held: Callable[[], bool]) -> Snapshot | None:
        """Replace the file of `old` by one that holds `graph`, the caller having the lock. None if the lock was lost or
        the file is not the one that was loaded: then nothing has changed. StoreError with nothing changed otherwise.

        The new file's name is not durable before `make_durable`.
        """
        target = os.path.realpath(self.path)
        self._beside.sweep(target)
        wanted = self._permission(target)
        if old.original is not None:
            try:
                self._beside.back_up(target, old.original, wanted)
            except OSError as error:
                raise self._failure("could not be backed up; nothing was changed", error) from error
        temporary = self._beside.temporary(target)
        fd = -1
        try:
            fd = calls.create(temporary, 0o600)
            if wanted is not None:
                calls.set_owner_and_mode(fd, wanted)
            calls.write_all(fd, graph.chunks())
            calls.sync(fd)
            written = calls.signature(fd)
            if calls.WINDOWS:
                closing, fd = fd, -1
                calls.close(closing)
            # The look at the file is the last of them: only the rename comes between it and the next writer.
            if os.path.realpath(self.path) != target or not lock_held() or self.signature() != old.signature:
                self._beside.discard(fd, temporary)
                return None
            self._saved_in = os.path.dirname(target)
            self._replace(temporary, target, written)
        except BaseException as error:
            with contextlib.suppress(BaseException):  # this error is the one to be told
                self._beside.discard(fd, temporary)
            if isinstance(error, OSError):
                raise self._failure("could not be saved; nothing was changed", error) from error
            raise
        return Snapshot(graph, self._own_signature(fd, written), fd if fd >= 0 else None)

    def make_durable(self) -> None:
        """Have the last save's name on the medium. StoreError that says the change is stored all the same."""
        try:
            calls.sync_folder(self._saved_in)
        except OSError as error:
            raise StoreError(
                f"The change is stored in {self.path}, but its folder could not be synced ({error.strerror or error}): "
                "it might not survive a power cut. Check that disk.",
                stored=True,
            ) from error

    def make_folder(self) -> None:
        """Make the missing folders of the file, and of the real one if it is a link."""
        for path in dict.fromkeys((os.path.abspath(self.path), os.path.realpath(self.path))):
            try:
                make_folders(os.path.dirname(path))
            except OSError as error:
                raise self._failure("could not be saved; nothing was changed: no folder was made", error) from error

    def _parsed(self, data: bytes, signature: Signature, before: Snapshot | None) -> Snapshot:
        if before is not None and before.original == data:
            return before._replace(signature=signature, held=None)
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
        return Snapshot(graph, signature, None, data if foreign else None, _notices(contents))

    def _permission(self, target: str) -> os.stat_result | None:
        """The status of the file that is to be replaced, None for none; refused where it may not be written."""
        try:
            status = calls.lstat(target)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failure("could not be saved; nothing was changed", error) from error
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{self.path} is not a regular file. Choose another memory file.")
        if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
            if not os.path.lexists(target):
                return None  # removed since: the last check sees that
            raise StoreError(
                f"{self.path} is read-only; nothing was changed. Make it writable (chmod u+w) if it is to be written."
            )
        return status

    def _own_signature(self, fd: int, written: Signature) -> Signature | None:
        """The new file's signature: the rename changed its ctime and nothing else, or the file is not as we wrote it.

        Where that cannot be told the result equals no file's, so that the next look reads it.
        """
        try:
            now = calls.signature(fd) if fd >= 0 else calls.signature_at(self.path)
        except BaseException:  # noqa: BLE001 (the file is replaced by now: nothing may make that look otherwise)
            return written._replace(size=-1)
        return now if now[:4] == written[:4] else written._replace(size=-1)

    def _replace(self, temporary: str, target: str, written: Signature) -> None:
        """Rename; an error after which the target is our file all the same (network file systems) is none."""
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
        reason = error.strerror or str(error)
        step = _NEXT_STEP.get(error.errno or 0, "Check that disk, or choose another memory file.")
        return StoreError(f"{self.path} {what}: {reason}. {step}")


def _notices(contents: Contents | None) -> tuple[str, ...]:
    return () if contents is None else contents.notices
