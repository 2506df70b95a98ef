"""What a disk may hold after the power is cut: a model that is as pessimistic as file systems are allowed to be.

- What was written to a file and not synced since may be missing, cut off, zeros, or there without its beginning.
- A name that was made, moved or removed is sure only when its folder was synced since; until then any of the changes in
  a folder may be there without the others. A rename may leave its old name standing; what it gives its new name is the
  old file or the new one, never nothing.
- Syncing a file does not make its name sure, nor does syncing a folder make the names in its parent sure.

`Recorder` is a hook for the seam that writes down the calls in these terms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = -1
"""Stands for a folder where a name leads to a file's number otherwise."""


class Write(NamedTuple):
    """Bytes at the end of a file; `emptied` first where they are None."""

    file: int
    data: bytes | None


class Rename(NamedTuple):
    """Names that change together: what a path leads to from now on, and the path that goes with it, if any."""

    path: str
    file: int | None
    gone: str | None = None


class SyncFile(NamedTuple):
    file: int


class SyncFolder(NamedTuple):
    path: str


class Mark(NamedTuple):
    """Change number `begun` was asked for, or `acknowledged`."""

    begun: int
    acknowledged: int


Step = Write | Rename | SyncFile | SyncFolder | Mark
State = dict[str, bytes]


class Recorder:
    """The steps of everything that goes through the seam, from the files that were there at first."""

    def __init__(self, inside: Path, skip: Callable[[str, str], bool] = lambda name, path: False) -> None:
        self._skip = skip  # leaves out a call on a path, in the record and on the disk
        self.steps: list[Step] = []
        self.first: dict[str, int] = {}
        self.contents: dict[int, bytes] = {}
        self._live: dict[str, int] = {}
        self._open: dict[int, str] = {}
        self._written: dict[int, int] = {}
        for where, folders, names in os.walk(inside):
            self.first.update((os.path.join(where, name), FOLDER) for name in folders)
            for name in names:
                path = os.path.join(where, name)
                if not os.path.islink(path):
                    number = self.first[path] = len(self.contents)
                    self.contents[number] = Path(path).read_bytes()
        self._live.update(self.first)
        self._next = len(self.contents)

    def mark(self, begun: int, acknowledged: int) -> None:
        self.steps.append(Mark(begun, acknowledged))

    def __call__(self, name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        path = self._open.get(arguments[0], "") if name in ("fsync", "fdatasync") else str(arguments[0])
        if self._skip(name, path):
            return None
        result = make()
        if name == "open":
            self._opened(arguments[0], arguments[1], result)
        elif name == "write":
            self.steps.append(Write(self._written[arguments[0]], bytes(arguments[1][:result])))
        elif name in ("fsync", "fdatasync"):
            step = SyncFile(self._written[arguments[0]]) if arguments[0] in self._written else SyncFolder(path)
            self.steps.append(step)
        elif name in ("rename", "replace"):
            self._move(arguments[1], self._live.pop(arguments[0]), arguments[0])
        elif name == "link":
            self._move(arguments[1], self._live[arguments[0]])
        elif name == "mkdir":
            self._move(arguments[0], FOLDER)
        elif name in ("unlink", "rmdir"):
            self._live.pop(arguments[0])
            self.steps.append(Rename(arguments[0], None))
        elif name == "close":
            self._open.pop(arguments[0], None)
            self._written.pop(arguments[0], None)
        return result

    def _opened(self, path: str, flags: int, descriptor: int) -> None:
        self._open[descriptor] = path
        if flags & os.O_CREAT and path not in self._live:
            self._move(path, self._next)
            self._next += 1
        if flags & os.O_ACCMODE != os.O_RDONLY:
            self._written[descriptor] = self._live[path]
            if flags & os.O_TRUNC:
                self.steps.append(Write(self._live[path], None))

    def _move(self, path: str, file: int, gone: str | None = None) -> None:
        self._live[path] = file
        self.steps.append(Rename(path, file, gone))


class Cut(NamedTuple):
    """One moment of the power cut, and the states that the disk may hold then."""

    after: int  # steps
    begun: int
    acknowledged: int
    states: Iterator[State]


def cuts(recorder: Recorder) -> Iterator[Cut]:
    """Every moment, from before the first step to after the last."""
    disk = _Disk(recorder.first, recorder.contents)
    mark = Mark(0, 0)
    yield Cut(0, 0, 0, disk.states())
    for number, step in enumerate(recorder.steps, 1):
        if isinstance(step, Mark):
            mark = step
        else:
            disk.take(step)
        yield Cut(number, mark.begun, mark.acknowledged, disk.states())


class _Disk:
    """What is sure, and what is not yet."""

    def __init__(self, names: dict[str, int], contents: dict[int, bytes]) -> None:
        self._names = dict(names)
        self._sure = dict(contents)
        self._now = dict(contents)
        self._unsure: list[Rename] = []

    def take(self, step: Write | Rename | SyncFile | SyncFolder) -> None:
        if isinstance(step, Write):
            self._now[step.file] = b"" if step.data is None else self._now.get(step.file, b"") + step.data
        elif isinstance(step, SyncFile):
            self._sure[step.file] = self._now.get(step.file, b"")
        elif isinstance(step, Rename):
            self._unsure.append(step)
        else:
            for change in self._unsure:
                if os.path.dirname(change.path) == step.path:
                    self._apply(self._names, change, whole=True)
            self._unsure = [change for change in self._unsure if os.path.dirname(change.path) != step.path]

    def states(self) -> Iterator[State]:
        """Each combination of names that may be there, with each combination of what their files may hold."""
        seen: set[frozenset[tuple[str, int]]] = set()
        for chosen in product(*((0, 1, 2) if change.gone else (0, 2) for change in self._unsure)):
            names = dict(self._names)
            for change, how in zip(self._unsure, chosen, strict=True):
                if how:
                    self._apply(names, change, whole=how == 2)
            visible = {path: file for path, file in names.items() if file != FOLDER and _reachable(path, names, self)}
            key = frozenset(visible.items())
            if key in seen:
                continue
            seen.add(key)
            files = sorted(set(visible.values()))
            for contents in product(*(self._contents(file) for file in files)):
                held = dict(zip(files, contents, strict=True))
                yield {path: held[file] for path, file in visible.items()}

    def knows(self, folder: str) -> bool:
        """Whether the folder was made after the beginning, so that its name may be missing."""
        return folder in self._names or any(change.path == folder for change in self._unsure)

    def _contents(self, file: int) -> list[bytes]:
        sure, now = self._sure.get(file, b""), self._now.get(file, b"")
        if sure == now:
            return [now]
        half = len(now) // 2
        torn = [sure, now, now[:half], b"\0" * len(now), b"\0" * half + now[half:], b"", now[:half] + sure[half:]]
        return list(dict.fromkeys(torn))

    @staticmethod
    def _apply(names: dict[str, int], change: Rename, *, whole: bool) -> None:
        if change.file is None:
            names.pop(change.path, None)
        else:
            names[change.path] = change.file
        if whole and change.gone is not None:
            names.pop(change.gone, None)


def _reachable(path: str, names: dict[str, int], disk: _Disk) -> bool:
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        if disk.knows(folder) and folder not in names:
            return False
        folder = os.path.dirname(folder)
    return True
