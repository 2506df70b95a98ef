"""One lock file: created, refreshed, inspected, taken from a dead holder, removed.

Its content is a `record`; when to do what is decided in `lock`. This module reads no clock and never waits.

Rules: a file that is not ours is never written, touched or removed. It is only ever renamed, by `remove_stale`, which
puts back what it did not expect. Links are not followed, and only regular files are opened or removed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from typing import Final, NamedTuple

from memory_app.disk import calls, whole
from memory_app.lock import record as lockrecord
from memory_app.lock.identity import Identity
from memory_app.lock.record import Record

_LARGEST_RECORD: Final = 4096
"""Bytes; a record has about 200. Of a longer one a piece is read, which is no record and so judged by age."""

_FOLDER: Final = "a folder"
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, _FOLDER),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


class Sighting(NamedTuple):
    """What was found at a lock's path at one moment. Two equal sightings are the same record, not refreshed in
    between.
    """

    kind: str  # "" for a regular file, else what it is, in words
    device: int
    inode: int
    mtime_ns: int
    data: bytes | None  # None if it could not be read

    @property
    def record(self) -> Record | None:
        """The record, None if it cannot be read: it is incomplete, another user's, or something else."""
        return None if self.data is None else lockrecord.parse(self.data)

    @property
    def mtime(self) -> float:
        return self.mtime_ns / 1e9


class Held:
    """A lock file that this process has made, from its creation until `drop`."""

    def __init__(self, path: str, token: str, me: Identity) -> None:
        self.path = path
        self.token = token
        self._process = os.getpid()
        self._data = lockrecord.encode(me, token)
        self._fd: int | None = None  # kept open, not on Windows: no other process could break the lock then
        self._file: tuple[int, int] | None = None
        self._unfinished: int | None = None  # the descriptor of a file whose making failed and which may still be there
        self._mutex = threading.Lock()  # so that no heartbeat touches a descriptor that was closed and given out again

    def create(self) -> bool:
        """Create the file with its record. False if the name is taken. An OSError leaves nothing behind."""
        try:
            fd = calls.create(self.path)
        except FileExistsError:
            return False
        try:
            self._file = calls.signature(fd)[:2]
            calls.write_all(fd, [self._data])
        except BaseException:
            self._unfinished = fd
            self.remove_unfinished(just_made=True)
            raise
        if calls.WINDOWS:
            calls.close(fd)
        else:
            self._fd = fd
        return True

    def remove_unfinished(self, *, just_made: bool = False) -> bool:
        """Remove a file whose creation failed. False if it may still exist: then this must be tried again.

        Everybody would wait 30 s for such a file, because it looks like one that is being created. It stays open until
        it is removed, so that no other file can be taken for it; not on Windows, which does not remove open files.
        """
        fd = self._unfinished
        if fd is None:
            return True
        gone = calls.WINDOWS
        try:
            if calls.WINDOWS:
                calls.close_if_possible(fd)
            file = self._file if self._file is not None or just_made else calls.signature(fd)[:2]
            if file is not None and _file_at(self.path) not in (None, file):
                gone = True  # it was broken, and this is a successor's
            else:
                gone = calls.remove_if_possible(self.path) or gone
        except OSError:
            pass
        finally:
            if gone:
                self._unfinished = None
                if not calls.WINDOWS:
                    calls.close_if_possible(fd)
        return gone

    def is_ours(self) -> bool:
        """Whether the path still holds the file and token that we put there.

        A file that cannot be read because no descriptor is left still counts as ours while ours is open; otherwise it
        counts as lost.
        """
        return self._process == os.getpid() and self._file is not None and self._is_at_path(self._file)

    def refresh(self) -> None:
        """Set the file's time to now, so that nobody considers it abandoned. A successor's file is never touched."""
        with self._mutex:
            if self._fd is not None:
                calls.touch(self._fd)
            elif calls.WINDOWS and self._file is not None and self.is_ours():
                calls.touch_at(self.path)

    def release(self) -> None:
        """Remove the file if it is still ours. Raises no OSError: what remains is cleared by the next process that
        takes the lock.
        """
        if self._process != os.getpid():  # in a fork's child the lock is the parent's, and the descriptor is a copy
            fd, self._fd, self._file = self._fd, None, None
            if fd is not None:
                calls.close_if_possible(fd)
            return
        with self._mutex:
            fd, self._fd = self._fd, None
            file, self._file = self._file, None
        try:
            if file is not None:
                self._remove(file, is_open=fd is not None)
        except FileNotFoundError:
            pass
        except BaseException as error:  # a passing failure must not leave what can be removed
            with contextlib.suppress(OSError):
                self._remove(file, is_open=fd is not None)
            if not isinstance(error, OSError):
                raise
        finally:
            if fd is not None:
                calls.close_if_possible(fd)

    def _remove(self, file: tuple[int, int] | None, is_open: bool) -> None:
        """Remove the file at the path if it is this one. While a file is open no other file can get its inode
        number.
        """
        if calls.signature_of(calls.lstat(self.path))[:2] == file and (is_open or self._is_at_path(file)):
            calls.remove(self.path)

    def _is_at_path(self, file: tuple[int, int]) -> bool:
        seen = inspect(self.path)
        if seen is None or (seen.device, seen.inode) != file:
            return False
        return seen.data == self._data or (seen.data is None and self._fd is not None)


def new_token() -> str:
    return os.urandom(16).hex()


def exists(path: str) -> bool:
    """Whether anything has the name, as cheaply as possible. An error counts as no; creating the file will then report
    it.
    """
    return _file_at(path) is not None


def inspect(path: str) -> Sighting | None:
    """What is at the path, None for nothing. Never follows a link, never waits, raises no OSError."""
    try:
        status = calls.lstat(path)
    except OSError:
        return None
    seen, data = calls.signature_of(status), None
    kind = "" if stat.S_ISREG(status.st_mode) else _kind(status.st_mode)
    if not kind:
        try:
            fd = calls.open_regular(path, follow=False)
        except FileNotFoundError:
            return None
        except OSError:
            return Sighting(kind, seen.device, seen.inode, seen.mtime_ns, None)
        try:
            seen = calls.signature(fd)
            data = calls.read_start(fd, _LARGEST_RECORD)
        except OSError:
            data = None
        finally:
            calls.close_if_possible(fd)
    return Sighting(kind, seen.device, seen.inode, seen.mtime_ns, data)


def remove_stale(path: str, judged: Sighting) -> bool:
    """Remove the regular file that was judged, and nothing else; True if the path is free of it.

    1. Rename it to a name that nobody can guess or wait for. A crash here leaves a file of the temporary pattern,
       which the store clears like any other; the lock is free.
    2. Look at what was taken. If it is what was judged, remove it.
    3. Else it is a successor's, or was refreshed: link it back, which never overwrites. If the name is taken again by
       then, or there are no links, its holder finds at the last check that the lock is lost, and starts again.
    """
    base = path.removesuffix(".break").removesuffix(".lock")
    aside = whole.temporary(base)
    try:
        calls.rename(path, aside)
    except FileNotFoundError:
        return False
    try:
        expected = inspect(aside) == judged
    except BaseException:
        _restore(aside, path)
        raise
    if expected:
        calls.remove_if_possible(aside)
    else:
        _restore(aside, path)
    return expected


def _restore(aside: str, path: str) -> None:
    try:
        calls.link(aside, path)
    except OSError:
        seen = inspect(aside)
        if seen is not None and seen.kind:
            if seen.kind == _FOLDER:  # it has no links, but its rename does not overwrite a file either
                with contextlib.suppress(OSError):
                    calls.rename(aside, path)
            return
    calls.remove_if_possible(aside)


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        return calls.signature_of(calls.lstat(path))[:2]
    except OSError:
        return None


def _kind(mode: int) -> str:
    return next((words for test, words in _KINDS if test(mode)), "a device")
