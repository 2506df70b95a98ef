"""The lock between real processes: ours and Node's, killed ones, stopped ones, and those in another pid namespace."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_app.errors import StoreError
from memory_app.lock.lock import Lock
from tests.gating import PATIENCE
from tests.locks import NODE_PEER, Child, python, write_record

HOLD = """
import os, sys, time
from memory_app.lock.lock import Lock
taken = Lock(sys.argv[1])
taken.acquire(time.monotonic() + 20)
print("held", flush=True)
sys.stdin.readline()
print("still" if taken.held() else "lost", flush=True)
taken.release()
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pid namespaces are Linux's")


def soon() -> float:
    return time.monotonic() + PATIENCE


def make_old(path: Path, seconds: float = 31) -> None:
    """What so many seconds without a heartbeat make of it."""
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def hold(memory: Path, *before: str) -> Child:
    return python(HOLD, str(memory), before=before)


def node(memory: Path, *arguments: str) -> Child:
    return Child(["node", str(NODE_PEER), str(memory), *arguments])


@functools.cache
def namespace() -> tuple[str, ...]:
    """The command that runs another in a pid namespace of its own, as far as this machine permits one."""
    for command in (
        ("unshare", "--pid", "--fork", "--kill-child"),
        ("unshare", "--user", "--pid", "--fork", "--kill-child"),
    ):
        try:
            if subprocess.run([*command, "true"], capture_output=True, timeout=PATIENCE).returncode == 0:
                return command
        except OSError:
            break
    pytest.skip("this machine permits no pid namespaces (unshare --pid)")


def test_a_lock_whose_holder_was_killed_is_had_within_a_second(memory: Path) -> None:
    with hold(memory) as holder:
        holder.expect("held")
        holder.process.kill()
        holder.process.wait(PATIENCE)
        taken = Lock(str(memory))
        began = time.monotonic()
        taken.acquire(soon())
        assert time.monotonic() - began < 1
        taken.release()
    assert os.listdir(memory.parent) == []


def test_a_holder_that_dies_while_others_wait_is_noticed_within_a_second(memory: Path) -> None:
    with hold(memory) as holder:
        holder.expect("held")
        with hold(memory) as waiter:
            with pytest.raises(StoreError):
                Lock(str(memory)).acquire(time.monotonic() + 0.3)
            holder.process.kill()  # it stays a zombie while this test does not wait for it
            began = time.monotonic()
            waiter.expect("held")
            assert time.monotonic() - began < 1


def test_a_holder_that_was_stopped_for_30_seconds_notices_at_its_last_check_that_it_lost_the_lock(
    memory: Path, at_lock: Path
) -> None:
    with hold(memory) as holder:
        holder.expect("held")
        holder.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.process.pid, os.WSTOPPED | os.WNOWAIT)
        make_old(at_lock)
        taken = Lock(str(memory))
        taken.acquire(soon())
        holder.process.send_signal(signal.SIGCONT)
        holder.go_on()
        holder.expect("lost")
        assert holder.end() == 0
        assert taken.held(), "the release of a lost lock leaves the successor's alone"
        taken.release()


@linux_only
def test_a_live_holder_in_another_pid_namespace_is_not_taken_for_gone(memory: Path, at_lock: Path) -> None:
    with hold(memory, *namespace()) as holder:
        holder.expect("held")
        record = json.loads(at_lock.read_bytes())
        assert record["hostname"] == f"{os.uname().nodename}#{record['pidns']}"
        with pytest.raises(StoreError):
            Lock(str(memory)).acquire(time.monotonic() + 0.8)
        holder.go_on()
        holder.expect("still")


@linux_only
def test_a_live_holder_outside_is_not_taken_for_gone_by_a_waiter_in_another_pid_namespace(memory: Path) -> None:
    with hold(memory) as holder:
        holder.expect("held")
        code = """
import sys, time
from memory_app.errors import StoreError
from memory_app.lock.lock import Lock
try:
    Lock(sys.argv[1]).acquire(time.monotonic() + 0.8)
except StoreError:
    print("waited", flush=True)
"""
        with python(code, str(memory), before=namespace()) as waiter:
            waiter.expect("waited")
        holder.go_on()
        holder.expect("still")


@linux_only
def test_a_dead_holder_in_another_pid_namespace_is_judged_by_age(memory: Path, at_lock: Path) -> None:
    with hold(memory, *namespace()) as holder:
        holder.expect("held")
    taken = Lock(str(memory))
    with pytest.raises(StoreError):
        taken.acquire(time.monotonic() + 0.8)
    make_old(at_lock)
    taken.acquire(soon())
    taken.release()
    assert os.listdir(memory.parent) == []


WITHIN = """
import os, signal, subprocess, sys, time
from memory_app.errors import StoreError
from memory_app.lock.lock import Lock
holder = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], stdin=-1, stdout=-1, text=True)
assert holder.stdout.readline() == "held\\n"
taken = Lock(sys.argv[1])
try:
    taken.acquire(time.monotonic() + 0.8)
    print("stolen", flush=True)
except StoreError:
    print("waited", flush=True)
holder.kill()
holder.wait()
began = time.monotonic()
taken.acquire(began + 20)
print("at once" if time.monotonic() - began < 1 else "late", flush=True)
taken.release()
"""


@linux_only
@pytest.mark.parametrize("proc", [(), ("--mount-proc",)], ids=["with the machine's /proc", "with a /proc of its own"])
def test_within_a_pid_namespace_the_living_and_the_dead_are_told_apart(memory: Path, proc: tuple[str, ...]) -> None:
    with python(WITHIN, str(memory), HOLD, before=(*namespace(), *proc)) as inside:
        inside.expect("waited")
        inside.expect("at once")
        assert inside.end() == 0
    assert os.listdir(memory.parent) == []


@linux_only
def test_a_restarted_container_does_not_take_its_earlier_selfs_pid_for_its_own(memory: Path, at_lock: Path) -> None:
    with hold(memory, *namespace(), "--mount-proc") as earlier:
        earlier.expect("held")
    before = json.loads(at_lock.read_bytes())
    make_old(at_lock, 29.5)
    with hold(memory, *namespace(), "--mount-proc") as later:
        later.expect("held")
        after = json.loads(at_lock.read_bytes())
        assert (before["pid"], before["boot"]) == (after["pid"], after["boot"])
        assert before["start"] != after["start"]
        later.go_on()
        later.expect("still")
        assert later.end() == 0
    assert os.listdir(memory.parent) == []


@linux_only
def test_in_a_pid_namespace_a_record_of_the_npm_servers_kind_is_judged_by_age(memory: Path, at_lock: Path) -> None:
    write_record(at_lock, pid=2**22 - 1, hostname=os.uname().nodename)
    with hold(memory, *namespace(), "--mount-proc") as inside:
        with pytest.raises(subprocess.TimeoutExpired):
            inside.process.wait(0.8)
        assert json.loads(at_lock.read_bytes())["pid"] == 2**22 - 1
        make_old(at_lock)
        inside.expect("held")


@needs_node
def test_ours_and_nodes_writers_take_turns_and_lose_nothing(memory: Path) -> None:
    count = 40
    ours = [sys.executable, "-m", "tests.peers.our_writer", str(memory), str(count)]
    writers = [Child([*ours, f"ours{number}"]) for number in range(2)]
    writers += [node(memory, "write", str(count), f"node{number}") for number in range(2)]
    try:
        for writer in writers:
            writer.expect("done")
    finally:
        for writer in writers:
            writer.__exit__()
    names = [json.loads(line)["name"] for line in memory.read_text().splitlines()]
    wanted = [f"{kind}{number}-{turn}" for kind in ("ours", "node") for number in range(2) for turn in range(count)]
    assert sorted(names) == sorted(wanted)
    assert os.listdir(memory.parent) == [memory.name]


@needs_node
def test_nodes_lock_is_waited_for_while_it_lives_and_broken_when_it_is_dead(memory: Path) -> None:
    taken = Lock(str(memory))
    with node(memory, "hold") as holder:
        holder.expect("held")
        with pytest.raises(StoreError):
            taken.acquire(time.monotonic() + 0.8)
        holder.process.kill()
        holder.process.wait(PATIENCE)
        began = time.monotonic()
        taken.acquire(soon())
        assert time.monotonic() - began < 1
        taken.release()


@needs_node
def test_node_waits_for_our_lock_while_we_live_and_breaks_it_when_we_are_dead(memory: Path, at_lock: Path) -> None:
    with hold(memory) as holder:
        holder.expect("held")
        before = at_lock.read_bytes()
        with node(memory, "hold") as waiter:
            with pytest.raises(subprocess.TimeoutExpired):
                waiter.process.wait(0.8)
            assert at_lock.read_bytes() == before
            holder.process.kill()
            holder.process.wait(PATIENCE)
            waiter.expect("held")
            waiter.go_on()
            waiter.expect("released")
    assert os.listdir(memory.parent) == []


@pytest.mark.slow
@needs_node
def test_eight_of_ours_and_two_of_nodes_lose_nothing_in_thousands_of_writes(memory: Path) -> None:
    writers = [
        Child([sys.executable, "-m", "tests.peers.our_writer", str(memory), "300", f"ours{number}"])
        for number in range(8)
    ]
    writers += [node(memory, "write", "300", f"node{number}") for number in range(2)]
    try:
        for writer in writers:
            writer.expect("done")
    finally:
        for writer in writers:
            writer.__exit__()
    names = [json.loads(line)["name"] for line in memory.read_text().splitlines()]
    assert len(names) == len(set(names)) == 3000
    assert os.listdir(memory.parent) == [memory.name]
