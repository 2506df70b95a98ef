"""The memory file on disk: reading it, replacing it, its backup, what may not be written, what is left behind."""

from __future__ import annotations

import errno
import itertools
import json
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_app.disk import calls, whole
from memory_app.disk.whole import TEMPORARY
from memory_app.errors import StoreError
from memory_app.graph.changes import NewEntity, create_entities
from memory_app.storage import memory_file
from memory_app.storage.history import History
from memory_app.storage.memory_file import MemoryFile, Snapshot
from tests.gating import GatedOs, on, reading
from tests.placing import put

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes, owners and links of POSIX")
NOT_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
AS_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
ANN = '{"type":"entity","name":"Ann","entityType":"t","observations":[]}\n'
BO = ANN.replace("Ann", "Bo")
NEW = ANN.replace("Ann", "New")
DOCUMENT = '{"entities":[{"name":"Ann","entityType":"t","observations":[]}],"relations":[]}'
NOW = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC


@pytest.fixture(autouse=True)
def without_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests say which calls a save makes and what it leaves; what the history adds is in its own tests."""
    monkeypatch.setattr(History, "wants", lambda *_: False)


def save(
    one: MemoryFile, old: Snapshot | None = None, name: str = "New", held: Callable[[], bool] = lambda: True
) -> Snapshot | None:
    """One change: an entity more."""
    old = one.read(None) if old is None else old
    graph, _, _ = create_entities(old.graph, [NewEntity(name, "t", ())])
    saved = one.save(old, graph, held)
    if saved is not None:
        one.make_durable()
    return saved


def names(snapshot: Snapshot) -> list[str]:
    return list(snapshot.graph.entities)


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(StoreError) as caught:
        act()
    assert not caught.value.stored
    return str(caught.value)


def beside(memory: Path) -> list[str]:
    return sorted(path.name for path in memory.parent.iterdir())


def test_no_file_is_an_empty_graph(memory: Path) -> None:
    snapshot = MemoryFile(str(memory)).read(None)
    assert (names(snapshot), snapshot.signature, snapshot.reading) == ([], None, None)
    assert MemoryFile(str(memory / "not" / "here")).signature() is None


def test_a_file_that_changes_while_it_is_read_is_read_again(memory: Path, gated: GatedOs) -> None:
    put(memory, ANN)
    gated.before("read", lambda: memory.write_text(ANN + BO))
    assert names(MemoryFile(str(memory)).read(None)) == ["Ann", "Bo"]


def test_a_file_that_never_stops_changing_is_given_up_and_named(
    memory: Path, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory, ANN)
    monkeypatch.setattr(whole, "READ_TRIES", 3)
    moments = itertools.count(1)
    gated.before("read", lambda: os.utime(memory, (1, next(moments))), always=True)
    assert f"{memory} keeps changing" in refusal(lambda: MemoryFile(str(memory)).read(None))
    assert sum(name == "open" for name, _ in gated.calls) == 3


def test_something_else_is_named_and_left(memory: Path) -> None:
    put(memory, "a diary\n")
    text = refusal(lambda: MemoryFile(str(memory)).read(None))
    assert text.startswith(f"{memory} is not a memory file: ")
    assert "diary" not in text
    assert "Choose another memory file" in text


def test_a_folder_in_its_place_is_named(memory: Path) -> None:
    memory.mkdir()
    assert "It is a folder" in refusal(lambda: MemoryFile(str(memory)).read(None))


@POSIX
def test_a_fifo_in_its_place_is_refused_without_waiting(memory: Path) -> None:
    os.mkfifo(memory)
    text = refusal(lambda: MemoryFile(str(memory)).read(None))
    assert "not a regular file" in text and "choose another memory file" in text


def test_a_file_that_this_user_may_not_read_is_named_with_what_to_do(memory: Path, gated: GatedOs) -> None:
    put(memory, ANN)
    gated.fail("open", PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    text = refusal(lambda: MemoryFile(str(memory)).read(None))
    assert f"{memory} could not be read; nothing was changed" in text and "Give this user the right to read it" in text


def test_a_file_that_is_too_large_is_refused_unread(
    memory: Path, gated: GatedOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory, ANN)
    monkeypatch.setattr(memory_file, "LARGEST_FILE", 10)
    assert "is larger than" in refusal(lambda: MemoryFile(str(memory)).read(None))
    assert all(name != "read" for name, _ in gated.calls)


def test_a_save_is_these_calls_in_this_order(memory: Path, gated: GatedOs) -> None:
    put(memory, ANN)
    old = MemoryFile(str(memory)).read(None)
    gated.calls.clear()
    save(MemoryFile(str(memory)), old, held=lambda: bool(gated.getpid()))
    steps = ["open", "write", "fsync", "getpid", "replace", "fsync"]
    made = [name for name, arguments in gated.calls if name in steps and arguments[1:] != (os.O_RDONLY,)]
    assert [name for name in made if name != "open"] == steps[1:]
    assert made[0] == "open"
    assert memory.read_text() == ANN + NEW
    assert beside(memory) == ["memory.jsonl"]


def test_the_temporary_file_stands_beside_the_file_and_has_our_pattern(memory: Path, gated: GatedOs) -> None:
    found: list[str] = []
    gated.before("replace", lambda: found.extend(beside(memory)))
    save(MemoryFile(str(memory)))
    assert len(found) == 1
    assert TEMPORARY.fullmatch(found[0].removeprefix("memory.jsonl"))


def test_a_saved_snapshot_is_that_of_the_file(memory: Path) -> None:
    one = MemoryFile(str(memory))
    first = save(one)
    assert first is not None and first.signature == one.signature() == calls.signature_at(str(memory))
    second = save(one, first, "Newer")
    assert second is not None
    assert names(second) == names(one.read(None)) == ["New", "Newer"]


@pytest.mark.parametrize("change", ["written", "replaced", "removed", "appeared", "touched"])
def test_a_change_by_another_between_load_and_last_check_is_noticed(memory: Path, gated: GatedOs, change: str) -> None:
    one = MemoryFile(str(memory))
    if change != "appeared":
        memory.write_text(ANN)
    old = one.read(None)

    def act() -> None:
        if change == "replaced":
            (memory.parent / "other").write_text(ANN)
            os.replace(memory.parent / "other", memory)
        elif change == "removed":
            memory.unlink()
        elif change == "touched":
            os.utime(memory, (1, 1))
        else:
            memory.write_text(BO)

    gated.before("fsync", act)
    assert save(one, old) is None
    assert memory.exists() == (change != "removed")
    assert NEW not in (memory.read_text() if memory.exists() else "")
    assert len(beside(memory)) == memory.exists()


def test_a_lost_lock_leaves_the_old_file(memory: Path) -> None:
    put(memory, ANN)
    assert save(MemoryFile(str(memory)), held=lambda: False) is None
    assert memory.read_text() == ANN
    assert beside(memory) == ["memory.jsonl"]


@POSIX
def test_a_new_file_is_for_its_owner_alone(memory: Path) -> None:
    previous = os.umask(0)
    try:
        save(MemoryFile(str(memory)))
    finally:
        os.umask(previous)
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660, 0o666])
def test_the_mode_stays(memory: Path, mode: int) -> None:
    put(memory, ANN)
    memory.chmod(mode)
    save(MemoryFile(str(memory)))
    assert stat.S_IMODE(memory.stat().st_mode) == mode


@AS_ROOT
def test_the_owner_stays(memory: Path) -> None:
    put(memory, ANN)
    os.chown(memory, 1234, 2345)
    memory.chmod(0o640)
    save(MemoryFile(str(memory)))
    status = memory.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


@POSIX
def test_nobody_can_read_the_new_file_before_it_has_its_mode(memory: Path, gated: GatedOs) -> None:
    put(memory, ANN)
    memory.chmod(0o644)
    modes: list[int] = []
    gated.before("fchmod", lambda: modes.extend(stat.S_IMODE(p.stat().st_mode) for p in memory.parent.glob("*.tmp")))
    save(MemoryFile(str(memory)))
    assert modes == [0o600]


@POSIX
def test_a_file_without_a_write_bit_is_refused_and_not_replaced(memory: Path) -> None:
    put(memory, ANN)
    memory.chmod(0o444)
    inode = memory.stat().st_ino
    text = refusal(lambda: save(MemoryFile(str(memory))))
    assert f"{memory} is read-only; nothing was changed" in text
    assert (memory.read_text(), memory.stat().st_ino, beside(memory)) == (ANN, inode, ["memory.jsonl"])


@NOT_ROOT
def test_a_folder_without_a_write_bit_is_named_with_what_to_do(memory: Path) -> None:
    put(memory, ANN)
    memory.parent.chmod(0o500)
    try:
        assert "Give this user the right" in refusal(lambda: save(MemoryFile(str(memory))))
    finally:
        memory.parent.chmod(0o700)


@POSIX
@pytest.mark.parametrize("relative", [True, False])
def test_a_symbolic_link_stays_and_the_real_file_is_replaced_in_its_folder(
    memory: Path, gated: GatedOs, relative: bool
) -> None:
    real = memory.parent / "real" / "file.jsonl"
    real.parent.mkdir()
    put(real, ANN)
    memory.symlink_to("real/file.jsonl" if relative else real)
    found: list[str] = []
    gated.before("replace", lambda: found.extend(beside(real)))
    save(MemoryFile(str(memory)))
    assert memory.is_symlink()
    assert real.read_text() == ANN + NEW
    assert len(found) == 2 and all(name.startswith("file.jsonl") for name in found)


@POSIX
def test_a_link_to_nothing_is_filled(memory: Path) -> None:
    real = memory.parent / "new" / "folder" / "file.jsonl"
    memory.symlink_to(real)
    one = MemoryFile(str(memory))
    one.make_folder()
    save(one)
    assert memory.is_symlink() and real.read_text() == NEW
    assert stat.S_IMODE(real.parent.stat().st_mode) == 0o700


@POSIX
def test_a_link_that_is_turned_elsewhere_during_a_save_is_noticed(memory: Path, gated: GatedOs) -> None:
    for name in ("one", "two"):
        (memory.parent / name).write_text(ANN)
    memory.symlink_to("one")

    def turn() -> None:
        memory.unlink()
        memory.symlink_to("two")

    gated.before("fsync", turn)
    assert save(MemoryFile(str(memory))) is None
    assert (memory.parent / "one").read_text() == (memory.parent / "two").read_text() == ANN
    assert beside(memory) == ["memory.jsonl", "one", "two"]


@POSIX
def test_missing_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    memory = tmp_path / "a" / "b c" / "é" / "memory.jsonl"
    previous = os.umask(0)
    try:
        MemoryFile(str(memory)).make_folder()
        save(MemoryFile(str(memory)))
    finally:
        os.umask(previous)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in list(memory.parents)[:3]] == [0o700] * 3
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EBUSY, "mount its folder instead"),
        (errno.EXDEV, "mount its folder instead"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "Give this user the right"),
        (errno.EIO, "Check the disk of"),
    ],
)
def test_a_failed_rename_leaves_the_old_file_and_says_what_to_do(
    memory: Path, gated: GatedOs, number: int, text: str
) -> None:
    put(memory, ANN)
    gated.fail("replace", OSError(number, os.strerror(number)))
    told = refusal(lambda: save(MemoryFile(str(memory))))
    assert str(memory) in told and "nothing was changed" in told and text in told
    assert (memory.read_text(), beside(memory)) == (ANN, ["memory.jsonl"])


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_leaves_the_old_file_and_says_what_to_do(memory: Path, gated: GatedOs, call: str) -> None:
    put(memory, ANN)
    gated.fail(call, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert "Free some space" in refusal(lambda: save(MemoryFile(str(memory))))
    assert (memory.read_text(), beside(memory)) == (ANN, ["memory.jsonl"])


def test_a_rename_that_failed_but_happened_counts(memory: Path, gated: GatedOs) -> None:
    put(memory, ANN)

    def rename_all_the_same() -> None:
        (temporary,) = memory.parent.glob("*.tmp")
        os.replace(temporary, memory)
        raise OSError(errno.EIO, "the answer was lost")

    gated.before("replace", rename_all_the_same)
    assert save(MemoryFile(str(memory))) is not None
    assert memory.read_text() == ANN + NEW


@POSIX
def test_a_failed_sync_of_the_folder_says_that_the_change_is_stored(memory: Path, gated: GatedOs) -> None:
    one = MemoryFile(str(memory))
    gated.before("replace", lambda: gated.fail("fsync", OSError(errno.EIO, "input/output error")))
    with pytest.raises(StoreError, match=r"The change is stored .* might not survive a power cut") as caught:
        save(one)
    assert caught.value.stored
    assert memory.read_text() == NEW


def document(memory: Path) -> MemoryFile:
    put(memory, DOCUMENT)
    return MemoryFile(str(memory), now=lambda: NOW)


def test_a_file_of_another_shape_is_copied_before_its_first_write(memory: Path, gated: GatedOs) -> None:
    one = document(memory)
    memory.chmod(0o640)
    found: list[str] = []
    gated.before("replace", lambda: found.extend(path.read_text() for path in memory.parent.glob("*.bak")))
    assert save(one) is not None
    backup = memory.parent / "memory.jsonl.20270115T080000Z.bak"
    assert found == [backup.read_text()] == [DOCUMENT]
    assert memory.read_text() == ANN + NEW
    if sys.platform != "win32":
        assert stat.S_IMODE(backup.stat().st_mode) == stat.S_IMODE(memory.stat().st_mode) == 0o640
    assert sum(name == "fsync" for name, _ in gated.calls) >= 4  # the backup, its name, the file, its name


def test_the_same_bytes_are_backed_up_once(memory: Path) -> None:
    save(document(memory))
    save(document(memory))
    assert beside(memory) == ["memory.jsonl", "memory.jsonl.20270115T080000Z.bak"]


@pytest.mark.parametrize(
    "other", [DOCUMENT + "\n", DOCUMENT.replace("Ann", "Bob")], ids=["longer", "of the same length"]
)
def test_other_bytes_of_the_same_second_are_backed_up_beside(memory: Path, other: str) -> None:
    save(document(memory))
    put(memory, other)
    save(MemoryFile(str(memory), now=lambda: NOW))
    assert other != DOCUMENT
    assert [path.read_text() for path in sorted(memory.parent.glob("*.bak"))] == [DOCUMENT, other]
    assert beside(memory)[-1] == "memory.jsonl.20270115T080001Z.bak"


def test_lines_of_ours_are_not_backed_up(memory: Path) -> None:
    put(memory, ANN + "junk\n")
    save(MemoryFile(str(memory)))
    assert beside(memory) == ["memory.jsonl"]


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_without_its_backup_a_file_of_another_shape_is_not_written(memory: Path, gated: GatedOs, call: str) -> None:
    one = document(memory)
    gated.fail(call, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert "could not be backed up; nothing was changed" in refusal(lambda: save(one))
    assert (memory.read_text(), beside(memory)) == (DOCUMENT, ["memory.jsonl"])


@POSIX
def test_a_link_under_a_backups_name_is_not_followed(memory: Path) -> None:
    victim = memory.parent / "victim"
    victim.write_text("untouched")
    (memory.parent / "memory.jsonl.20270115T080000Z.bak").symlink_to(victim)
    save(document(memory))
    assert victim.read_text() == "untouched"
    assert (memory.parent / "memory.jsonl.20270115T080001Z.bak").read_text() == DOCUMENT


def test_a_reload_of_the_same_foreign_bytes_is_the_same_graph(memory: Path) -> None:
    one = document(memory)
    first = one.read(None)
    os.utime(memory, (1, 1))
    assert one.read(first).graph is first.graph
    put(memory, DOCUMENT + "\n")
    assert names(one.read(first)) == ["Ann"]
    put(memory, ANN)
    assert one.read(first).original is None


def temporary(memory: Path, number: int, age: float) -> Path:
    path = memory.parent / f"{memory.name}.{number:032x}.tmp"
    path.write_text("left")
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def test_old_temporary_files_of_our_pattern_are_removed_once(memory: Path) -> None:
    old, young = temporary(memory, 1, 601), temporary(memory, 2, 590)
    others = [memory.parent / name for name in ("memory.jsonl.tmp", "memory.jsonl.00.tmp", f"other.{1:032x}.tmp")]
    for path in others:
        path.write_text("not ours")
        os.utime(path, (1, 1))
    (memory.parent / f"memory.jsonl.{3:032x}.tmp").mkdir()
    one = MemoryFile(str(memory))
    first = save(one)
    assert not old.exists()
    assert all(path.exists() for path in (young, *others))
    later = temporary(memory, 4, 601)
    save(one, first, "Newer")
    assert later.exists()


def test_an_old_temporary_file_that_cannot_be_removed_does_not_keep_the_others(memory: Path, gated: GatedOs) -> None:
    for number in range(3):
        temporary(memory, number, 601)
    gated.fail("unlink", PermissionError(errno.EPERM, os.strerror(errno.EPERM)))
    save(MemoryFile(str(memory)))
    assert len(beside(memory)) == 2


@POSIX
def test_what_a_crash_left_beside_a_link_is_removed_too(memory: Path) -> None:
    memory.symlink_to(memory.parent / "real" / "graph.jsonl")
    (memory.parent / "real").mkdir()
    old = [temporary(memory, 1, 601), temporary(memory.parent / "real" / "graph.jsonl", 2, 601)]
    save(MemoryFile(str(memory)))
    assert not any(path.exists() for path in old)


def test_a_temporary_file_that_could_not_be_removed_goes_with_the_next_save(memory: Path, gated: GatedOs) -> None:
    one = MemoryFile(str(memory))
    gated.fail("replace", OSError(errno.EIO, "input/output error"))
    for _ in range(2):  # it is tried twice
        gated.fail("unlink", OSError(errno.EIO, "input/output error"))
    refusal(lambda: save(one))
    assert len(beside(memory)) == 1
    assert save(one) is not None
    assert beside(memory) == ["memory.jsonl"]


def test_reading_takes_nothing_but_reading_calls(memory: Path, gated: GatedOs) -> None:
    put(memory, ANN)
    MemoryFile(str(memory)).read(None)
    assert all(reading(arguments) for name, arguments in gated.calls if name == "open")
    assert {name for name, _ in gated.calls} <= {"open", "stat", "fstat", "read", "close"}
    assert any(on(memory)(arguments) for name, arguments in gated.calls if name == "open")
    assert json.loads(memory.read_text())["name"] == "Ann"
