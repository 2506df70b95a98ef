"""Crash states: what is left of acknowledged changes, whatever the disk holds after the power is cut.

A session changes a memory several times; its calls are recorded. For every moment between two calls, and every state
that the disk may hold then (see `power`):

1. the memory holds every change that was acknowledged by then, and is byte for byte the file of a moment since then;
2. it is readable, line by line;
3. where a file of another shape was replaced, its bytes stand in a backup;
4. each generation in its history is, byte for byte, the file of an earlier moment;
5. a program that starts on that state stores a change at once, and keeps all that was there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_app.disk import calls
from memory_app.jsonl import document
from memory_app.location import choice, migration
from memory_app.storage.store import Store
from tests.faults.folders import folder
from tests.faults.power import Cut, Recorder, State, cuts
from tests.faults.scenes import LINES, NEXT, SCENES, Scene, applied, change
from tests.faults.seam import through
from tests.placing import put
from tests.stress.figures import Figures

_ANSWER: Final = 20.0
_LONG_AGO: Final = 3600.0  # seconds: nobody has the power back sooner than a lock counts as abandoned

CHANGES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("create_entities", {"entities": [{"name": "Power", "entityType": "test", "observations": ["first"]}]}),
    ("add_observations", {"observations": [{"entityName": "Power", "contents": ["second"]}]}),
    ("create_relations", {"relations": [{"from": "Power", "to": "Power", "relationType": "tests"}]}),
    ("delete_observations", {"deletions": [{"entityName": "Power", "observations": ["first"]}]}),
    ("delete_entities", {"entityNames": ["Power"]}),
)

Work = Callable[[Path, Recorder], "list[bytes | None]"]


class Session(NamedTuple):
    """What is recorded. `work` does it and gives back the memory's bytes before and after each change."""

    name: str
    prepare: Callable[[Path], None]
    work: Work
    target: str
    old: bytes | None
    moved_from: str = ""  # where the memory may still stand as well


def session_of(scene: Scene, count: int = 3) -> Session:
    """The scene's own change and some more, on one store."""

    def work(inside: Path, recorder: Recorder) -> list[bytes | None]:
        asked = [(scene.tool, scene.arguments), *CHANGES][:count]
        store = Store(str(inside / scene.path), lambda text: None)
        versions = [scene.old]
        for number, (tool, arguments) in enumerate(asked, 1):
            recorder.mark(number, number - 1)
            change(store, tool, arguments).result(_ANSWER)
            recorder.mark(number, number)
            versions.append(applied(versions[-1], tool, arguments))
        store.close()
        return versions

    return Session(scene.name, scene.prepare, work, scene.target, scene.old)


def _migrate(inside: Path, recorder: Recorder) -> list[bytes | None]:
    location = choice.Location(str(inside / "memory.jsonl"), "", (), str(inside / "memory.json"))
    recorder.mark(0, 0)
    assert migration.move_old(location, document.reads_as_memory).old is None
    store = Store(location.path, lambda text: None)
    tool, arguments = CHANGES[0]
    recorder.mark(1, 0)
    change(store, tool, arguments).result(_ANSWER)
    recorder.mark(1, 1)
    store.close()
    return [LINES, applied(LINES, tool, arguments)]


def _write_in_place(inside: Path, recorder: Recorder) -> list[bytes | None]:
    """How it must not be done; for the model to be seen at work."""
    target = str(inside / "memory.jsonl")
    after = applied(LINES, *CHANGES[0])
    recorder.mark(1, 0)
    seam: Any = calls
    fd = seam.os.open(target, os.O_WRONLY | os.O_TRUNC)
    calls.write_all(fd, [after])
    calls.sync(fd)
    calls.close(fd)
    recorder.mark(1, 1)
    return [LINES, after]


def _prepare_old_name(inside: Path) -> None:
    put(inside / "memory.json", LINES)


def _prepare_lines(inside: Path) -> None:
    put(inside / "memory.jsonl", LINES)


_WANTED: Final = ("add_observations", "first-write", "first-write-in-new-folders", "other-shape-with-backup")
SESSIONS: Final = (
    *(session_of(scene) for scene in SCENES if scene.name in _WANTED),
    *(session_of(scene, 2) for scene in SCENES if "link" in scene.name),
    Session("moved-from-the-old-name", _prepare_old_name, _migrate, "memory.jsonl", LINES, "memory.json"),
)
LONG_SESSIONS: Final = (
    *(session_of(scene, 4 if "link" in scene.name else 6) for scene in SCENES),
    SESSIONS[-1],
)
IN_PLACE: Final = Session("written-in-place", _prepare_lines, _write_in_place, "memory.jsonl", LINES)


def run(
    sessions: tuple[Session, ...],
    *,
    skip: Callable[[str, str], bool] = lambda name, path: False,
    start_on: Callable[[int], bool] = lambda number: True,
    enough: int = sys.maxsize,
) -> Figures:
    """Enumerate and check. `skip` leaves calls out, `start_on` chooses the distinct states that a program starts on.

    Ends when `enough` losses were found.
    """
    figures = Figures("crash states")
    for session in sessions:
        figures.count("sessions")
        with folder() as inside:
            session.prepare(inside)
            recorder = Recorder(inside, skip)
            with through(recorder):
                versions = session.work(inside, recorder)
            distinct: dict[frozenset[tuple[str, bytes]], State] = {}
            for cut in cuts(recorder):
                figures.count("moments")
                allowed = versions[cut.acknowledged : cut.begun + 1]
                for state in cut.states:
                    if len(figures.losses) >= enough:
                        return figures
                    figures.count("states")
                    wrong = _wrong(session, inside, state, allowed) or _wrong_history(state, versions[: cut.begun + 1])
                    if wrong:
                        figures.lost(f"{session.name}, power cut after {_last(recorder, cut)}: {wrong}")
                    distinct.setdefault(frozenset(state.items()), state)
        for number, state in enumerate(distinct.values()):
            figures.count("distinct states")
            if start_on(number):
                figures.count("starts")
                wrong = _wrong_start(session, inside, state)
                if wrong:
                    figures.lost(f"{session.name}, start on {sorted(map(os.path.basename, state))}: {wrong}")
    return figures


def _last(recorder: Recorder, cut: Cut) -> str:
    return f"step {cut.after}, {recorder.steps[cut.after - 1]!r:.120}" if cut.after else "nothing"


def _memory(session: Session, inside: Path, state: State) -> bytes | None:
    content = state.get(str(inside / session.target))
    if content is None and session.moved_from:
        return state.get(str(inside / session.moved_from))
    return content


def _wrong(session: Session, inside: Path, state: State, allowed: list[bytes | None]) -> str:
    content = _memory(session, inside, state)
    if content not in allowed:
        return f"the memory is {content!r:.60}, which is not one of the {len(allowed)} that it may be"
    if content is None:
        return ""
    if content != session.old and len(document.read(content).tail) != len(document.read(session.old or b"").tail):
        return "a line cannot be read"
    replaced = session.old is not None and document.read(session.old).foreign and content != session.old
    if replaced and session.old not in [data for path, data in state.items() if path.endswith(".bak")]:
        return "the file of another shape was replaced, and its backup is not there"
    return ""


def _wrong_history(state: State, versions: list[bytes | None]) -> str:
    for path, data in state.items():
        if ".history/" in path and path.endswith(".jsonl") and data not in versions:
            return f"a generation is {data!r:.60}, which the file never was"
    return ""


def _wrong_start(session: Session, inside: Path, state: State) -> str:
    """Put the state on a real disk, hours later, and change the memory there."""
    before = _memory(session, inside, state)
    long_ago = time.time() - _LONG_AGO
    with folder() as there:
        session.prepare(there)
        for name in ("memory.jsonl", "memory.json", session.target):
            if not os.path.islink(there / name):
                (there / name).unlink(missing_ok=True)
        for path, data in state.items():
            placed = there / os.path.relpath(path, inside)
            placed.parent.mkdir(parents=True, exist_ok=True)
            placed.write_bytes(data)
            os.utime(placed, (long_ago, long_ago))
        path = str(there / ("memory.jsonl" if "link" in session.name else session.target))
        if session.moved_from and os.path.exists(there / session.moved_from) and not os.path.exists(path):
            migration.move_old(choice.Location(path, "", (), str(there / session.moved_from)), document.reads_as_memory)
        store = Store(path, lambda text: None, lock_wait=1.0)
        try:
            change(store, *NEXT).result(_ANSWER)
        except Exception as error:  # noqa: BLE001 (whatever it is, the change was not stored)
            return f"the next change was not stored: {error}"
        finally:
            store.close()
        if Path(os.path.realpath(path)).read_bytes() != applied(before, *NEXT):
            return "the next change lost something"
        left = [
            name for name in os.listdir(os.path.dirname(os.path.realpath(path))) if name.endswith((".tmp", ".lock"))
        ]
        return f"left behind: {left}" if left else ""
