"""The heartbeat: refreshes what is held, nothing else, from one thread that starts once."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from memory_app.disk import calls
from memory_app.lock import heartbeat, identity, lockfile
from memory_app.lock.heartbeat import Heartbeat
from memory_app.lock.lockfile import Held
from memory_app.lock.stale import UNREFRESHED
from tests.gating import PATIENCE, GatedOs

LONG_AGO = 1_000_000_000


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return make(tmp_path / "memory.jsonl.lock")


def make(path: Path) -> Held:
    held = Held(str(path), lockfile.new_token(), identity.this_process())
    assert held.create()
    os.utime(path, (LONG_AGO, LONG_AGO))
    return held


def is_fresh(path: str) -> bool:
    return os.stat(path).st_mtime > LONG_AGO + 1


def test_the_thread_refreshes_what_is_held_again_and_again(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = GatedOs()
    monkeypatch.setattr(calls, "os", gated)
    beats = [gated.gate("utime"), gated.gate("utime")]
    heart = Heartbeat(interval=0.01)
    heart.add(held)
    for beat in beats:
        beat.wait_until_reached()
        beat.open()
    heart.discard(held)
    held.release()  # waits for the beat that is under way
    assert [name for name, _ in gated.calls].count("utime") >= 2


def test_it_waits_15_seconds_so_that_one_missed_beat_costs_no_lock(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    reached, go_on = threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        reached.set()
        assert go_on.wait(PATIENCE)

    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(sleep=sleep))
    heart = Heartbeat()
    heart.add(held)
    assert reached.wait(PATIENCE)
    heart.discard(held)
    held.release()
    go_on.set()
    assert waited == [15]
    assert 2 * waited[0] <= UNREFRESHED


def test_one_thread_is_started_once_and_for_all(tmp_path: Path) -> None:
    heart = Heartbeat()
    before = threading.active_count()
    for number in range(5):
        held = make(tmp_path / f"{number}.lock")
        heart.add(held)
        heart.discard(held)
        held.release()
    assert threading.active_count() == before + 1


def test_what_was_given_back_is_not_refreshed(held: Held) -> None:
    heart = Heartbeat()
    heart.add(held)
    assert heart.holds(held.token)
    heart.discard(held)
    assert not heart.holds(held.token)
    heart.beat()
    assert not is_fresh(held.path)
    held.release()


def test_one_that_cannot_be_refreshed_does_not_keep_the_others_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make(tmp_path / "first.lock"), make(tmp_path / "second.lock")
    gated = GatedOs()
    monkeypatch.setattr(calls, "os", gated)
    heart = Heartbeat()
    heart.add(first)
    heart.add(second)
    gated.fail("utime", OSError(errno.EIO, "broken"))
    heart.beat()
    assert not is_fresh(first.path)
    assert is_fresh(second.path)
    heart.beat()
    assert is_fresh(first.path)


def test_a_successor_at_the_path_is_never_refreshed(held: Held) -> None:
    os.unlink(held.path)
    Path(held.path).write_text("{}")
    os.utime(held.path, (LONG_AGO, LONG_AGO))
    held.refresh()
    assert not is_fresh(held.path)


def test_a_descriptor_that_was_closed_meanwhile_is_not_touched(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be another file's by then: here that of a bystander, opened right after the release."""
    gated = GatedOs()
    monkeypatch.setattr(calls, "os", gated)
    bystander = Path(held.path).with_name("bystander")
    bystander.write_text("")
    os.utime(bystander, (LONG_AGO, LONG_AGO))
    held.release()
    fd = os.open(bystander, os.O_RDONLY)
    held.refresh()
    os.close(fd)
    assert [name for name, _ in gated.calls if name == "utime"] == []
    assert not is_fresh(str(bystander))


def test_a_release_waits_for_a_refreshment_that_is_under_way(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = GatedOs()
    monkeypatch.setattr(calls, "os", gated)
    touching = gated.gate("utime")
    beat = threading.Thread(target=held.refresh)
    beat.start()
    touching.wait_until_reached()
    release = threading.Thread(target=held.release)
    release.start()
    assert "close" not in [name for name, _ in gated.calls]
    touching.open()
    beat.join(PATIENCE)
    release.join(PATIENCE)
    names = [name for name, _ in gated.calls]
    assert names.index("utime") < names.index("close")


def test_on_windows_the_path_is_refreshed_while_the_token_there_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "WINDOWS", True)
    held = make(tmp_path / "memory.jsonl.lock")
    path = Path(held.path)
    held.refresh()
    assert is_fresh(held.path)
    ours = path.read_bytes()
    path.write_text("{}")
    os.utime(path, (LONG_AGO, LONG_AGO))
    held.refresh()
    assert not is_fresh(held.path)
    held.release()
    assert path.read_text() == "{}"
    path.write_bytes(ours)
    assert not held.is_ours(), "what was given back stays given back"


def test_on_windows_the_lock_file_is_not_kept_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "WINDOWS", True)
    gated = GatedOs()
    monkeypatch.setattr(calls, "os", gated)
    path = tmp_path / "memory.jsonl.lock"
    held = Held(str(path), lockfile.new_token(), identity.this_process())
    assert held.create()
    assert [name for name, _ in gated.calls] == ["open", "fstat", "write", "close"]
    assert held.is_ours()
    held.release()
    assert not path.exists()


def test_a_process_that_may_start_no_thread_holds_its_lock_all_the_same(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    heart = Heartbeat()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        heart.add(held)
    assert heart.holds(held.token)
    heart.discard(held)
    before = threading.active_count()
    heart.add(held)
    assert threading.active_count() == before + 1
    heart.discard(held)
    held.release()
