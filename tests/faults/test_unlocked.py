"""Writers that take no lock, and holders that lost theirs: what was there before our last check is not overwritten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.storage import inplace
from memory_app.storage.history import History
from memory_app.storage.store import Store
from tests.faults.folders import beside, files, folder
from tests.faults.scenes import LINES, NAME, NEXT, SCENES, applied, change
from tests.faults.seam import through
from tests.placing import put

ROOT: Final = Path(__file__).resolve().parents[2]
_PATIENCE: Final = 20.0
_SCENE: Final = next(scene for scene in SCENES if scene.name == "create_entities")
_FOREIGN: Final = b'{"type":"entity","name":"Foreign","entityType":"test","observations":[]}\n'
_SAME_SIZE: Final = LINES.replace(b"writes", b"paints")


def _replaced(memory: Path) -> bytes:
    """As the npm server saves since 2026."""
    other = memory.with_name("other.tmp")
    other.write_bytes(_FOREIGN + LINES)
    os.replace(other, memory)
    return _FOREIGN + LINES


def _rewritten(memory: Path) -> bytes:
    """As older ones and many editors do."""
    memory.write_bytes(_FOREIGN + LINES)
    return _FOREIGN + LINES


def _appended(memory: Path) -> bytes:
    with open(memory, "ab") as file:
        file.write(_FOREIGN)
    return LINES + _FOREIGN


def _same_size_and_time(memory: Path) -> bytes:
    """Only the time of the change tells it, which nobody can set."""
    status = memory.stat()
    with open(memory, "r+b") as file:
        file.write(_SAME_SIZE)
    os.utime(memory, ns=(status.st_atime_ns, status.st_mtime_ns))
    return _SAME_SIZE


def _linked_elsewhere(memory: Path) -> bytes:
    """A file that stood ready takes the name."""
    memory.unlink()
    os.link(memory.with_name("ready"), memory)
    return _FOREIGN


def _removed(memory: Path) -> bytes | None:
    memory.unlink()
    return None


def _save(write: Callable[[Path], bytes | None], at: int) -> tuple[list[str], bytes | None, bytes, set[str]]:
    """Save with that written before the `at`th call (0: never): the calls, what was written, the file, all files."""
    names: list[str] = []
    made: bytes | None = LINES

    def hook(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        nonlocal made
        names.append(name)
        if len(names) == at:
            made = write(memory)
        return make()

    with folder() as inside:
        memory = inside / NAME
        put(memory, LINES)
        (inside / "ready").write_bytes(_FOREIGN)
        store = Store(str(memory), lambda text: None)
        store.graph()  # loaded before: what is checked is not only what this save has read
        _let_tick(memory)
        with through(hook):
            change(store, _SCENE.tool, _SCENE.arguments).result(_PATIENCE)
            store.close()
        return names, made, memory.read_bytes(), files(inside)


def _let_tick(memory: Path) -> None:
    """Wait for the file system's clock, which may move only every 10 ms, to leave the time of the last change."""
    until = time.monotonic() + _PATIENCE
    other = memory.with_name("clock")
    while time.monotonic() < until:
        other.write_bytes(b"")
        if other.stat().st_ctime_ns != memory.stat().st_ctime_ns:
            break
    other.unlink()


@pytest.mark.parametrize("write", [_replaced, _rewritten, _appended, _same_size_and_time, _linked_elsewhere, _removed])
def test_a_change_before_the_last_check_is_kept(
    write: Callable[[Path], bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_STILL", "_STILL_IF_CUT"):
        monkeypatch.setattr(inplace, name, 0.02)  # this writer has finished; others below have not
    last = _save(write, 0)[0].index("replace")
    for at in range(1, last + 1):
        _, made, saved, left = _save(write, at)
        assert saved == applied(made, _SCENE.tool, _SCENE.arguments), f"before call {at} of {last}"
        # What was written in place may be kept beside it; a file that does not end in a record counts as cut.
        may_stay = (".replaced", ".bak")
        assert {name for name in left if not name.endswith(may_stay) and ".history/" not in name} == {NAME, "ready"}


def _all_that_is_kept(inside: Path) -> bytes:
    """The memory, and what was kept beside it."""
    endings = (NAME, ".replaced", ".bak")
    kept = [path for path in sorted(inside.iterdir()) if path.name.endswith(endings)]
    kept += sorted((inside / f"{NAME}.history").glob("*.jsonl"))
    return b"".join(path.read_bytes() for path in kept)


def _lost_in_place(begin: int, end: int, text: bytes, *, loaded: bool) -> str:
    """Save while another program truncates the file before the `begin`th call and writes it in two pieces, the second
    before the `end`th, or after all of them. What is lost, as text."""
    number = 0
    writer = -1
    half = len(text) // 2 + 1

    def hook(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        nonlocal number, writer
        number += 1
        if number == begin:
            writer = os.open(memory, os.O_WRONLY | os.O_TRUNC)
            os.write(writer, text[:half] if begin % 2 else b"")
        if number == end and writer >= 0:
            os.write(writer, text[half:] if begin % 2 else text)
            os.close(writer)
            writer = -1
        return make()

    with folder() as inside:
        memory = inside / NAME
        put(memory, LINES)
        store = Store(str(memory), lambda text: None)
        if loaded:
            store.graph()
        with through(hook):
            change(store, _SCENE.tool, _SCENE.arguments).result(_PATIENCE)
        if writer >= 0:
            os.write(writer, text[half:] if begin % 2 else text)
            os.close(writer)
        store.close()
        kept = _all_that_is_kept(inside)
        is_theirs = all(line in memory.read_bytes() for line in text.splitlines())
        wanted = [*text.splitlines(), b"Babbage", *(LINES.splitlines() if loaded and not is_theirs else ())]
        return ", ".join(line.decode() for line in wanted if line not in kept)


_TEXTS: Final = [
    pytest.param(_FOREIGN + LINES, id="larger"),
    pytest.param(_SAME_SIZE, id="same size"),
    pytest.param(_FOREIGN, id="smaller"),
]


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "not loaded"])
@pytest.mark.parametrize("text", _TEXTS)
def test_a_program_that_is_caught_half_way_in_writing_in_place_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, text: bytes, loaded: bool
) -> None:
    _rest_briefly(monkeypatch)
    last = _save(_replaced, 0)[0].index("replace")
    for begin in range(1, last + 1, 3):
        for end in (begin + 1, begin + 7, sys.maxsize):
            lost = _lost_in_place(begin, end, text, loaded=loaded)
            assert lost == "", f"truncated before call {begin} of {last}"


def test_a_save_that_goes_by_whatever_is_there_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    _rest_briefly(monkeypatch)
    monkeypatch.setattr(inplace, "may_be_unfinished", lambda *_: False)
    monkeypatch.setattr(History, "wants", lambda *_: False)  # a generation would hold what is lost
    last = _save(_replaced, 0)[0].index("replace")
    assert any(_lost_in_place(begin, sys.maxsize, _FOREIGN + LINES, loaded=True) for begin in range(1, last + 1))


def _rest_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_STILL", "_STILL_IF_CUT"):
        monkeypatch.setattr(inplace, name, 0.02)


def test_the_look_at_the_file_is_the_last_call_before_the_rename() -> None:
    names = _save(_replaced, 0)[0]
    assert names[names.index("replace") - 1] == "stat"


_STOPPED: Final = """
import signal, sys, threading
from memory_app.storage.store import Store
from tests.faults.scenes import SCENES, change
from tests.faults.seam import through

path, before = sys.argv[1:]
seen = []

def hook(name, arguments, make):
    if "fsync" in seen and "stopped" not in seen and name == before:
        seen.append("stopped")
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this thread at once, all others with it
    result = make()
    seen.append(name)
    return result

store = Store(path, lambda text: None, lock_wait=20)
with through(hook):
    change(store, SCENES[0].tool, SCENES[0].arguments).result(20)
    print(store.saves)
    store.close()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no SIGSTOP here")
@pytest.mark.parametrize("before", ["lstat", "stat"], ids=["look at the lock", "look at the file"])
def test_a_holder_that_was_stopped_before_its_last_check_does_not_overwrite(before: str) -> None:
    with folder() as inside:
        memory, lock = inside / NAME, inside / f"{NAME}.lock"
        put(memory, LINES)
        holder = subprocess.Popen(
            [sys.executable, "-c", _STOPPED, str(memory), before],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        try:
            assert os.WIFSTOPPED(os.waitpid(holder.pid, os.WUNTRACED)[1])
            held = json.loads(lock.read_bytes())
            assert held["pid"] == holder.pid
            past = time.time() - 31
            os.utime(lock, (past, past))  # as if it had been stopped for so long
            store = Store(str(memory), lambda text: None)
            change(store, *NEXT).result(_PATIENCE)
            store.close()
            assert memory.read_bytes() == applied(LINES, *NEXT)
            holder.send_signal(signal.SIGCONT)
            said, _ = holder.communicate(timeout=_PATIENCE)
        finally:
            holder.kill()
            holder.wait()
        assert said == b"1\n"
        assert memory.read_bytes() == applied(applied(LINES, *NEXT), _SCENE.tool, _SCENE.arguments)
        assert [name for name in beside(inside) if not name.endswith(".replaced")] == [NAME]
