"""Whole files: read at one moment, or written, synced and renamed; all or nothing.

A new file is written under a temporary name in its own folder and gets its final name when it is complete:

1. create `<name>.<32 hex>.tmp`, write it, sync it              a crash leaves a temporary file
2. where the name must be free: link the file to it, which never overwrites; then remove the temporary name
                                                                a crash leaves the whole file, perhaps with both names
   where a file may be replaced: rename                         a crash leaves the old file or the new one
3. sync the folder                                              the file under its name

Where the file system has no hard links, step 2 takes the name with an empty file (exclusive creation) and renames onto
that: a crash between the two leaves an empty file, never a part of one. Windows needs neither: a rename there never
overwrites. A failure removes what was made. Temporary files that a crash left are removed once they are old.

All errors are OSErrors; the callers know what to say to people.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from memory_app.disk import attributes, calls
from memory_app.disk.calls import Signature

TEMPORARY: Final = re.compile(r"\.[0-9a-f]{32}\.tmp")
"""What follows the file's own name in the name of a temporary file."""

TEMPORARY_SECONDS: Final = 600.0
"""Age at which a temporary file has no living owner any more: no save lasts as long."""

READ_TRIES: Final = 20
"""How often a file that changes while it is read is read again before that is an error; each try reads all of it."""

_TOO_EARLY: Final = 0.05
"""Seconds between two readings of content that the file system may have given before it had it."""

_NOTHING: Final[Mapping[str, bytes]] = MappingProxyType({})

_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EACCES, errno.EINVAL, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
)
"""What file systems answer that have no hard links, or not between files of these owners."""


class KeepsChanging(OSError):
    """The file changed during every attempt to read it."""


class Reading(NamedTuple):
    """A file's bytes at one moment. `fd` is open; the caller closes it."""

    data: bytes
    signature: Signature
    fd: int


def open_whole(path: str, *, follow: bool = True, check: Callable[[Signature], None] | None = None) -> Reading:
    """Read a regular file as it was at one moment; it stays open. KeepsChanging if there was no such moment.

    `check` may raise an error for the signature before anything is read. Where a file was just replaced, a file system
    in user space may give too few bytes, or NUL bytes for what it does not have yet, and show that in no stamp: such
    content counts once it was read twice.
    """
    doubtful = None
    for _ in range(READ_TRIES):
        fd = calls.open_regular(path, follow=follow)
        keep = False
        try:
            signature = calls.signature(fd)
            if check is not None:
                check(signature)
            data = calls.read_all(fd)
            is_sure = len(data) >= signature.size and b"\0" not in data
            before, doubtful = doubtful, None if is_sure else (len(data), hash(data))
            keep = calls.signature(fd) == signature and (is_sure or before == doubtful)
            if keep:
                return Reading(data, signature, fd)
        finally:
            if not keep:
                calls.close_if_possible(fd)
        if not is_sure:
            time.sleep(_TOO_EARLY)
    raise KeepsChanging(errno.EBUSY, "it keeps changing while it is read", path)


def read_whole(path: str, *, follow: bool = True) -> bytes:
    """All bytes of a regular file, as they were at one moment."""
    reading = open_whole(path, follow=follow)
    calls.close_if_possible(reading.fd)
    return reading.data


def holds(path: str, signature: Signature, chunks: Iterable[bytes]) -> bool:
    """Whether the file has this signature and just these bytes. Cheaper than reading it: no large copy is made."""
    fd = calls.open_regular(path)
    try:
        if calls.signature(fd) != signature:
            return False
        same = all(calls.read_start(fd, len(chunk)) == chunk for chunk in chunks)
        return same and not calls.read_start(fd, 1) and calls.signature(fd) == signature
    finally:
        calls.close_if_possible(fd)


def temporary(path: str) -> str:
    """The name of a new temporary file for `path` that nobody can guess."""
    return f"{path}.{os.urandom(16).hex()}.tmp"


def temporaries(path: str) -> list[str]:
    """The existing temporary files of `path`."""
    folder, name = os.path.split(path)
    entries = os.listdir(folder or ".")
    found = [entry for entry in entries if entry.startswith(name) and TEMPORARY.fullmatch(entry[len(name) :])]
    return [os.path.join(folder, entry) for entry in found]


def remove_old_temporaries(path: str, now: float | None = None) -> None:
    """Remove the temporary files of `path` that are too old to be in use. OSError if the folder cannot be listed."""
    now = time.time() if now is None else now
    for left in temporaries(path):
        with contextlib.suppress(OSError):  # one that stays does not keep the others
            status = calls.lstat(left)
            if stat.S_ISREG(status.st_mode) and now - status.st_mtime > TEMPORARY_SECONDS:
                calls.remove(left)


def write_temporary(
    path: str,
    chunks: Iterable[bytes],
    like: os.stat_result | None = None,
    extended: Mapping[str, bytes] = _NOTHING,
) -> int:
    """Create `path`, 0600 or with the owner and mode of `like` and the `extended` attributes, write it and sync it.
    Returns its descriptor, which stays open.

    On failure the descriptor is closed. If the file was created, the caller removes it.
    """
    fd = write_unsynced(path, chunks, like, extended)
    try:
        calls.sync(fd)
    except BaseException:
        calls.close_if_possible(fd)
        raise
    return fd


def write_unsynced(
    path: str, chunks: Iterable[bytes], like: os.stat_result | None, extended: Mapping[str, bytes]
) -> int:
    """The same without the sync, which the caller owes before it gives the file its name."""
    fd = calls.create(path, 0o600)
    try:
        if like is not None:
            calls.set_owner_and_mode(fd, like)
            attributes.write(fd, extended)
        calls.write_all(fd, chunks)
    except BaseException:
        calls.close_if_possible(fd)
        raise
    return fd


def write_new(path: str, chunks: Iterable[bytes], like: os.stat_result | None = None) -> None:
    """Write a new file, whole and synced, or not at all. FileExistsError if anything, even a dangling link, has the
    name.
    """
    if os.path.lexists(path):  # told before all is written; what takes the name meanwhile is seen again at the end
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    _write(path, chunks, like, _NOTHING, lambda made: give_name(made, path))
    try:
        calls.sync_folder(os.path.dirname(path))
    except BaseException:
        calls.remove_if_possible(path)
        raise


def write_over(path: str, chunks: Iterable[bytes], check: Callable[[], None] = lambda: None) -> None:
    """Replace the file of this name by a new one, whole and synced, or leave it as it was.

    The new file gets the old one's owner, mode and attributes. `check` may raise an error right before the rename. A
    link is replaced, not followed. OSError if anything but a file has the name.
    """
    like, extended = None, _NOTHING
    with contextlib.suppress(FileNotFoundError):
        like = calls.lstat(path)
        if not stat.S_ISREG(like.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        like, extended = attributes.read(path, like)

    def rename(made: str) -> None:
        check()
        calls.replace(made, path)

    _write(path, chunks, like, extended, rename)
    calls.sync_folder(os.path.dirname(path))


def _write(
    path: str,
    chunks: Iterable[bytes],
    like: os.stat_result | None,
    extended: Mapping[str, bytes],
    give_it_its_name: Callable[[str], None],
) -> None:
    with contextlib.suppress(OSError):  # a folder that may be written but not read has no list
        remove_old_temporaries(path)
    made = temporary(path)
    try:
        calls.close(write_temporary(made, chunks, like, extended))
        give_it_its_name(made)
    except BaseException:
        calls.remove_if_possible(made)
        raise


def move_to_new_name(old: str, path: str) -> None:
    """Rename a file within its folder, durably. FileExistsError if anything has the new name.

    The new name is synced before the old one is removed, so that one of them survives a power cut. Without hard links
    the new name is only checked before the rename, because an empty file that a crash left there would hide the old
    one.
    """
    if not _moved_by_link(old, path):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        calls.rename(old, path)
    with contextlib.suppress(OSError):  # after a power cut the old name may be back
        calls.sync_folder(os.path.dirname(path))


def _moved_by_link(old: str, path: str) -> bool:
    """False where there are no hard links, or where the new name cannot be synced. Nothing has changed then."""
    if calls.WINDOWS or not _linked(old, path):
        return False
    try:
        calls.sync_folder(os.path.dirname(path))
    except BaseException as error:
        _remove_link(old, path)
        if not isinstance(error, OSError):
            raise
        return False
    _remove_first_name(old, path)
    return True


def give_name(made: str, path: str) -> None:
    """Rename a finished temporary file to a new name. FileExistsError if the name is taken. The folder is not synced.

    On failure the file keeps its old name and has no other.
    """
    if calls.WINDOWS:
        calls.rename(made, path)
        return
    if _linked(made, path):
        _remove_first_name(made, path)
    else:
        _rename_onto_placeholder(made, path)


def _linked(made: str, path: str) -> bool:
    """Give the file a second name. False where the file system has no hard links."""
    try:
        calls.link(made, path)
    except OSError as error:
        if _is_same(made, path):  # a network file system may have made it and lost the answer
            return True
        if error.errno not in _NO_LINKS:
            raise
        return False
    except BaseException:
        _remove_link(made, path)
        raise
    return True


def _remove_first_name(made: str, path: str) -> None:
    try:
        calls.remove(made)
    except BaseException as error:
        if isinstance(error, OSError) and not os.path.lexists(made):
            return
        _remove_link(made, path)
        raise


def _rename_onto_placeholder(made: str, path: str) -> None:
    placeholder = calls.create(path)
    try:
        calls.close(placeholder)
        calls.replace(made, path)
    except BaseException:
        with contextlib.suppress(OSError):
            if calls.lstat(path).st_size == 0 and os.path.lexists(made):
                calls.remove_if_possible(path)
        raise


def _remove_link(made: str, path: str) -> None:
    """Remove the second name only if the first name leads to the same file."""
    if _is_same(made, path):
        calls.remove_if_possible(path)


def _is_same(one: str, other: str) -> bool:
    try:
        first, second = calls.lstat(one), calls.lstat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
