"""Earlier states of a memory file: keeping the present one, and finding one again.

A command that changes the memory keeps the present state first, so that the newest backup is always the state before
the last such command. A backup that `copies` finished is whole. Other copies are judged by their content: a killed copy
leaves a file that is empty or whose last line is torn.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from memory_app.commands.memory import read_whole
from memory_app.disk import attributes, copies
from memory_app.disk.copies import Copy
from memory_app.errors import StoreError, UsageError
from memory_app.jsonl import document, parser
from memory_app.storage import history
from memory_app.storage.history import Generation
from memory_app.text import counted, shown

_TIME: Final = "%Y-%m-%d %H:%M:%S"
_UTC: Final = re.compile(r"\s*(Z|UTC|\+00:?00)$", re.IGNORECASE)
_DATE_AND_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(:\d\d(\.\d{1,3})?)?)")


class State(NamedTuple):
    """A state that can be brought back. `where` says in words what holds it."""

    path: str
    data: bytes
    contents: document.Contents
    where: str = "in the backup"


def back_up(path: str, data: bytes, folder: str | None = None, ending: str = ".bak") -> tuple[str, bool]:
    """Keep `data`, the bytes of the memory file, as the newest dated copy, and return its path and whether it is new.
    If the newest copy has the same bytes, it is returned instead.
    """
    like = None
    with contextlib.suppress(OSError):
        like = attributes.read(os.path.realpath(path), os.stat(path))[0]
    try:
        return copies.back_up(copies.backups_of(path, folder, ending), data, like)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{shown(path)} could not be backed up: {reason}. Nothing was changed.") from error


def keep_present(path: str) -> str | None:
    """Keep the file as it is before a command adds to it, and return the copy's path.

    If backups exist, a missing file counts as an empty memory, so that a plain restore does not bring back an older
    state. Without backups there is nothing to keep.
    """
    if os.path.exists(path):
        return back_up(path, read_whole(path))[0]
    return back_up(path, b"")[0] if copies.listed(copies.backups_of(path)) else None


def prune(path: str, keep: int, folder: str | None, present: str) -> list[Copy]:
    """Remove the backups older than the newest `keep` whole ones, but never `present`; return the removed ones."""
    try:
        return copies.prune(copies.backups_of(path, folder), keep, lambda one: not damage(one), {present})
    except OSError as error:
        raise StoreError(f"{shown(error.filename or path)} could not be removed: {error.strerror or error}.") from error


def list_backups(path: str, folder: str | None = None) -> list[Copy]:
    """The backups of a memory file, newest first."""
    return copies.listed(copies.backups_of(path, folder))


def all_of(path: str, folder: str | None = None) -> list[Copy | Generation]:
    """The backups, and the states in the history beside the memory, newest first."""
    kept = [] if folder else history.generations(os.path.realpath(path))
    return sorted([*list_backups(path, folder), *kept], key=lambda one: one.seconds, reverse=True)


def damage(copy: Copy) -> str:
    """What is wrong with a copy; "" for nothing."""
    if copy.finished:
        return ""
    if not copy.size:
        return "empty"
    try:
        data = read_whole(copy.path)
    except StoreError:
        return "unreadable"
    return "cut" if is_cut(data) else ""


def is_cut(data: bytes) -> bool:
    """Whether the content ends inside a record: its last line has no end and cannot be read, and it is not a
    document.
    """
    last = data[data.rfind(b"\n") + 1 :].strip(b" \t\r,\xef\xbb\xbf")
    if not last:
        return False
    try:
        parser.parse_all(last.decode())
        return False
    except ValueError:
        pass
    try:
        return not document.read(data).foreign
    except document.NotAMemory:
        return True


def newest(path: str, folder: str | None, tell: Callable[[str], None]) -> State:
    """The newest backup that is whole and a memory; `tell` receives a line for each one that is skipped."""
    found = list_backups(path, folder)
    for one in found:
        reason = damage(one)
        if not reason:
            try:
                return _read(one.path)
            except document.NotAMemory:
                reason = "not a memory"
            except StoreError as error:
                reason = str(error)
        tell(f"{shown(os.path.basename(one.path))} is skipped: it is {reason}")
    if found:
        raise UsageError(f"no backup of {shown(path)} is whole. Name the file to restore.")
    raise UsageError(f"there are no backups of {shown(path)}. Name a file, or a time that history prints.")


def choose(which: str, path: str, folder: str | None, tell: Callable[[str], None]) -> State:
    """The requested backup: a number of the list, a time, a name, or the path of any file. `tell` receives a line if it
    is not whole.
    """
    found = list_backups(path, folder)
    one: Copy | Generation | None
    if which.isdecimal() and len(which) < 5:
        one = _by_number(which, found, path)
    else:
        one = find_named(which, [*found, *history.generations(os.path.realpath(path))])
    if one is None and not os.path.exists(which):
        raise UsageError(
            f"{shown(which)} is neither a backup of {shown(path)} nor a state of its history nor a file. "
            "Try: restore --list, or history"
        )
    if isinstance(one, Copy) and damage(one):
        tell(f"{shown(os.path.basename(one.path))} is {damage(one)}: only what it contains can be restored")
    name = which if one is None else one.path
    where = "in the backup" if isinstance(one, Copy) else "in that file" if one is None else "in that state"
    try:
        return _read(name)._replace(where=where)
    except document.NotAMemory as error:
        raise UsageError(f"{shown(name)} is not a memory: {error}.") from error


def when(seconds: float) -> str:
    """A time as people read it, in their own time zone."""
    return time.strftime(_TIME, time.localtime(seconds))


def time_of(one: Copy | Generation, zone: Callable[[float], time.struct_time] = time.localtime) -> str:
    """The time of a state as lists show it. In the history it includes milliseconds, which make it unique."""
    text = time.strftime(_TIME, zone(one.seconds))
    return text if isinstance(one, Copy) else f"{text}.{one.milliseconds % 1000:03}"


def _read(path: str) -> State:
    data = read_whole(path)
    return State(path, data, document.read(data))


def _by_number(which: str, found: list[Copy], path: str) -> Copy:
    if not found:
        raise UsageError(f"there are no backups of {shown(path)}. Name a file, or a time that history prints.")
    if not 1 <= int(which) <= len(found):
        raise UsageError(f"there are {counted(len(found), 'backup')}, but no number {which}. Try: restore --list")
    return found[int(which) - 1]


def find_named(which: str, found: Sequence[Copy | Generation]) -> Copy | Generation | None:
    """The state with this name or time. The time is as lists show it, or in UTC with a Z, or the beginning of one."""
    for one in found:
        if which in (one.stamp, os.path.basename(one.path)):
            return one
    utc = _UTC.search(which)
    match = _DATE_AND_TIME.fullmatch(which[: utc.start()] if utc else which)
    if match is None:
        return None
    text = f"{match[1]} {match[2]}"
    times = [(time_of(one, time.gmtime if utc else time.localtime), one) for one in found]
    matching = [one for shown_as, one in times if shown_as == text]
    matching = matching or [one for shown_as, one in times if shown_as.startswith(text)]
    if len(matching) > 1:  # without seconds, or in the hour that comes twice when summer time ends
        raise UsageError(f"{len(matching)} states match {shown(which)}: {', '.join(one.stamp for one in matching)}.")
    return matching[0] if matching else None
