"""Taking, keeping and giving back the lock; waiting for it; what an error says and leaves."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from memory_app.errors import StoreError
from memory_app.lock import heartbeat, identity, lock, lockfile
from memory_app.lock.lock import Lock, LockAbandoned
from tests.files import descriptors
from tests.gating import PATIENCE, GatedOs, on
from tests.locks import FOREVER, Clock, our_fields, write_record


def lock_of(memory: Path) -> Path:
    return Path(f"{memory}.lock")


def soon() -> float:
    return time.monotonic() + PATIENCE


def test_the_record_names_this_process_and_leaves_out_what_is_unknown(memory: Path) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    record = json.loads(lock_of(memory).read_bytes())
    token = record.pop("token")
    assert record == {name: value for name, value in our_fields().items() if value is not None}
    assert len(bytes.fromhex(token)) == 16
    assert lock_of(memory).stat().st_mode & 0o777 == 0o600
    taken.release()


def test_every_acquisition_has_a_token_of_its_own(memory: Path) -> None:
    tokens = set()
    for _ in range(3):
        taken = Lock(str(memory))
        taken.acquire(soon())
        tokens.add(json.loads(lock_of(memory).read_bytes())["token"])
        taken.release()
    assert len(tokens) == 3


def test_a_released_lock_leaves_no_file_and_no_descriptor(memory: Path) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    taken.release()
    before = descriptors()
    for _ in range(10):
        taken.acquire(soon())
        assert taken.held()
        token = json.loads(lock_of(memory).read_bytes())["token"]
        assert heartbeat.HEARTBEAT.holds(token)
        taken.release()
        assert not taken.held()
        assert not heartbeat.HEARTBEAT.holds(token)
    assert os.listdir(memory.parent) == []
    assert descriptors() == before


def test_two_locks_of_one_process_exclude_each_other(memory: Path, clock: Clock) -> None:
    first, second = Lock(str(memory)), Lock(str(memory))
    first.acquire(FOREVER)
    with pytest.raises(StoreError):
        second.acquire(clock.now + 20)
    assert first.held()
    first.release()
    second.acquire(clock.now)
    second.release()


def test_many_threads_take_turns_and_lose_nothing(memory: Path) -> None:
    counter = memory.with_suffix(".count")
    counter.write_text("0")

    def count() -> None:
        own = Lock(str(memory))
        for _ in range(25):
            own.acquire(soon())
            value = int(counter.read_text())
            counter.write_text(str(value + 1))
            assert own.held()
            own.release()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert counter.read_text() == "100"


def test_a_writer_that_takes_the_lock_again_and_again_leaves_a_gap_for_the_others(memory: Path, clock: Clock) -> None:
    busy = Lock(str(memory))
    began = clock.now
    slept = 0.0
    for _ in range(200):
        before = clock.now
        busy.acquire(FOREVER)
        slept += clock.now - before
        clock.sleep(0.001)
        busy.release()
    assert slept > 0.003
    assert slept < 0.1 * (clock.now - began)


def test_a_waiter_that_is_stopped_by_its_deadline_says_who_holds_the_lock_and_what_to_do(
    memory: Path, clock: Clock
) -> None:
    write_record(lock_of(memory), wall=clock.wall, pid=4711, hostname="attic")
    clock.after(20, lambda: os.utime(lock_of(memory), (clock.wall, clock.wall)))
    clock.after(45, lambda: os.utime(lock_of(memory), (clock.wall, clock.wall)))
    began = clock.now
    with pytest.raises(StoreError) as caught:
        Lock(str(memory)).acquire(began + lock.WAIT)
    assert 60 <= clock.now - began < 60.1
    assert not caught.value.stored
    assert str(caught.value) == (
        f"Could not lock {memory} within 60 s, so nothing was stored: {memory}.lock is held by process 4711 on attic, "
        f"refreshed 15 s ago. Try again; if that process does not run any more, remove {memory}.lock."
    )
    assert json.loads(lock_of(memory).read_bytes())["pid"] == 4711
    assert os.listdir(memory.parent) == ["memory.jsonl.lock"]


def test_a_lock_that_always_changes_hands_is_named_so(memory: Path, clock: Clock, gated: GatedOs) -> None:
    write_record(lock_of(memory), wall=clock.wall)
    clock.after(0.99, lambda: gated.before("open", lock_of(memory).unlink, on(lock_of(memory))))
    with pytest.raises(StoreError, match=r"^Could not lock .* within 1 s, .* was taken by other writers again"):
        Lock(str(memory)).acquire(clock.now + 1)


def test_a_deadline_that_has_passed_still_gets_a_free_lock_but_waits_for_no_other(memory: Path, clock: Clock) -> None:
    late = Lock(str(memory))
    late.acquire(clock.now - 1)
    late.release()
    write_record(lock_of(memory), wall=clock.wall)
    began = clock.now
    with pytest.raises(StoreError):
        late.acquire(clock.now - 1)
    assert clock.now == began


def test_a_cancelled_waiter_stops_waiting_and_leaves_nothing(memory: Path, clock: Clock) -> None:
    held = write_record(lock_of(memory), wall=clock.wall)
    cancelled = threading.Event()
    clock.after(5, cancelled.set)
    began = clock.now
    with pytest.raises(LockAbandoned) as caught:
        Lock(str(memory)).acquire(FOREVER, cancelled.is_set)
    assert not caught.value.stored
    assert clock.now - began < 5.1
    assert lock_of(memory).read_bytes() == held
    assert os.listdir(memory.parent) == ["memory.jsonl.lock"]


def test_a_call_cancelled_before_it_asks_takes_no_lock(memory: Path) -> None:
    with pytest.raises(LockAbandoned):
        Lock(str(memory)).acquire(soon(), lambda: True)
    assert os.listdir(memory.parent) == []


def test_waits_are_short_at_first_and_never_long_and_looks_are_rare(memory: Path, clock: Clock, gated: GatedOs) -> None:
    write_record(lock_of(memory), wall=clock.wall)
    sleeps: list[float] = []
    sleep = clock.sleep

    def note(seconds: float) -> None:
        sleeps.append(seconds)
        sleep(seconds)

    clock.sleep = note  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        Lock(str(memory)).acquire(clock.now + 10)
    assert sleeps[0] <= 0.0005
    assert max(sleeps) <= 0.003
    assert len(sleeps) < 10 / 0.0015
    reads = [arguments for name, arguments in gated.calls if name == "open" and not arguments[1] & os.O_CREAT]
    assert 35 <= len(reads) <= 45


def test_a_path_that_is_a_link_is_locked_at_both_ends_the_configured_one_first(
    memory: Path, gated: GatedOs, tmp_path: Path
) -> None:
    real = tmp_path / "real" / "store.jsonl"
    real.parent.mkdir()
    real.write_text("")
    memory.symlink_to(real)
    taken = Lock(str(memory))
    taken.acquire(soon())
    made = [arguments[0] for name, arguments in gated.calls if name == "open"]
    assert made == [f"{memory}.lock", f"{real}.lock"]
    assert taken.target == str(real)
    assert taken.held()
    lock_of(real).unlink()
    assert not taken.held()
    taken.release()
    assert not lock_of(memory).exists()


def test_a_link_to_a_file_that_does_not_exist_yet_is_locked_at_both_ends(memory: Path, tmp_path: Path) -> None:
    memory.symlink_to("later.jsonl")
    taken = Lock(str(memory))
    taken.acquire(soon())
    assert sorted(os.listdir(tmp_path)) == ["later.jsonl.lock", "memory.jsonl", "memory.jsonl.lock"]
    taken.release()
    assert os.listdir(tmp_path) == ["memory.jsonl"]


def test_a_link_in_the_folders_of_the_path_needs_no_second_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real" / "memory.jsonl").write_text("")
    by_alias, by_name = Lock(str(tmp_path / "alias" / "memory.jsonl")), Lock(str(tmp_path / "real" / "memory.jsonl"))
    by_alias.acquire(soon())
    assert sorted(os.listdir(tmp_path / "real")) == ["memory.jsonl", "memory.jsonl.lock"]
    with pytest.raises(StoreError):
        by_name.acquire(time.monotonic())
    by_alias.release()


def test_those_who_come_by_the_link_and_those_who_come_by_the_file_exclude_each_other(
    memory: Path, tmp_path: Path, clock: Clock
) -> None:
    real = tmp_path / "store.jsonl"
    memory.symlink_to(real)
    by_link, by_file = Lock(str(memory)), Lock(str(real))
    by_file.acquire(FOREVER)
    with pytest.raises(StoreError, match=f"{real}.lock is held by process {os.getpid()} "):
        by_link.acquire(clock.now + 1)
    assert not lock_of(memory).exists(), "the first lock is given back when the second cannot be had"
    by_file.release()


def test_a_link_that_is_turned_elsewhere_while_its_lock_is_awaited_is_followed_anew(
    memory: Path, tmp_path: Path, gated: GatedOs
) -> None:
    memory.symlink_to("first.jsonl")

    def turn() -> None:
        memory.unlink()
        memory.symlink_to("second.jsonl")

    gated.before("open", turn, on(tmp_path / "first.jsonl.lock"))
    taken = Lock(str(memory))
    taken.acquire(soon())
    assert taken.target == str(tmp_path / "second.jsonl")
    assert sorted(os.listdir(tmp_path)) == ["memory.jsonl", "memory.jsonl.lock", "second.jsonl.lock"]
    taken.release()


def test_a_link_that_is_turned_elsewhere_under_the_lock_is_not_covered_by_it_any_more(
    memory: Path, tmp_path: Path
) -> None:
    memory.symlink_to("first.jsonl")
    taken = Lock(str(memory))
    taken.acquire(soon())
    assert taken.held()
    memory.unlink()
    memory.symlink_to("second.jsonl")
    assert not taken.held()
    taken.release()
    assert os.listdir(tmp_path) == ["memory.jsonl"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (
            errno.EACCES,
            "permission denied. Nothing was stored. Give this user the right to read it and to create files in",
        ),
        (errno.EROFS, "the file system is read-only. Nothing was stored. Make"),
        (errno.ENOSPC, "the disk is full. Nothing was stored. Free some space for"),
        (errno.EIO, "Input/output error. Nothing was stored. Check the disk of"),
    ],
    ids=["EACCES", "EROFS", "ENOSPC", "EIO"],
)
def test_a_lock_that_cannot_be_made_is_an_error_at_once_with_its_reason_and_the_next_step(
    memory: Path, gated: GatedOs, number: int, words: str
) -> None:
    gated.fail("open", OSError(number, os.strerror(number)))
    with pytest.raises(StoreError) as caught:
        Lock(str(memory)).acquire(soon())
    assert str(caught.value).startswith(f"Could not create the lock {memory}.lock: {words} {memory.parent}")
    assert not caught.value.stored


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no such folder\. .* Create the folder .*/nowhere,"):
        Lock(str(tmp_path / "nowhere" / "memory.jsonl")).acquire(soon())


@pytest.mark.parametrize("call", ["open", "fstat", "write"])
@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "broken"), MemoryError(), KeyboardInterrupt()], ids=["EIO", "MemoryError", "interrupt"]
)
def test_an_acquisition_that_fails_at_any_call_leaves_nothing(
    memory: Path, gated: GatedOs, call: str, error: BaseException
) -> None:
    warm = Lock(str(memory.with_name("other")))
    warm.acquire(soon())
    warm.release()
    before, beating = descriptors(), set(heartbeat.HEARTBEAT._held)
    gated.fail(call, error)
    taken = Lock(str(memory))
    with pytest.raises(StoreError if isinstance(error, OSError) else type(error)):
        taken.acquire(soon())
    assert os.listdir(memory.parent) == []
    assert descriptors() == before
    assert set(heartbeat.HEARTBEAT._held) == beating
    taken.acquire(soon())
    taken.release()


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()], ids=["EIO", "interrupt"])
def test_a_removal_that_fails_once_is_repeated(memory: Path, gated: GatedOs, error: BaseException) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    gated.fail("unlink", error)
    if isinstance(error, OSError):
        taken.release()
    else:
        with pytest.raises(KeyboardInterrupt):
            taken.release()
    assert os.listdir(memory.parent) == []


def test_a_lock_whose_removal_failed_is_cleared_at_once_by_its_own_process(
    memory: Path, gated: GatedOs, clock: Clock
) -> None:
    taken = Lock(str(memory))
    taken.acquire(FOREVER)
    for _ in range(2):
        gated.fail("unlink", OSError(errno.EIO, "broken"))
    taken.release()
    assert lock_of(memory).exists()
    began = clock.now
    taken.acquire(began + 1)
    assert clock.now - began < 0.1
    assert taken.held()
    taken.release()
    assert os.listdir(memory.parent) == []


def test_release_and_heartbeat_leave_a_successors_lock_alone(memory: Path) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    lock_of(memory).unlink()
    successor = write_record(lock_of(memory), age=10)
    before = lock_of(memory).stat()
    heartbeat.HEARTBEAT.beat()
    assert not taken.held()
    taken.release()
    after = lock_of(memory).stat()
    assert lock_of(memory).read_bytes() == successor
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_a_file_with_our_record_that_is_not_our_file_is_not_ours(memory: Path) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    copy = memory.with_name("copy")
    copy.write_bytes(lock_of(memory).read_bytes())
    copy.replace(lock_of(memory))
    assert not taken.held()
    taken.release()
    assert lock_of(memory).exists()


def test_our_file_with_another_record_is_not_ours(memory: Path) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    lock_of(memory).write_text("{}")
    assert not taken.held()
    taken.release()


def test_a_heartbeat_refreshes_the_lock_and_keeps_waiters_away(memory: Path, clock: Clock) -> None:
    holder, waiter = Lock(str(memory)), Lock(str(memory), me=identity.this_process()._replace(hostname="other"))
    holder.acquire(FOREVER)

    def beat() -> None:
        heartbeat.Heartbeat.beat(heartbeat.HEARTBEAT)
        os.utime(lock_of(memory), (clock.wall, clock.wall))  # what the beat would do if it saw the test's clock
        clock.after(15, beat)

    os.utime(lock_of(memory), (0, 0))
    heartbeat.Heartbeat.beat(heartbeat.HEARTBEAT)
    assert lock_of(memory).stat().st_mtime > time.time() - 5
    beat()
    with pytest.raises(StoreError):
        waiter.acquire(clock.now + 60)
    assert holder.held()
    holder.release()


def test_a_forks_child_does_not_give_back_its_parents_lock(memory: Path) -> None:
    code = """
import os, sys, threading, time
from memory_app.lock.lock import Lock
taken = Lock(sys.argv[1])
taken.acquire(time.monotonic() + 20)
child = os.fork()
if child == 0:
    assert not taken.held()
    taken.release()
    own = Lock(sys.argv[1] + ".other")
    own.acquire(time.monotonic() + 20)
    assert own.held()
    assert "lock heartbeat" in [thread.name for thread in threading.enumerate()]
    own.release()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert taken.held()
taken.release()
"""
    subprocess.run([sys.executable, "-c", code, str(memory)], check=True, timeout=PATIENCE)
    assert os.listdir(memory.parent) == []


def test_the_heartbeat_thread_keeps_no_process_alive(memory: Path) -> None:
    code = """
import sys, time
from memory_app.lock.lock import Lock
Lock(sys.argv[1]).acquire(time.monotonic() + 20)
"""
    subprocess.run([sys.executable, "-c", code, str(memory)], check=True, timeout=PATIENCE)
    assert lock_of(memory).exists()
    later = Lock(str(memory))
    later.acquire(soon())
    later.release()


def test_what_a_test_of_the_lock_can_replace_is_all_that_it_calls(memory: Path, gated: GatedOs) -> None:
    taken = Lock(str(memory))
    taken.acquire(soon())
    taken.release()
    names = [name for name, _ in gated.calls]
    assert names == ["open", "fstat", "write", "lstat", "unlink", "close"]


def test_a_look_never_raises_and_never_follows(tmp_path: Path, gated: GatedOs) -> None:
    path = tmp_path / "some.lock"
    assert lockfile.inspect(str(path)) is None
    path.write_text("{}")
    gated.fail("open", PermissionError(errno.EACCES, "another user's"))
    unreadable = lockfile.inspect(str(path))
    assert unreadable is not None
    assert unreadable.data is None
    assert unreadable.record is None
    path.unlink()
    path.symlink_to("elsewhere")
    link = lockfile.inspect(str(path))
    assert link is not None
    assert link.kind == "a symbolic link"


def test_a_link_that_takes_the_place_of_a_file_under_the_eyes_of_a_look_is_not_followed(
    tmp_path: Path, gated: GatedOs
) -> None:
    path, victim = tmp_path / "some.lock", tmp_path / "victim"
    path.write_text("{}")
    write_record(victim)

    def exchange() -> None:
        path.unlink()
        path.symlink_to(victim)

    gated.before("open", exchange, on(path))
    seen = lockfile.inspect(str(path))
    assert seen is not None
    assert seen.data is None
