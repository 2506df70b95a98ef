"""The fault loop: one call at the seam fails, the first, the second, the third, until none is left to fail.

For each kind of change, each call, each fault, and each of: once, this kind of call from then on, every call from then
on. What has to hold afterwards:

1. the file is byte for byte the old or the new one, and the answer truly says which;
2. nothing is left that could have been removed, and no descriptor is open; what stands in the history are whole
   earlier states, none of them the memory's own file;
3. once the fault ends the next change succeeds within a second and clears what stayed.

An empty folder that was made for the file may stay.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NoAnswer
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_app.errors import StoreError
from memory_app.storage.store import Store
from tests.faults.folders import descriptors, files, folder
from tests.faults.scenes import NEXT, SCENES, Outcome, Scene, change, outcome
from tests.faults.seam import through
from tests.stress.figures import Figures

ERRORS: Final = ("EIO", "ENOSPC", "EACCES", "EINTR", "ESTALE", "EROFS")
KINDS: Final = (*ERRORS, "short write", "MemoryError", "KeyboardInterrupt")
LASTING: Final = ("once", "this call", "every call")
_LATE: Final = frozenset(
    [
        "close",
        "fchmod",
        "fchown",
        "fdatasync",
        "fsync",
        "link",
        "mkdir",
        "rename",
        "replace",
        "rmdir",
        "unlink",
        "write",
    ]
)
"""Calls that may have had their effect when they fail: a reply that was lost, a flush that failed."""

_LOCK_WAIT: Final = 0.8  # seconds: what a fault that keeps the lock from being seen costs a trial
_ANSWER: Final = 5.0  # seconds after which there is no answer
_SOON: Final = 1.0  # seconds within which the change after the fault has to be stored
_SAYS: Final = {True: "is stored in", False: "nothing was ", None: "may be stored or not"}
_BACKUP: Final = re.compile(r".*\.\d{8}T\d{6}Z\.bak")


class Fault(NamedTuple):
    """The `at`th call fails, with `late` after it had its effect."""

    kind: str
    at: int
    lasting: str
    late: bool = False


class Injector:
    """A hook that makes one fault, until `end`."""

    def __init__(self, fault: Fault | None) -> None:
        self.fault = fault
        self.names: list[str] = []
        self.fired = False
        self._struck = ""
        self._ended = False

    def end(self) -> None:
        self._ended = True

    def __call__(self, name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if self._ended:
            return make()
        self.names.append(name)
        fault = self.fault
        if fault is None or len(self.names) < fault.at:
            return make()
        if len(self.names) == fault.at:
            self._struck = name
        elif fault.lasting == "once" or (fault.lasting == "this call" and name != self._struck):
            return make()
        return self._fail(fault, name, arguments, make)

    def _fail(self, fault: Fault, name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if fault.kind == "short write":
            if name != "write":
                return make()
            self.fired = True
            descriptor, data = arguments
            return os.write(descriptor, data[: max(len(data) // 3, 1)])
        self.fired = True
        if name == "close" or (fault.late and name in _LATE):  # a descriptor is gone even where closing it fails
            make()
        raise error_of(fault.kind)


def error_of(kind: str) -> BaseException:
    """The exception of a kind of fault."""
    if kind == "MemoryError":
        return MemoryError()
    if kind == "KeyboardInterrupt":
        return KeyboardInterrupt()
    number = getattr(errno, kind)
    return OSError(number, os.strerror(number))


def calls_of(scene: Scene) -> list[str]:
    """The calls that the scene's change makes when nothing fails."""
    injector = Injector(None)
    with folder() as inside, through(injector):
        scene.prepare(inside)
        store = Store(str(inside / scene.path), lambda text: None)
        change(store, scene.tool, scene.arguments).result(_ANSWER)
        _settle(store)
        names = list(injector.names)
        store.close()
    return names[:-2]  # but for the last two, which are the settling's looks at the file


def faults_at(at: int, name: str, kinds: Sequence[str] = KINDS) -> Iterator[Fault]:
    """Every fault that this call can have."""
    for kind in kinds:
        if kind == "short write":
            if name == "write":
                yield from (Fault(kind, at, lasting) for lasting in LASTING[:2])
            continue
        for lasting in LASTING:
            yield Fault(kind, at, lasting)
            if name in _LATE and name != "close":
                yield Fault(kind, at, lasting, late=True)


def trial(scene: Scene, wanted: Outcome, fault: Fault) -> tuple[bool, list[str]]:
    """Whether the fault came to be, and what was wrong then."""
    wrong: list[str] = []
    injector = Injector(fault)
    open_before = descriptors()
    with folder() as inside, through(injector):
        scene.prepare(inside)
        at_first = files(inside)
        store = Store(str(inside / scene.path), lambda text: None, lock_wait=_LOCK_WAIT)
        stored = _stored(change(store, scene.tool, scene.arguments), wrong, inside)
        _settle(store)
        injector.end()
        is_new = _content(inside / scene.target) == wanted.new
        if stored is None and not _cannot_be_told(fault, injector):
            wrong.append("the answer does not say whether the change is stored")
        if not is_new and _content(inside / scene.target) != scene.old:
            wrong.append("the file is neither the old nor the new one")
        if stored is not None and stored != is_new:
            wrong.append(f"the answer says stored={stored}, the file is {'new' if is_new else 'old'}")
        left = _left(inside, scene, at_first, wanted)
        if left and _could_be_removed(fault, injector):
            wrong.append(f"left behind: {sorted(left)}")
        if len(descriptors()) - len(open_before) > (0 if _could_be_removed(fault, injector) else 1):
            wrong.append("a descriptor is left open")
        began = time.monotonic()
        again = _stored(change(store, *NEXT), wrong, inside)
        if again is not True:
            wrong.append("the next change was not stored")
        elif time.monotonic() - began > _SOON:
            wrong.append(f"the next change took {time.monotonic() - began:.1f} s")
        if _content(inside / scene.target) != (wanted.new_and_next if is_new else wanted.old_and_next):
            wrong.append("after the next change the file is not what it has to be")
        if _left(inside, scene, at_first, wanted):
            wrong.append(f"not cleared by the next change: {sorted(_left(inside, scene, at_first, wanted))}")
        store.close()
    if descriptors() != open_before:
        wrong.append("a descriptor is left open after the end")
    return injector.fired, wrong


def _settle(store: Store) -> None:
    """Wait until the writer has done what it does after its answers: a next turn begins after that."""
    for _ in range(2):  # the first one may itself have something to let go of
        wait([store.submit(lambda graph: (graph, None))], _ANSWER)


def _stored(future: Future[Any], wrong: list[str], inside: Path) -> bool | None:
    """What the answer says, None if that cannot be told; complains of one that is not understood."""
    try:
        future.result(_ANSWER)
        return True
    except NoAnswer:
        wrong.append("there is no answer")
    except StoreError as error:
        text = str(error)
        if str(inside) not in text:
            wrong.append(f"the answer does not name the file: {text}")
        if _SAYS[error.stored] not in text.lower():
            wrong.append(f"the answer says stored={error.stored} in other words: {text}")
        return error.stored
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is no answer)
        wrong.append(f"the answer is {error!r}")
    return None


def _could_be_removed(fault: Fault, injector: Injector) -> bool:
    """Whether removing worked while the fault lasted; what was looked at before it was removed counts as well."""
    if fault.lasting == "once":
        return True
    struck = injector.names[fault.at - 1] if len(injector.names) >= fault.at else ""
    return fault.lasting == "this call" and struck not in ("unlink", "rmdir", "lstat", "fstat", "stat")


def _cannot_be_told(fault: Fault, injector: Injector) -> bool:
    """Whether the rename failed and the disk did not answer when it was looked at."""
    return fault.lasting == "every call" and injector.names[fault.at - 1] == "replace"


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _left(inside: Path, scene: Scene, at_first: set[str], wanted: Outcome) -> set[str]:
    """What stands in the folder beside the memory, a whole backup of what it was, and a history of what it was."""
    left = files(inside) - at_first - {scene.target}
    backups = [name for name in sorted(left) if _BACKUP.fullmatch(name) and _content(inside / name) == scene.old]
    if backups and _mode(inside / backups[0]) == _mode(inside / scene.target):
        left.discard(backups[0])
    history = f"{scene.target}.history/"
    own = (inside / scene.target).stat().st_ino if (inside / scene.target).exists() else None
    for name in [name for name in left if name.startswith(history)]:
        earlier = _content(inside / name) in (scene.old, wanted.new) and (inside / name).stat().st_ino != own
        if name == f"{history}.gitignore" or (name.endswith("Z.jsonl") and earlier):
            left.discard(name)
    return left


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(part: str, choose: Callable[[int], bool] = lambda number: True) -> Figures:
    """All scenes and all faults, or of the faults, numbered through, those that are chosen."""
    figures = Figures(part)
    number = 0
    for scene in SCENES:
        figures.count("kinds of change")
        wanted, names = outcome(scene), calls_of(scene)
        figures.count("calls", len(names))
        for at, name in enumerate(names, 1):
            for fault in faults_at(at, name):
                number += 1
                if not choose(number):
                    continue
                fired, wrong = trial(scene, wanted, fault)
                figures.count("faults", fired)
                if not fired:
                    wrong.append("the fault did not come to be")
                for what in wrong:
                    figures.lost(f"{scene.name}, {name}, {fault}: {what}")
    return figures
