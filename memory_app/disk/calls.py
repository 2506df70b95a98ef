"""The disk: the only module whose calls change the file system.

Every such call is made as `os.xxx` through this module's attribute `os` (on macOS also `fcntl.fcntl`), never by an
imported name, so that a test can put an `os` there that fails, records or waits at any of them. The reads that the
store and the lock depend on are made here too. Nothing here decides anything: each function is one step of a protocol
that `file` and `lock` spell out, and each raises the OSError that the platform gave.

| platform | what differs |
|---|---|
| Windows | an open file can be neither renamed nor removed: such calls are repeated for 2 s; no folder sync, no owner |
| macOS | fsync leaves data in the drive's cache; F_FULLFSYNC does not |
| Linux and others | plain fsync, for files and folders |
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

WINDOWS: Final = os.name == "nt"
"""Where no file may stay open that is to be renamed, replaced or removed."""

_FULL_SYNC: Final[int | None] = 51 if sys.platform == "darwin" else None
"""F_FULLFSYNC of <sys/fcntl.h>; not every Python build has the name."""

_NO_SUCH_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTTY})
"""What file systems answer that do not know a kind of sync: network shares, FUSE, some folders."""

_NO_SUCH_OWNER: Final = _NO_SUCH_SYNC | {errno.EPERM, errno.EACCES}
"""Giving a file away needs privileges, and a file system that has owners at all."""

_THE_LINK_ITSELF: Final = {"follow_symlinks": False} if getattr(os, "link", None) in os.supports_follow_symlinks else {}

_SHARING: Final = frozenset({5, 32, 33})
"""ERROR_ACCESS_DENIED (also: removal is pending), ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION."""

_PATIENCE: Final = 2.0
"""Seconds for a virus scanner, an indexer or a reader to let go of a file; longer would be felt as a hang."""

_BLOCK: Final = 1 << 20
"""Bytes a write call gets at least, where there are that many: enough that the calls themselves cost nothing."""


class Signature(NamedTuple):
    """What distinguishes one state of one file from any other, as long as the file system's clock has moved between
    them.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def signature_of(status: os.stat_result) -> Signature:
    """The signature in a stat result.

    On Windows it leaves out what stat and fstat report differently: the device, and from Python 3.12 on the ctime,
    which is the time of creation for one and of the last change for the other.
    """
    device, ctime_ns = (0, 0) if WINDOWS else (status.st_dev, status.st_ctime_ns)
    return Signature(device, status.st_ino, status.st_size, status.st_mtime_ns, ctime_ns)


def signature(fd: int) -> Signature:
    return signature_of(os.fstat(fd))


def signature_at(path: str) -> Signature:
    """The signature of the file that the path leads to. Follows links."""
    return signature_of(os.stat(path))


def status(fd: int) -> os.stat_result:
    return os.fstat(fd)


def lstat(path: str) -> os.stat_result:
    return os.lstat(path)


def may_write(path: str, mode: int) -> bool:
    """Whether a file of this mode may be written. A mode without any write permission is respected for root as well."""
    return bool(mode & 0o222) and os.access(path, os.W_OK)


def open_regular(path: str, *, follow: bool = True) -> int:
    """Open a regular file for reading. Anything else (FIFO, socket, device, folder) is refused without waiting for it.

    With `follow` false a symbolic link is refused as well.
    """
    _expect_regular(os.stat(path) if follow else os.lstat(path), path)
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_CLOEXEC") | _flag("O_BINARY")
    if not follow:
        flags |= _flag("O_NOFOLLOW")
    fd = _patiently(lambda: os.open(path, flags))
    try:
        _expect_regular(os.fstat(fd), path)  # it may have been exchanged since the stat
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_all(fd: int) -> bytes:
    """Everything from the descriptor's position to the end of the file."""
    size = max(os.fstat(fd).st_size, 0)
    blocks: list[bytes] = []
    while block := os.read(fd, max(size + 1, 1 << 16)):
        blocks.append(block)
        size = max(size - len(block), 0)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def read_again(fd: int) -> bytes:
    """The whole content of the file, wherever the descriptor's position is."""
    os.lseek(fd, 0, os.SEEK_SET)
    return read_all(fd)


def read_start(fd: int, size: int) -> bytes:
    """At most `size` bytes from the descriptor's position on."""
    return os.read(fd, size)


def create(path: str, mode: int = 0o600, *, patient: bool = True) -> int:
    """Create a new file and open it for writing. FileExistsError if anything, even a dangling link, has the name.

    Pass `patient` as false to test only whether the file can be created. On Windows a read-only folder and a name whose
    removal is pending give the same error, and only the second one passes.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _flag("O_NOFOLLOW") | _flag("O_CLOEXEC") | _flag("O_BINARY")
    return _patiently(lambda: os.open(path, flags, mode)) if patient else os.open(path, flags, mode)


def open_to_append(path: str, mode: int = 0o600) -> int:
    """Open a regular file for appending, and create it if it does not exist. Other programs may append to it too.

    A FIFO without a reader, and anything else that is no regular file, is refused without waiting for it.
    """
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_CLOEXEC")
    fd = _patiently(lambda: os.open(path, flags | _flag("O_BINARY"), mode))
    try:
        _expect_regular(os.fstat(fd), path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def write_all(fd: int, chunks: Iterable[bytes]) -> None:
    """Write the chunks one after the other, however little the system accepts at a time.

    EINTR needs no handling: the interpreter repeats the call, unless a signal handler raised an exception.
    """
    waiting: list[bytes] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            _write(fd, waiting)
            waiting, size = [], 0
    if size:
        _write(fd, waiting)


def sync(fd: int) -> None:
    """Return when the file's data is on the medium, as far as the platform and the file system can ensure that."""
    if _FULL_SYNC is not None and _known(lambda: fcntl.fcntl(fd, _FULL_SYNC)):
        return
    if not _known(lambda: os.fsync(fd)) and hasattr(os, "fdatasync"):
        _known(lambda: os.fdatasync(fd))


def sync_folder(path: str) -> None:
    """Return when the folder's names are on the medium. Windows has no such call and needs none."""
    if WINDOWS:
        return
    fd = os.open(path or ".", os.O_RDONLY | _flag("O_DIRECTORY") | _flag("O_CLOEXEC"))
    try:
        sync(fd)
    finally:
        os.close(fd)


def replace(source: str, target: str) -> None:
    _patiently(lambda: os.replace(source, target))


def rename(source: str, target: str) -> None:
    _patiently(lambda: os.rename(source, target))


def link(source: str, target: str) -> None:
    """Give the source itself, even if it is a symbolic link, a second name. FileExistsError if the name is taken."""
    os.link(source, target, **_THE_LINK_ITSELF)


def remove(path: str) -> None:
    _patiently(lambda: os.unlink(path))


def remove_if_possible(path: str) -> bool:
    """Remove a file that is ours alone, and return whether it is gone. For cleanup that must not hide another error.

    A failure is tried once more, because a passing one would leave a file that could have been removed.
    """
    try:
        remove(path)
        return True
    except FileNotFoundError:
        return True
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(path)
        if not isinstance(error, OSError):
            raise
        return not os.path.lexists(path)


def touch(fd: int) -> None:
    """Set the file's times to now, even if it was renamed. Not on Windows."""
    os.utime(fd)


def set_back(fd: int, seconds: int) -> None:
    """Make the file's content look this much older than it is. Not on Windows."""
    status = os.fstat(fd)
    os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns - seconds * 1_000_000_000))


def touch_at(path: str) -> None:
    _patiently(lambda: os.utime(path))


def set_time(path: str, seconds: int) -> None:
    """Set a file's times to a whole second since the epoch."""
    _patiently(lambda: os.utime(path, (seconds, seconds)))


def close(fd: int) -> None:
    """Close a descriptor. Never repeat this: the descriptor is gone even on failure, and may belong to another file by
    then.
    """
    os.close(fd)


def close_if_possible(fd: int) -> None:
    """Close a descriptor that was only read or that is given up: an error here changes nothing."""
    with contextlib.suppress(OSError):
        os.close(fd)


def close_unwanted(fd: int) -> None:
    """Close a file that will hardly be read again. Its content leaves the system's cache, if it can: what comes next
    takes that space, which costs less than new space.
    """
    with contextlib.suppress(OSError, AttributeError):  # not all systems take that advice
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    close_if_possible(fd)


def make_folder(path: str) -> bool:
    """Create one folder, 0700. False if it exists already. NotADirectoryError if anything else has the name."""
    try:
        os.mkdir(path, 0o700)
        return True
    except FileExistsError:
        if os.path.isdir(path):  # another process was faster
            return False
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None


def remove_folder(path: str) -> None:
    """Remove an empty folder."""
    os.rmdir(path)


def set_owner_and_mode(fd: int, wanted: os.stat_result) -> None:
    """Give a new file the owner (where permitted) and the mode of the file that it will replace."""
    if WINDOWS:
        return  # a new file takes its rights from the folder, and there are no owners that could be set by number
    current = os.fstat(fd)
    if (current.st_uid, current.st_gid) != (wanted.st_uid, wanted.st_gid):
        if not _known(lambda: os.fchown(fd, wanted.st_uid, wanted.st_gid), _NO_SUCH_OWNER):
            _known(lambda: os.fchown(fd, -1, wanted.st_gid), _NO_SUCH_OWNER)
        current = os.fstat(fd)  # a change of owner drops the set-user-id bits
    if stat.S_IMODE(current.st_mode) != stat.S_IMODE(wanted.st_mode):
        os.fchmod(fd, stat.S_IMODE(wanted.st_mode))


def set_folder_owner_and_mode(path: str, like: os.stat_result, mode: int) -> None:
    """Give a new folder a file's owner (where permitted) and a mode. A link in its place is refused."""
    if WINDOWS:
        return
    fd = os.open(path, os.O_RDONLY | _flag("O_DIRECTORY") | _flag("O_NOFOLLOW") | _flag("O_CLOEXEC"))
    try:
        wanted = list(like)
        wanted[stat.ST_MODE] = mode
        set_owner_and_mode(fd, os.stat_result(wanted))
    finally:
        os.close(fd)


def _write(fd: int, chunks: list[bytes]) -> None:
    rest = memoryview(chunks[0] if len(chunks) == 1 else b"".join(chunks))
    while rest:
        written = os.write(fd, rest)
        if written <= 0:
            raise OSError(errno.EIO, "the system wrote nothing and named no reason")
        rest = rest[written:]


def _expect_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _known(call: Callable[[], object], unknown: frozenset[int] = _NO_SUCH_SYNC) -> bool:
    """Make the call. False if the file system does not support it. Every other error is raised."""
    try:
        call()
        return True
    except OSError as error:
        if error.errno not in unknown:
            raise
        return False


def _patiently(call: Callable[[], T]) -> T:
    """Make the call. On Windows, repeat it for up to 2 s while another process has the file open."""
    until: float | None = None
    wait = 0.001
    while True:
        try:
            return call()
        except OSError as error:
            if not (WINDOWS and _is_sharing_violation(error)):
                raise
            now = time.monotonic()
            until = now + _PATIENCE if until is None else until
            if now >= until:
                raise
        time.sleep(wait)
        wait = min(wait * 2, 0.05)


def _is_sharing_violation(error: OSError) -> bool:
    code = getattr(error, "winerror", None)
    return code in _SHARING or (code is None and error.errno == errno.EACCES)  # os.open there tells the errno only


def _flag(name: str) -> int:
    """An O_ flag, or 0 where the platform does not have it."""
    return int(getattr(os, name, 0))
