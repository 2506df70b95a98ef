"""Files beside a memory file: locks, leftovers of a crash, copies made by sync services. Reads only."""

from __future__ import annotations

import os
import re
import stat
import time
from typing import Final

from memory_app.commands.upkeep.findings import Finding
from memory_app.disk import calls, whole
from memory_app.lock import identity, lockfile
from memory_app.lock import record as lockrecord
from memory_app.lock.stale import UNREFRESHED
from memory_app.storage import history
from memory_app.storage.replaced import REPLACED
from memory_app.text import counted

_CONFLICT: Final = re.compile(
    r"conflict|in conflict|conflicted copy|konflikt|conflit|conflitto|\.sync-conflict-\d|\(\d+\)|-[A-Z0-9]+-\d{8}",
    re.IGNORECASE,
)
"""How Dropbox, Syncthing, OneDrive, iCloud, Nextcloud and Google Drive name the copy that lost."""


def findings(path: str) -> list[Finding]:
    """The findings in the folder of the memory file at `path`; none has a line number."""
    found: list[Finding] = []
    real = os.path.realpath(path)
    for place in dict.fromkeys((os.path.abspath(path), real)):
        for ending in (".lock", ".lock.break"):
            found += _lock(place + ending)
    folder, name = os.path.split(real)
    try:
        entries = sorted(os.listdir(folder))
    except OSError as error:
        return [*found, Finding("file", f"its folder cannot be listed: {error.strerror or error}")]
    now = time.time()
    for entry in entries:
        if entry.startswith(name) and whole.TEMPORARY.fullmatch(entry[len(name) :]):
            found += _temporary(os.path.join(folder, entry), now)
        if entry.startswith(name) and REPLACED.fullmatch(entry[len(name) :]):
            found.append(
                Finding("replaced", f"{entry} was written by another program while a change was stored. Look into it")
            )
    copies = conflict_copies(real, entries)
    return [*found, *(Finding("conflict-copy", copy) for copy in copies), *_file(path, real), *_history(real)]


def conflict_copies(path: str, entries: list[str]) -> list[str]:
    """The entries of the folder that look like copies of the file made by a sync service."""
    name = os.path.basename(path)
    stem, ending = os.path.splitext(name)
    return [
        entry
        for entry in entries
        if entry != name and entry.startswith(stem) and entry.endswith(ending) and _CONFLICT.search(entry[len(stem) :])
    ]


def _lock(path: str) -> list[Finding]:
    seen = lockfile.inspect(path)
    if seen is None:
        return []
    name = os.path.basename(path)
    if seen.kind:
        return [Finding("lock", f"{name} is {seen.kind}, not a lock file: it stops every write. Remove it")]
    record = seen.record
    age = max(time.time() - seen.mtime, 0)
    holder = f"process {record.pid} on {record.hostname}" if record else "an unreadable holder"
    if record is not None and lockrecord.known_gone(record, identity.this_process(), lambda _: False):
        return [Finding("lock", f"{name} is stale: {holder} is gone. The next write removes it")]
    if age > UNREFRESHED:
        return [
            Finding("lock", f"{name} is stale: {holder}, not refreshed for {age:,.0f} s. The next write removes it")
        ]
    return [Finding("lock", f"{name} is held by {holder}, refreshed {age:.0f} s ago: it is writing now")]


def _history(real: str) -> list[Finding]:
    """What stops a save from keeping earlier states, if something does."""
    folder = history.folder_of(real)
    name = os.path.basename(folder)
    try:
        status = calls.lstat(folder)
    except OSError:
        return []
    if not stat.S_ISDIR(status.st_mode):
        trouble = "is no folder of its own. Move it away"
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        trouble = (
            "belongs to another user, or has other rights than the memory. Give this user the right to write there"
        )
    else:
        return []
    return [Finding("file", f"earlier states cannot be kept, and changes not be undone: {name} {trouble}")]


def _temporary(path: str, now: float) -> list[Finding]:
    try:
        status = calls.lstat(path)
    except OSError:
        return []
    name, size = os.path.basename(path), counted(status.st_size, "byte")
    if now - status.st_mtime > whole.TEMPORARY_SECONDS:
        return [Finding("leftover", f"{name} ({size}) was left by a writer that died. The next write removes it")]
    return [
        Finding(
            "leftover", f"{name} ({size}) belongs to a running save, or to one that died within the last ten minutes"
        )
    ]


def _file(path: str, real: str) -> list[Finding]:
    try:
        status = calls.lstat(real)
    except OSError:
        return []
    found = []
    if not stat.S_ISREG(status.st_mode):
        return [Finding("file", "it is not a regular file")]
    if not calls.may_write(real, status.st_mode):
        found.append(Finding("file", "it is read-only: nothing can be stored"))
    elif os.name != "nt" and status.st_mode & 0o022:
        found.append(Finding("file", f"others can write it (mode {stat.S_IMODE(status.st_mode):o})"))
    if os.path.islink(path):
        pass  # a link is in order: it is followed, and a second lock is beside the real file
    if status.st_nlink > 1:
        found.append(Finding("file", "it has a second name (hard link), which a save leaves with the old content"))
    return found
