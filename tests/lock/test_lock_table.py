"""When a lock may be broken and by whom: each row of the rules, its moment forced by a gate or by the test's clock."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_app.errors import StoreError
from memory_app.lock import identity
from memory_app.lock.identity import Identity
from memory_app.lock.lock import Lock
from tests.files import make_fifo, make_folder, make_socket
from tests.gating import PATIENCE, GatedOs, in_thread, on, reading
from tests.locks import FOREVER, Clock, our_fields, pid_that_is_gone, write_bytes, write_record

AT_ONCE = (0.0, 0.1)
BY_AGE = (30.0, 30.3)  # a look every 250 ms

HALF_A_RECORD = '{"pid":1,"hostname":"elsewhere","tok'


@pytest.fixture
def at_guard(memory: Path) -> Path:
    return Path(f"{memory}.lock.break")


def waited(clock: Clock, taken: Lock, limit: float = 60) -> float:
    """Seconds until the lock was had."""
    began = clock.now
    taken.acquire(began + limit)
    return clock.now - began


def contained(number: int = 4026532999) -> Identity:
    """This process, as if it ran in a container."""
    me = identity.this_process()
    return me._replace(hostname=f"{me.hostname}#{number}", pidns=number, initial=False)


def dead_fields(**changed: object) -> dict[str, Any]:
    return our_fields(pid=pid_that_is_gone(), start="1") | changed


def npm_fields(**changed: object) -> dict[str, Any]:
    return our_fields(start=None, boot=None, pidns=None) | changed


def other_start(start: str | None) -> str:
    return f"{start}0"


# Whose process is known to be gone


def test_a_lock_of_a_process_that_is_gone_is_broken_at_once(clock: Clock, memory: Path, at_lock: Path) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    taken = Lock(str(memory))
    assert AT_ONCE[0] <= waited(clock, taken) < AT_ONCE[1]
    assert taken.held()
    taken.release()
    assert os.listdir(memory.parent) == []


def test_a_pid_that_was_given_out_again_does_not_keep_the_lock(clock: Clock, memory: Path, at_lock: Path) -> None:
    parent = os.getppid()
    write_record(at_lock, wall=clock.wall, **our_fields(pid=parent, start="1"))
    assert waited(clock, Lock(str(memory))) < AT_ONCE[1]


def test_our_own_pid_of_an_earlier_process_does_not_keep_the_lock(clock: Clock, memory: Path, at_lock: Path) -> None:
    start = other_start(identity.this_process().start)
    write_record(at_lock, wall=clock.wall, **our_fields(start=start))
    assert waited(clock, Lock(str(memory))) < AT_ONCE[1]


def test_the_npm_servers_record_with_our_pid_while_we_hold_nothing_is_broken_at_once(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    write_record(at_lock, wall=clock.wall, **npm_fields())
    assert waited(clock, Lock(str(memory))) < AT_ONCE[1]


def test_the_npm_servers_record_of_a_process_that_is_gone_is_broken_at_once(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    write_record(at_lock, wall=clock.wall, **npm_fields(pid=pid_that_is_gone()))
    assert waited(clock, Lock(str(memory))) < AT_ONCE[1]


def test_a_zombie_holds_nothing(clock: Clock, memory: Path, at_lock: Path) -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()  # its end: the process has exited, or is about to
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        write_record(at_lock, wall=clock.wall, **npm_fields(pid=process.pid))
        assert waited(clock, Lock(str(memory))) < AT_ONCE[1]
        process.wait(PATIENCE)


# Whose process may live: judged by age


def living() -> dict[str, Any]:
    """The fields of a process of this machine that lives and is not this one."""
    with open(f"/proc/{os.getppid()}/stat") as file:
        start = file.read().rpartition(")")[2].split()[19]
    return our_fields(pid=os.getppid(), start=start)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(living, id="it lives"),
        pytest.param(lambda: npm_fields(pid=os.getppid()), id="npm's lives"),
        pytest.param(lambda: dead_fields(hostname="elsewhere"), id="another host"),
        pytest.param(lambda: npm_fields(pid=pid_that_is_gone(), hostname="elsewhere"), id="npm's on another host"),
        pytest.param(lambda: dead_fields(boot="another"), id="another boot"),
        pytest.param(lambda: dead_fields(boot=None), id="no boot where there is one"),
        pytest.param(lambda: dead_fields(pidns=4026532999), id="another pid namespace"),
        pytest.param(lambda: dead_fields(pidns=None), id="no pid namespace where there is one"),
        pytest.param(lambda: dead_fields(pid=0), id="pid 0"),
        pytest.param(lambda: dead_fields(pid=-1), id="pid -1"),
        pytest.param(lambda: dead_fields(pid=2**31), id="a pid that no machine has"),
        pytest.param(lambda: dead_fields(pid=True), id="pid true"),
        pytest.param(lambda: dead_fields(pid="4711"), id="a pid in quotes"),
        pytest.param(lambda: dead_fields(token=None), id="no token"),
        pytest.param(lambda: dead_fields(padding="x" * 5000), id="5,000 bytes"),
    ],
)
def test_a_record_that_proves_nothing_is_broken_after_30_seconds(
    clock: Clock, memory: Path, at_lock: Path, fields: Callable[[], dict[str, Any]]
) -> None:
    write_record(at_lock, wall=clock.wall, **fields())
    assert BY_AGE[0] <= waited(clock, Lock(str(memory))) < BY_AGE[1]


@pytest.mark.parametrize("text", ["", HALF_A_RECORD, "[]", "null", "[" * 4000, "not JSON"])
def test_what_is_no_record_is_broken_after_30_seconds(clock: Clock, memory: Path, at_lock: Path, text: str) -> None:
    write_bytes(at_lock, text, wall=clock.wall)
    assert BY_AGE[0] <= waited(clock, Lock(str(memory))) < BY_AGE[1]


def test_half_a_record_that_is_old_is_broken_at_once(clock: Clock, memory: Path, at_lock: Path) -> None:
    write_bytes(at_lock, HALF_A_RECORD, age=31, wall=clock.wall)
    assert waited(clock, Lock(str(memory))) < AT_ONCE[1]


def test_another_users_record_that_cannot_be_read_is_broken_after_30_seconds(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    gated.fail("open", PermissionError(errno.EACCES, "another user's"), reading, always=True)
    assert BY_AGE[0] <= waited(clock, Lock(str(memory))) < BY_AGE[1]


def test_a_lock_that_this_process_holds_is_not_broken_by_itself(clock: Clock, memory: Path, at_lock: Path) -> None:
    holder = Lock(str(memory))
    holder.acquire(FOREVER)
    os.utime(at_lock, (clock.wall, clock.wall))
    with pytest.raises(StoreError, match=f"held by process {os.getpid()} on "):
        Lock(str(memory)).acquire(clock.now + 29)
    assert holder.held()
    holder.release()


# Containers


def test_in_a_container_the_hosts_name_in_the_record_carries_the_pid_namespace(memory: Path, at_lock: Path) -> None:
    taken = Lock(str(memory), me=contained(4026532001))
    taken.acquire(FOREVER)
    assert f'"hostname":"{os.uname().nodename}#4026532001"' in at_lock.read_text()
    taken.release()


def test_in_a_container_the_npm_servers_record_is_judged_by_age(clock: Clock, memory: Path, at_lock: Path) -> None:
    write_record(at_lock, wall=clock.wall, **npm_fields(pid=pid_that_is_gone()))
    assert BY_AGE[0] <= waited(clock, Lock(str(memory), me=contained())) < BY_AGE[1]


def test_in_a_container_not_even_our_own_pid_in_the_npm_servers_record_proves_anything(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    me = contained()
    write_record(at_lock, wall=clock.wall, pid=me.pid, hostname=me.hostname)
    assert BY_AGE[0] <= waited(clock, Lock(str(memory), me=me)) < BY_AGE[1]


def test_a_container_that_restarts_with_the_same_pid_judges_its_earlier_lock_by_age(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    earlier = contained(4026532001)
    write_record(at_lock, wall=clock.wall, **earlier._replace(start=other_start(earlier.start))._asdict())
    assert BY_AGE[0] <= waited(clock, Lock(str(memory), me=contained(4026532002))) < BY_AGE[1]


def test_a_container_that_restarts_with_the_same_pid_and_namespace_number_breaks_its_earlier_lock_at_once(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    me = contained()
    write_record(at_lock, wall=clock.wall, **me._replace(start=other_start(me.start))._asdict())
    assert waited(clock, Lock(str(memory), me=me)) < AT_ONCE[1]


def test_the_same_host_name_in_another_pid_namespace_is_judged_by_age(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    other = contained(4026532001)._replace(pid=pid_that_is_gone())
    write_record(at_lock, wall=clock.wall, **other._asdict())
    assert BY_AGE[0] <= waited(clock, Lock(str(memory), me=contained(4026532002))) < BY_AGE[1]


# Clocks


@pytest.mark.parametrize("hours", [1, 10_000])
def test_a_clock_that_was_set_back_does_not_block_for_ever(
    clock: Clock, memory: Path, at_lock: Path, hours: int
) -> None:
    write_record(at_lock, age=-3600 * hours, wall=clock.wall)
    assert BY_AGE[0] <= waited(clock, Lock(str(memory))) < BY_AGE[1]


def test_a_clock_that_was_set_back_does_not_cost_a_live_holder_its_lock(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    written = write_record(at_lock, age=-3600, wall=clock.wall)

    def beat() -> None:
        os.utime(at_lock, (clock.wall, clock.wall))
        clock.after(15, beat)

    beat()
    with pytest.raises(StoreError):
        Lock(str(memory)).acquire(clock.now + 60)
    assert at_lock.read_bytes() == written


def test_a_clock_set_forward_may_cost_a_holder_its_lock_but_it_notices(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    holder, waiter = Lock(str(memory)), Lock(str(memory))
    holder.acquire(FOREVER)
    clock.wall += 3600
    assert waited(clock, waiter) < AT_ONCE[1]
    assert not holder.held()
    successor = at_lock.read_bytes()
    holder.release()
    assert at_lock.read_bytes() == successor
    assert waiter.held()
    waiter.release()


def test_a_waiter_remembers_from_call_to_call_how_long_it_saw_the_same_record(
    clock: Clock, memory: Path, at_lock: Path
) -> None:
    write_record(at_lock, age=-3600, wall=clock.wall)
    waiter = Lock(str(memory))
    for _ in range(2):
        with pytest.raises(StoreError):
            waiter.acquire(clock.now + 12)
    assert waited(clock, waiter) < 7


def test_a_record_that_changes_is_not_one_that_was_seen_unchanged(clock: Clock, memory: Path, at_lock: Path) -> None:
    write_record(at_lock, age=-3600, wall=clock.wall)
    clock.after(20, lambda: write_record(at_lock, age=-3600, wall=clock.wall, token="1" * 32))
    assert 50 <= waited(clock, Lock(str(memory))) < 50.6


# Two waiters, and what comes between a judgement and a removal


class Waiter:
    """A thread that takes the lock and keeps it until told."""

    def __init__(self, name: str, memory: Path) -> None:
        self.lock = Lock(str(memory))
        self.took = threading.Event()
        self.give_back = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.lock.acquire(time.monotonic() + PATIENCE)
        self.took.set()
        self.give_back.wait(PATIENCE)
        self.lock.release()

    def finish(self) -> None:
        self.give_back.set()
        self.thread.join(PATIENCE)
        assert self.took.is_set()


def both(*matches: Callable[[tuple[Any, ...]], bool]) -> Callable[[tuple[Any, ...]], bool]:
    return lambda arguments: all(match(arguments) for match in matches)


def test_of_two_waiters_that_judge_the_same_lock_stale_one_gets_it_and_the_other_waits(
    memory: Path, at_lock: Path, at_guard: Path, gated: GatedOs
) -> None:
    write_record(at_lock, **dead_fields())
    judged = {name: gated.gate("open", both(on(at_guard), in_thread(name))) for name in ("first", "second")}
    dropped = gated.gate("unlink", both(on(at_guard), in_thread("second")))
    first, second = Waiter("first", memory), Waiter("second", memory)
    for gate in judged.values():
        gate.wait_until_reached()
    judged["first"].open()
    assert first.took.wait(PATIENCE)
    judged["second"].open()
    dropped.wait_until_reached()
    assert first.lock.held()
    assert not second.took.is_set()
    renamed = [arguments for name, arguments in gated.calls if name == "rename"]
    assert len(renamed) == 1, "what is not the judged record any more is not even taken aside"
    dropped.open()
    first.finish()
    second.finish()
    assert os.listdir(memory.parent) == []


def test_while_one_waiter_breaks_another_does_not(memory: Path, at_lock: Path, at_guard: Path, gated: GatedOs) -> None:
    write_record(at_lock, **dead_fields())
    breaking = gated.gate("rename", both(on(at_lock), in_thread("first")))
    first = Waiter("first", memory)
    breaking.wait_until_reached()
    with pytest.raises(StoreError):
        Lock(str(memory)).acquire(time.monotonic() + 0.05)
    assert [name for name, arguments in gated.calls if name == "rename"] == ["rename"]
    breaking.open()
    first.finish()
    assert os.listdir(memory.parent) == []


def test_a_successor_between_judgement_and_removal_keeps_its_lock(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    successor = Lock(str(memory))

    def succeed() -> None:
        at_lock.unlink()
        successor.acquire(FOREVER)
        os.utime(at_lock, (clock.wall, clock.wall))

    gated.before("rename", succeed, on(at_lock))
    with pytest.raises(StoreError):
        Lock(str(memory)).acquire(clock.now + 1)
    assert successor.held()
    assert os.listdir(memory.parent) == [at_lock.name]
    successor.release()


def test_a_holder_that_is_refreshed_between_judgement_and_removal_keeps_its_lock(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    holder = Lock(str(memory))
    holder.acquire(FOREVER)
    os.utime(at_lock, (clock.wall - 40, clock.wall - 40))
    gated.before("rename", lambda: os.utime(at_lock, (clock.wall, clock.wall)), on(at_lock))
    with pytest.raises(StoreError):
        Lock(str(memory)).acquire(clock.now + 1)
    assert holder.held()
    holder.release()


def test_a_lock_taken_while_a_successors_is_looked_at_is_not_overwritten_and_the_successor_notices(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    successor, third = Lock(str(memory)), Lock(str(memory))

    def succeed() -> None:
        at_lock.unlink()
        successor.acquire(FOREVER)

    gated.before("rename", succeed, on(at_lock))
    gated.before("link", lambda: third.acquire(FOREVER))
    with pytest.raises(StoreError):
        Lock(str(memory)).acquire(clock.now + 1)
    assert third.held()
    assert not successor.held()
    successor.release()
    assert third.held()
    assert os.listdir(memory.parent) == [at_lock.name]
    third.release()


def test_without_hard_links_a_successor_that_was_taken_aside_notices(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    successor = Lock(str(memory))

    def succeed() -> None:
        at_lock.unlink()
        successor.acquire(FOREVER)

    gated.before("rename", succeed, on(at_lock))
    gated.fail("link", PermissionError(errno.EPERM, "no links here"), always=True)
    waiter = Lock(str(memory))
    waiter.acquire(clock.now + 1)
    assert not successor.held()
    successor.release()
    assert waiter.held()
    waiter.release()
    assert os.listdir(memory.parent) == []


def test_a_lock_that_vanishes_between_judgement_and_removal_is_taken(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    gated.before("rename", at_lock.unlink, on(at_lock))
    taken = Lock(str(memory))
    assert waited(clock, taken) < AT_ONCE[1]
    taken.release()
    assert os.listdir(memory.parent) == []


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), MemoryError(), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("call", ["rename", "lstat", "open", "fstat", "read", "unlink"])
def test_a_breaking_that_fails_at_any_call_leaves_no_guard_and_no_temporary_file(
    clock: Clock, memory: Path, at_lock: Path, at_guard: Path, gated: GatedOs, call: str, error: BaseException
) -> None:
    for number in range(40):
        for name in os.listdir(memory.parent):
            (memory.parent / name).unlink()
        write_record(at_lock, wall=clock.wall, **dead_fields())
        to_go = number

        def fail_in_time(arguments: tuple[Any, ...]) -> bool:
            nonlocal to_go
            to_go -= 1
            return to_go == -1

        gated.fail(call, error, fail_in_time)
        taken = Lock(str(memory))
        try:
            taken.acquire(clock.now + 1)
            taken.release()
        except (StoreError, MemoryError, KeyboardInterrupt):
            pass
        if to_go >= 0:
            break
        assert set(os.listdir(memory.parent)) <= {at_lock.name}
        taken.acquire(clock.now + 1)
        taken.release()
        assert os.listdir(memory.parent) == []
    else:
        pytest.fail("the calls never came to an end")


# The guard


def test_a_guard_of_a_crash_is_cleared_after_30_seconds(
    clock: Clock, memory: Path, at_lock: Path, at_guard: Path
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    write_record(at_guard, wall=clock.wall, **dead_fields())
    taken = Lock(str(memory))
    assert BY_AGE[0] <= waited(clock, taken) < BY_AGE[1] + 0.3
    taken.release()
    assert os.listdir(memory.parent) == []


def test_an_old_guard_is_cleared_at_once(clock: Clock, memory: Path, at_lock: Path, at_guard: Path) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    write_bytes(at_guard, "", age=31, wall=clock.wall)
    assert waited(clock, Lock(str(memory))) < 0.6


def test_a_guard_alone_keeps_nobody_away(clock: Clock, memory: Path, at_guard: Path) -> None:
    write_record(at_guard, wall=clock.wall)
    taken = Lock(str(memory))
    assert waited(clock, taken) == 0
    taken.release()


def test_a_guard_cleared_by_two_at_once_lets_one_of_them_break(
    memory: Path, at_lock: Path, at_guard: Path, gated: GatedOs
) -> None:
    write_record(at_lock, **dead_fields())
    write_record(at_guard, age=31)
    clearing = {name: gated.gate("rename", both(on(at_guard), in_thread(name))) for name in ("first", "second")}
    breaking = gated.gate("rename", both(on(at_lock), in_thread("first")))
    put_back = gated.gate("unlink", in_thread("second"))  # of its second name, so it has its first one again
    first, second = Waiter("first", memory), Waiter("second", memory)
    for gate in clearing.values():
        gate.wait_until_reached()
    clearing["first"].open()
    breaking.wait_until_reached()  # the first has made a guard of its own
    clearing["second"].open()  # and the second takes that for the one that it judged
    put_back.wait_until_reached()
    breaking.open()
    assert first.took.wait(PATIENCE)
    put_back.open()
    assert first.lock.held()
    first.finish()
    second.finish()
    assert os.listdir(memory.parent) == []


def test_a_breaker_that_lost_its_guard_leaves_the_guard_of_another(
    clock: Clock, memory: Path, at_lock: Path, at_guard: Path, gated: GatedOs
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())

    def take_over() -> None:
        at_guard.unlink()
        write_record(at_guard, wall=clock.wall)

    gated.before("rename", take_over, on(at_lock))
    taken = Lock(str(memory))
    taken.acquire(clock.now + 1)
    taken.release()
    assert os.listdir(memory.parent) == [at_guard.name]


# What is no regular file


def make_link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def make_link_to_a_dead_record(path: Path) -> None:
    write_record(path.with_name("victim"), age=1000, **dead_fields())
    path.symlink_to("victim")


STRANGE = [
    pytest.param(make_link_to_nothing, "a symbolic link", id="link to nothing"),
    pytest.param(make_link_to_a_dead_record, "a symbolic link", id="link to a dead record"),
    pytest.param(make_fifo, "a FIFO", id="FIFO"),
    pytest.param(make_socket, "a socket", id="socket"),
    pytest.param(make_folder, "a folder", id="folder"),
]


def inventory(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        name: (status.st_ino, stat.S_IFMT(status.st_mode))
        for name in os.listdir(folder)
        for status in [os.lstat(folder / name)]
    }


@pytest.mark.parametrize(("make", "kind"), STRANGE)
def test_what_is_no_file_at_the_locks_path_is_waited_for_then_named_and_left_alone(
    clock: Clock, memory: Path, at_lock: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(at_lock)
    before = inventory(memory.parent)
    began = clock.now
    with pytest.raises(StoreError) as caught:
        Lock(str(memory)).acquire(began + 60)
    assert clock.now - began >= 60
    assert str(caught.value) == (
        f"Could not lock {memory} within 60 s, so nothing was stored: {at_lock} is {kind}, not a lock file. "
        "Remove it, then try again."
    )
    assert inventory(memory.parent) == before


def test_what_is_no_file_may_go_while_it_is_waited_for(clock: Clock, memory: Path, at_lock: Path) -> None:
    make_fifo(at_lock)
    clock.after(10, at_lock.unlink)
    assert 10 <= waited(clock, Lock(str(memory))) < 10.1


@pytest.mark.parametrize(("make", "kind"), STRANGE)
def test_what_is_no_file_at_the_guards_path_is_waited_for_then_named_and_left_alone(
    clock: Clock, memory: Path, at_lock: Path, at_guard: Path, make: Callable[[Path], None], kind: str
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    make(at_guard)
    before = inventory(memory.parent)
    with pytest.raises(StoreError, match=f"cannot be removed, because {at_guard} is {kind}: remove that."):
        Lock(str(memory)).acquire(clock.now + 60)
    assert inventory(memory.parent) == before


@pytest.mark.parametrize(("make", "kind"), STRANGE)
def test_what_takes_the_place_of_a_judged_lock_is_put_back_whatever_it_is(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs, make: Callable[[Path], None], kind: str
) -> None:
    write_record(at_lock, wall=clock.wall, **dead_fields())
    wanted: dict[str, tuple[int, int]] = {}

    def exchange() -> None:
        at_lock.unlink()
        make(at_lock)
        wanted.update(inventory(memory.parent))
        del wanted[f"{at_lock.name}.break"]

    gated.before("rename", exchange, on(at_lock))
    with pytest.raises(StoreError, match=f"{at_lock} is {kind}"):
        Lock(str(memory)).acquire(clock.now + 1)
    assert inventory(memory.parent) == wanted


def test_a_lock_that_cannot_be_removed_is_named_with_the_reason(
    clock: Clock, memory: Path, at_lock: Path, gated: GatedOs
) -> None:
    written = write_record(at_lock, wall=clock.wall, **dead_fields())
    gated.fail("rename", PermissionError(errno.EPERM, "Operation not permitted"), always=True)
    with pytest.raises(
        StoreError, match=r"It is abandoned but could not be removed: Operation not permitted\. Try again;"
    ):
        Lock(str(memory)).acquire(clock.now + 60)
    assert at_lock.read_bytes() == written
    assert os.listdir(memory.parent) == [at_lock.name]
