"""Programs that write the memory file in place while we save: nothing is lost that was there, or comes late."""

from __future__ import annotations

import errno
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_app.disk import calls
from memory_app.disk.calls import Signature
from memory_app.errors import StoreError
from memory_app.graph.changes import NewEntity, create_entities
from memory_app.graph.graph import Graph
from memory_app.jsonl.records import new_entity
from memory_app.storage import inplace, replaced
from memory_app.storage.history import History
from memory_app.storage.memory_file import MemoryFile
from memory_app.storage.replaced import link_present
from memory_app.storage.store import Store
from tests.faults.folders import descriptors
from tests.gating import PATIENCE, GatedOs, in_thread
from tests.placing import put

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced on Windows")
OLD = "".join(new_entity(f"Old{number}", "t", ("a fact",)).raw.decode() + "\n" for number in range(20))
LARGER = OLD.replace("a fact", "a fact that grew")
SAME = OLD.replace("a fact", "a riot")
SMALLER = OLD[: len(OLD) // 2 + 1].rpartition("\n")[0] + "\n"
TEXTS = [pytest.param(LARGER, id="larger"), pytest.param(SAME, id="same size"), pytest.param(SMALLER, id="smaller")]


@pytest.fixture(autouse=True)
def without_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests say which calls a save makes and what it leaves; what the history adds is in its own tests."""
    monkeypatch.setattr(History, "wants", lambda *_: False)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def store(memory: Path, said: list[str]) -> Iterator[Store]:
    store = Store(str(memory), said.append)
    yield store
    store.close(0)


class Writer:
    """A program that writes the memory in place, one step at a time."""

    def __init__(self, memory: Path, text: str) -> None:
        self._fd = os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._rest = text.encode()

    def write(self, size: int | None = None) -> None:
        piece, self._rest = (self._rest, b"") if size is None else (self._rest[:size], self._rest[size:])
        os.write(self._fd, piece)

    def end(self) -> None:
        self.write()
        os.close(self._fd)


def adding(name: str) -> Callable[[Graph], tuple[Graph, None]]:
    return lambda graph: (create_entities(graph, [NewEntity(name, "t", ())])[0], None)


def add(store: Store, name: str = "New") -> None:
    store.submit(adding(name)).result(PATIENCE)


def kept(memory: Path, ending: str) -> list[str]:
    return [path.read_text() for path in sorted(memory.parent.glob(f"*{ending}"))]


def names(text: str) -> set[str]:
    return {line.split('"name":"')[1].split('"')[0] for line in text.splitlines() if '"name":"' in line}


def in_a_pause(gated: GatedOs, step: Callable[[], object]) -> None:
    """Have the step done in the first pause that the writer makes to let the file come to rest."""
    gated.before("stat", step, lambda _: in_rest())


def in_rest() -> bool:
    frame = sys._getframe()
    found: Any = frame
    while found is not None:
        if found.f_code is inplace.Rest.wait.__code__:
            return True
        found = found.f_back
    return False


@POSIX
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("loaded", [True, False], ids=["loaded before", "not loaded"])
@pytest.mark.parametrize("written", [0, 90, 700], ids=["empty", "a line and a bit", "a piece"])
def test_a_save_waits_for_a_program_that_is_writing_in_place(
    memory: Path, store: Store, gated: GatedOs, text: str, loaded: bool, written: int
) -> None:
    put(memory, OLD)
    if loaded:
        store.graph()
    writer = Writer(memory, text)
    writer.write(written)
    in_a_pause(gated, writer.end)
    add(store)
    assert names(memory.read_text()) == names(text) | {"New"}
    assert memory.read_text().startswith(text)


@POSIX
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("loaded", [True, False], ids=["loaded before", "not loaded"])
@pytest.mark.parametrize("written", [0, 90, 700], ids=["empty", "a line and a bit", "a piece"])
def test_what_arrives_after_the_wait_is_in_the_file_that_was_replaced(
    memory: Path, store: Store, said: list[str], text: str, loaded: bool, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_STILL", "_STILL_IF_CUT"):
        monkeypatch.setattr(inplace, name, 0.02)
    put(memory, OLD)
    if loaded:
        store.graph()
    writer = Writer(memory, text)
    writer.write(written)
    add(store)
    writer.write(100)
    add(store, "Newer")
    writer.end()
    assert names(memory.read_text()) >= {"New", "Newer"}
    assert text in kept(memory, ".replaced")
    assert kept(memory, ".bak") == ([OLD] if loaded else [])
    assert any(".replaced)" in line for line in said)
    assert any("kept in a backup" in line for line in said) == loaded


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("pause", [0.03, 1.0, 3.0])
@pytest.mark.parametrize("loaded", [True, False], ids=["loaded before", "not loaded"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_pause_of_any_length_costs_nothing(memory: Path, store: Store, text: str, loaded: bool, pause: float) -> None:
    put(memory, OLD)
    if loaded:
        store.graph()
    writer = Writer(memory, text)
    future = store.submit(adding("New"))
    time.sleep(pause)  # what is shown is how long a program may take
    writer.write(700)
    time.sleep(pause)
    writer.end()
    future.result(PATIENCE)
    assert any(text in one for one in (memory.read_text(), *kept(memory, ".replaced")))
    if loaded:
        assert any(names(OLD) <= names(one) for one in (memory.read_text(), *kept(memory, ".bak"))) or text is SMALLER
    assert "New" in names(memory.read_text())


@POSIX
def test_a_program_that_never_rests_holds_a_save_up_no_longer_than_the_bound(
    memory: Path, store: Store, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inplace, "_LONGEST_WAIT", 0.3)
    put(memory, OLD)
    store.graph()
    writer = Writer(memory, OLD * 1000)
    gated.before("stat", lambda: writer.write(1) if in_rest() else None, always=True)
    add(store)
    writer.end()
    assert '"New"' in memory.read_text()
    assert OLD * 1000 in kept(memory, ".replaced")
    assert kept(memory, ".bak") == [OLD]


@POSIX
def test_a_call_that_changes_nothing_in_a_file_that_was_cut_waits_too(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    put(memory, OLD)
    store.graph()
    writer = Writer(memory, OLD)
    store.graph()
    in_a_pause(gated, writer.end)
    found = store.submit(lambda graph: (graph, len(graph.entities))).result(PATIENCE)
    assert found == 20


@POSIX
def test_where_there_are_no_hard_links_the_replaced_file_is_watched(
    memory: Path, store: Store, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inplace, "_STILL", 0.0)
    gated.fail("link", PermissionError(errno.EPERM, os.strerror(errno.EPERM)), always=True)
    put(memory, OLD)
    store.graph()
    with open(memory, "ab", buffering=0) as file:
        file.write(new_entity("First", "t", ()).raw + b"\n")
        add(store)
        file.write(new_entity("Late", "t", ()).raw + b"\n")
    store.close()
    (copy,) = kept(memory, ".bak")
    assert names(copy) == names(OLD) | {"First", "Late"}
    assert names(memory.read_text()) == names(OLD) | {"First", "New"}
    assert kept(memory, ".replaced") == []


@POSIX
def test_no_more_than_ten_replaced_files_are_watched(
    memory: Path, store: Store, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inplace, "_STILL", 0.0)
    gated.fail("link", PermissionError(errno.EPERM, os.strerror(errno.EPERM)), always=True)
    before = len(descriptors())
    put(memory, OLD)
    for number in range(14):
        with open(memory, "ab") as file:
            file.write(new_entity(f"Other{number}", "t", ()).raw + b"\n")
        add(store, f"New{number}")
    until = time.monotonic() + 5  # half of the time that a file is watched
    while len(descriptors()) - before > 10:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_file_that_was_put_there_by_a_rename_is_neither_waited_for_nor_kept(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    put(memory, OLD)
    add(store, "One")
    other = memory.with_name("other")
    put(other, OLD)
    os.replace(other, memory)
    gated.calls.clear()
    add(store, "Two")
    made = [name for name, _ in gated.calls]
    assert "link" in made or "utime" not in made
    assert "link" not in [name for name, arguments in gated.calls if ".replaced" in str(arguments)]
    assert sorted(path.name for path in memory.parent.iterdir()) == ["memory.jsonl"]


@POSIX
def test_a_save_after_our_own_takes_no_more_calls_than_the_steps_need(
    memory: Path, store: Store, gated: GatedOs
) -> None:
    add(store, "One")
    add(store, "Two")
    gated.calls.clear()
    add(store, "Three")
    target = [name for name, arguments in gated.calls if arguments and arguments[0] == str(memory)]
    assert target == ["stat", "stat", "lstat", "access", "stat"]  # two looks, the rights (two calls), the last look
    opened = [arguments[0] for name, arguments in gated.calls if name == "open"]
    assert str(memory) not in opened and "utime" not in [name for name, _ in gated.calls]


@POSIX
def test_a_name_of_a_replaced_file_goes_after_a_while_if_nothing_was_written_to_it(
    memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inplace, "_STILL", 0.0)
    memory.write_text(OLD)
    add(store)
    assert kept(memory, ".replaced") == [OLD]
    with open(memory, "ab", buffering=0) as file:
        file.write(new_entity("By hand", "t", ()).raw + b"\n")
        add(store, "Newer")
        file.write(b"late")
    assert len(kept(memory, ".replaced")) == 2
    monkeypatch.setattr(replaced, "_AGE", 0.0)
    store._file._replaced.sweep(0.0)
    assert [text[-4:] for text in kept(memory, ".replaced")] == ["late"]


@POSIX
def test_ten_names_of_replaced_files_stay(memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inplace, "_STILL", 0.0)
    for number in range(12):
        memory.write_text(OLD.replace("a fact", f"fact {number}"))
        add(store)
    texts = kept(memory, ".replaced")
    assert len(texts) == 10
    assert "fact 11" in texts[-1] and "fact 2" in texts[0]


@POSIX
@pytest.mark.parametrize("step", [0.0, -3600.0], ids=["all in one second", "the clock is set back each time"])
def test_the_newest_replaced_file_keeps_its_name_however_many_there_are(
    memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    for name in ("_STILL", "_STILL_IF_CUT"):
        monkeypatch.setattr(inplace, name, 0.0)
    moments = itertools.count(1_800_000_000.0, step)
    monkeypatch.setattr(store._file._replaced, "_now", lambda: next(moments))
    for number in range(25):
        with memory.open("w", buffering=1) as file:
            file.write(OLD)
            add(store)
            file.write(f"late {number}\n")
        assert any(f"late {number}\n" in text for text in kept(memory, ".replaced"))


@POSIX
def test_a_cut_file_that_is_read_twice_stays_cut(memory: Path, store: Store) -> None:
    """Here the part that is there is longer than all that was there before."""
    first = OLD.splitlines(keepends=True)[0]
    put(memory, first)
    store.graph()
    writer = Writer(memory, LARGER)
    writer.write(len(first) * 3 + 10)
    store.graph()
    os.utime(memory)  # read again for that, with the same bytes
    store.graph()
    add(store)
    writer.end()
    assert first in kept(memory, ".bak")


@POSIX
@pytest.mark.parametrize("call", ["link", "replace"])
def test_a_failure_after_the_link_leaves_one_name(memory: Path, store: Store, gated: GatedOs, call: str) -> None:
    memory.write_text(OLD)
    gated.fail("replace", OSError(errno.EIO, "input/output error"))
    if call == "link":
        gated.fail("lstat", OSError(errno.EIO, "input/output error"), lambda at: str(at[0]).endswith(".replaced"))
    with pytest.raises(StoreError, match="nothing was changed"):
        add(store)
    assert [path.name for path in memory.parent.iterdir()] == ["memory.jsonl"]
    assert memory.read_text() == OLD and memory.stat().st_nlink == 1


@POSIX
@pytest.mark.parametrize("change", ["written", "mode", "replaced", "named again"])
def test_a_change_beside_our_own_link_is_seen(memory: Path, gated: GatedOs, change: str) -> None:
    put(memory, OLD)
    expected = calls.signature_at(str(memory))

    def act() -> None:
        if change == "written":
            with open(memory, "r+b") as file:
                file.write(b"{")
        elif change == "mode":
            memory.chmod(0o640)
        elif change == "named again":
            os.link(memory, memory.with_name("third"))
        else:
            put(memory.with_name("other"), OLD)
            os.replace(memory.with_name("other"), memory)

    gated.before("link", act)
    assert link_present(str(memory), str(memory.with_name("second")), expected) is None
    assert not memory.with_name("second").exists()


@POSIX
def test_a_link_of_the_present_file_is_all_that_its_signature_allows(memory: Path) -> None:
    put(memory, OLD)
    expected = calls.signature_at(str(memory))
    after = link_present(str(memory), str(memory.with_name("second")), expected)
    assert after is not None and after == calls.signature_at(str(memory)) and after[:4] == expected[:4]
    with pytest.raises(FileExistsError):
        link_present(str(memory), str(memory.with_name("second")), after)


@POSIX
def test_a_crash_between_link_and_rename_costs_the_next_process_nothing(memory: Path, store: Store) -> None:
    memory.write_text(OLD)
    os.link(memory, memory.with_name("memory.jsonl.20270115T080000Z.replaced"))
    add(store)
    assert names(memory.read_text()) == names(OLD) | {"New"}
    assert set(kept(memory, ".replaced")) == {OLD}


class CoarseOs(GatedOs):
    """A file system whose clock moves every so many seconds."""

    def __init__(self, tick: float) -> None:
        super().__init__()
        self._tick = int(tick * 1e9)

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)
        if name not in ("stat", "fstat", "lstat"):
            return call

        def coarse(*arguments: Any, **more: Any) -> Any:
            status = call(*arguments, **more)
            times = {
                f"st_{one}_ns": self._round(getattr(status, f"st_{one}_ns")) for one in ("atime", "mtime", "ctime")
            }
            return _Rounded(status, times)

        return coarse

    def _round(self, moment: int) -> int:
        return moment // self._tick * self._tick


class _Rounded:
    def __init__(self, status: os.stat_result, times: dict[str, int]) -> None:
        self._status = status
        self.__dict__.update(times)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._status, name)


@POSIX
@pytest.mark.parametrize("tick", [0.01, 1.0, 2.0])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_an_edit_of_the_same_size_within_one_tick_of_a_coarse_clock_is_seen_by_the_next_save(
    memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch, tick: float, first: str
) -> None:
    monkeypatch.setattr(calls, "os", CoarseOs(tick))
    put(memory, OLD)
    for number in range(6):
        add(store, f"New{number}")
        if first == "theirs":
            memory.write_bytes(memory.read_bytes())
            store.graph()
        with open(memory, "r+b") as file:
            file.seek(OLD.index("a fact"))
            file.write(f"edit {number}".encode())
    add(store, "Last")
    assert "edit 5" in memory.read_text()
    assert len(names(memory.read_text())) == 27


@POSIX
def test_readers_see_such_an_edit_when_the_clock_has_moved(
    memory: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "os", CoarseOs(3600.0))
    monkeypatch.setattr(inplace, "_SKEW", 1e9)
    memory.write_text(OLD)
    first = store.graph()
    memory.write_text(SAME)
    assert store.peek() is first
    monkeypatch.setattr(inplace, "COARSEST", 0.0)
    assert store.peek() is None
    assert "a riot" in store.graph().entities["Old0"].observations()


@POSIX
def test_no_descriptor_is_held_between_calls(memory: Path, store: Store, gated: GatedOs) -> None:
    put(memory, OLD * 1)
    before = set(os.listdir("/proc/self/fd")) if sys.platform == "linux" else set()
    store.graph()
    add(store)
    store.close()
    opened = sum(name == "open" for name, _ in gated.calls)
    closed = sum(name == "close" for name, _ in gated.calls)
    assert opened == closed
    if sys.platform == "linux":
        assert set(os.listdir("/proc/self/fd")) == before


@POSIX
def test_a_large_file_that_was_replaced_is_freed_after_the_answer(
    memory: Path, store: Store, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_app.storage.memory_file._SLOW_TO_FREE", 1)
    put(memory, OLD)
    store.graph()
    inode = memory.stat().st_ino
    at_rename: list[int] = []

    def look() -> None:
        for fd in os.listdir("/proc/self/fd"):
            try:
                at_rename.append(os.stat(f"/proc/self/fd/{fd}").st_ino)
            except OSError:
                pass

    if sys.platform == "linux":
        gated.before("replace", look, in_thread("memory-writer"))
    add(store)
    assert inode in at_rename or sys.platform != "linux"


@pytest.mark.parametrize("way", ["removed", "moved", "another device"])
def test_a_folder_that_goes_away_is_an_error_and_not_a_new_memory(
    tmp_path: Path, way: str, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "there" / "memory.jsonl"
    memory.parent.mkdir()
    put(memory, OLD)
    store = Store(str(memory), lambda _: None)
    store.graph()
    aside = tmp_path / "aside"
    if way == "another device":
        os.replace(memory, aside)
        real = calls.signature_at
        monkeypatch.setattr(
            calls,
            "signature_at",
            lambda path: real(path)._replace(device=-1) if path == str(memory.parent) else real(path),
        )
    else:
        os.replace(memory.parent, aside)
        if way == "removed":
            os.unlink(aside / "memory.jsonl")
    for act in (lambda: add(store), store.graph):
        with pytest.raises(StoreError, match="not there any more"):
            act()
    assert way == "another device" or not memory.parent.exists()
    if way == "moved":
        os.replace(aside, memory.parent)
        add(store)
        assert names(memory.read_text()) == names(OLD) | {"New"}
    store.close()


def test_a_file_that_is_removed_from_its_folder_is_an_empty_memory(memory: Path, store: Store) -> None:
    put(memory, OLD)
    store.graph()
    memory.unlink()
    add(store)
    assert names(memory.read_text()) == {"New"}


def test_the_wait_is_bounded_and_starts_anew_with_the_next_save() -> None:
    rest = inplace.Rest()
    assert rest.ask(1.0)
    rest.end()
    looks = iter(range(100))
    rest.wait(lambda: Signature(1, 1, next(looks), 0, 0))
    assert next(looks) == 0  # nothing was asked for


def test_our_own_file_is_not_taken_for_one_that_is_being_written(memory: Path) -> None:
    one = MemoryFile(str(memory))
    old = one.read(None)
    saved = one.save(old, create_entities(old.graph, [NewEntity("New", "t", ())])[0], lambda: True)
    assert saved is not None and saved.signature is not None and saved.reading is not None
    assert not inplace.may_be_unfinished(saved.signature, saved.reading, inplace.present_of(saved.signature))
