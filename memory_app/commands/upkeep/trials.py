"""Whether a folder is safe for a memory: tries the calls that the lock and the save depend on.

All tests use files with the store's temporary pattern, so that leftovers of a crash are removed like any other
leftover. No file remains.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from memory_app.commands.upkeep.places import remote, sync_service
from memory_app.disk import calls, whole
from memory_app.errors import StoreError
from memory_app.lock.lock import Lock

_CLOCKS_APART: Final = 10.0
"""Seconds: a third of what makes a lock stale."""

_LITTLE_SPACE: Final = 64 << 20
"""Bytes: a save needs room for a second copy of the file."""

_REFUSED: Final = frozenset(os.strerror(number) for number in (errno.EACCES, errno.EPERM, errno.EROFS))
"""What is wrong is not how files are made here, but that none may be."""

_LOCK_WAIT: Final = 3.0


class Trial(NamedTuple):
    """One test. `ok` None: it does not work, but is not required."""

    what: str
    ok: bool | None
    text: str = ""


def trials(folder: str, path: str, kept: str | None = None) -> list[Trial]:
    """Test the folder, and the lock of the memory file at `path` in it. `kept`: the folder that the memory will have,
    if that does not exist yet.
    """
    names = [whole.temporary(os.path.join(folder, os.path.basename(path))) for _ in range(3)]
    tried: list[Trial] = []
    try:
        for what, needed, call in (
            ("a new file is created only once (exclusive creation)", True, _creates),
            ("written data can be synced", True, _syncs),
            ("a rename replaces a file, even while it is read", True, _replaces),
            ("a second name never overwrites (hard links)", False, _links),
            ("its clock is this machine's", True, _clock),
        ):
            tried.append(_try(what, needed, call, names))
            if not tried[-1].ok and call is _creates:
                if not os.access(folder, os.W_OK) or tried[-1].text in _REFUSED:
                    tried[-1] = Trial("files can be created in this folder", False, tried[-1].text)
                break
        else:
            tried.append(_lock(path))
    finally:
        for name in names:
            calls.remove_if_possible(name)
    return [*tried, _space(folder), *_kind(kept or folder)]


def _try(what: str, needed: bool, call: Callable[[list[str]], str], names: list[str]) -> Trial:
    try:
        trouble = call(names)
    except OSError as error:
        trouble = error.strerror or str(error)
    finally:
        for name in names:
            calls.remove_if_possible(name)
    return Trial(what, True) if not trouble else Trial(what, False if needed else None, trouble)


def _creates(names: list[str]) -> str:
    calls.close(calls.create(names[0]))
    try:
        calls.close(calls.create(names[0]))
    except FileExistsError:
        return ""
    return "two programs would hold the lock at once: keep the memory on a local disk"


def _syncs(names: list[str]) -> str:
    fd = calls.create(names[0])
    try:
        calls.write_all(fd, [b"x"])
        calls.sync(fd)
    finally:
        calls.close(fd)
    calls.sync_folder(os.path.dirname(names[0]))
    return ""


def _replaces(names: list[str]) -> str:
    for name in names[:2]:
        fd = calls.create(name)
        calls.write_all(fd, [name.encode()])
        calls.close(fd)
    reader = None if calls.WINDOWS else calls.open_regular(names[1])
    try:
        calls.replace(names[0], names[1])
        after = calls.open_regular(names[1])
        try:
            new = calls.read_all(after)
        finally:
            calls.close(after)
        old = names[1].encode() if reader is None else calls.read_all(reader)
    finally:
        if reader is not None:
            calls.close(reader)
    if new != names[0].encode():
        return "the name still leads to the old file"
    return "" if old == names[1].encode() else "a reader saw a mixture"


def _links(names: list[str]) -> str:
    calls.close(calls.create(names[0]))
    try:
        calls.link(names[0], names[1])
    except FileExistsError:
        raise
    except OSError:
        return (
            "not supported here: breaking an abandoned lock is a little less safe, and earlier states for "
            "undo are kept as copies, of a memory of up to 1 MiB"
        )
    try:
        calls.link(names[0], names[1])
    except FileExistsError:
        return ""
    return "a link overwrote a file"


def _clock(names: list[str]) -> str:
    fd = calls.create(names[0])
    try:
        apart = calls.signature(fd).mtime_ns / 1e9 - time.time()
    finally:
        calls.close(fd)
    if abs(apart) < _CLOCKS_APART:
        return ""
    return f"it is {abs(apart):.0f} s {'ahead' if apart > 0 else 'behind'}: a lock would look stale, or alive, too long"


def _lock(path: str) -> Trial:
    what = "the lock can be taken and released"
    lock = Lock(path)
    try:
        lock.acquire(time.monotonic() + _LOCK_WAIT)
        held = lock.held()
    except StoreError as error:
        return Trial(what, False, str(error))
    finally:
        lock.release()
    return Trial(what, held, "" if held else "it was lost at once")


def _space(folder: str) -> Trial:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Trial("there is room", None, error.strerror or str(error))
    return Trial("there is room", free > _LITTLE_SPACE, f"{free >> 20:,} MiB free")


def _kind(folder: str) -> list[Trial]:
    """What is known about the file system and about services that copy the folder."""
    found = []
    kind = remote(folder, sys.platform)
    if kind:
        found.append(
            Trial("it is on this machine", None, f"it looks like {kind}: let one machine at a time write there")
        )
    service = sync_service(folder)
    if service:
        text = f"{service} copies it: two machines that write at the same time leave conflict copies (see merge)"
        found.append(Trial("no sync service copies it", None, text))
    return found
