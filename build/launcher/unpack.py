"""The first start: unpack what this interpreter needs, compile what a start needs, and hand over.

Rules: nothing is ever partly there. Steps, and what a crash in each leaves:

1. Check in each candidate folder whether it was unpacked before: a full disk must not be tried again at each start.
2. Take the lock beside the target, so that one of several first starts does the work. It ends with its process. Where
   there are no locks, or after a minute, go on without it: the last step is safe without it.
3. Check again: another process may have been faster.
4. Remove `*.tmp` folders of this target: their processes are gone, because we hold the lock.
5. Write everything into `<target>.<random>.tmp`, synced. Left: that folder, for step 4 or `tidy`.
6. Rename it to the target. If the target exists already (a cleaner removed files from it), put each missing file in its
   place, the program file last: while that is missing or names missing files, every start comes here. A target that
   others could have changed is moved away first.

If any step fails in a folder, the next candidate is tried.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from . import parts, program, refusal, roots

Start = Callable[[], None]

_WAIT: Final = 60.0  # seconds: a first start on a slow machine takes less
_POLL: Final = 0.02  # flock cannot wait with a limit
_UNREADY: Final = (OSError, ValueError, EOFError, TypeError)  # what `open_program` raises


def first_start(name: str, judge: roots.Judge, cache_root: str) -> Start:
    """Find or make the unpacked folder; SystemExit with one line if that is not possible."""
    archive = sys.path[0]
    failed: list[str] = []
    with zipfile.ZipFile(archive) as opened:
        abi, platform = _interpreter(name)
        refuse_unserved(opened, abi, platform)
        try:
            for candidates in roots.candidates(cache_root):
                start = _first_start_in(candidates, name, opened, judge, failed)
                if start:
                    return start
        except parts.NoLzmaError:
            sys.exit(refusal.no_lzma(platform))
    sys.exit(
        "memory-server found no folder to unpack into. Tried: " + "; ".join(failed) + ". "
        "Set MEMORY_SERVER_CACHE to a folder that can be written and is not mounted noexec."
    )


def _first_start_in(
    candidates: Sequence[roots.Root], name: str, archive: zipfile.ZipFile, judge: roots.Judge, failed: list[str]
) -> Start | None:
    for root in candidates:
        try:
            return judge(root.path, root.named).open_program(name)
        except _UNREADY:
            continue
    for root in candidates:
        try:
            return _unpack(archive, roots.prepare(root, judge), name)
        except OSError as problem:
            failed.append(f"{root.path} ({problem.strerror or problem})")
    return None


def refuse_unserved(archive: zipfile.ZipFile, abi: str, platform: str) -> None:
    """SystemExit with one line if the archive has nothing for this interpreter, or its C library is too old."""
    served = parts.served(archive)
    if abi not in served.get(platform, ()):
        sys.exit(refusal.platform(abi, platform, served))
    if platform.startswith("linux"):
        name = os.confstr("CS_GNU_LIBC_VERSION") or ""
        needed = (2, 31) if platform.endswith("riscv64") else (2, 17)
        if tuple(map(int, name.split(" ")[-1].split(".")[:2])) < needed:
            sys.exit(refusal.old_libc(name, "glibc {}.{} or newer".format(*needed)))


def _unpack(archive: zipfile.ZipFile, place: roots.Place, name: str) -> Start:
    target = os.path.join(place.path, name)
    with _hold_lock(target + ".lock") as alone:
        try:
            return place.open_program(name)
        except _UNREADY:
            pass
        if alone:
            _remove_unfinished(target)
        fresh = tempfile.mkdtemp(prefix=name + ".", suffix=".tmp", dir=place.path)
        try:
            written = _write(archive, target, fresh)
            _discard_foreign(target, place, fresh)
            try:
                os.rename(fresh, target)
            except OSError:
                if not os.path.isdir(target):
                    raise
                _mend(fresh, target, written)
            _sync(place.path)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    try:
        return place.open_program(name)
    except (ValueError, EOFError, TypeError) as problem:
        raise OSError(f"it does not keep written data: {problem}") from problem


def _discard_foreign(target: str, place: roots.Place, fresh: str) -> None:
    """Move away whatever is in the target's place and others could have changed: it cannot be repaired."""
    try:
        place.vet(os.lstat(target), stat.S_IFDIR)
        for folder, folders, files in os.walk(target):
            for name in (*folders, *files):
                facts = os.lstat(os.path.join(folder, name))
                place.vet(facts, stat.S_IFDIR if name in folders else stat.S_IFREG)
    except FileNotFoundError:
        return
    except PermissionError:
        aside = fresh.removesuffix(".tmp") + "old.tmp"
        os.rename(target, aside)
        if os.path.isdir(aside) and not os.path.islink(aside):
            shutil.rmtree(aside, ignore_errors=True)
        else:
            os.unlink(aside)


def _write(archive: zipfile.ZipFile, target: str, fresh: str) -> list[str]:
    """Write all files into `fresh`, and return their paths, the program file last."""
    abi, platform = _interpreter(os.path.basename(target))
    modules: dict[str, bytes] = {}
    kept: dict[str, bytes] = {}
    for path, content in parts.read(archive, abi, platform):
        if path.endswith(".py"):
            modules[path] = content
        elif not _is_licence(path):
            _write_file(os.path.join(fresh, *path.split("/")), [content])
            kept[path] = content
    pieces = program.write(modules, kept, parts.startup(archive), archive.read("launcher/boot.py"))
    _write_file(os.path.join(fresh, "program"), pieces)
    return [*kept, "program"]


def originals(archive: str, name: str) -> dict[str, bytes]:
    """The files that the folder of that name was made of, by path."""
    with zipfile.ZipFile(archive) as opened:
        return dict(parts.read(opened, *_interpreter(name)))


def _interpreter(name: str) -> tuple[str, str]:
    """The interpreter and platform from a folder's name: cp313, linux-x86_64."""
    abi, _, platform = name.split("-", 2)[2].partition("-")
    return abi, platform


def _is_licence(path: str) -> bool:
    """Whether the file is a text for people; those stay in the archive."""
    return ".dist-info/" in path and not path.endswith(("/METADATA", "/entry_points.txt"))


def _write_file(path: str, pieces: list[bytes]) -> None:
    roots.make_folders(os.path.dirname(path))
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def _mend(fresh: str, target: str, written: list[str]) -> None:
    for path in written:  # the program file is the last of them
        new = os.path.join(fresh, *path.split("/"))
        place = os.path.join(target, *path.split("/"))
        same = _is_same(new, place)
        if same and path != "program":
            continue
        roots.make_folders(os.path.dirname(place))
        try:
            os.replace(new, place)
        except PermissionError:  # Windows, where a running server has it open: then it is good
            if not same:
                raise


def _is_same(new: str, place: str) -> bool:
    try:
        with open(new, "rb") as one, open(place, "rb") as other:
            return one.read() == other.read()
    except FileNotFoundError:
        return False


def _remove_unfinished(target: str) -> None:
    folder, start = os.path.split(target)
    for name in os.listdir(folder):
        if name.startswith(start + ".") and name.endswith(".tmp"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _sync(folder: str) -> None:
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError:  # a file system without it
            pass
        finally:
            os.close(descriptor)


@contextmanager
def _hold_lock(path: str) -> Iterator[bool]:
    """Hold the lock file; yields whether we have it."""
    kept = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # never through a link, never waiting on a FIFO
    with open(path, "ab", opener=lambda name, flags: os.open(name, flags | kept, 0o600)) as file:
        deadline = time.monotonic() + _WAIT
        alone = _try_lock(file)
        while alone is False and time.monotonic() < deadline:
            time.sleep(_POLL)
            alone = _try_lock(file)
        yield bool(alone)  # closing gives it back


def _try_lock(file: IO[bytes]) -> bool | None:
    """Whether the lock is ours now; None if locks are not available here."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):
        return None
    return True
